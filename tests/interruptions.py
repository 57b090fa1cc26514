"""What happens when somebody presses Ctrl-C in the middle of a training."""


class InterruptedMetric:
    """A metric during which somebody presses Ctrl-C, after so many calls."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, tn, fp, fn, tp):
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt
        return tp / (tp + fn + fp)

    def __deepcopy__(self, memo):
        return self
