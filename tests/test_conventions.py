"""What scikit-learn expects of every estimator, and numpydoc of every docstring."""

import importlib
import inspect
import pkgutil
import re

import pytest
from numpydoc.validate import validate
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import sk_anyloss
from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV, TunedDecisionClassifier
from sk_anyloss.__main__ import main
from sk_anyloss.metrics import metric_names

#: What numpydoc asks for beyond what is useful here.
IGNORED = {
    "ES01",  # An extended summary.
    "EX01",  # Examples of abstract classes and data containers.
    "PR01",  # Losses and overrides describe their parameters in the base class.
    "PR04",  # "As for ...": types are described elsewhere.
    "RT02",  # Returned values are named, as in scikit-learn.
    "SA01",  # "See Also" everywhere.
    "SS05",  # "Names of" is no verb in the third person.
}
PUBLIC = (
    "baselines",
    "boosting",
    "compare",
    "losses",
    "losses.steps",
    "metrics",
    "plain",
)


def public_objects():
    names = ["sk_anyloss", *(f"sk_anyloss.{name}" for name in PUBLIC)]
    for module in map(importlib.import_module, names):
        for name in module.__all__:
            # A type alias has no docstring, and a metric is described by its formula.
            described = name != "Metric" and name not in metric_names()
            if described and callable(getattr(module, name)):
                yield f"{module.__name__}.{name}"


@pytest.mark.parametrize("name", sorted(set(public_objects())))
def test_docstrings_are_valid_numpydoc(name):
    errors = [error for error in validate(name)["errors"] if error[0] not in IGNORED]
    assert not errors


def all_estimators():
    """Public classes with ``fit``, found as scikit-learn's all_estimators finds its."""
    found = set()
    for info in pkgutil.walk_packages(sk_anyloss.__path__, "sk_anyloss."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, kind in inspect.getmembers(module, inspect.isclass):
            is_ours = kind.__module__ == info.name and not name.startswith("_")
            if is_ours and issubclass(kind, BaseEstimator) and hasattr(kind, "fit"):
                found.add(kind)
    return found


def test_public_estimators_are_found():
    names = {kind.__name__ for kind in all_estimators()}
    assert {"AnyLossClassifier", "AnyLossClassifierCV"} <= names
    assert "TunedDecisionClassifier" in names


@pytest.mark.parametrize(
    "model",
    [
        AnyLossClassifier(max_epochs=2),
        AnyLossClassifierCV(candidates=[{"hidden": ()}], cv=2, max_epochs=2),
        TunedDecisionClassifier(LogisticRegression(), cv=2, n_bootstrap=2),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:The .* predicts")
def test_html_has_parameters_state_and_a_link(model, monkeypatch):
    monkeypatch.setenv("SK_ANYLOSS_DOCS", "https://docs.example/")
    model = clone(model)
    page = f"https://docs.example/api/generated/sk_anyloss.{type(model).__name__}.html"
    html = model._repr_html_()
    assert page in html
    assert "Not fitted" in html
    assert all(name in html for name in model.get_params(deep=False))
    X, y = make_classification(80, 4, random_state=0)
    html = model.fit(X, y)._repr_html_()
    assert re.search(r">\s*Fitted\s*<", html)
    assert "classes_" in html
    assert is_classifier(model)


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.strip() == sk_anyloss.__version__
