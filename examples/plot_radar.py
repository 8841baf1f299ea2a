"""
Polarimetric radar
==================

A polarimetric radar sends and receives two polarisations, so that a look at a pixel gives a vector of three complex
numbers. The average of their products over some looks is a 3×3 coherency matrix: Hermitian positive definite, with
the powers of the mechanisms of scattering on its diagonal and their phases beside it. Classes of land are told
apart by the whole matrix. The scene is simulated.
"""

# %%
# Five kinds of land, each with its mean coherency matrix in the Pauli basis: single bounce, double bounce, volume.
# The two crops have the same powers, and differ in a phase alone. Looks follow a complex normal distribution, so
# coherency matrices are Wishart distributed; besides, the brightness of pixels varies by a gamma variable (the
# product model of clutter).

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from spdatoms import MinimumDistanceToMean, SPDEnsembleClassifier

rng = np.random.default_rng(0)
names = np.array(["water", "forest", "town", "maize", "wheat"])
coherency = np.array(
    [
        [[0.30, 0.02, 0.0], [0.02, 0.06, 0.0], [0.0, 0.0, 0.03]],
        [[0.90, 0.05, 0.0], [0.05, 0.60, 0.0], [0.0, 0.0, 0.55]],
        [[1.50, 0.30, 0.1], [0.30, 2.00, 0.2], [0.1, 0.2, 0.40]],
        [[0.80, 0.25j, 0.0], [-0.25j, 0.50, 0.10j], [0.0, -0.10j, 0.25]],
        [[0.80, -0.25j, 0.0], [0.25j, 0.50, -0.10j], [0.0, 0.10j, 0.25]],
    ]
)

rows, columns = np.mgrid[:70, :100]
land = np.full(rows.shape, 1)
land[(rows > 36) & (columns < 52)] = 3
land[(rows > 36) & (columns >= 52)] = 4
land[(rows - 20) ** 2 + (columns - 74) ** 2 < 190] = 2
land[np.abs(rows - 30 - 7 * np.sin(columns / 14)) < 4.5] = 0

looks = 12
factor = np.linalg.cholesky(coherency)[land]
speckle = rng.standard_normal((2, *land.shape, 3, looks)) / np.sqrt(2 * looks)
texture = np.sqrt(rng.gamma(8.0, 0.125, land.shape))[..., None, None]
vectors = texture * (factor @ (speckle[0] + 1j * speckle[1]))
image = vectors @ vectors.conj().swapaxes(-1, -2)
print(image.shape, image.dtype)

# %%
# Forty pixels per class are known. :class:`~spdatoms.SPDEnsembleClassifier` takes the complex matrices as they are.
# What is lost without phases shows when it gets real parts only. The Wishart classifier, the usual one of the
# field, takes the class whose mean is nearest by Burg's divergence.

X, y = image.reshape(-1, 3, 3), names[land.ravel()]
known = np.concatenate([rng.choice(np.flatnonzero(y == name), 40, replace=False) for name in names])
maps = {
    "Wishart classifier": MinimumDistanceToMean("burg").fit(X[known], y[known]).predict(X),
    "real parts": SPDEnsembleClassifier().fit(X[known].real, y[known]).predict(X.real),
    "complex matrices": SPDEnsembleClassifier().fit(X[known], y[known]).predict(X),
}
others = np.setdiff1d(np.arange(len(y)), known)
for title, predicted in maps.items():
    print(f"{title:>20}: {np.mean(predicted[others] == y[others]):.1%} of the other pixels")

# %%
# The maps. Every pixel is classified by itself, so errors are spread like speckle. Which of the crops grows in a
# field, real parts can only guess.

power = np.sqrt(np.einsum("...ii->...i", image).real)
figure, axes = plt.subplots(2, 3, figsize=(11, 5.6), layout="constrained")
colours = ListedColormap(["#2b6ca3", "#1f6b3a", "#b5403a", "#e3b23c", "#a8c686"])
axes[0, 0].imshow(np.clip(power[..., [1, 2, 0]] / np.percentile(power, 98), 0, 1))
axes[0, 0].set_title("what the radar sees (Pauli colours)", fontsize=10)
phase = np.angle(image[..., 0, 1])
axes[0, 1].imshow(phase, cmap="twilight", vmin=-np.pi, vmax=np.pi)
axes[0, 1].set_title("phase of single and double bounce", fontsize=10)
order = {name: i for i, name in enumerate(names)}
pictures = {"truth": y, **maps}
for ax, (title, labels) in zip(axes.flat[2:], pictures.items(), strict=True):
    drawn = ax.imshow(
        np.vectorize(order.get)(labels).reshape(land.shape), cmap=colours, vmin=-0.5, vmax=4.5
    )
    ax.set_title(title, fontsize=10)
for ax in axes.flat:
    ax.set_axis_off()
bar = figure.colorbar(drawn, ax=axes, shrink=0.5, ticks=range(5))
bar.ax.set_yticklabels(names)
plt.show()
