"""Comparisons in other programs: skore and MLflow, where they are installed or not."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sk_anyloss.compare import compare
from sk_anyloss.compare.cli.main import main
from sk_anyloss.compare.folds.outer import make_splits
from tests.compare.samples import FAST, X, Y, mixed


@pytest.fixture(scope="module")
def found():
    return compare(X, Y, methods=[*FAST, "logistic"], folds=3)


class Recorder:
    """Stands in for a client of MLflow, and keeps what it is told."""

    def __init__(self, tracking_uri=None):
        self.uri, self.runs, self.files = tracking_uri, {}, []
        Recorder.last = self

    def get_experiment_by_name(self, name):
        return None

    def create_experiment(self, name):
        return f"id of {name}"

    def create_run(self, experiment, run_name, tags):
        run = str(len(self.runs))
        self.runs[run] = {"name": run_name, "tags": tags, "params": {}, "metrics": {}}
        return SimpleNamespace(info=SimpleNamespace(run_id=run))

    def log_param(self, run, key, value):
        self.runs[run]["params"][key] = value

    def log_metric(self, run, key, value):
        self.runs[run]["metrics"][key] = value

    def log_artifacts(self, run, folder):
        self.files = sorted(path.name for path in Path(folder).iterdir())

    def set_terminated(self, run):
        self.runs[run]["ended"] = True


def test_a_comparison_is_a_run_with_one_for_each_method(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(MlflowClient=Recorder))
    assert found.log_to_mlflow("churn", tracking_uri="here") == "0"
    client = Recorder.last
    parent, *children = client.runs.values()
    assert client.uri == "here"
    assert parent["tags"]["recommendation"] == found.advice()
    assert parent["params"]["folds"] == "3"
    method = found.recommendation().method
    assert parent["metrics"]["f1"] == pytest.approx(
        found.table.loc[method, "mean"], abs=1e-12
    )
    assert [run["params"]["method"] for run in children] == list(found.table.index)
    for run in children:
        row = found.table.loc[run["params"]["method"]]
        assert run["tags"]["mlflow.parentRunId"] == "0"
        for name in ("gmean", "roc_auc", "seconds", "failed"):
            assert run["metrics"][name] == pytest.approx(row[name], abs=1e-12)
    assert all(run["ended"] for run in client.runs.values())
    assert {"report.html", "summary.json", "results.parquet"} <= set(client.files)


def test_mlflow_itself_takes_the_runs(found, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "runs").as_uri()
    run = found.log_to_mlflow("churn", tracking_uri=uri)
    client = mlflow.MlflowClient(tracking_uri=uri)
    stored = client.get_run(run)
    assert stored.data.metrics["f1"] > 0.5
    assert stored.info.status == "FINISHED"
    experiment = stored.info.experiment_id
    assert len(client.search_runs([experiment])) == 4
    files = {file.path for file in client.list_artifacts(run)}
    assert {"report.html", "pictures"} <= files
    # A second comparison is a further run of the same experiment.
    again = found.log_to_mlflow("churn", tracking_uri=uri)
    assert client.get_run(again).info.experiment_id == experiment


def test_the_reports_of_skore_are_on_the_same_folds(found, monkeypatch):
    def keep(*args, **params):
        return args, params

    fake = SimpleNamespace(CrossValidationReport=keep, ComparisonReport=keep)
    monkeypatch.setitem(sys.modules, "skore", fake)
    ((reports,), _) = found.to_skore()
    (table,) = found.tables
    method = found.recommendation().method
    best = next(name for name in found.table.index if name != method)
    titles = [found.table.loc[name, "title"] for name in (method, best)]
    assert list(reports) == titles
    (estimator, frame, labels), params = reports[titles[0]]
    assert params["pos_label"] == table.positive
    splits = make_splits(table, 3)
    for given, own in zip(params["splitter"], splits, strict=True):
        np.testing.assert_array_equal(given[1], own[1])
    train, test = splits[0]
    predicted = estimator.fit(frame.iloc[train], labels[train]).predict(
        frame.iloc[test]
    )
    fold = next(f for f in found.folds if (f.method, f.fold) == (method, 0))
    M = found.confusion_matrix(method).to_numpy()
    assert M.sum() == len(Y)
    assert sum(predicted == table.positive) == fold.counts[1] + fold.counts[3]


def test_skore_itself_has_the_scores_of_the_comparison():
    pytest.importorskip("skore")
    frame = mixed().drop(columns=["left", "bought"])
    found = compare(frame, mixed()["left"], methods=["logistic", "histgb"], folds=3)
    report = found.to_skore(["logistic", "histgb"])
    means = report.metrics.recall(pos_label="yes")["mean"].iloc[0]
    for name, title in (("logistic", "logistic"), ("histgb", "HistGB")):
        assert means[title] == pytest.approx(found.table.loc[name, "recall"], abs=1e-9)


def test_skore_itself_has_the_area_of_a_label_that_is_first_in_the_alphabet():
    pytest.importorskip("skore")
    labels = np.where(Y == 1, "bad", "good")
    found = compare(X, labels, methods=["logistic"], folds=3)
    area = found.to_skore().metrics.roc_auc()
    expected = found.table.loc["logistic", "roc_auc"]
    assert area.to_numpy().ravel()[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("module", "call"), [("skore", "to_skore"), ("mlflow", "log_to_mlflow")]
)
def test_what_is_not_installed_is_named_with_its_package(
    found, monkeypatch, module, call
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"pip install {module}"):
        getattr(found, call)()


def test_skore_is_refused_what_it_does_not_pass_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "skore", SimpleNamespace())
    weighted = compare(X, Y, methods=["logistic"], folds=2, weight=np.ones(len(Y)))
    with pytest.raises(ValueError, match="skore passes no weight to the tuning"):
        weighted.to_skore()


def test_the_command_logs_to_mlflow(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(MlflowClient=Recorder))
    words = ["compare", "--methods", "logistic", "--folds", "2", "--jobs", "1"]
    words += ["--quiet", "--no-explain", "--output", str(tmp_path), "--mlflow", "mine"]
    assert main(words) == 0
    assert "MLflow: experiment mine, run 0" in capsys.readouterr().out

    def fail(self, name):
        raise RuntimeError("the store is closed")

    monkeypatch.setattr(Recorder, "get_experiment_by_name", fail)
    assert main([*words, "--output", str(tmp_path / "more")]) == 2
    error = capsys.readouterr().err
    assert "MLflow cannot open the experiment 'mine': the store is closed" in error
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert main([*words, "--output", str(tmp_path / "more")]) == 2
    assert "pip install mlflow-skinny" in capsys.readouterr().err
    assert not (tmp_path / "more").exists()
