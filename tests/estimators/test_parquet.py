"""Models that know the columns of files, and predictions that overwrite nothing."""

import numpy as np
import pytest

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.estimators.parquet import predict_parquet
from sk_anyloss.training.data.parquet import ParquetSource

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")

NAMES = ["a", "b"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    path = tmp_path_factory.mktemp("data") / "data.parquet"
    columns = {"a": a, "b": b, "y": (a > 0.5).astype(int), "id": np.arange(200)}
    pq.write_table(pa.table(columns), path, row_group_size=90)
    return path


@pytest.fixture(scope="module")
def model(path):
    data = ParquetSource(path, target="y", columns=NAMES)
    return AnyLossClassifier(L=10, lr=0.1, random_state=0).fit(data)


def test_a_model_knows_the_names_of_its_features(model, path):
    assert model.feature_names_in_.tolist() == NAMES
    frame = pd.read_parquet(path)
    expected = model.predict(frame[NAMES])
    assert 0 < expected.sum() < 200
    data = ParquetSource(path, columns=model.feature_names_in_)
    np.testing.assert_array_equal(model.predict(data), expected)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a"]])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["b", "a"], "X has another order; choose them by columns="),
        (["a", "id"], "X has no column 'b'"),
        (["a", "b", "id"], "X has also 'id'"),
    ],
)
def test_other_columns_are_refused(model, path, columns, message, tmp_path):
    data = ParquetSource(path, columns=columns)
    with pytest.raises(ValueError, match=message):
        model.predict(data)
    with pytest.raises(ValueError, match=message):
        predict_parquet(model, data, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_after_a_preprocessor_features_have_no_names(path):
    class Doubled:
        def transform(self, frame):
            return 2 * frame.to_numpy()

    data = ParquetSource(path, target="y", columns=NAMES, preprocessor=Doubled())
    model = AnyLossClassifier(max_epochs=1, random_state=0)
    with pytest.warns(UserWarning, match="for every training sample"):
        model.fit(data)
    assert not hasattr(model, "feature_names_in_")


def test_files_that_are_read_are_not_overwritten(model, path, tmp_path):
    before = path.read_bytes()
    data = ParquetSource(path, columns=NAMES)
    link = tmp_path / "link"
    link.symlink_to(path)
    for output in (path, link):
        with pytest.raises(ValueError, match="is an input"):
            predict_parquet(model, data, output)
    assert path.read_bytes() == before
    with pytest.raises(FileNotFoundError, match="folder does not exist; create it"):
        predict_parquet(model, data, tmp_path / "nothing" / "out")


def test_columns_to_keep_are_checked_before_anything_is_predicted(
    model, path, tmp_path
):
    data = ParquetSource(path, columns=NAMES)
    with pytest.raises(ValueError, match=r"Unknown column 'idd'\. Did you mean 'id'"):
        predict_parquet(model, data, tmp_path / "out", keep=["idd"])
    named = pq.read_table(path).rename_columns(["a", "b", "prediction", "id"])
    pq.write_table(named, tmp_path / "data")
    again = ParquetSource(tmp_path / "data", columns=NAMES)
    with pytest.raises(ValueError, match="'prediction', which is a column of the pred"):
        predict_parquet(model, again, tmp_path / "out", keep=["prediction"])
    predict_parquet(model, data, tmp_path / "out", keep="id")
    assert pq.read_table(tmp_path / "out")["id"].to_pylist() == list(range(200))


def test_a_path_is_no_sample(model, path):
    for misuse in (
        lambda: AnyLossClassifier().fit(path),
        lambda: AnyLossClassifierCV().fit(str(path), [0, 1]),
        lambda: model.predict(path),
    ):
        with pytest.raises(TypeError, match=r"as ParquetSource\(\.\.\., target='y'\)"):
            misuse()
    data = ParquetSource(path, target="y", columns=NAMES)
    with pytest.raises(TypeError, match=r"holds all samples in memory.*X\.sample"):
        AnyLossClassifierCV().fit(data, data.labels())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"columns": ["a", "y"]}, ValueError, "'y', which is the target or the weight"),
        ({"columns": ["a", "a"]}, ValueError, "'a' more than once"),
        ({"window": -1}, ValueError, "window must be a number of bytes, got -1"),
        ({"window": "1 GB"}, ValueError, "window must be a number of bytes"),
        ({"paths": []}, TypeError, "Parquet files are given as a path"),
        ({"paths": None}, TypeError, "Parquet files are given as a path"),
    ],
)
def test_a_source_names_the_parameter_that_is_wrong(path, options, error, message):
    with pytest.raises(error, match=message):
        ParquetSource(**{"paths": path, "target": "y"} | options)


def test_weights_are_numbers(tmp_path):
    table = pa.table({"a": [1.0, 2.0], "y": [0, 1], "w": ["x", "y"]})
    pq.write_table(table, tmp_path / "data.parquet")
    data = ParquetSource(tmp_path.glob("*.parquet"), target="y", weight="w")
    with pytest.raises(ValueError, match="'w' of the weights has the type string"):
        AnyLossClassifier().fit(data)
