import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, csr_matrix

from sk_anyloss.training.data.source import as_source, as_tensor

X = np.random.default_rng(0).normal(size=(12, 5)) * (np.arange(60).reshape(12, 5) % 3)
INDEX = np.array([7, 0, 0, 11])


@pytest.fixture(params=["array", "Fortran", "tensor", "read-only", "csr", "matrix"])
def source(request):
    read_only = X.copy()
    read_only.flags.writeable = False
    return as_source(
        {
            "array": X,
            "Fortran": np.asfortranarray(X),
            "tensor": torch.from_numpy(X),
            "read-only": read_only,
            "csr": csr_array(X),
            "matrix": csr_matrix(X),
        }[request.param]
    )


@pytest.mark.parametrize("index", [slice(2, 9), INDEX], ids=["slice", "positions"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_source_gives_the_samples_of_an_index(source, index, dtype):
    np.testing.assert_array_equal(source.dense(index).numpy(), X[index])
    out = torch.empty(X[index].shape, dtype=dtype)
    source.gather(index, out)
    np.testing.assert_array_equal(out, X[index].astype(str(dtype)[6:]))
    block = source.block(index)
    dense = block if isinstance(block, np.ndarray) else block.toarray()
    np.testing.assert_array_equal(dense, X[index])


def test_every_source_gives_a_feature_of_some_samples_or_of_all(source):
    for j in range(5):
        np.testing.assert_array_equal(source.feature(j, None), X[:, j])
        np.testing.assert_array_equal(source.feature(j, INDEX), X[INDEX, j])


def test_every_source_knows_its_shape_and_dtype(source):
    assert source.shape == X.shape
    assert source.dtype == X.dtype
    assert as_source(source) is source


def test_the_width_is_what_a_sample_takes_in_memory():
    assert as_source(X).width == 5
    assert as_source(csr_array(X)).width == np.ceil(np.count_nonzero(X) / 12)


def test_only_a_matrix_with_few_entries_is_thin():
    wide = csr_array(([1.0], ([0], [0])), shape=(100, 10_000))
    assert as_source(wide).is_very_sparse
    assert not as_source(csr_array(X)).is_very_sparse
    assert not as_source(X).is_very_sparse


def test_arrays_are_shared_where_torch_can():
    array = np.zeros(3)
    as_tensor(array)[0] = 1
    assert array[0] == 1
    assert as_tensor(np.arange(3)[::-1]).tolist() == [2, 1, 0]
