"""A fit of AnyLossClassifier as the tests need it: short, and with a seed."""

from sk_anyloss import AnyLossClassifier


def fit(X, y, **params):
    sample_weight = params.pop("sample_weight", None)
    params = {"random_state": 0, "max_epochs": 20, **params}
    return AnyLossClassifier(**params).fit(X, y, sample_weight)
