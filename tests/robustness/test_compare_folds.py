"""Groups and time hold in every fold of a comparison, also where a method tunes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
)

from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.compare import compare, register_method

N = 240
X, Y = make_classification(N, 5, weights=[0.7], flip_y=0.1, random_state=0)
#: Thirty groups of eight samples, in no order, numbered as they come; forty points in
#: time.
GROUPS, _ = pd.factorize(
    np.random.default_rng(0).permutation(np.repeat(np.arange(30), 8))
)
TIME = np.random.default_rng(1).permutation(np.repeat(np.arange(40), 6))
KINDS = {"groups": GROUPS, "time": TIME}


class Strict(ClassifierMixin, BaseEstimator):
    """Refuses samples of groups, or of times, that it must not be asked for.

    Their numbers are the first feature.
    """

    def __init__(self, kind="groups", C=1.0):
        self.kind = kind
        self.C = C

    def fit(self, X, y):
        self.seen_ = np.unique(X[:, 0])
        self.model_ = LogisticRegression(C=self.C).fit(X[:, 1:], y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        if self.kind == "groups":
            assert not np.isin(X[:, 0], self.seen_).any(), "a group is split"
        else:
            assert X[:, 0].min() > self.seen_.max(), "the past is predicted"
        return self.model_.predict_proba(X[:, 1:])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


class StrictSearch(AnyLossClassifierCV):
    """Asks the same of the samples that it leaves out."""

    kind = "groups"

    def fit(self, X, y, **params):
        super().fit(X, y, **params)
        numbers = X[:, 0]
        folds = list(self.cv.split(X, y, groups=numbers))
        for train, test in folds:
            if self.kind == "groups":
                assert not set(numbers[train]) & set(numbers[test]), "a group is split"
            else:
                assert numbers[train].max() < numbers[test].min(), "the past"
        rows = np.concatenate([test for _, test in folds])
        np.testing.assert_array_equal(rows, self.oof_rows_)
        return self


class StrictSearchInTime(StrictSearch):
    kind = "time"


def search(kind, seed):
    make = StrictSearch if kind == "groups" else StrictSearchInTime
    return make(
        "f1", candidates=[{"hidden": ()}], max_epochs=3, ensemble=True,
        random_state=seed,
    )  # fmt: skip


TUNED = {
    "threshold": lambda kind, seed: TunedThresholdClassifierCV(
        Strict(kind), scoring="f1"
    ),
    "threshold, own folds": lambda kind, seed: TunedThresholdClassifierCV(
        Strict(kind), scoring="f1", cv=StratifiedKFold(3)
    ),
    "threshold, one split": lambda kind, seed: TunedThresholdClassifierCV(
        Strict(kind), scoring="f1", cv=0.3
    ),
    "grid": lambda kind, seed: GridSearchCV(
        Strict(kind), {"C": [0.1, 1]}, scoring="f1", cv=3, error_score="raise"
    ),
    "grid in a threshold": lambda kind, seed: TunedThresholdClassifierCV(
        GridSearchCV(Strict(kind), {"C": [0.1, 1]}, error_score="raise"), scoring="f1"
    ),
    # AdaBoost does not take part in scikit-learn's metadata routing.
    "boosted": lambda kind, seed: TunedThresholdClassifierCV(
        GroupsOfBoosted(kind=kind, n_estimators=2), scoring="f1"
    ),
    "search": search,
}


class GroupsOfBoosted(AdaBoostClassifier):
    def __init__(self, kind="groups", n_estimators=2):
        super().__init__(n_estimators=n_estimators)
        self.kind = kind

    def fit(self, X, y):
        self.strict_ = Strict(self.kind).fit(X, y)
        return super().fit(X, y)

    def predict_proba(self, X):
        self.strict_.predict_proba(X)
        return super().predict_proba(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tuned", TUNED)
def test_every_tuning_holds_groups_and_time(tuned, kind):
    register_method("strict", lambda metric, seed: TUNED[tuned](kind, seed))
    numbers = KINDS[kind]
    features = np.column_stack((numbers.astype(float), X))
    found = compare(features, Y, methods=["strict"], folds=3, **{kind: numbers})
    assert found.failures() == []
    assert found.scores()["strict"].notna().all()


def test_few_positive_groups_lower_the_number_of_inner_folds():
    labels = np.where(np.isin(GROUPS, [3, 11, 17, 25]), Y, 0)
    register_method("strict", lambda metric, seed: TUNED["threshold"]("groups", seed))
    features = np.column_stack((GROUPS.astype(float), X))
    found = compare(features, labels, methods=["strict"], folds=2, groups=GROUPS)
    assert found.failures() == []


def test_thresholds_are_tuned_for_new_groups():
    """Each group has its own place, that gives its label away; new groups do not."""
    rng = np.random.default_rng(0)
    places, labels = rng.normal(size=(400, 4)), rng.random(400) < 0.3
    members = np.repeat(np.arange(400), 4)
    features = places[members] + 1e-3 * rng.normal(size=(1600, 4))
    target = labels[members].astype(int)
    found = compare(
        features, target, groups=members, methods=["histgb_threshold"], folds=2
    )
    # Of known groups a model is sure, and a threshold between 0 and 1 is right. Of
    # new groups nothing can be known, and F1 is best where all are called positive.
    assert found.table.loc["histgb_threshold", "recall"] > 0.7


def frame(n=N):
    columns = pd.DataFrame(X[:n], columns=list("abcde"))
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(TIME[:n], unit="D")
    return columns.assign(when=days, who=GROUPS[:n], y=Y[:n])


@pytest.fixture
def words(tmp_path):
    def make(table, *more):
        table.to_csv(tmp_path / "data.csv", index=False)
        return [
            "compare", tmp_path / "data.csv", "--target", "y", "--folds", 3, "--jobs",
            1, "--methods", "logistic_balanced", "--quiet", "--no-explain", "--output",
            tmp_path / "out", *more,
        ]  # fmt: skip

    return make


@pytest.mark.parametrize(
    "write",
    [
        lambda days: days.dt.strftime("%Y-%m-%d"),
        lambda days: days.dt.strftime("%d/%m/%Y"),
        lambda days: days.dt.strftime("%m/%d/%Y"),
        lambda days: (days - days.min()).dt.days,
    ],
    ids=["ISO", "day first", "month first", "numbers"],
)
def test_the_order_in_time_is_read_from_dates_and_numbers(write):
    table = frame().drop(columns=["who", "y"])
    expected = compare(
        table.drop(columns="when"), Y, time=TIME, methods=["logistic"], folds=3
    )
    written = table.assign(when=write(table["when"]))
    found = compare(written, Y, time="when", methods=["logistic"], folds=3)
    pd.testing.assert_frame_equal(found.scores(), expected.scores())


def test_outer_folds_look_forward():
    features = np.column_stack((TIME.astype(float), X))
    register_method("strict", lambda metric, seed: Strict("time"))
    found = compare(features, Y, time=TIME, methods=["strict"], folds=5)
    assert found.failures() == []
    left_out = found.table.loc["strict", ["tn", "fp", "fn", "tp"]].sum()
    assert left_out == pytest.approx(N * 5 / 6, abs=12)


def test_command_and_report_name_the_kind_of_folds(command, words, tmp_path):
    for more, kind in (
        ((), "stratified, shuffled"),
        (("--groups", "who"), "whole groups"),
        (("--time", "when"), "forward in time"),
    ):
        output = tmp_path / kind
        ended = command(*words(frame(), *more, "--output", output))
        assert ended.code == 0, ended.err
        assert kind in ended.out
        assert kind in (output / "report.html").read_text(encoding="utf-8")
    assert "from 2024-01-01 to 2024-02-09" in ended.out


def test_results_of_other_folds_are_never_mixed(command, words, tmp_path):
    table = frame().drop(columns="who")
    assert command(*words(table, "--time", "when")).code == 0
    assert command(*words(table, "--groups", "when")).says("other settings")


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        ({}, ["--time", "then"], ["no column 'then'", "'when'"]),
        ({}, ["--time", "when", "--groups", "who"], ["--time and --groups"]),
        ({}, ["--time", "when", "--repeats", "2"], ["--repeats 2", "--time"]),
        ({"when": [None] * 3}, ["--time", "when"], ["'when'", "no value in 3 of 240"]),
        ({"when": ["soon"]}, ["--time", "when"], ["'when'", "'soon'", "2024-01-31"]),
        (
            {"when": ["13/02/2024", "02/13/2024"]},
            ["--time", "when"],
            ["'when'", "one format"],
        ),
        ({"y": [0] * 120}, ["--time", "order"], ["one class only", "--time"]),
        ({"y": [0] * 70}, ["--time", "order"], ["one class only", "--folds 2"]),
    ],
)
def test_a_time_that_cannot_be_used(command, words, tmp_path, change, more, message):
    table = frame().astype({"when": str})
    if "order" in more:
        table["order"] = np.arange(N)
    for name, values in change.items():
        table[name] = [*values, *table[name].iloc[len(values) :]]
    assert command(*words(table, *more)).says(*message)
    assert not (tmp_path / "out").exists()
