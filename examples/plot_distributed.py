"""
Two processes train as one
==========================

Under ``torchrun`` each process has a part of every batch, and the loss sums its
statistics over the processes, so the training equals that of one process. The mean of
the F1 losses of the processes would be different, as the right picture shows.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from sk_anyloss import AnyLossNet
from sk_anyloss.losses import AnyLoss

TRAIN = """
import sys
import numpy as np
import torch
from torch import nn
from sk_anyloss import AnyLossNet

torch.distributed.init_process_group("gloo")  # The only line for several processes.
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4)).astype("float32")
y = (X[:, 0] + 0.5 * rng.normal(size=1000) > 1.6).astype(int)
torch.manual_seed(0)
net = AnyLossNet(nn.Linear(4, 1), metric="f1", lr=0.05, max_epochs=15, random_state=0)
net.fit(X, y)
if torch.distributed.get_rank() == 0:
    np.save(sys.argv[1], net.history[:, "train_loss"])
torch.distributed.destroy_process_group()
"""
with TemporaryDirectory() as folder:
    script, curve = Path(folder) / "train.py", Path(folder) / "curve.npy"
    script.write_text(TRAIN)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    subprocess.run([*torchrun, "--nproc-per-node", "2", script, curve], check=True)
    two = np.load(curve)

# The same in this process.
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4)).astype("float32")
y = (X[:, 0] + 0.5 * rng.normal(size=1000) > 1.6).astype(int)
torch.manual_seed(0)
net = AnyLossNet(nn.Linear(4, 1), metric="f1", lr=0.05, max_epochs=15, random_state=0)
one = np.array(net.fit(X, y).history[:, "train_loss"])
print(f"largest difference of the loss curves: {abs(one - two).max():.1e}")

# %%
# The loss of all samples, and the mean of the losses of W parts.
loss = AnyLoss("f1")
logits = torch.from_numpy(2 * X[:, 0] - 3.2)
labels = torch.from_numpy(y)
parts = (1, 2, 4, 8, 16, 32, 64)
means = [
    np.mean(
        [
            loss(z, of).item()
            for z, of in zip(logits.chunk(W), labels.chunk(W), strict=True)
        ]
    )
    for W in parts
]
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
left.plot(one, "o", ms=7, color="#9fb0c0", label="one process")
left.plot(two, "-", color="#c1440e", label="two processes")
left.set(xlabel="epoch", ylabel="1 - soft F1", title="Training")
left.legend()
right.plot(parts, means, "o-", color="#4a6a8a", label="mean over the parts")
right.axhline(means[0], color="#c1440e", label="all samples")
right.set(
    xscale="log", xlabel="number of parts", title="F1 loss of all, and mean of parts"
)
right.set_xticks(parts, [str(W) for W in parts])
right.minorticks_off()
right.legend()
plt.show()
