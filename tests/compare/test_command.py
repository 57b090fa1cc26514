"""The command line: its output, its files, its exit codes, and resumed runs."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from sk_anyloss.compare.cli.main import main
from sk_anyloss.compare.methods.registry import method_names
from sk_anyloss.compare.run.store import Store
from sk_anyloss.metrics import metric_names
from tests.compare.samples import mixed
from tests.processes import local_cluster

FAST = "anyloss,logistic_balanced,histgb"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    mixed().to_csv(path, index=False)
    return path


def command(shop, output, *more):
    words = ["compare", shop, "--target", "left", "--methods", FAST, "--folds", 3]
    return [str(word) for word in [*words, "--output", output, "--jobs", 1, *more]]


@pytest.fixture(scope="module")
def results(shop, tmp_path_factory):
    """The output folder of a finished run."""
    output = tmp_path_factory.mktemp("results")
    assert main(command(shop, output, "--quiet", "--save", "model")) == 0
    return output


def test_compare_prints_the_ranking_and_the_verdict(shop, tmp_path, capsys):
    assert main(command(shop, tmp_path, "--no-explain")) == 0
    printed, bar = capsys.readouterr()
    assert "shop: 120 samples, 4 columns" in printed
    assert "The rarer label, 'yes', is taken as the positive class." in printed
    assert re.search(r"AnyLoss .* on F1", printed)
    assert "9/9" in bar
    assert f"Report: {tmp_path / 'report.html'}" in printed


def test_compare_writes_results_and_figures(results):
    table = pd.read_csv(results / "results.csv", keep_default_na=False)
    assert len(table) == 3 * 3 * 8
    assert set(table["method"]) == set(FAST.split(","))
    pd.testing.assert_frame_equal(
        table, pd.read_parquet(results / "results.parquet"), check_dtype=False
    )
    for name in ("scores", "precision_recall", "roc", "confusion", "importance"):
        for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
            figure = (results / "pictures" / f"{name}.{kind}").read_bytes()
            assert figure.startswith(start)
            assert len(figure) > 5_000


def test_the_report_is_self_contained(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert not re.findall(r"(?:src|href|srcset)=\"(?!data:|#)", page)
    assert "url(" not in page
    assert page.count("<picture>") == 8
    assert "scikit-learn" in page


def test_predict_labels_new_samples(shop, results, tmp_path, capsys):
    new = tmp_path / "new.csv"
    samples = mixed().drop(columns="left").assign(other="not used")
    samples[sorted(samples.columns)].to_csv(new, index=False)
    output = tmp_path / "labelled.csv"
    words = ["predict", str(results / "model"), str(new), "--output", str(output)]
    assert main(words) == 0
    found = pd.read_csv(output)
    assert len(found) == 120
    assert set(found["label"]) == {"yes", "no"}
    assert (found["label"] == mixed()["left"]).mean() > 0.7
    assert found["score"].between(0, 1).all()
    assert "Model card" in (results / "model.md").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(words[:3]) == 0
    assert capsys.readouterr().out.startswith("label,score,threshold\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns=["gaps", "size"]), "lack .*: size, gaps"),
        (
            lambda frame: frame.assign(size="much"),
            "'size' held numbers .* now holds 'much'",
        ),
    ],
)
def test_predict_refuses_samples_with_other_columns(
    results, tmp_path, change, message, capsys
):
    new = tmp_path / "new.csv"
    change(mixed().drop(columns="left")).to_csv(new, index=False)
    assert main(["predict", str(results / "model"), str(new)]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_predict_refuses_files_that_are_not_models_or_data(results, tmp_path, capsys):
    new = tmp_path / "new.csv"
    mixed().to_csv(new, index=False)
    assert main(["predict", str(tmp_path / "none"), str(new)]) == 2
    assert "There is no model" in capsys.readouterr().err
    assert main(["predict", str(new), str(new)]) == 2
    assert "is not a stored model" in capsys.readouterr().err
    assert main(["predict", str(results / "model"), str(tmp_path / "no.csv")]) == 2
    assert "There is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--folds", "99"], "99 folds need at least 99 samples of each class"),
        (["--metric", "f-one"], "Unknown metric 'f-one'"),
        (["--methods", "none"], "Unknown method 'none'"),
        (["--also", "f1,nothing"], "Unknown metric 'nothing'"),
        (["--positive", "maybe"], "'maybe' is not in the target"),
    ],
)
def test_invalid_options_end_with_one_sentence(shop, tmp_path, capsys, more, message):
    output = tmp_path / "output"
    assert main(command(shop, output, "--quiet", *more)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (output / "report.html").exists()


def test_an_unreachable_dask_scheduler_is_reported(shop, tmp_path, capsys, monkeypatch):
    distributed = pytest.importorskip("distributed")
    client = distributed.Client

    def impatient(address, timeout):
        return client(address, timeout=0.5)

    monkeypatch.setattr(distributed, "Client", impatient)
    where = "tcp://127.0.0.1:9"
    assert main(command(shop, tmp_path, "--quiet", "--dask", where)) == 2
    assert f"no Dask scheduler at {where!r}" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_a_model_fitted_on_an_array_predicts_a_csv_file(tmp_path):
    X, y = make_classification(200, 6, weights=[0.8], random_state=0)
    np.savez(tmp_path / "samples.npz", X=X, y=y)
    pd.DataFrame(X, columns=[f"x{i}" for i in range(6)]).to_csv(tmp_path / "new.csv")
    words = ["compare", str(tmp_path / "samples.npz"), "--methods", "anyloss,soft_f1"]
    words += ["--folds", "2", "--output", str(tmp_path), "--quiet", "--save", "m"]
    assert main([*words, "--jobs", "1"]) == 0
    out = tmp_path / "out.csv"
    words = ["predict", str(tmp_path / "m.skops"), str(tmp_path / "new.csv")]
    assert main([*words, "--output", str(out)]) == 0
    assert (pd.read_csv(out)["label"] == y).mean() > 0.8


def test_save_takes_one_data_set(shop, tmp_path, capsys):
    words = command(shop, tmp_path, "--save", "model")
    assert main([*words[:2], str(shop), *words[2:]]) == 2
    assert "--save takes one data set" in capsys.readouterr().err


def test_a_time_limit_holds_for_the_explanation_too(shop, tmp_path, capsys):
    words = ["compare", str(shop), "--target", "left", "--methods", "logistic,bce"]
    words += ["--folds", "3", "--output", str(tmp_path), "--jobs", "1", "--quiet"]
    assert main([*words, "--time-limit", "0"]) == 2
    assert "over before the first fit was started" in capsys.readouterr().err
    assert main([*words, "--no-explain"]) == 0
    capsys.readouterr()
    # All folds are finished, and there is no time for more.
    assert main([*words, "--time-limit", "0", "--save", "model"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    sentence = "Importances and learning curve are left out, since --time-limit is over"
    assert sentence in printed
    assert "on all 120 samples beyond --time-limit ..." in printed
    assert (tmp_path / "model.skops").exists()
    assert sentence in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert main([*words, "--time-limit", "1000"]) == 0
    printed = capsys.readouterr().out
    assert "relies most on" in printed
    assert "left out" not in printed


def test_help_and_list_are_printed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--help"])
    assert ended.value.code == 0
    assert "The same command resumes" in capsys.readouterr().out
    assert main(["compare", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in method_names() + metric_names())


def test_an_interrupted_run_exits_with_130(shop, tmp_path, capsys, monkeypatch):
    def interrupt(store, fold):
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "save", interrupt)
    assert main(command(shop, tmp_path, "--quiet")) == 130
    assert "the same command resumes" in capsys.readouterr().err


def test_a_killed_run_resumes_with_the_same_results(shop, results, tmp_path):
    words = [sys.executable, "-m", "sk_anyloss", *command(shop, tmp_path, "--quiet")]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    folds = tmp_path / "folds"
    end = time.monotonic() + 120
    while len(list(folds.glob("*.npz")) if folds.exists() else []) < 3:
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path.name: path.stat().st_mtime_ns for path in folds.glob("*.npz")}
    assert 3 <= len(before) < 9
    assert not (tmp_path / "report.html").exists()
    assert main(command(shop, tmp_path, "--quiet")) == 0
    after = {path.name: path.stat().st_mtime_ns for path in folds.glob("*.npz")}
    assert all(after[name] == before[name] for name in before)
    one, other = (
        pd.read_csv(folder / "results.csv").drop(columns="seconds")
        for folder in (tmp_path, results)
    )
    pd.testing.assert_frame_equal(one, other)


def test_a_dask_cluster_that_loses_a_worker_has_the_same_results(tmp_path):
    pytest.importorskip("distributed")
    X, y = make_classification(300, 6, weights=[0.8], flip_y=0.1, random_state=0)
    path = tmp_path / "samples.npz"
    np.savez(path, X=X, y=y)
    words = [
        "compare",
        str(path),
        "--methods",
        FAST,
        "--folds",
        "3",
        "--quiet",
        "--no-explain",
    ]
    assert main([*words, "--jobs", "1", "--output", str(tmp_path / "here")]) == 0
    save, killed = Store.save, []
    with local_cluster() as cluster:

        def save_and_kill(store, fold):
            save(store, fold)
            if not killed:
                worker = next(iter(cluster.workers.values()))
                killed.append(worker.pid)
                os.kill(worker.pid, signal.SIGKILL)

        Store.save = save_and_kill
        try:
            address = cluster.scheduler_address
            there = str(tmp_path / "there")
            assert main([*words, "--dask", address, "--output", there]) == 0
        finally:
            Store.save = save
    assert killed
    for one in (tmp_path / "here" / "folds").iterdir():
        a, b = np.load(one), np.load(tmp_path / "there" / "folds" / one.name)
        for name in ("rows", "scores"):
            np.testing.assert_array_equal(a[name], b[name])


def test_each_finding_is_printed_once(tmp_path, capsys):
    frame = mixed().drop(columns=["bought", "gaps"])
    frame["copy"] = (frame["left"] == "yes").astype(float) + frame["size"] / 1e3
    frame.to_csv(tmp_path / "shop.csv", index=False)
    words = ["compare", str(tmp_path / "shop.csv"), "--target", "left", "--folds", "2"]
    words += ["--methods", "logistic,histgb", "--jobs", "1", "--no-explain", "--quiet"]
    assert main([*words, "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    codes = re.findall(r"^  ([TR]\d+) \(", printed, re.MULTILINE)
    assert "T1" in codes
    assert "R3" in codes
    assert len(set(codes)) == len(codes)
