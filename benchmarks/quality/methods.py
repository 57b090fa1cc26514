"""The methods that are compared, by their names in the tables."""

from collections.abc import Callable
from functools import partial

from imblearn.ensemble import BalancedRandomForestClassifier, EasyEnsembleClassifier
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.baselines import get_baseline
from sk_anyloss.compare.methods.boosting import installed_boosting, make_boosting
from sk_anyloss.estimators.folds import inner_cv

ANYLOSS_CV = "AnyLossClassifierCV"
GRID_SEARCH, TUNED_HISTGB = "GridSearchCV over L", "HistGB, tuned threshold"
METRICS = ("f1", "balanced_accuracy", "gmean", "mcc")
HistGB = partial(HistGradientBoostingClassifier, random_state=0)
Forest = partial(RandomForestClassifier, random_state=0)


def logistic(**params: object) -> BaseEstimator:
    """Logistic regression on standardized features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, **params))


#: Methods that do not depend on the metric.
METRIC_FREE: dict[str, Callable[[], BaseEstimator]] = {
    "BCE": lambda: get_baseline("bce", random_state=0),
    "BCE, class weights": lambda: get_baseline("bce_class_weight", random_state=0),
    "BCE + SMOTE": lambda: get_baseline("bce_smote", random_state=0),
    "BCE + under-sampling": lambda: get_baseline("bce_under", random_state=0),
    "logistic": logistic,
    "logistic, balanced": lambda: logistic(class_weight="balanced"),
    "HistGB": HistGB,
    "HistGB, balanced": lambda: HistGB(class_weight="balanced"),
    "HistGB + SMOTE": lambda: make_pipeline(SMOTE(random_state=0), HistGB()),
    "balanced forest": lambda: BalancedRandomForestClassifier(random_state=0),
    "EasyEnsemble": lambda: EasyEnsembleClassifier(random_state=0),
    "forest, class weights": lambda: Forest(class_weight="balanced"),
}


def classifiers_to_tune() -> dict[str, Callable[[], BaseEstimator]]:
    """Classifiers whose fit knows no metric, and whose threshold is tuned for one."""
    trees = {
        title: partial(make_boosting, name)
        for name, title in installed_boosting().items()
    }
    classifiers: dict[str, Callable[[], BaseEstimator]]
    classifiers = {"logistic": logistic, "HistGB": HistGB, **trees}
    return {f"{name}, tuned threshold": make for name, make in classifiers.items()}


def methods_for_metric(metric: str) -> dict[str, BaseEstimator]:
    """Methods that are trained for the metric."""
    return {
        ANYLOSS_CV: AnyLossClassifierCV(metric, random_state=0),
        "AnyLossClassifier": AnyLossClassifier(metric, random_state=0),
    }


def grid_search_over_L() -> GridSearchCV:
    """The usual way to choose among the paper's five values of L."""
    model = AnyLossClassifier("f1", random_state=0)
    folds = inner_cv(random_state=0)
    return GridSearchCV(model, {"L": [10, 25, 50, 73, 100]}, cv=folds)
