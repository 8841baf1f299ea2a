"""
Faces from Gabor covariances
============================

A face is described by the covariance of its grey values, positions and 40 Gabor responses, a 43×43 matrix,
as in the paper's experiment. The face collections of that experiment may not be redistributed; the
faces at hand without a download are the 100 that come with scikit-image, with 100 cut-outs that show
none. So the question here is "face or not", from twenty labelled examples.
"""

# %%
# 200 images of 25×25 pixels (a subset of *Labeled Faces in the Wild*), and their covariances.

import warnings

import numpy as np
from matplotlib import pyplot as plt
from skimage.data import lfw_subset
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spdatoms import SPDKNeighborsClassifier, SPDSparseClassifier, SPDSparseCoder
from spdatoms.descriptors import FaceCovariance
from spdatoms.exceptions import IndefiniteKernelWarning, ZeroCodeWarning

images, y = lfw_subset(), np.repeat(["face", "other"], 100)
X = FaceCovariance().transform(images)
print(X.shape)

# %%
# Ten random splits, twenty images to train and 180 to test.

warnings.simplefilter("ignore", IndefiniteKernelWarning)
warnings.simplefilter("ignore", ZeroCodeWarning)
splits = StratifiedShuffleSplit(10, train_size=20, random_state=0)
pixels = images.reshape(200, -1) / 255
candidates = {
    "sparse, Stein": (SPDSparseClassifier("stein"), X),
    "sparse, Jeffrey": (SPDSparseClassifier("jeffrey"), X),
    "nearest neighbour, Stein": (SPDKNeighborsClassifier(metric="stein"), X),
    "pixels, logistic regression": (make_pipeline(StandardScaler(), LogisticRegression()), pixels),
}
for name, (classifier, data) in candidates.items():
    scores = cross_val_score(classifier, data, y, cv=splits)
    print(f"{name:>28}: {scores.mean():.1%} ± {scores.std() / np.sqrt(10):.1%}")

# %%
# One query in pictures, and the atoms that its code uses: a query is a combination of a few training images.

train, test = next(splits.split(X, y))
coder = SPDSparseCoder(X[train], alpha=0.1).fit(X[train])
queries = test[[list(y[test]).index("face"), list(y[test]).index("other")]]
codes = coder.transform(X[queries])

figure, axes = plt.subplots(2, 6, figsize=(10, 4), layout="constrained")
for row, query, code in zip(axes, queries, codes, strict=True):
    row[0].imshow(images[query], cmap="gray")
    row[0].set_title(f"query ({y[query]})", fontsize=10, fontweight="bold")
    largest = np.argsort(-np.abs(code))[:5]
    for ax, atom in zip(row[1:], largest, strict=True):
        if code[atom]:
            ax.imshow(images[train[atom]], cmap="gray")
            ax.set_title(f"{code[atom]:+.2f} · {y[train[atom]]}", fontsize=10)
    for ax in row:
        ax.set_axis_off()
plt.show()
