"""Stored models as ONNX, in onnxruntime."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.compare import (
    TableError,
    compare_tables,
    load_model,
    make_table,
    register_method,
    unregister_method,
)
from sk_anyloss.compare.cli.main import main
from sk_anyloss.compare.model_file.loading import predict
from sk_anyloss.compare.model_file.parts import strip_training_parts
from sk_anyloss.compare.run.models import fit_method
from sk_anyloss.metrics import CostMatrix
from sk_anyloss.plain import replace_parts, to_plain
from tests.compare.samples import X, Y, mixed

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")

from sk_anyloss.compare.onnx_file.export import to_onnx, verify_onnx  # noqa: E402

COLUMNS = [f"x{i}" for i in range(X.shape[1])]
#: ONNX takes single precision.
SINGLE = X.astype(np.float32).astype(float)
SINGLE[::7, 2] = np.nan
CLASSES = np.digitize(X[:, 0] + X[:, 1], [-0.5, 1])
ORDERED = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5, 1])


def run(model, inputs):
    content = model if isinstance(model, str) else model.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], inputs)


def convert(method, y, metric="f1"):
    """A fitted model, and the same as ONNX."""
    table = make_table(SINGLE, y)
    fitted = to_plain(fit_method(table, method, metric))
    model = replace_parts(fitted, strip_training_parts)
    labels = [str(label) for label in table.classes]
    return model, np.array(labels), to_onnx(model, COLUMNS, labels)


@pytest.mark.parametrize(
    "method",
    ["anyloss", "bce_smote", "logistic_threshold", "histgb", "balanced_forest"],
)
def test_labels_and_scores_are_those_of_the_model(method):
    model, names, converted = convert(method, np.where(Y, "yes", "no"))
    labels, scores = run(converted, {"X": SINGLE.astype(np.float32)})
    np.testing.assert_allclose(scores, model.predict_proba(SINGLE), atol=1e-5)
    assert labels.tolist() == names[model.predict(SINGLE)].tolist()


def test_samples_in_double_precision_stay_on_their_side_of_a_threshold():
    # Of more than 255 distinct values, some are thresholds themselves.
    samples = np.random.default_rng(0).normal(size=(600, 3)).round(4)
    y = (samples.sum(axis=1) > 1).astype(int)
    model = to_plain(fit_method(make_table(samples, y), "histgb", "f1"))
    converted = to_onnx(model, COLUMNS[:3], ["no", "yes"])
    _, scores = run(converted, {"X": samples.astype(np.float32)})
    np.testing.assert_allclose(scores, model.predict_proba(samples), rtol=0, atol=1e-5)
    assert verify_onnx(converted, model, samples, ["no", "yes"]) <= 1e-6


def test_several_classes_have_a_score_each():
    for method in ("anyloss", "logistic", "logistic_offsets"):
        model, names, converted = convert(method, CLASSES, "f1_macro")
        labels, scores = run(converted, {"X": SINGLE.astype(np.float32)})
        np.testing.assert_allclose(scores, model.predict_proba(SINGLE), atol=1e-5)
        assert labels.tolist() == names[model.predict(SINGLE)].tolist()


@pytest.mark.parametrize("activation", ["gelu", "silu", "tanh", "leaky_relu"])
def test_networks_with_bins_norms_and_any_activation(activation):
    register_method(
        "ours",
        lambda metric, seed: AnyLossClassifier(
            metric, hidden=(6, 4), activation=activation, batch_norm=True,
            n_bins=4, max_epochs=3, random_state=seed,
        ),
    )  # fmt: skip
    try:
        model, names, converted = convert("ours", Y)
    finally:
        unregister_method("ours")
    assert verify_onnx(converted, model, SINGLE, names) < 1e-5


def test_the_command_writes_a_model_with_categories(tmp_path, capsys):
    frame = mixed().drop(columns="bought")
    frame.to_csv(tmp_path / "shop.csv", index=False)
    words = ["compare", str(tmp_path / "shop.csv"), "--target", "left", "--folds", "2"]
    words += ["--methods", "logistic_balanced", "--jobs", "1", "--quiet"]
    words += ["--no-explain", "--output", str(tmp_path), "--save", "m"]
    assert main([*words, "--onnx", "--calibrate"]) == 0
    assert f"ONNX: {tmp_path / 'm.onnx'}" in capsys.readouterr().out
    inputs = {
        "size": frame[["size"]].to_numpy(np.float32),
        "gaps": frame[["gaps"]].to_numpy(np.float32),
        "colour": frame[["colour"]].fillna("").to_numpy(object),
    }
    labels, scores = run(str(tmp_path / "m.onnx"), inputs)
    expected = predict(tmp_path / "m", frame)
    assert list(expected) == ["label", "score", "threshold", "probability"]
    np.testing.assert_allclose(scores[:, 1], expected["score"], atol=1e-5)
    assert labels.tolist() == expected["label"].tolist()
    # Class weights inflate the scores; calibrated ones have the mean of the labels.
    share = (frame["left"] == "yes").mean()
    assert abs(expected["probability"].mean() - share) < 0.05
    assert abs(expected["score"].mean() - share) > 0.05
    proba = load_model(tmp_path / "m").predict_proba(frame)
    np.testing.assert_allclose(proba[:, 1], expected["probability"])
    card = (tmp_path / "m.md").read_text(encoding="utf-8")
    for text in (
        "load_model('m.skops')",
        "fingerprint",
        "calibrated on",
        "score of 0.5",
    ):
        assert text in card


def _search(metric, seed, candidates=({"hidden": ()},)):
    return AnyLossClassifierCV(
        metric, candidates=candidates, cv=2, max_epochs=3, tune_threshold=True,
        random_state=seed,
    )  # fmt: skip


def _with_trees(metric, seed):
    trees = HistGradientBoostingClassifier(max_iter=5)
    return _search(metric, seed, [{"hidden": ()}, trees])


def _with_forest(metric, seed):
    return _search(metric, seed, [ExtraTreesClassifier(5, random_state=0)])


@pytest.mark.parametrize(
    ("y", "metric", "build"),
    [
        (Y, "precision@recall>=0.8", _search),
        (CLASSES, CostMatrix([[0, 1, 2], [3, 0, 1], [9, 4, 0]]), _search),
        (CLASSES, "f1_macro@recall[2]>=0.8", _with_trees),
        (ORDERED, "kappa_quadratic", _with_trees),
        (ORDERED, "kappa_quadratic", "logistic_offsets"),
        (CLASSES, "f1_macro", _with_forest),
        (CLASSES, "f1_macro", "lightgbm_offsets"),
    ],
)
def test_tuned_decisions_are_saved_and_exported_or_refused(y, metric, build, tmp_path):
    method = build if isinstance(build, str) else "ours"
    if method.startswith("lightgbm"):
        pytest.importorskip("lightgbm")
    if method == "ours":
        register_method(method, build)
    try:
        table = make_table(SINGLE, y)
        found = compare_tables([table], methods=[method], folds=2, metric=metric)
        fitted = found.best_estimator(method)
        if build is _with_forest or method.startswith("lightgbm"):
            with pytest.raises(TableError, match=r"cannot be stored: it .*with joblib"):
                found.save(tmp_path / "m", method, onnx=True)
            return
        path = found.save(tmp_path / "m", method, onnx=True)
    finally:
        if method == "ours":
            unregister_method(method)
    labels, scores = run(str(path.with_suffix(".onnx")), {"X": SINGLE.astype("f")})
    expected = fitted.predict(table.X).astype(str).tolist()
    assert load_model(path).predict(table.X).tolist() == expected
    assert labels.tolist() == expected
    np.testing.assert_allclose(scores, fitted.predict_proba(table.X), atol=1e-5)
    assert len(set(expected)) > 1


def test_what_has_no_onnx_form_is_refused(tmp_path, capsys):
    table = make_table(mixed().drop(columns="left"), mixed()["left"])
    model = fit_method(table, "logistic", "f1")
    with pytest.raises(TableError, match="'bought' is encoded by DatetimeEncoder"):
        to_onnx(model, list(table.X.columns), ["no", "yes"])
    assert main(["compare", "--onnx"]) == 2
    assert (
        "--onnx is for a stored model; name it with --save." in capsys.readouterr().err
    )


def test_a_model_that_differs_in_onnx_is_refused():
    model, names, converted = convert("logistic", Y)
    model.named_steps["classifier"].steps[-1][1].intercept_ += 0.01
    with pytest.raises(TableError, match=r"differs by 0\.00\d+ in a score"):
        verify_onnx(converted, model, SINGLE, names)


@pytest.mark.parametrize("y", [Y, CLASSES], ids=["two", "several"])
def test_a_model_that_decides_otherwise_in_onnx_is_refused(y):
    model, names, converted = convert("logistic_offsets", y, "f1_macro")
    assert verify_onnx(converted, model, SINGLE, names) < 1e-5
    shift = 1.0 if y is Y else np.array([1.0, 0.0, 0.0])
    model[-1].logit_threshold_ = model[-1].logit_threshold_ + shift
    with pytest.raises(TableError, match=r"another label for \d+ of 120 samples"):
        verify_onnx(converted, model, SINGLE, names)


SAVES = """
import sys
from sk_anyloss.compare import built_in, compare_tables

found = compare_tables([built_in()], methods=["logistic"], folds=2)
found.save(sys.argv[1], onnx=True)
assert "onnxruntime" in sys.modules
"""


def test_an_export_leaves_the_home_folder_empty(tmp_path):
    # Without its telemetry, onnxruntime stores no identifier of the device there.
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT")
            if name in os.environ}  # fmt: skip
    words = [sys.executable, "-c", SAVES, str(tmp_path / "model")]
    homes = {"HOME": str(home), "LOCALAPPDATA": str(home)}
    homes["SKB_DATA_DIRECTORY"] = str(tmp_path)
    subprocess.run(words, env={**kept, **homes}, check=True)
    assert (tmp_path / "model.onnx").is_file()
    assert list(home.iterdir()) == []
