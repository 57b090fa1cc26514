"""The comparison: tables, methods, folds that are kept, verdicts."""

import warnings
from concurrent.futures import CancelledError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.metrics import f1_score
from sklearn.utils import Bunch

from sk_anyloss.compare import (
    TableError,
    built_in,
    compare,
    compare_tables,
    default_methods,
    get_method,
    make_table,
    method_names,
    read_table,
    register_method,
)
from sk_anyloss.compare.comparison import Comparison
from sk_anyloss.compare.folds.outer import splits
from sk_anyloss.compare.methods import unregister_method
from sk_anyloss.compare.run import run as module
from sk_anyloss.compare.run.run import make_model
from sk_anyloss.compare.run.store import Fold, Store
from sk_anyloss.compare.verdict import Verdict, judge, judge_many

X, Y = make_classification(120, 5, weights=[0.7], flip_y=0.1, random_state=0)
FAST = ["anyloss", "logistic_balanced"]


def mixed(n=120):
    """A table of words, dates, numbers and gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "bought": pd.date_range("2024-01-01", periods=n).astype(str),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        }
    )
    frame.loc[3, "colour"] = None
    frame["left"] = np.where(frame["size"] + rng.normal(size=n) > 1, "yes", "no")
    return frame


# Tables.


def test_a_csv_file_of_mixed_columns(tmp_path):
    path = tmp_path / "shop.csv"
    mixed().to_csv(path, index=False)
    table = read_table(path, "left")
    assert (table.name, table.positive, table.negative) == ("shop", "yes", "no")
    assert table.y.sum() == (mixed()["left"] == "yes").sum()
    found = compare_tables([table], methods=FAST, folds=2)
    assert found.failures() == []
    assert found.table["mean"].notna().all()


def test_parquet_and_npz_hold_the_same(tmp_path):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(5)]).assign(y=Y)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    tables = [read_table(tmp_path / f"a.{kind}", "y") for kind in ("parquet", "csv")]
    tables.append(read_table(tmp_path / "a.npz"))
    assert len({table.fingerprint() for table in tables}) == 1
    np.testing.assert_array_equal(tables[2].y, Y)


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_what_stands_between_the_columns_is_found(tmp_path, sep):
    mixed().to_csv(tmp_path / "a.csv", index=False, sep=sep)
    table = read_table(tmp_path / "a.csv", "left")
    assert list(table.X.columns) == ["size", "colour", "bought", "gaps"]


def test_another_table_has_another_fingerprint():
    table = make_table(X, Y)
    other = X.copy()
    other[5, 2] += 1e-9
    assert make_table(X, Y).fingerprint() == table.fingerprint()
    assert make_table(other, Y).fingerprint() != table.fingerprint()
    assert make_table(X, 1 - Y, positive=1).fingerprint() != table.fingerprint()
    assert make_table(X, Y, groups=Y).fingerprint() != table.fingerprint()


def test_columns_that_say_nothing_are_left_out_and_told_of():
    frame = mixed().assign(same="a", empty=np.nan)
    table = make_table(frame.drop(columns="left"), frame["left"])
    assert list(table.X.columns) == ["size", "colour", "bought", "gaps"]
    assert "one value only: 'same'" in " ".join(table.notes)
    assert "no value at all: 'empty'" in " ".join(table.notes)


def test_rows_without_a_label_are_left_out_and_told_of():
    labels = mixed()["left"].where(np.arange(120) > 4)
    X = mixed().drop(columns="left")
    with pytest.raises(TableError, match=r"5 of 120 labels \(4.2 %\) are missing"):
        make_table(X, labels)
    table = make_table(X, labels, allow_missing_labels=True)
    assert len(table.X) == len(table.y) == 115
    assert "5 rows that have no label" in table.notes[0]


def test_an_id_is_warned_of():
    frame = mixed().assign(number=np.arange(120)).drop(columns=["left", "bought"])
    with pytest.warns(UserWarning, match="'number' has another value in almost every"):
        make_table(frame, mixed()["left"])


def bad_csv(text):
    def write(folder):
        path = folder / "a.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


ROWS = "a,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(20))


@pytest.mark.parametrize(
    ("make", "params", "message"),
    [
        (lambda folder: folder / "none.csv", {}, "There is no file .*none.csv"),
        (bad_csv(ROWS), {}, "Say which column to predict with --target.*'a', 'y'"),
        (bad_csv(ROWS), {"target": "z"}, "There is no column 'z' .*'a', 'y'"),
        (bad_csv(ROWS), {"target": "y", "positive": "9"}, "'9' is not in the target"),
        (bad_csv(ROWS), {"target": "y", "groups": "g"}, "no column 'g' to group by"),
        (bad_csv("a,y\n1,1\n2,1\n"), {"target": "y"}, "one class only, 1"),
        (bad_csv("a,a,y\n1,1,1\n2,1,0\n"), {"target": "y"}, "come twice: 'a'"),
        (bad_csv("a,y\n1,1\n1,0\n"), {"target": "y"}, "no column left"),
        (bad_csv(""), {"target": "y"}, "cannot be read: No columns"),
        (
            bad_csv("a,y\n" + "".join(f"{i % 3},c{i % 50}\n" for i in range(100))),
            {"target": "y"},
            "has 50 classes.*and 42 more; name the one to find with --positive",
        ),
        (
            bad_csv("a,y\n" + "".join(f"{i % 3},{i / 7}\n" for i in range(100))),
            {"target": "y"},
            "continuous: 100 different numbers from 0 to 14.14",
        ),
        (lambda folder: folder, {"target": "y"}, "There is no file"),
    ],
)
def test_bad_tables(tmp_path, make, params, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(make(tmp_path), **params)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_kind(tmp_path):
    (tmp_path / "a.xlsx").write_text("no", encoding="utf-8")
    with pytest.raises(TableError, match=r"ends in '.xlsx'; .csv, .parquet and .npz"):
        read_table(tmp_path / "a.xlsx", "y")
    np.savez(tmp_path / "a.npz", Z=X)
    with pytest.raises(TableError, match="must hold X and y; it holds 'Z'"):
        read_table(tmp_path / "a.npz")


def test_a_file_too_large_for_the_memory_is_not_begun(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(ROWS, encoding="utf-8")
    monkeypatch.setattr("sk_anyloss.compare.tables.files.LARGE_FILE", 10)
    monkeypatch.setattr("os.sysconf", lambda name: 1)
    with pytest.raises(TableError, match=r"of memory, and 0.0 GB are free"):
        read_table(path, "y")


def test_one_of_many_classes_against_the_others():
    labels = np.array(["a", "b", "c"] * 40)
    table = make_table(X, labels, positive="b")
    assert table.y.sum() == 40
    assert table.negative == "others"


def test_more_folds_than_positives():
    table = make_table(X, (np.arange(120) < 7).astype(int))
    with pytest.raises(TableError, match=r"10 folds need .* has 7 .* --folds 7"):
        splits(table, 10)


def test_groups_are_never_split():
    groups = np.repeat(np.arange(30), 4)
    table = make_table(X, Y, groups=groups)
    for train, test in splits(table, 3, repeats=2):
        assert not set(groups[train]) & set(groups[test])


# Methods.


@pytest.mark.parametrize("method", method_names())
def test_every_method_learns(method):
    # Easy, so that also methods that clean up their samples keep both classes.
    X, y = make_classification(
        150, 4, weights=[0.8], class_sep=2, flip_y=0, n_clusters_per_class=1,
        random_state=0,
    )  # fmt: skip
    model = make_model(method, "f1", 0, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decided = model.fit(X, y).predict(X)
    assert f1_score(y, decided) > 0.5
    assert get_method(method).title


def test_the_default_selection_is_known():
    assert set(default_methods()) < set(method_names())
    assert "anyloss_cv" in default_methods()


def test_a_method_is_added_in_a_line():
    register_method("always", lambda metric, seed: DummyClassifier(), "always no")
    try:
        found = compare(X, Y, methods=["always", "logistic"], folds=2)
    finally:
        unregister_method("always")
    assert found.scores()["always"].eq(0).all()


def test_an_unknown_method_and_other_bad_options():
    with pytest.raises(ValueError, match=r"Unknown method 'histgbb'. Did you mean"):
        compare(X, Y, methods=["histgbb"])
    with pytest.raises(ValueError, match="no method to compare"):
        compare(X, Y, methods=[])
    with pytest.raises(ValueError, match=r"roc_auc.*is about all thresholds"):
        compare(X, Y, "roc_auc")
    with pytest.raises(ValueError, match=r"folds must be .* at least 2, got 1"):
        compare(X, Y, folds=1)
    with pytest.raises(ValueError, match="same name"):
        compare_tables([built_in(), built_in()])


# Folds that are kept.


@pytest.fixture(scope="module")
def found():
    return compare(X, Y, methods=FAST, folds=3)


def same(one, other):
    for a, b in zip(one.folds, other.folds, strict=True):
        assert (a.data, a.method, a.fold, a.counts) == (
            b.data, b.method, b.fold, b.counts,
        )  # fmt: skip
        np.testing.assert_array_equal(a.rows, b.rows)
        np.testing.assert_array_equal(a.scores, b.scores)
    return True


def test_what_is_finished_is_not_done_again(found, tmp_path, monkeypatch):
    first = compare(X, Y, methods=FAST[:1], folds=3, output=tmp_path)
    assert len(list((tmp_path / "folds").iterdir())) == 3
    done = []
    keep = Store.keep
    monkeypatch.setattr(
        Store, "keep", lambda s, fold: done.append(fold) or keep(s, fold)
    )
    both = compare(X, Y, methods=FAST, folds=3, output=tmp_path)
    assert [fold.method for fold in done] == [FAST[1]] * 3
    assert same(both, found)
    assert len(first.folds) == 3


def test_two_processes_find_the_same(found):
    assert same(compare(X, Y, methods=FAST, folds=3, n_jobs=2), found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folds": 4}, r"other settings \(folds: 3 there, 4 now\)"),
        ({"seed": 1}, "seed: 0 there, 1 now"),
        ({"metric": "mcc"}, "metric: 'f1' there, 'mcc' now"),
        ({"y": 1 - Y, "positive": 1}, "data"),
    ],
)
def test_results_of_other_settings_are_never_mixed(tmp_path, change, message):
    call = {"X": X, "y": Y, "methods": FAST[1:], "folds": 3, "output": tmp_path}
    compare(**call)
    before = sorted((tmp_path / "folds").iterdir())
    with pytest.raises(ValueError, match=message):
        compare(**{**call, **change})
    assert sorted((tmp_path / "folds").iterdir()) == before


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be written to: Not a directory"):
        compare(X, Y, methods=FAST, output=tmp_path / "file" / "folder")


class Fails(DummyClassifier):
    def fit(self, X, y):
        raise RuntimeError("no such luck\nand more of it")


def test_a_method_that_fails_is_told_of_and_the_rest_goes_on(tmp_path):
    register_method("fails", lambda metric, seed: Fails())
    try:
        found = compare(X, Y, methods=["fails", *FAST], folds=3, output=tmp_path)
        assert found.failures() == [
            "fails failed on 3 folds of data: RuntimeError: no such luck"
        ]
        assert found.table.loc["fails", "failed"] == 3
        assert found.table["mean"].isna().sum() == 1
        assert found.winner in FAST
        assert "no such luck" in found.report(tmp_path).read_text(encoding="utf-8")
        assert len(found.verdicts()) == 1
    finally:
        unregister_method("fails")


def test_when_the_time_is_over_nothing_more_is_begun(found, tmp_path):
    part = compare(X, Y, methods=FAST, folds=3, output=tmp_path, time_limit=1e-9)
    assert len(part.folds) < 6
    assert same(compare(X, Y, methods=FAST, folds=3, output=tmp_path), found)


# What it says.


def by_hand(scores, **settings):
    """A comparison whose confusion matrices have given counts of ten positives."""
    table = make_table(X, Y)
    folds = [
        Fold("data", method, k, 0.1, [10, 0, 10 - tp, tp])
        for method, hits in scores.items()
        for k, tp in enumerate(hits)
    ]
    return Comparison([table], folds, list(scores), "recall", settings=settings)


def test_the_table_is_the_mean_of_the_folds():
    found = by_hand({"anyloss": [9, 8, 7], "bce": [5, 9, 4], "logistic": [1, 1, 1]})
    table = found.table
    assert list(table.index) == ["anyloss", "bce", "logistic"]
    np.testing.assert_allclose(table["mean"], [0.8, 0.6, 0.1])
    spreads = [np.std([0.9, 0.8, 0.7]), np.std([0.5, 0.9, 0.4]), 0]
    np.testing.assert_allclose(table["std"], spreads, atol=1e-12)
    np.testing.assert_allclose(table["rank"], [4 / 3, 5 / 3, 3])
    assert table.loc["bce", ["tn", "fp", "fn", "tp"]].tolist() == [30, 0, 12, 18]
    assert found.winner == "anyloss"
    assert len(found.results) == 3 * 3 * len(found.metrics)


def test_the_verdict_names_the_strongest_other_one_and_says_when_it_loses():
    scores = {"anyloss": [9, 8, 9, 8], "bce": [5, 5, 4, 5], "logistic": [1, 2, 1, 1]}
    assert by_hand(scores).verdict() == (
        "AnyLoss beats BCE on recall with probability 0.99 (mean +0.375)."
    )
    swapped = {"anyloss": scores["bce"], "bce": scores["anyloss"]}
    assert by_hand(swapped).verdict() == (
        "AnyLoss loses to BCE on recall with probability 0.99 (mean -0.375)."
    )
    equal = {"anyloss": [5, 5, 5, 5], "bce": [5, 5, 5, 5]}
    assert "are alike on recall, within 0.01, with probability 1.00" in (
        by_hand(equal).verdict()
    )
    assert "too few finished folds" in by_hand({"anyloss": [5], "bce": [4]}).verdict()


def test_a_verdict_that_is_open():
    text = str(Verdict("A", "B", "F1", 0.4, 0.3, 0.3, 0.01, 0.01))
    assert "too few folds to say (better 0.40, alike 0.30, worse 0.30)" in text


scores = st.lists(st.integers(0, 20), min_size=3, max_size=12)


@given(scores, st.randoms(use_true_random=False))
def test_a_verdict_the_other_way_round_is_the_same(ours, random):
    one = np.array(ours) / 20
    other = np.array([random.randint(0, 20) for _ in ours]) / 20
    better, alike, worse = judge(one, other)
    assert min(better, alike, worse) >= 0
    assert better + alike + worse == pytest.approx(1)
    assert judge(other, one) == pytest.approx((worse, alike, better))
    if (one - other).min() > 0.05:
        assert better > 0.5
    without = judge(one, other, rope=0)
    assert sum(without) == pytest.approx(1)
    assert (without[1] == 0) == bool((one != other).any())


def test_folds_that_look_forward_are_judged_more_carefully():
    one, other = np.array([0.6, 0.7, 0.65, 0.72]), np.array([0.58, 0.6, 0.63, 0.6])
    usual, forward = judge(one, other), judge(one, other, forward=True)
    assert 0.5 < forward[0] < usual[0]
    assert sum(forward) == pytest.approx(1)


def test_several_data_sets_are_judged_together():
    tables = [make_table(X + i, Y, name=f"set {i}") for i in range(3)]
    found = compare_tables(tables, methods=FAST, folds=2)
    assert set(found.results["data"]) == {"set 0", "set 1", "set 2"}
    means = found.scores().groupby(level="data").mean()
    expected = judge_many(means["anyloss"], means["logistic_balanced"])
    (verdict,) = found.verdicts().values()
    assert (verdict.better, verdict.alike, verdict.worse) == expected
    assert "All 3 data sets" in found.text()


def test_a_report_on_several_data_sets(tmp_path):
    tables = [make_table(X + i, Y, name=f"set {i}") for i in range(2)]
    found = compare_tables(tables, methods=FAST, folds=2, output=tmp_path)
    page = found.report(tmp_path).read_text(encoding="utf-8")
    assert page.count("<picture>") == 8
    assert page.count("<table") == 3
    assert len(list((tmp_path / "pictures").glob("set_1-*.scores.png"))) == 1
    assert found._repr_html_().count("<table") == 2


def test_openml_by_name_and_by_number(monkeypatch):
    asked = []

    def fetch(**what):
        asked.append(what)
        if what.get("name") == "none":
            raise ValueError("No known data set.\nMore.")
        frame = mixed()
        return Bunch(
            data=frame.drop(columns="left"), target=frame["left"],
            details={"name": "shop"},
        )  # fmt: skip

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    assert read_table("openml:shop").name == "shop"
    assert read_table("openml:40", target="left", positive="no").positive == "no"
    assert asked == [
        {"name": "shop", "as_frame": True},
        {"data_id": 40, "target_column": "left", "as_frame": True},
    ]
    with pytest.raises(TableError, match="OpenML did not give 'none': No known data"):
        read_table("openml:none")


def test_shown_in_a_terminal_and_in_a_notebook(found):
    text = repr(found)
    assert "AnyLoss " in text
    assert found.verdict() in text
    assert "G-mean" in text
    html = found._repr_html_()
    assert html.count("<tr") == 3
    assert "AnyLoss" in html
    assert len(found.plot("data").axes) == 1


def test_what_is_lost_with_a_worker_is_asked_for_again(monkeypatch):
    calls = []

    class Losing:
        """Does what it is asked for, one by one, but twice is gone after the first."""

        def __init__(self, **_):
            calls.append([])

        def __call__(self, jobs):
            for work, args, kwargs in jobs:
                calls[-1].append(args[3:6:2])
                yield work(*args, **kwargs)
                if len(calls) < 3:
                    raise CancelledError

    monkeypatch.setattr(module, "Parallel", Losing)
    found = compare(*make_classification(80, 4, random_state=0), methods=FAST, folds=2)
    assert [len(asked) for asked in calls] == [1, 1, 2 * len(FAST) - 2]
    assert found.results["failed"].eq("").all()
    monkeypatch.setattr(module, "DASK_ATTEMPTS", 1)
    calls.clear()
    with pytest.raises(CancelledError):
        compare(*make_classification(80, 4, random_state=0), methods=FAST, folds=2)
