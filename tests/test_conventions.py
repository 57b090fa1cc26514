"""What scikit-learn expects of every estimator, and numpydoc of every docstring."""

import importlib
import inspect
import pkgutil
import pydoc
import re
from pathlib import Path

import pytest
from numpydoc.validate import validate
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import sk_anyloss
from sk_anyloss import (
    AnyLossClassifier,
    AnyLossClassifierCV,
    AnyLossNet,
    TunedDecisionClassifier,
)
from sk_anyloss.__main__ import main
from sk_anyloss.baselines import SmallClassesSMOTE
from sk_anyloss.compare.methods.boosting import EncodedLabels
from sk_anyloss.compare.methods.labels import EachLabel
from sk_anyloss.compare.run.labelled import LabelledClassifier
from sk_anyloss.metrics import metric_names
from sk_anyloss.plain import PlainClassifier
from sk_anyloss.training.batch_steps import BatchSteps
from sk_anyloss.training.epoch_steps import EpochSteps
from sk_anyloss.training.predictions import Predictions
from tests import test_boosting
from tests.estimators import test_conformance, test_tuned_decision

ROOT = Path(__file__).parent.parent

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
    "search.displays",
)
#: Type aliases, which have no docstring of their own.
ALIASES = {
    "sk_anyloss.losses.steps.base.Threshold",
    "sk_anyloss.metrics.arithmetic.Metric",
}
SAMPLERS = [SmallClassesSMOTE()]
#: Estimators of the command, and the parts of the skorch net.
INTERNAL = {
    EncodedLabels,
    EachLabel,
    LabelledClassifier,
    BatchSteps,
    EpochSteps,
    Predictions,
}


def documented():
    """Names in the API reference, each after its module."""
    for page in sorted((ROOT / "docs" / "api").glob("*.rst")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif module and re.fullmatch(r"   \w+", line):
                yield f"{module}.{line.strip()}"


def members(name):
    """Methods and properties of a class that the package defines, by name."""
    owner = pydoc.locate(name)
    for member in dir(owner) if inspect.isclass(owner) else ():
        value = getattr(owner, member)
        function = getattr(value, "fget", value)
        is_ours = str(getattr(function, "__module__", "")).startswith("sk_anyloss")
        if is_ours and not member.startswith("_") and callable(function):
            yield f"{name}.{member}"


def errors(name, ignored):
    found = validate(name)["errors"]
    return [f"{name}: {text}" for code, text in found if code not in ignored]


@pytest.mark.parametrize("name", sorted(set(documented()) - ALIASES))
def test_docstrings_are_valid_numpydoc(name):
    # A metric is described by its formula.
    is_metric = name.rpartition(".")[2] in metric_names()
    assert not errors(name, IGNORED | ({"RT01"} if is_metric else set()))
    for member in members(name):
        # A sentence may say what is returned, and an override has the docstring of
        # its base class.
        assert not errors(member, IGNORED | {"RT01", "GL08"})
        assert inspect.getdoc(pydoc.locate(member)), member


def test_everything_public_is_in_the_reference():
    in_reference = [pydoc.locate(name) for name in documented()]
    public = ("", *(f".{name}" for name in PUBLIC))
    for module in (importlib.import_module(f"sk_anyloss{name}") for name in public):
        for name in set(module.__all__) - {"__version__"}:
            assert getattr(module, name) in in_reference, name


def all_estimators():
    """Public classes with ``fit``, found as scikit-learn's all_estimators finds its."""
    found = set()
    for info in pkgutil.walk_packages(sk_anyloss.__path__, "sk_anyloss."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            kind = getattr(module, name)
            is_estimator = inspect.isclass(kind) and issubclass(kind, BaseEstimator)
            if is_estimator and hasattr(kind, "fit") and not name.startswith("_"):
                found.add(kind)
    return found


@parametrize_with_checks(SAMPLERS)
def test_scikit_learns_checks_of_the_sampler(estimator, check):
    check(estimator)


def test_every_public_estimator_is_documented_and_checked():
    tests = (test_conformance, test_tuned_decision, test_boosting)
    lists = [SAMPLERS, *(test.CONFIGURATIONS for test in tests)]
    checked = {type(estimator) for estimators in lists for estimator in estimators}
    in_reference = {pydoc.locate(name) for name in documented()}
    public = all_estimators() & in_reference
    assert all_estimators() - in_reference <= INTERNAL
    assert public - checked == {
        AnyLossNet,  # Follows skorch, and takes torch modules.
        PlainClassifier,  # Made of a fitted estimator; its fit raises an error.
    }


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
