"""
Textures of photographs
=======================

A window of an image is described by the covariance of a few features of its pixels: grey value and
derivatives. :class:`~spdatoms.SPDSparseClassifier` learns from eight windows of every photograph. Then it
decides for every place of a collage which photograph it shows.
"""

# %%
# Three photographs that come with scikit-image, and the 5×5 covariances of
# :math:`(I, |I_x|, |I_y|, |I_{xx}|, |I_{yy}|)` over windows of 32×32 pixels.

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

from spdatoms import SPDKNeighborsClassifier, SPDSparseClassifier
from spdatoms.descriptors import TextureCovariance

WINDOW, STEP = 32, 4
describe = TextureCovariance(block=WINDOW, step=STEP)
photographs = {"brick": data.brick(), "grass": data.grass(), "gravel": data.gravel()}
names = list(photographs)

# %%
# Eight random windows from the upper half of each photograph are the training set: 24 matrices.

rng = np.random.default_rng(0)
train = []
for name in names:
    upper = photographs[name][: photographs[name].shape[0] // 2]
    train.append(rng.choice(describe.transform([upper]), 8, replace=False))
X, y = np.concatenate(train), np.repeat(np.arange(3), 8)
print(X.shape)

# %%
# The lower halves make the collage, and every fourth pixel of it is classified.

height, width = 256, 384
row, column = np.mgrid[:height, :width]
truth = (column > width / 2 + 25 * np.sin(row / 25)).astype(int)
truth[np.hypot(row - height / 2, column - width / 2) < 85] = 2
lower = np.stack([photographs[name][-height:, :width] for name in names])
collage = np.take_along_axis(lower, truth[None], axis=0)[0]

queries = describe.transform([collage])
small_truth = truth[WINDOW // 2 : -WINDOW // 2 + 1 : STEP, WINDOW // 2 : -WINDOW // 2 + 1 : STEP]
sparse = SPDSparseClassifier(metric="stein").fit(X, y)
nearest = SPDKNeighborsClassifier(metric="stein").fit(X, y)
found = {
    "sparse representation": sparse.predict(queries).reshape(small_truth.shape),
    "nearest neighbour": nearest.predict(queries).reshape(small_truth.shape),
}

# %%
# Windows across a border are mixtures. Away from borders (more than half a window) the classes
# are pure, and the accuracy is computed there.

pure = np.ones_like(small_truth, dtype=bool)
for axis in (0, 1):
    for shift in range(-4, 5):
        pure &= np.roll(small_truth, shift, axis) == small_truth

extent = (0, width, height, 0)
# Every label belongs to the middle of its window.
start, (rows, columns) = (WINDOW - STEP) / 2, small_truth.shape
within = (start, start + STEP * columns, start + STEP * rows, start)
figure, axes = plt.subplots(1, 3, figsize=(11, 2.7), layout="constrained")
axes[0].imshow(collage, cmap="gray", extent=extent)
axes[0].set_title("collage")
for ax, (title, labels) in zip(axes[1:], found.items(), strict=True):
    accuracy = (labels == small_truth)[pure].mean()
    ax.imshow(collage, cmap="gray", extent=extent)
    shown = ax.imshow(
        labels, alpha=0.6, vmin=-0.5, vmax=2.5, cmap=plt.get_cmap("cividis", 3), extent=within
    )
    ax.set_title(f"{title}: {accuracy:.1%} right")
for ax in axes:
    ax.contour(column, row, truth, levels=[0.5, 1.5], colors="white", linewidths=1.2)
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.set_axis_off()
bar = figure.colorbar(shown, ax=axes, ticks=range(3), shrink=0.8)
bar.ax.set_yticklabels(names)
plt.show()
