"""Samples and tables that the tests of the comparison share."""

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

X, Y = make_classification(120, 5, weights=[0.7], flip_y=0.1, random_state=0)
FAST = ["anyloss", "logistic_balanced"]


def mixed(n=120):
    """A frame of categories, dates, numbers and missing values."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "bought": pd.date_range("2024-01-01", periods=n).astype(str),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        }
    )
    frame.loc[3, "colour"] = None
    frame["left"] = np.where(frame["size"] + rng.normal(size=n) > 1, "yes", "no")
    return frame
