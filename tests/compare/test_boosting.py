"""Boosting libraries beside our methods, where they are installed."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight

from sk_anyloss.compare import get_method, method_names
from sk_anyloss.compare.methods.boosting import (
    LIBRARIES,
    EncodedLabels,
    installed_boosting,
    make_boosting,
)

X, Y = make_classification(200, 5, weights=[0.85], random_state=0)
WORDS = np.array(["no", "yes"])[Y]


def test_labels_are_encoded_and_balanced():
    weight = 1.0 + np.arange(200) % 3
    model = EncodedLabels(LogisticRegression(), balanced=True)
    model.fit(X, WORDS, sample_weight=weight)
    expected = LogisticRegression()
    expected.fit(X, Y, sample_weight=weight * compute_sample_weight("balanced", Y))
    np.testing.assert_allclose(
        model.predict_proba(X), expected.predict_proba(X), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(model.predict(X) == "yes", expected.predict(X) == 1)


@pytest.mark.parametrize("name", list(LIBRARIES))
def test_a_library_is_registered_if_it_is_installed(name):
    wanted = {name, f"{name}_balanced", f"{name}_threshold"}
    if name not in installed_boosting():
        assert not wanted & set(method_names())
        with pytest.raises(ValueError, match=f"'{name}_threshold' needs .*{name}"):
            get_method(f"{name}_threshold")
        return
    assert wanted <= set(method_names())
    for method in sorted(wanted):
        model = get_method(method).build("f1", 0).fit(X, WORDS)
        assert set(model.predict(X)) == {"no", "yes"}
    first, again = (make_boosting(name, 3).fit(X, Y).predict_proba(X) for _ in "ab")
    np.testing.assert_array_equal(first, again)
