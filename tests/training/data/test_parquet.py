"""Training from Parquet files is that from memory, a window at a time."""

import copy

import numpy as np
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from sk_anyloss import AnyLossClassifier, AnyLossNet
from sk_anyloss.estimators.parquet import predict_parquet
from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.distributed.accumulation import Accumulation
from sk_anyloss.training.data.dataset import SubsetDataset
from sk_anyloss.training.data.parquet import ParquetSource
from sk_anyloss.training.iterator import Batches

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
dataset = pytest.importorskip("pyarrow.dataset")

N, D = 1200, 5
NAMES = [f"x{j}" for j in range(D)]


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 1.2, "fraud", "fine")
    return X, y, rng.uniform(0.5, 2, N)


def table_of(X, y, weight, **types):
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    return pa.table({**columns, "y": y, "w": weight, "id": np.arange(len(X))})


@pytest.fixture(scope="module")
def folder(samples, tmp_path_factory):
    """Two files, of row groups of 100 and 70 samples."""
    folder = tmp_path_factory.mktemp("files")
    for name, part, size in [
        ("a.parquet", slice(0, 700), 100),
        ("b.parquet", slice(700, N), 70),
    ]:
        table = table_of(*(values[part] for values in samples))
        pq.write_table(table, folder / name, row_group_size=size)
    return folder


def open_folder(folder, **options):
    options = {"target": "y", "columns": NAMES} | options
    return ParquetSource(folder, **options)


#: Of bytes, about three row groups of the first file.
SMALL_WINDOW = 3 * 100 * D * 8


def test_a_source_reads_what_was_written(samples, folder):
    X, y, weight = samples
    data = open_folder(folder, weight="w", window=SMALL_WINDOW)
    assert data.shape == (N, D)
    assert [group.n for group in data.groups] == [100] * 7 + [70] * 7 + [10]
    np.testing.assert_array_equal(data.labels(), y)
    np.testing.assert_array_equal(data.weights(), weight)
    index = np.random.default_rng(1).permutation(N)[:333]
    for chosen in (index, slice(90, 310), slice(None), slice(5, 6)):
        np.testing.assert_array_equal(data.block(chosen), X[chosen])
    np.testing.assert_array_equal(data.feature(2, index), X[index, 2])
    assert data.buffer.nbytes <= SMALL_WINDOW
    assert data.buffer.held == [10, 11, 12, 13, 14]  # The last it was asked for.
    by_dataset = ParquetSource(dataset.dataset(folder), columns=["x3", "x1"])
    np.testing.assert_array_equal(by_dataset.block(slice(0, N)), X[:, [3, 1]])
    everything = ParquetSource([folder / "a.parquet", folder / "b.parquet"], target="y")
    assert everything.columns == [*NAMES, "w", "id"]


@pytest.mark.parametrize(
    ("weight", "n_bins"), [(None, None), ("w", 4)], ids=["even", "weighted bins"]
)
def test_a_full_batch_trains_as_in_memory(samples, folder, weight, n_bins):
    X, y, w = samples
    model = AnyLossClassifier(
        batch_size=1.0, max_epochs=10, n_bins=n_bins, random_state=0
    )
    expected = copy.deepcopy(model).fit(X, y, None if weight is None else w)
    data = open_folder(folder, weight=weight, window=SMALL_WINDOW)
    found = model.fit(data)
    np.testing.assert_allclose(
        found.loss_curve_, expected.loss_curve_, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        found.decision_function(data), expected.decision_function(X), atol=1e-8
    )
    np.testing.assert_array_equal(found.predict(data), expected.predict(X))
    assert found.score(data, y) == pytest.approx(expected.score(X, y), abs=1e-12)
    assert found.classes_.tolist() == ["fine", "fraud"]


def test_the_loss_alone_trains_in_batches_or_in_two_passes(samples, folder):
    X, y, _ = samples
    target = torch.from_numpy(y == "fraud").double()
    data = open_folder(folder, window=SMALL_WINDOW)
    model, loss = torch.nn.Linear(D, 1).double(), AnyLoss("f1", "identity")
    loss(model(torch.from_numpy(X)), target).backward()
    expected = model.weight.grad.clone()
    model.zero_grad()
    whole = Accumulation(loss)
    chunks = [slice(i, i + 350) for i in range(0, N, 350)]
    with torch.no_grad():
        for rows in chunks:
            whole.add(model(data.dense(rows)), target[rows])
    for rows in chunks:
        whole.part(model(data.dense(rows)), target[rows]).backward()
    torch.testing.assert_close(model.weight.grad, expected, rtol=1e-9, atol=1e-12)
    subset = SubsetDataset(data, target.numpy())
    batches = list(Batches(subset, 250, np.random.default_rng(0)))
    assert [len(labels) for _, labels in batches] == [240] * 5
    at = {tuple(sample): i for i, sample in enumerate(X)}
    rows = [at[tuple(x)] for batch, _ in batches for x in batch["X"].tolist()]
    assert sorted(rows) == list(range(N))
    labels = torch.cat([labels for _, labels in batches])
    torch.testing.assert_close(labels, target[rows])
    net = AnyLossNet(model, max_epochs=2, batch_size=250, criterion=loss)
    assert len(net.fit(subset, None).history) == 2


