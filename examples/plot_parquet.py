"""
Parquet files larger than memory
================================

``ParquetSource`` reads files by row groups, in windows that are shuffled and keep the
class frequencies, even if the files are sorted by class, as this one is. With the
small window used here, each epoch consists of many reads; the loss curve is nearly that
of a fit in memory.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score

from sk_anyloss import AnyLossClassifier
from sk_anyloss.estimators.parquet import predict_parquet
from sk_anyloss.training.data.parquet import ParquetSource

X, y = make_classification(
    20_000, 6, n_informative=4, weights=[0.95], flip_y=0.01, random_state=0
)
names = [f"x{i}" for i in range(6)]
table = pd.DataFrame(X, columns=names).assign(y=y, id=range(20_000))
model = AnyLossClassifier("f1", L=10, max_epochs=8, batch_size=500, random_state=0)

figure, panel = plt.subplots(figsize=(6, 3.6), layout="constrained")
with TemporaryDirectory() as folder:
    path, predictions = Path(folder) / "train.parquet", Path(folder) / "out.parquet"
    table.sort_values("y").to_parquet(path, row_group_size=100)
    source = ParquetSource(path, target="y", columns=names, window=200_000)
    model.fit(source)
    panel.plot(range(1, 9), model.loss_curve_, "o-", color="#c1440e", label="Parquet")
    predict_parquet(model, source, predictions, keep=["id"])
    written = pd.read_parquet(predictions).sort_values("id")
print(written.head(3))
print(f"F1 from the file {f1_score(y, written['prediction']):.3f}")
model.fit(X, y)
print(f"F1 from memory   {model.score(X, y):.3f}")
panel.plot(range(1, 9), model.loss_curve_, "s--", color="#4a6a8a", label="memory")
panel.set(xlabel="epoch", ylabel="1 - soft F1 on the training samples")
panel.legend()
plt.show()
