"""What is stored: trusted types only, no training samples, the same bytes each time."""

import io
import json
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info

import sk_anyloss.compare
from sk_anyloss.compare.methods.boosting import installed_boosting
from tests.robustness.stored import (
    WORDS,
    members_of,
    samples,
    store,
    walk,
    write_csv,
)


def columns_of_every_kind(n):
    rng = np.random.default_rng(1)
    days = pd.date_range("2024-01-01", periods=n, freq="7h")
    words = WORDS[rng.integers(0, len(WORDS), (n, 6))]
    absent = rng.random(n) < 0.2
    return {
        "few categories": pd.Series(WORDS[rng.integers(0, 3, n)]),
        "two categories": pd.Series(WORDS[rng.integers(0, 2, n)]),
        "many categories": pd.Series([f"id{i % 45}" for i in range(n)]),
        "date": pd.Series(days.strftime("%Y-%m-%d %H:%M:%S")),
        "date with an offset": pd.Series(days.strftime("%Y-%m-%dT%H:%M:%SZ")),
        "date in a time zone": pd.Series(days.tz_localize("Europe/Paris")),
        "text": pd.Series([" ".join(words[i % 45]) for i in range(n)]),
        "missing numbers": pd.Series(rng.normal(size=n)).mask(absent),
        "missing categories": pd.Series(words[:, 0]).mask(absent),
        "boolean": pd.Series(rng.random(n) < 0.5),
        "whole numbers": pd.Series(rng.integers(0, 5, n)),
    }


def nodes_in(path):
    schema = json.loads(members_of(path)["schema.json"])
    return {f"{n['__module__']}.{n['__class__']}" for n in walk(schema)}


def test_the_trusted_names_are_those_that_models_need(tmp_path):
    n = 120
    frame, y = samples(n)
    # Boosting libraries, if they are installed, have formats of their own.
    methods = [
        name
        for name in sk_anyloss.compare.method_names()
        if name.split("_")[0] not in installed_boosting()
        and not name.endswith("_offsets")  # Of more classes.
    ]
    # What prepares the columns does not depend on the method.
    mixed = frame.assign(**columns_of_every_kind(n))
    needed = set()
    several = WORDS[np.arange(n) % 3]
    trees = ["histgb_offsets", "balanced_forest", "easy_ensemble", "rusboost"]
    for X, target, names in (
        (frame.to_numpy(), y, methods),
        (mixed, y, ["logistic"]),
        (frame.to_numpy(), several, trees),
    ):
        found = sk_anyloss.compare.compare(X, target, methods=names, folds=2)
        for name in names:
            needed |= nodes_in(found.save(tmp_path / name, name))
    assert needed == set(sk_anyloss.compare.trusted_names())


@pytest.mark.parametrize("method", ["logistic_smote", "bce_smote_enn"])
def test_a_stored_model_has_no_training_samples(method, command, tmp_path):
    path = store(tmp_path, write_csv(tmp_path), method)
    for name, data in members_of(path).items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(data))
            assert array.ndim < 2 or len(array) < 10


@pytest.fixture
def own_method():
    """A method of the user's own."""

    def register(model):
        build = lambda metric, seed: model  # noqa: E731
        sk_anyloss.compare.register_method("own", build)

    yield register
    sk_anyloss.compare.unregister_method("own")


class OwnClassifier(LogisticRegression):
    """A class that no other machine has."""


def test_an_estimator_of_another_class_is_refused_when_it_is_stored(
    own_method, command, tmp_path
):
    own_method(OwnClassifier())
    words = ["compare", write_csv(tmp_path), "--target", "y", "--methods", "own"]
    words += [
        "--folds",
        2,
        "--jobs",
        1,
        "--quiet",
        "--no-explain",
        "--output",
        tmp_path / "out",
    ]
    ended = command(*words, "--save", "m")
    assert ended.says("'own'", "OwnClassifier", "stored")
    assert not list((tmp_path / "out").glob("m.*"))
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.filterwarnings("default")
def test_the_final_fit_is_announced_and_its_warnings_are_shown(
    own_method, command, tmp_path
):
    own_method(LogisticRegression(max_iter=1))
    words = ["compare", write_csv(tmp_path), "--target", "y", "--methods", "own"]
    words += [
        "--folds",
        2,
        "--jobs",
        1,
        "--quiet",
        "--no-explain",
        "--output",
        tmp_path / "out",
    ]
    ended = command(*words, "--save", "m")
    assert ended.code == 0
    assert ended.out.index("Fitting own on all 60 samples") < ended.out.index("Model:")
    assert ended.err.count("lbfgs failed to converge") == 1


class Recorder(LogisticRegression):
    """Keeps the numbers of threads that its fits might use."""

    threads: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None):
        self.threads.append(max(pool["num_threads"] for pool in threadpool_info()))
        return super().fit(X, y, sample_weight)


def test_the_final_fit_has_one_thread_as_the_folds_have(own_method, command, tmp_path):
    own_method(Recorder())
    words = ["compare", write_csv(tmp_path), "--target", "y", "--methods", "own"]
    words += [
        "--folds",
        2,
        "--jobs",
        1,
        "--quiet",
        "--no-explain",
        "--output",
        tmp_path / "out",
    ]
    command(*words, "--save", "m")
    assert Recorder.threads == [1, 1, 1]


def test_the_same_model_makes_the_same_file(command, tmp_path):
    data = write_csv(tmp_path)
    paths = [store(tmp_path / str(i), data, "anyloss") for i in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