def test_mini_batches_score_as_in_memory(samples, folder):
    X, y, _ = samples
    model = AnyLossClassifier(
        hidden=(8,), L=10, max_epochs=30, random_state=0, early_stopping=True
    )
    expected = copy.deepcopy(model).fit(X, y).score(X, y)
    data = open_folder(folder, window=SMALL_WINDOW)
    found = model.fit(data).score(data, y)
    assert found == pytest.approx(expected, abs=0.05)


def test_windows_keep_the_class_frequencies_of_sorted_files(samples, tmp_path):
    X, y, weight = samples
    by_class = np.argsort(y, kind="stable")
    table = table_of(X[by_class], y[by_class], weight)
    pq.write_table(table, tmp_path / "sorted.parquet", row_group_size=40)
    data = open_folder(tmp_path, window=10 * 40 * D * 8)
    target = (data.labels() == "fraud").astype(float)
    rng = np.random.default_rng(0)
    first, second = (data.order(target, None, rng) for _ in range(2))
    for order in (first, second):
        np.testing.assert_array_equal(np.sort(order), np.arange(N))
        rates = target[order].reshape(12, 100).mean(axis=1)
        np.testing.assert_allclose(rates, target.mean(), atol=0.11)
        # No more row groups than a window has are read for consecutive samples.
        groups = [len(set(part // 40)) for part in order.reshape(12, 100)]
        assert max(groups) <= 20
    assert (first != second).any()


def test_the_order_of_some_samples_has_each_of_them_once(folder):
    data = open_folder(folder, window=SMALL_WINDOW)
    index = np.flatnonzero(np.random.default_rng(3).random(N) < 0.3)
    target = (data.labels()[index] == "fraud").astype(float)
    order = data.order(target, index, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(order), np.arange(len(index)))


def test_several_classes_and_labels(samples, tmp_path):
    X, _, weight = samples
    classes = np.digitize(X[:, 1], [-1, 0.3])
    labels = (X[:, :2] > 0.5).astype(int)
    table = table_of(X, classes, weight).append_column("l0", [labels[:, 0]])
    table = table.append_column("l1", [labels[:, 1]])
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=150)
    options = {"columns": NAMES, "window": SMALL_WINDOW}
    model = AnyLossClassifier(hidden=(8,), L=10, max_epochs=20, random_state=0)
    of_classes = ParquetSource(tmp_path, target="y", **options)
    assert model.fit(of_classes).score(of_classes, classes) > 0.7
    of_labels = ParquetSource(tmp_path, target=["l0", "l1"], **options)
    assert model.fit(of_labels).score(of_labels, labels) > 0.7


def test_a_fitted_preprocessor_encodes_categories_and_gaps(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 600),
            "size": np.where(rng.random(600) < 0.2, np.nan, rng.normal(size=600)),
        }
    )
    frame["y"] = (frame["colour"] == "red").astype(int)
    pq.write_table(
        pa.Table.from_pandas(frame), tmp_path / "a.parquet", row_group_size=90
    )
    raw = ["colour", "size"]
    with pytest.raises(ValueError, match=r"Column 'colour' has the type .*string.*pre"):
        AnyLossClassifier().fit(ParquetSource(tmp_path, "y", raw))
    sample = ParquetSource(tmp_path, "y", raw).sample(200)
    assert sample.columns.tolist() == raw
    assert 100 <= len(sample) <= 200
    encoder = make_column_transformer(
        (OneHotEncoder(), ["colour"]), (SimpleImputer(), ["size"])
    ).fit(sample)
    data = ParquetSource(tmp_path, target="y", columns=raw, preprocessor=encoder)
    assert data.shape == (600, 4)
    expected = encoder.transform(frame[raw])
    np.testing.assert_allclose(data.block(slice(None)), expected, rtol=1e-6, atol=1e-6)
    model = AnyLossClassifier(random_state=0, max_epochs=30).fit(data)
    assert model.score(data, data.labels()) == 1


def test_predictions_are_written_in_chunks(samples, folder, tmp_path):
    X, y, _ = samples
    model = AnyLossClassifier(max_epochs=5, random_state=0).fit(X, y)
    data = ParquetSource(folder, columns=NAMES, window=SMALL_WINDOW)
    found = pq.read_table(predict_parquet(model, data, tmp_path / "out", keep=["id"]))
    assert found.column_names == ["id", "prediction", "score_fine", "score_fraud"]
    np.testing.assert_array_equal(found["prediction"].to_numpy(), model.predict(X))
    proba = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(found["score_fraud"], proba, rtol=1e-7, atol=1e-12)
    assert pq.read_metadata(tmp_path / "out").num_row_groups == len(data.groups)


