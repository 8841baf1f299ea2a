"""
A first look
============

A sparse classifier shows its reasons: a query is a combination of a few training matrices, and the class that
contributes most is the answer. Here the matrices are covariances of small windows of twelve photographs.
"""

# %%
# The photographs come with scikit-image. Every window of 32×32 pixels becomes a 5×5 covariance of its grey
# values and derivatives. Of each photograph 50 windows are for training.

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
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.plotting import ExplanationDisplay

names = [
    "brick", "grass", "gravel", "coins", "camera", "moon", "page", "hubble_deep_field", "retina", "coffee",
    "chelsea", "immunohistochemistry",
]  # fmt: skip
windows, labels = [], []
for name in names:
    image = getattr(data, name)()
    grey = 255 * color.rgb2gray(image) if image.ndim == 3 else image.astype(float)
    grey = grey[::2, ::2] if min(grey.shape) > 600 else grey
    rows, columns = (side // 32 for side in grey.shape)
    blocks = grey[: 32 * rows, : 32 * columns].reshape(rows, 32, columns, 32).swapaxes(1, 2)
    windows.extend(blocks.reshape(-1, 32, 32))
    labels.extend([name.split("_")[0][:6]] * rows * columns)
windows, labels = np.array(windows), np.array(labels)
X = TextureCovariance(block=None).transform(windows)

rng = np.random.default_rng(0)
order = rng.permutation(len(X))
train = np.concatenate([order[labels[order] == label][:50] for label in np.unique(labels)])
test = np.setdiff1d(order, train)[::6]
print(f"{len(train)} training matrices {X.shape[1:]}, {len(test)} queries")

# %%
# Fit, score, and compare with the standards of the field, all with their default parameters. (The kernel is
# corrected a little, about which there would be a warning.)

warnings.simplefilter("ignore", IndefiniteKernelWarning)
classifier = SPDSparseClassifier("stein").fit(X[train], labels[train])
methods = {
    "sparse": classifier,
    "nearest\nneighbour": SPDKNeighborsClassifier(),
    "tangent\nspace": make_pipeline(TangentSpace(), LogisticRegression(max_iter=2000)),
    "MDM": MDM(),
}
accuracy = {
    name: 100 * method.fit(X[train], labels[train]).score(X[test], labels[test])
    for name, method in methods.items()
}
print({name.replace("\n", " "): round(value, 1) for name, value in accuracy.items()})

# %%
# ``explain`` lists which training matrices made the decision, and what each of them contributes to the score of its
# class. The code has 600 entries, and most of them are zero.

query = test[labels[test] == "grass"][3]
(explanation,) = classifier.explain(X[[query]])
print(explanation)

size = {"figsize": (4.8, 3.7), "layout": "constrained"}
_, left = plt.subplots(**size)
ExplanationDisplay(explanation, images=windows[train], max_atoms=6).plot(left)
left.set_title("which training matrices decided", fontsize=11)
inset = left.inset_axes((0.62, 0.08, 0.36, 0.46))
inset.imshow(windows[query], cmap="gray")
inset.set(xticks=[], yticks=[])
inset.set_title("the query", fontsize=9)

_, middle = plt.subplots(**size)
code = np.zeros(len(train))
code[explanation.atoms] = explanation.contributions
right_class = labels[train] == labels[query]
for mask, ink in ((right_class, "#1f3b57"), (~right_class, "#c2571a")):
    used = np.flatnonzero(mask & (code != 0))
    middle.vlines(used, 0, code[used], color=ink, linewidth=1.8)
middle.axhline(0, color="0.6", linewidth=0.8)
middle.axvspan(*np.flatnonzero(right_class)[[0, -1]], color="#1f3b57", alpha=0.12, linewidth=0)
middle.text(np.flatnonzero(right_class).mean(), code.max(), "grass", ha="center", va="bottom")
middle.set_ylim(None, 1.15 * code.max())
middle.set_title(f"its code: {np.count_nonzero(code)} of 600 atoms", fontsize=11)
middle.set(xlim=(0, len(code)), xlabel="training matrix, by class", ylabel="contribution")

_, right = plt.subplots(**size)
inks = ["#1f3b57", *["#9aa7b4"] * (len(accuracy) - 1)]
bars = right.bar(list(accuracy), list(accuracy.values()), color=inks)
right.bar_label(bars, fmt="%.0f %%")
right.set(ylim=(0, 105), yticks=[])
right.set_title("accuracy, twelve kinds of texture", fontsize=11)
for ax in (middle, right):
    ax.spines[["top", "right"]].set_visible(False)
right.spines["left"].set_visible(False)
plt.show()
