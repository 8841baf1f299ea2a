"""
==============================
A layer of codes in a network
==============================

`SPDSparseCoding` is a layer of torch: codes of matrices over a dictionary that learns together with the layers after
it. The atoms are parameters on the cone, so that any optimiser of torch moves them. Here three classes of signals
differ in one variance or in one covariance, and six atoms and a linear layer learn to tell them apart.
"""

# %%
# Signals of four channels, and their covariances.

import matplotlib.pyplot as plt
import numpy as np
import torch

from spdatoms.interop.torch import SPDSparseCoding

rng = np.random.default_rng(0)
signals = rng.standard_normal((240, 4, 30))
y = np.arange(240) % 3
signals[y == 1, 0] *= 1.5
signals[y == 2, 1] += 0.8 * signals[y == 2, 2]
X = torch.from_numpy(signals @ signals.swapaxes(1, 2) / 30)
labels = torch.from_numpy(y)
train, test = slice(0, 120), slice(120, 240)

# %%
# The network begins with six training matrices as atoms.

torch.manual_seed(0)
layer = SPDSparseCoding(X[:6], alpha=0.02)
network = torch.nn.Sequential(layer, torch.nn.Linear(6, 3, dtype=X.dtype))
optimiser = torch.optim.Adam(network.parameters(), lr=0.03)
first = layer.atoms.detach()
losses, accuracies = [], []
for _ in range(80):
    optimiser.zero_grad()
    loss = torch.nn.functional.cross_entropy(network(X[train]), labels[train])
    loss.backward()
    optimiser.step()
    with torch.no_grad():
        hits = network(X[test]).argmax(1) == labels[test]
    losses.append(float(loss.detach()))
    accuracies.append(float(hits.double().mean()))
print(f"accuracy on new matrices: {accuracies[0]:.2f} before, {accuracies[-1]:.2f} after")

# %%
# The loss falls, and the atoms move towards what tells the classes apart.

figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
axes[0].plot(losses, color="#1f3b57", label="training loss")
axes[0].plot(accuracies, color="#9aa7b4", label="accuracy on new matrices")
axes[0].set_xlabel("step")
axes[0].legend(frameon=False)
for ax, atoms, title in zip(
    axes[1:], (first, layer.atoms.detach()), ("before", "after"), strict=True
):
    picture = np.hstack([*atoms.numpy()])
    picture = np.vstack(np.split(picture, 2, axis=1))
    ax.imshow(picture, cmap="RdBu_r", vmin=-3, vmax=3)
    ax.set_title(f"atoms {title}")
    ax.set_axis_off()
plt.show()
