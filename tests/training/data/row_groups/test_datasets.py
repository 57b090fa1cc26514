"""A dataset of pyarrow is read as it presents itself, not only its files."""

import pickle

import numpy as np
import pytest

from sk_anyloss.training.data.parquet import ParquetSource

pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
fs = pytest.importorskip("pyarrow.fs")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(tmp_path):
    """Two files of one column each, in folders that hold the values of another."""
    for region, x in [("north", [1.0, 2.0, 3.0]), ("south", [4.0, 5.0])]:
        (tmp_path / f"region={region}").mkdir()
        path = tmp_path / f"region={region}" / "part.parquet"
        pq.write_table(pa.table({"x": x}), path, row_group_size=2)
    return tmp_path


def test_names_of_folders_are_columns(folder):
    hive = dataset.dataset(folder, partitioning="hive")
    data = ParquetSource(hive, target="region")
    assert data.columns == ["x"]
    assert data.labels().tolist() == ["north"] * 3 + ["south"] * 2
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.block(slice(None)).ravel(), [1, 2, 3, 4, 5])
    assert data.sample().columns.tolist() == ["x"]
    assert ParquetSource(hive).columns == ["x", "region"]


def test_files_are_read_from_the_file_system_of_the_dataset(folder):
    system = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    data = ParquetSource(dataset.dataset("region=north", filesystem=system))
    np.testing.assert_array_equal(data.block(slice(None)), [[1], [2], [3]])


def test_a_filter_is_not_ignored(folder):
    filtered = dataset.dataset(folder).filter(dataset.field("x") > 2)
    with pytest.raises(ValueError, match=r"filter of a dataset is not applied.*weight"):
        ParquetSource(filtered)


def test_a_dataset_that_is_not_of_parquet_files_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    for other in (
        dataset.dataset(tmp_path / "a.csv", format="csv"),
        dataset.dataset(pa.table({"x": [1]})),
    ):
        with pytest.raises(ValueError, match="not one of Parquet files"):
            ParquetSource(other)
    pq.write_table(pa.table({"x": [1]})[:0], tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="The dataset has no rows"):
        ParquetSource(dataset.dataset(tmp_path / "a.parquet"))


def test_files_of_a_dataset_have_one_schema(folder):
    path = folder / "region=south" / "part.parquet"
    hive = dataset.dataset(folder, partitioning="hive")
    pq.write_table(pa.table({"x": ["4", "5"]}), path)
    with pytest.raises(ValueError, match=r"'x' has the type double .* the type string"):
        ParquetSource(hive)
    pq.write_table(pa.table({"z": [4.0]}), path)
    with pytest.raises(ValueError, match=r"south/part\.parquet has no such column"):
        ParquetSource(dataset.dataset(folder, partitioning="hive"))
