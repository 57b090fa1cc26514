"""Searches on a Dask cluster, of which a worker is killed, and samples of Dask."""

import copy
import os
import signal
import sys
import threading
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier
from skorch.callbacks import Callback

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.training.data.parquet import ParquetSource
from tests.processes import local_cluster
from tests.tolerances import SAME_MODEL

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
X, Y = make_classification(150, 4, weights=[0.7], flip_y=0.1, random_state=0)


class KillsItsWorker(Callback):
    """Kill the process of a fit, once after the flag was raised by another process."""

    def __init__(self, flag):
        self.flag = flag

    def on_train_begin(self, net, **kwargs):
        path = Path(self.flag)
        if path.exists() and path.read_text() != str(os.getpid()):
            path.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


def _times_sent(is_scattered):
    """How often a search sends the samples to the cluster, and what it predicts."""
    sent = []
    scatter = distributed.Client.scatter

    def note(client, data, *args, **kwargs):
        sent.extend(data if isinstance(data, list) else [data])
        return scatter(client, data, *args, **kwargs)

    tree = DecisionTreeClassifier(random_state=0)
    search = AnyLossClassifierCV(
        cv=3, candidates=[{"hidden": ()}, tree], max_epochs=2, random_state=0
    )
    # From 1,000 samples on, what is behind on the first fold is dropped.
    many, labels = np.tile(X, (7, 1)), np.tile(Y, 7)
    options = {"scatter": [many, labels]} if is_scattered else {}
    with (
        patch.object(distributed.Client, "scatter", note),
        parallel_config("dask", **options),
    ):
        search.fit(many, labels)
    return sum(value is many for value in sent), search.predict_proba(X)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_search_ends_whose_worker_is_killed(tmp_path):
    flag = tmp_path / "flag"
    callbacks = [KillsItsWorker(str(flag))]
    search = AnyLossClassifierCV(
        cv=2, candidates=[{"hidden": ()}, {"callbacks": callbacks}], max_epochs=3,
        random_state=0,
    )  # fmt: skip
    ended = []

    def fit(client):
        with parallel_config("dask", client=client, wait_for_workers_timeout=1):
            try:
                ended.append(search.fit(X, Y).best_index_)
            except Exception as error:
                ended.append(str(error))

    flag.write_text(str(os.getpid()))
    # Dask gives up a fit that has killed one worker, of which joblib never hears.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster() as cluster,
        distributed.Client(cluster) as client,
    ):
        thread = threading.Thread(target=fit, args=(client,), daemon=True)
        thread.start()
        thread.join(300)  # Far above what it takes, also on a busy computer.
    assert not flag.exists()  # A worker was killed.
    (how,) = ended
    assert how in (0, 1) or "Dask cluster has lost workers" in how


def test_samples_are_sent_once_for_a_search_or_for_each_of_its_steps():
    with local_cluster() as cluster, distributed.Client(cluster):
        once, proba = _times_sent(is_scattered=True)
        twice, again = _times_sent(is_scattered=False)
    assert (once, twice) == (1, 2)  # The first fold, and the others.
    np.testing.assert_allclose(again, proba, **SAME_MODEL)


def test_a_dask_frame_is_read_by_partitions():
    frames = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = list("abcd")
    frame = pd.DataFrame(X, columns=names)
    frame["y"] = np.where(Y, "late", "early")
    several = frames.from_pandas(frame, npartitions=4)
    data = ParquetSource(several, target="y", window=80 * X.itemsize * 4)
    model = AnyLossClassifier(batch_size=1.0, max_epochs=5, random_state=0)
    expected = copy.deepcopy(model).fit(X, frame["y"])
    found = model.fit(data)
    np.testing.assert_allclose(
        found.loss_curve_, expected.loss_curve_, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(found.predict(data), expected.predict(X))
    colours = pd.DataFrame({"colour": [*"aabb", *"ccdd"], "y": Y[:8]})

    def as_categories(part):
        return part.assign(colour=part["colour"].astype(str).astype("category"))

    mixed = frames.from_pandas(colours, npartitions=2).map_partitions(as_categories)
    texts = ParquetSource(mixed, target="y").sample()["colour"]
    assert sorted(texts) == sorted(colours["colour"])
    frame.loc[140, "b"] = np.nan
    gaps = frames.from_pandas(frame, npartitions=4)
    with pytest.raises(ValueError, match=r"'b' has missing .* in partition 3 of the D"):
        AnyLossClassifier().fit(ParquetSource(gaps, target="y"))

    def other_type(part):
        is_last = part.index[0] > 100
        return part.assign(a=part["a"].astype(str)) if is_last else part

    mixed = several.map_partitions(other_type, meta=frame)
    with pytest.raises(ValueError, match=r"'a' has the type double in .*, but .*strin"):
        AnyLossClassifier().fit(ParquetSource(mixed, target="y"))
