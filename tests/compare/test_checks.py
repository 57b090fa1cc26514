"""Checks of tables and results: what they find, and what they leave alone."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix

from sk_anyloss.compare import Comparison, built_in, compare, make_table
from sk_anyloss.compare.checks import (
    RESULT_CHECKS,
    TABLE_CHECKS,
    check_results,
    check_table,
)
from sk_anyloss.compare.run.models import make_model
from sk_anyloss.compare.run.store import Fold
from tests.compare.samples import FAST, X, Y, mixed

N = 200
LABELS = np.random.default_rng(5).permutation(np.repeat(["no", "yes"], [140, 60]))


def frame(**columns):
    """Three columns of noise, and others."""
    noise = np.random.default_rng(3).normal(size=(N, 3))
    return pd.DataFrame(noise, columns=["a", "b", "c"]).assign(**columns)


def found_in(samples, labels=LABELS, folds=10, **params):
    """Sentences of the findings, by their code."""
    table = make_table(samples, labels, **params)
    findings = check_table(table, folds)
    return {one.code: one.sentence for one in findings if one.status == "found"}


def test_codes_are_distinct_and_every_check_has_its_parts():
    checks = [*TABLE_CHECKS, *RESULT_CHECKS]
    assert len({check.code for check in checks}) == len(checks)
    for check in checks:
        assert check.title
        assert check.severity in ("high", "medium", "low")
        assert check.__doc__


def test_a_plain_table_passes_every_check():
    assert found_in(frame()) == {}
    assert {one.status for one in check_table(built_in(), 9)} == {"passed"}


yes = LABELS == "yes"
LEAKS = {
    "numbers": np.where(yes, 1.0, 0.0) + np.random.default_rng(0).normal(0, 0.1, N),
    "middle": np.where(yes, 5.0, np.random.default_rng(0).choice([1.0, 9.0], N)),
    "categories": np.where(yes, "closed", np.where(np.arange(N) % 2, "open", "new")),
    "missing": np.where(yes, np.random.default_rng(0).normal(size=N), np.nan),
}


@pytest.mark.parametrize("kind", LEAKS)
def test_a_column_that_predicts_the_target_alone_is_found(kind):
    sentence = found_in(frame(outcome=LEAKS[kind]))["T1"]
    assert sentence.startswith("'outcome' alone predicts the target")
    assert "--drop outcome" in sentence


def test_a_good_column_is_no_leak():
    good = yes + np.random.default_rng(0).normal(0, 0.4, N)
    assert "T1" not in found_in(frame(good=good))


def test_a_leak_is_found_among_many_columns():
    noise = np.random.default_rng(0).normal(size=(N, 400))
    wide = pd.DataFrame(noise).rename(columns="n{}".format)
    wide["late"] = LEAKS["numbers"]
    assert "'late'" in found_in(wide)["T1"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("number", np.arange(N)),
        ("number", np.random.default_rng(0).permutation(N) + 1000.0),
        ("customer_id", np.arange(N) * 977 % 100_003),
        ("customerID", [f"{i:05d}-XQ" for i in range(N)]),
        ("code", [f"k{i * 7919 % 1009}" for i in range(N)]),
        ("Unnamed: 0", np.arange(N)),
    ],
    ids=["rows", "shuffled", "named", "text", "tokens", "index"],
)
def test_ids_are_left_out_and_can_be_kept(name, values):
    with pytest.warns(UserWarning, match=f"'{name}' looks like an ID and was left out"):
        table = make_table(frame(**{name: values}), LABELS)
    assert list(table.X.columns) == ["a", "b", "c"]
    assert table.left_out == [name]
    # A shell takes the advice as it is.
    assert f"--keep {shlex.quote(name)} " in check_table(table, 10)[1].sentence
    kept = make_table(frame(**{name: values}), LABELS, keep=[name])
    assert name in kept.X.columns
    assert kept.left_out == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", np.random.default_rng(0).choice(10**6, N, replace=False)),
        ("review", [f"the {i}th of many good things" for i in range(N)]),
        ("size", np.random.default_rng(0).normal(size=N)),
        ("width", np.arange(N) % 50),
    ],
    ids=["amounts", "free text", "fractions", "repeated"],
)
def test_columns_that_are_no_ids_stay(name, values):
    assert name in make_table(frame(**{name: values}), LABELS).X.columns


def test_distinct_values_that_stay_are_named():
    income = np.random.default_rng(0).choice(10**6, N, replace=False)
    assert "'income' has a distinct value" in found_in(frame(income=income))["T2"]


def test_the_only_column_is_never_left_out():
    table = make_table(pd.DataFrame({"row": np.arange(N)}), LABELS)
    assert list(table.X.columns) == ["row"]


def test_columns_to_keep_must_exist_and_not_be_dropped():
    with pytest.raises(ValueError, match=r"no column 'A' to keep \(did you mean 'a'"):
        make_table(frame(), LABELS, keep=["A"])
    with pytest.raises(ValueError, match="--keep and --drop both name 'a'"):
        make_table(frame(), LABELS, keep="a", drop="a")


def test_twins_are_found_where_chance_does_not_make_them():
    samples = frame()
    samples.iloc[:20] = samples.iloc[100:120].to_numpy() + 1e-6
    assert "40 of 200 samples (20.0 %)" in found_in(samples)["T5"]
    few = pd.DataFrame(np.random.default_rng(0).choice(["x", "y"], (N, 3)))
    assert "T5" not in found_in(few)


def test_labels_in_blocks_dates_and_empty_columns_are_found():
    blocks = np.where(np.arange(N) // 20 % 3 == 0, "yes", "no")
    assert "order of time" in found_in(frame(), blocks)["T6"]
    assert "T6" not in found_in(frame(), np.sort(LABELS))
    days = pd.date_range("2024-01-01", periods=N)
    for dates in (days, days.astype(str)):
        assert "--time day" in found_in(frame(day=dates))["T3"]
    assert "T3" not in found_in(frame(day=days), time="day")
    rare = np.where(np.arange(N) < 6, 1.5 * np.arange(N), np.nan)
    assert "missing in 97 % of the samples" in found_in(frame(rare=rare))["T4"]


def test_twins_may_be_one_thing_or_different_ones():
    samples = frame()
    samples.iloc[:20] = samples.iloc[100:120].to_numpy()
    sentence = found_in(samples)["T5"]
    assert "one thing recorded twice, scores are too good: remove" in sentence
    assert "different ones with equal values" in sentence
    assert "leave them" in sentence


def test_columns_that_name_groups_are_asked_about():
    rng = np.random.default_rng(0)
    owner = rng.integers(0, 700, 900)
    kinds = np.where(rng.random(700) < 0.3, "yes", "no")[owner]
    noise = pd.DataFrame(rng.normal(size=(900, 2)), columns=["a", "b"])
    for name, values in {
        "subject_id": owner + 70_000,
        "ticket": [f"PC{i}" for i in owner],
        "person": owner,  # Its labels say so.
    }.items():
        found = found_in(noise.assign(**{name: values}), kinds)
        n = len(np.unique(owner))
        assert f"({n} values in 900 samples): an ID or a group" in found["T10"]
        assert f"try --groups {name}," in found["T10"]
    groups = noise.assign(subject_id=owner)
    assert "T10" not in found_in(groups, kinds, groups="subject_id")
    few = noise.assign(ward_id=owner % 40)
    amounts = noise.assign(amount=rng.integers(0, 1000, 900))
    amounts["price"] = np.round(1000 * (kinds == "yes") + 500 * rng.normal(size=900))
    for plain in (
        few,
        amounts,
        noise.assign(text=[f"visit {i} of many" for i in owner]),
    ):
        assert "T10" not in found_in(plain, kinds)


def test_few_positives_in_order_are_found_and_in_no_order_are_not():
    (check,) = (check for check in TABLE_CHECKS if check.code == "T6")
    samples = pd.DataFrame({"a": np.random.default_rng(0).normal(size=1000)})

    def run(labels):
        return check.run(make_table(samples, labels), 10)

    rng = np.random.default_rng(1)
    for n_positive in (9, 30, 400):
        y = np.repeat(["yes", "no"], [n_positive, 1000 - n_positive])
        shuffled = [run(rng.permutation(y)).status for _ in range(60)]
        assert shuffled == ["passed"] * 60
        expected = n_positive * (1001 - n_positive) / 1000
        in_order = run(np.roll(y, 300)).sentence
        assert f"'yes' are in 1 blocks, {expected:.0f} expected" in in_order
    # Among 1000, nine in threes are no chance.
    y = np.full(1000, "no", dtype=object)
    y[[100, 101, 102, 400, 401, 402, 800, 801, 802]] = "yes"
    assert "the 9 samples of 'yes' are in 3 blocks, 9 expected" in run(y).sentence


def test_small_classes_similar_labels_and_lost_labels_are_found():
    rare = np.where(np.arange(N) % 17 == 0, "yes", "no")
    assert "1.2 of the 12 samples of 'yes'" in found_in(frame(), rare)["T7"]
    three = np.resize(["Yes", "yes ", "no"], N)
    assert "'Yes', 'yes '" in found_in(frame(), three)["T8"]
    lost = LABELS.astype(object)
    lost[3] = None
    assert "1 of 200 samples have no label" in found_in(frame(), lost)["T9"]


def outcome(counts, metric="f1", train=(), time=None, **settings):
    """Sentences on given confusion matrices: one for each fold of each method."""
    table = make_table(X, Y, time=time)
    folds = [
        Fold("data", method, k, 0.1, list(fold), train_counts=list(train))
        for method, rows in counts.items()
        for k, fold in enumerate(rows)
    ]
    found = Comparison([table], folds, list(counts), metric, settings=settings)
    findings = check_results(found, table)
    return {one.code: one.sentence for one in findings if one.status == "found"}


def test_a_leader_that_a_constant_beats_is_found():
    found = outcome({"bce": [[10, 10, 5, 5], [10, 10, 5, 5]]})
    assert "BCE has F1 0.400, and predicting always 1 has 0.500" in found["R1"]
    assert "R1" not in outcome({"bce": [[18, 2, 2, 8], [18, 2, 2, 8]]})


def test_a_leader_on_one_metric_only_is_found():
    # Near balance, one label for almost all samples has a good F1.
    greedy, fair = [[5, 45, 1, 49]] * 3, [[33, 17, 18, 32]] * 3
    found = outcome({"bce": greedy, "logistic": fair})
    assert "logistic is better on every other balanced metric (G-mean" in found["R2"]
    better = outcome({"bce": [[40, 10, 5, 45]] * 3, "logistic": fair})
    assert "R2" not in better


def test_perfect_constant_unstable_and_overfitted_results_are_found():
    assert (
        "no error on 60 held-out samples"
        in outcome({"bce": [[20, 0, 0, 10]] * 2})["R3"]
    )
    edge = outcome({"bce": [[0, 20, 0, 10], [18, 2, 1, 9]]})
    assert "In 1 of 2 folds BCE labels every sample 1" in edge["R4"]
    folds = [[20, 0, 1, 9], [20, 0, 8, 2], [20, 0, 2, 8]]
    varied = outcome({"bce": folds})["R5"]
    assert "range from 0.333 to 0.947" in varied
    assert "--repeats 5" in varied
    steady = [[18, 2, 4, 6]] * 3
    fitted = outcome({"bce": steady}, train=[20, 0, 0, 10])
    assert "F1 1.000 on its training samples and 0.667 on held-out" in fitted["R6"]
    assert outcome({"bce": steady}) == {}


def test_of_samples_in_time_checks_advise_no_repeats_and_no_groups():
    folds = [[20, 0, 1, 9], [20, 0, 8, 2], [20, 0, 2, 8]]
    in_time = outcome({"bce": folds}, time=np.arange(len(Y)))["R5"]
    assert "--repeats" not in in_time
    assert "the last folds, with the longest past" in in_time
    days = np.arange(N)
    twice = frame().iloc[np.arange(N) // 2].reset_index(drop=True)
    assert "--groups" in found_in(twice)["T5"]
    found = found_in(twice.assign(day=days), time="day")["T5"]
    assert "remove the duplicates; if they are different ones" in found


def test_the_method_that_is_recommended_is_checked_and_not_the_leader():
    # The simpler one is recommended of the two, and it is the leader that varies.
    steady = [[20, 0, 3, 7], [19, 1, 2, 8]] * 2
    varies = [[20, 0, 1, 9], [20, 0, 6, 4], [20, 0, 1, 9], [20, 0, 2, 8]]
    assert "R5" in outcome({"histgb": varies, "bce": [[10, 10, 5, 5]] * 4})
    assert "R5" not in outcome({"histgb": varies, "logistic": steady})


def test_training_counts_come_from_the_training_samples():
    found = compare(X, Y, methods=["histgb"], folds=2)
    for fold in found.folds:
        # With two folds of the same size, all training samples are predicted.
        train = np.setdiff1d(np.arange(len(Y)), fold.rows)
        model = make_model("histgb", "f1", 0, X).fit(X[train], Y[train])
        expected = confusion_matrix(Y[train], model.predict(X[train]))
        assert fold.train_counts == expected.ravel().tolist()


def test_findings_are_in_every_output(tmp_path):
    samples = pd.DataFrame(X, columns=list("abcde")).assign(row=np.arange(len(X)))
    with pytest.warns(UserWarning, match="looks like an ID"):
        found = compare(samples, Y, methods=FAST, folds=3)
    text, page = found.text(), found.report(tmp_path).read_text(encoding="utf-8")
    for output in (" ".join(text.split()), page, found._repr_html_()):
        assert "T2 (medium): " in output
        assert "--keep row" in output
    stored = json.loads((tmp_path / "summary.json").read_text())["data"][0]["checks"]
    assert [one["code"] for one in stored if one["code"] == "T2"] == ["T2"]
    assert len(stored) == len(TABLE_CHECKS) + len(RESULT_CHECKS)
    assert "checks passed" in page


def test_mixed_columns_are_checked_without_an_error():
    codes = found_in(mixed().drop(columns="left"), mixed()["left"])
    assert set(codes) <= {"T2", "T3", "T7"}
