"""
Faces that are partly covered
=============================

Half of a face behind a scarf is half of its channels missing. If a face is described by the covariance of its *parts*,
a covered part is a row and a column of NaN, and :class:`~spdatoms.SPDSparseClassifier` compares what is left of the
face with the same parts of the training images. The images come with scikit-image; the scarf is drawn.
"""

# %%
# 100 faces and 100 cut-outs that show none, 24×24 pixels (a subset of *Labeled Faces in the Wild*). Each is cut into
# 4×4 parts of 6×6 pixels. A part is a channel, and its 36 grey values are the samples: a 16×16 covariance.

import numpy as np
from matplotlib import pyplot as plt
from skimage.data import lfw_subset

from spdatoms import BrokenChannels, SPDEnsembleClassifier, SPDSparseClassifier

PARTS, SIZE = 4, 6
rng = np.random.default_rng(0)
order = rng.permutation(200)
images = lfw_subset()[order, : PARTS * SIZE, : PARTS * SIZE]
y = np.repeat(["face", "other"], 100)[order]
train, test = slice(0, 100), slice(100, None)


def covariances(images):
    """Return the covariances of the parts, about medium grey."""
    parts = images.reshape(-1, PARTS, SIZE, PARTS, SIZE).transpose(0, 1, 3, 2, 4)
    samples = parts.reshape(-1, PARTS**2, SIZE**2) - 0.45
    return samples @ samples.swapaxes(1, 2) / SIZE**2 + 1e-3 * np.eye(PARTS**2)


X = covariances(images)
models = {"RSR-S": SPDSparseClassifier(), "ensemble": SPDEnsembleClassifier()}
for name, model in models.items():
    print(f"{name}, uncovered: {model.fit(X[train], y[train]).score(X[test], y[test]):.0%}")

# %%
# In every test image two rows of parts, anywhere, disappear behind a pattern of random grey values.

covered, hidden = images[test].copy(), np.zeros((100, PARTS, PARTS), dtype=bool)
for image, mask in zip(covered, hidden, strict=True):
    top = rng.integers(PARTS - 1)
    mask[top : top + 2] = True
    image[SIZE * top : SIZE * (top + 2)] = rng.random((2 * SIZE, PARTS * SIZE))
hidden = hidden.reshape(100, -1)
Q = covariances(covered)
for name, model in models.items():
    print(f"{name}, covered: {model.score(Q, y[test]):.0%}")

# %%
# Say which parts are covered, and the classifiers do without them. The mask could be that of a detector of skin.

for name, model in models.items():
    predicted = model.predict(Q, channels=~hidden)
    print(f"{name}, told which: {np.mean(predicted == y[test]):.0%}")

# %%
# Two faces and two other images, and the probability of "face" by the ensemble: as they are, and told. Behind the
# pattern most images look like faces to it.

as_they_are = models["ensemble"].predict_proba(Q)[:, 0]
told = models["ensemble"].predict_proba(Q, channels=~hidden)[:, 0]
shown = np.r_[np.flatnonzero(y[test] == "face")[:2], np.flatnonzero(y[test] == "other")[:2]]
figure, axes = plt.subplots(1, 4, figsize=(7.5, 2.4), layout="constrained")
for ax, i in zip(axes, shown, strict=True):
    ax.imshow(covered[i], cmap="gray")
    ax.set_title(f"{y[test][i]}: {as_they_are[i]:.0%} → {told[i]:.0%}", fontsize=10)
    ax.axis("off")

# %%
# :class:`~spdatoms.BrokenChannels` finds a few channels that do not fit the others. It is of no help if half of them
# are covered:

found = BrokenChannels().fit(X[train]).predict(Q)
print(f"covered parts found: {found[hidden].mean():.0%}, others: {found[~hidden].mean():.0%}")
