"""Runs: folds, stored folds, failures, processes and lost workers."""

from concurrent.futures import CancelledError

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier

from sk_anyloss.compare import (
    TableError,
    compare,
    make_table,
    register_method,
    unregister_method,
)
from sk_anyloss.compare.folds.outer import make_splits
from sk_anyloss.compare.run import execution
from sk_anyloss.compare.run.store import Store
from tests.compare.samples import FAST, X, Y


def test_more_folds_than_positives_are_refused():
    table = make_table(X, (np.arange(120) < 7).astype(int))
    with pytest.raises(TableError, match=r"10 folds need .* has 7 .* --folds 7"):
        make_splits(table, 10)


def test_groups_are_not_split_between_folds():
    groups = np.repeat(np.arange(30), 4)
    table = make_table(X, Y, groups=groups)
    for train, test in make_splits(table, 3, repeats=2):
        assert not set(groups[train]) & set(groups[test])


@pytest.fixture(scope="module")
def found():
    return compare(X, Y, methods=FAST, folds=3)


def have_same_folds(one, other):
    for a, b in zip(one.folds, other.folds, strict=True):
        assert (a.data, a.method, a.fold, a.counts) == (
            b.data, b.method, b.fold, b.counts,
        )  # fmt: skip
        np.testing.assert_array_equal(a.rows, b.rows)
        np.testing.assert_array_equal(a.scores, b.scores)
    return True


def test_stored_folds_are_not_computed_again(found, tmp_path, monkeypatch):
    first = compare(X, Y, methods=FAST[:1], folds=3, output=tmp_path)
    assert len(list((tmp_path / "folds").iterdir())) == 3
    done = []
    save = Store.save
    monkeypatch.setattr(
        Store, "save", lambda s, fold: done.append(fold) or save(s, fold)
    )
    both = compare(X, Y, methods=FAST, folds=3, output=tmp_path)
    assert [fold.method for fold in done] == [FAST[1]] * 3
    assert have_same_folds(both, found)
    assert len(first.folds) == 3


def test_two_processes_have_the_same_results(found):
    assert have_same_folds(compare(X, Y, methods=FAST, folds=3, n_jobs=2), found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"folds": 4}, r"other settings \(folds: 3 there, 4 now\)"),
        ({"seed": 1}, "seed: 0 there, 1 now"),
        ({"metric": "mcc"}, "metric: 'f1' there, 'mcc' now"),
        ({"y": 1 - Y, "positive": 1}, "data"),
    ],
)
def test_results_of_other_settings_are_not_mixed(tmp_path, change, message):
    call = {"X": X, "y": Y, "methods": FAST[1:], "folds": 3, "output": tmp_path}
    compare(**call)
    before = sorted((tmp_path / "folds").iterdir())
    with pytest.raises(ValueError, match=message):
        compare(**{**call, **change})
    assert sorted((tmp_path / "folds").iterdir()) == before


def test_an_output_folder_that_is_not_writable_is_refused(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be written to: Not a directory"):
        compare(X, Y, methods=FAST, output=tmp_path / "file" / "folder")


class Fails(DummyClassifier):
    def fit(self, X, y):
        raise RuntimeError("out of luck\nand more of it")


def test_failures_are_recorded_and_other_methods_continue(tmp_path):
    register_method("fails", lambda metric, seed: Fails())
    try:
        found = compare(X, Y, methods=["fails", *FAST], folds=3, output=tmp_path)
        assert found.failures() == [
            "fails failed on 3 folds of data: RuntimeError: out of luck"
        ]
        assert found.table.loc["fails", "failed"] == 3
        assert found.table["mean"].isna().sum() == 1
        assert found.winner in FAST
        assert "out of luck" in found.report(tmp_path).read_text(encoding="utf-8")
        assert len(found.verdicts()) == 1
    finally:
        unregister_method("fails")


def test_no_fit_is_started_after_the_time_limit(found, tmp_path):
    part = compare(X, Y, methods=FAST, folds=3, output=tmp_path, time_limit=1e-9)
    assert len(part.folds) < 6
    assert have_same_folds(compare(X, Y, methods=FAST, folds=3, output=tmp_path), found)


def test_fits_of_a_lost_worker_are_submitted_again(monkeypatch):
    calls = []

    class Losing:
        """Runs jobs one by one; the first two instances fail after one job."""

        def __init__(self, **_):
            calls.append([])

        def __call__(self, jobs):
            for work, args, kwargs in jobs:
                calls[-1].append(args[3:6:2])
                yield work(*args, **kwargs)
                if len(calls) < 3:
                    raise CancelledError

    monkeypatch.setattr(execution, "Parallel", Losing)
    found = compare(*make_classification(80, 4, random_state=0), methods=FAST, folds=2)
    assert [len(jobs) for jobs in calls] == [1, 1, 2 * len(FAST) - 2]
    assert found.results["failed"].eq("").all()
    monkeypatch.setattr(execution, "DASK_ATTEMPTS", 1)
    calls.clear()
    with pytest.raises(
        TableError, match="lost workers 1 times; finished fits are kept"
    ):
        compare(*make_classification(80, 4, random_state=0), methods=FAST, folds=2)
