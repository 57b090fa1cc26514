"""A quick comparison, and what it leaves in its folder."""

import pandas as pd
from sklearn.datasets import make_classification

X, Y = make_classification(120, 4, weights=[0.7], flip_y=0.1, random_state=0)


def save_csv(path, shift=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(X + shift, columns=list("abcd")).assign(y=Y)
    frame.to_csv(path, index=False)
    return path


def fold_files(folder):
    return sorted((folder / "folds").glob("*.npz"))


def results(folder):
    return pd.read_csv(folder / "results.csv").drop(columns="seconds")


def parts(tmp_path):
    return sorted((tmp_path / "out").rglob("*.part"))
