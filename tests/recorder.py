"""A callback of scikit-learn 1.9 that records what it is told of."""


class Recorder:
    """Records tasks and their scores, and asks to stop at a task within the fit."""

    def __init__(self, stop_at=None):
        self.stop_at, self.tasks, self.scores, self.is_torn_down = stop_at, [], [], 0

    def setup(self, estimator, context):
        self.is_torn_down -= 1

    def teardown(self, estimator, context):
        self.is_torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append((context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))
        return context.task_name != "fit" and context.task_id == self.stop_at