def test_damaged_files_are_named_and_nothing_is_half_written(samples, folder, tmp_path):
    X, y, _ = samples
    model = AnyLossClassifier(max_epochs=2, random_state=0).fit(X, y)
    path = tmp_path / "damaged.parquet"
    content = bytearray((folder / "a.parquet").read_bytes())
    column = pq.read_metadata(folder / "a.parquet").row_group(4).column(0)
    at = column.dictionary_page_offset or column.data_page_offset
    content[at : at + 200] = b"\xff" * 200
    path.write_bytes(content)
    data = ParquetSource(path, target="y", columns=NAMES)
    before = vars(model).copy()
    with pytest.raises(
        ValueError, match=r"Row group 4 of .*damaged\.parquet cannot be"
    ):
        model.fit(data)
    assert vars(model) == before
    with pytest.raises(
        ValueError, match=r"Row group 4 of .*damaged\.parquet cannot be"
    ):
        predict_parquet(model, data, tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["damaged.parquet"]
    path.write_bytes(b"no Parquet")
    with pytest.raises(
        ValueError, match=r"^The file .*damaged\.parquet cannot be read"
    ):
        ParquetSource(path)


def test_files_have_to_have_one_schema_and_no_gaps(samples, tmp_path):
    X, y, weight = samples
    table = table_of(X, y, weight)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=500)
    other = tmp_path / "b.parquet"
    open_here = lambda **options: open_folder(tmp_path, **options)  # noqa: E731

    pq.write_table(table.drop_columns(["x3"]), other)
    with pytest.raises(ValueError, match=r"'x3' has the type double .*no such column"):
        open_here()
    as_text = table["x3"].cast(pa.string())
    pq.write_table(table.set_column(3, "x3", as_text), other)
    with pytest.raises(ValueError, match=r"b\.parquet has the type string"):
        open_here()
    gaps = pa.array([None, *table["y"].to_pylist()[1:]])
    at = table.column_names.index("y")
    pq.write_table(table.set_column(at, "y", gaps), other)
    with pytest.raises(ValueError, match=r"'y' has missing values in row group 0 of"):
        AnyLossClassifier().fit(open_here())
    gaps = pa.array([*table["x1"].to_pylist()[:-1], None])
    pq.write_table(table.set_column(1, "x1", gaps), other)
    with pytest.raises(ValueError, match=r"'x1' has missing .*b\.parquet; give a fit"):
        AnyLossClassifier().fit(open_here())
    with pytest.raises(ValueError, match=r"Unknown column 'x11'. Did you mean 'x1'\?"):
        open_here(columns=["x11"])
    with pytest.raises(ValueError, match="has no target"):
        AnyLossClassifier().fit(open_here(target=None))
    with pytest.raises(FileNotFoundError, match="There is no file or folder"):
        ParquetSource(tmp_path / "nothing")
    with pytest.raises(ValueError, match="dtype must be"):
        open_here(dtype="int32")


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}, index=[7, 5])
    for name in (None, "key"):
        frame.rename_axis(name).to_parquet(tmp_path / "a.parquet")
        for paths in (tmp_path, dataset.dataset(tmp_path)):
            data = ParquetSource(paths, target="y")
            assert data.columns == ["a"]
            assert data.sample()["a"].tolist() == [1, 2]
    named = ParquetSource(tmp_path, target="y", columns=["key", "a"])
    assert named.sample().to_numpy().tolist() == [[7, 1], [5, 2]]


def categories(values, indices):
    return pa.array(values).cast(pa.dictionary(indices, pa.string()))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (categories(["a", "b"], pa.int8()), categories(["c", "a"], pa.int16())),
        (categories(["a", "b"], pa.int8()), pa.array(["c", "a"])),
        (pa.array(["a", "b"]), pa.array(["c", "a"], pa.large_string())),
    ],
    ids=["other categories", "categories and texts", "longer offsets"],
)
def test_texts_may_be_stored_in_several_ways(tmp_path, first, second):
    for name, values in [("a", first), ("b", second)]:
        table = pa.table({"colour": values, "y": [0, 1]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    labels = ParquetSource(tmp_path, target="colour").labels()
    assert [str(value) for value in labels] == ["a", "b", "c", "a"]
    sample = ParquetSource(tmp_path, target="y").sample()
    assert sorted(sample["colour"]) == ["a", "a", "b", "c"]


def test_a_column_of_later_files_only_is_named(samples, tmp_path):
    table = table_of(*samples)
    pq.write_table(table.drop_columns(["x3"]), tmp_path / "a.parquet")
    pq.write_table(table, tmp_path / "b.parquet")
    with pytest.warns(UserWarning, match=r"'x3' of .*b\.parquet is not in .*a\.par"):
        data = ParquetSource(tmp_path, target="y")
    assert "x3" not in data.columns
    ParquetSource(tmp_path, target="y", columns=["x1"])  # None was missed.
