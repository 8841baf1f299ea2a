"""
Few samples per class
=====================

How many labelled matrices does a classifier need? Twelve photographs are the classes, and the accuracy
is drawn against the number of training matrices from each. A photograph has several textures (sky,
coat and grass of the cameraman), so a mean for each class says little, while a query may well be
a combination of a few of its class.
"""

# %%
# Photographs that come with scikit-image, cut into blocks of 32×32 pixels; of each block the covariance
# of grey value and derivatives.

import warnings

import numpy as np
from matplotlib import pyplot as plt
from pyriemann.classification import MDM
from pyriemann.tangentspace import TangentSpace
from skimage import color, data
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from spdatoms import SPDKNeighborsClassifier, SPDSparseClassifier
from spdatoms.descriptors import TextureCovariance
from spdatoms.exceptions import IndefiniteKernelWarning, ZeroCodeWarning

photographs = [
    data.brick(), data.grass(), data.gravel(), data.coins(), data.camera(), data.moon(), data.page(),
    data.hubble_deep_field(), data.retina(), data.coffee(), data.chelsea(), data.immunohistochemistry(),
]  # fmt: skip


def covariances(image):
    """Return the covariances of the blocks of an image, at half the resolution if it is large."""
    grey = 255 * color.rgb2gray(image) if image.ndim == 3 else image.astype(float)
    small = grey[::2, ::2] if min(grey.shape) > 600 else grey
    return TextureCovariance(block=32).transform([small])


classes = [covariances(image) for image in photographs]
rng = np.random.default_rng(0)


def split(size):
    """Return `size` random training matrices and 25 others of every class, with the classes."""
    shuffled = [rng.permutation(X) for X in classes]
    train, test = ([X[part] for X in shuffled] for part in (slice(size), slice(-25, None)))
    y = np.arange(len(classes))
    return np.concatenate(train), y.repeat(size), np.concatenate(test), y.repeat(25)


# %%
# Four random splits of each size. The warnings about Jeffrey's kernel, which is corrected, and about queries
# far from all atoms are expected here.

warnings.simplefilter("ignore", IndefiniteKernelWarning)
warnings.simplefilter("ignore", ZeroCodeWarning)
methods = {
    "sparse, Stein": (SPDSparseClassifier("stein"), "o-"),
    "sparse, Jeffrey": (SPDSparseClassifier("jeffrey"), "s-"),
    "nearest neighbour, AIRM": (SPDKNeighborsClassifier(metric="riemann"), "v:"),
    "tangent space": (make_pipeline(TangentSpace(), LogisticRegression(max_iter=500)), "D-."),
    "MDM": (MDM(), "^--"),
}
sizes, repeats = (1, 2, 4, 8, 16), 4
accuracy = {name: np.zeros((len(sizes), repeats)) for name in methods}
for i, size in enumerate(sizes):
    for repeat in range(repeats):
        X, y, X_test, y_test = split(size)
        for name, (classifier, _) in methods.items():
            accuracy[name][i, repeat] = classifier.fit(X, y).score(X_test, y_test)

# %%
# With one or two matrices per class there is little to combine, and a linear classifier in the tangent
# space does best. The more there are, the more sparse combinations gain; a mean for each class gains little.

figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
shades = ("0.0", "0.0", "0.35", "0.5", "0.5")
for shade, (name, (_, style)) in zip(shades, methods.items(), strict=True):
    values = 100 * accuracy[name]
    error = values.std(axis=1, ddof=1) / np.sqrt(repeats)
    face = "white" if "Jeffrey" in name else shade
    ax.errorbar(
        sizes, values.mean(axis=1), error, fmt=style, color=shade, mfc=face, capsize=2, label=name
    )
ax.set_xscale("log")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set(xlabel="training matrices per class", ylabel="accuracy (%), ± standard error")
ax.grid(axis="y", color="0.92")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
