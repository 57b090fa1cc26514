"""The order of methods by simplicity, for a choice between equals."""

from __future__ import annotations

__all__ = ["simplicity"]

#: Kinds of models from the simplest one, by how the names of their methods start.
MODELS: tuple[tuple[str, ...], ...] = (
    ("logistic",),
    ("bce", "mse", "anyloss", "sol", "soft_", "surrogate_"),
    ("histgb", "lightgbm", "lgbm", "xgboost", "xgb", "catboost"),
    ("balanced_forest", "easy_ensemble", "rusboost"),
    ("anyloss_cv",),
)
#: What is added to a model, from the least; anything else is a resampling.
ADDITIONS: tuple[tuple[str, ...], ...] = (
    ("",),
    ("_balanced", "_class_weight"),
    ("_threshold", "_offsets"),
)


def simplicity(method: str) -> tuple[int, int]:
    """A key to sort methods by, the simplest first.

    A linear model comes before a small network, boosted trees, a forest and a search
    with an ensemble of networks; a model as it is comes before one with class weights,
    a tuned threshold or a resampling. A method that is not known here comes last.

    Parameters
    ----------
    method : str
        Name of the method.

    Returns
    -------
    key : tuple of int
        Places of the model and of what is added to it.

    Examples
    --------
    >>> from sk_anyloss.compare.methods.simplicity import simplicity
    >>> sorted(["anyloss_cv", "histgb", "logistic_smote", "logistic"], key=simplicity)
    ['logistic', 'logistic_smote', 'histgb', 'anyloss_cv']
    """
    starts = [(start, i) for i, names in enumerate(MODELS) for start in names]
    fitting = [
        (len(start), i, start) for start, i in starts if method.startswith(start)
    ]
    if not fitting:
        return len(MODELS), 0
    _, model, start = max(fitting)
    rest = method.removeprefix(start)
    if start.endswith("_") or model == len(MODELS) - 1:
        rest = ""
    for place, endings in enumerate(ADDITIONS):
        if rest in endings:
            return model, place
    return model, len(ADDITIONS)
