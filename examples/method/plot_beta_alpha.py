"""
What β and α do
===============

β sets how quickly the kernel forgets, α how dear an atom is. Both are drawn over a wide range: accuracy,
sparsity and time of the classifier on textures, and the place that the automatic choice takes.
"""

# %%
# Region covariances of six photographs; a third of the blocks is for training.

import time
import warnings

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import SPDSparseClassifier, SPDSparseClassifierCV, sparse_code
from spdatoms.datasets import load_textures
from spdatoms.descriptors import TextureCovariance

textures = load_textures(block=24)
X, y = TextureCovariance(block=None).transform(textures.data), textures.target
train = np.arange(len(X)) % 3 == 0
warnings.simplefilter("ignore")  # zero codes and corrections are expected at the ends of the grid

automatic = SPDSparseClassifier("stein").fit(X[train], y[train])
betas = automatic.kernel_.beta_ * np.array([0.03, 0.1, 0.3, 1, 3, 10, 30, 100])
alphas = np.array([1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001])
accuracy, nonzeros, seconds = np.zeros((3, len(alphas), len(betas)))
for j, beta in enumerate(betas):
    for i, alpha in enumerate(alphas):
        model = SPDSparseClassifier("stein", beta=beta, alpha=alpha).fit(X[train], y[train])
        accuracy[i, j] = 100 * model.score(X[~train], y[~train])
        cross = model.kernel_.cross(X[~train])
        seconds[i, j] = np.inf
        for _ in range(3):
            start = time.perf_counter()
            codes = sparse_code(model.kernel_.gram_, cross, alpha, check_gram=False)
            seconds[i, j] = min(seconds[i, j], 1e6 * (time.perf_counter() - start) / len(cross))
        nonzeros[i, j] = (codes != 0).sum(axis=1).mean()

# %%
# What :class:`~spdatoms.SPDSparseClassifierCV` would choose on the training matrices alone, by leaving one out:

chosen = SPDSparseClassifierCV("stein").fit(X[train], y[train])
print(f"automatic: β = {automatic.kernel_.beta_:.3g}, α = {automatic.alpha_:.3g}")
print(f"chosen:    β = {chosen.beta_:.3g}, α = {chosen.alpha_:.3g}")

# %%
# There is a broad plateau, and the automatic choice (circle) stands on it. To the upper right every
# kernel value is below α/2: codes are empty, and the classifier falls back to the nearest atom and
# warns. Towards the lower edge codes become dense and slow and gain nothing. Cross-validation
# (diamond) moves away from the defaults only where another place is clearly better.

figure, axes = plt.subplots(1, 3, figsize=(12.5, 3.9), layout="constrained")
panels = {
    "accuracy (%)": (accuracy, "{:.0f}"),
    "non-zeros a code": (nonzeros, "{:.1f}"),
    "coding, µs a query": (seconds, "{:.0f}"),
}
column = [np.abs(np.log(betas / beta)).argmin() for beta in (automatic.kernel_.beta_, chosen.beta_)]
row = [np.abs(np.log(alphas / alpha)).argmin() for alpha in (automatic.alpha_, chosen.alpha_)]
for ax, (title, (values, form)) in zip(axes, panels.items(), strict=True):
    logarithmic = title != "accuracy (%)"
    shown = np.log(values + 0.1) if logarithmic else values
    ax.imshow(shown, cmap="cividis", aspect="auto")
    dark = shown < (shown.min() + shown.max()) / 2
    for i, j in np.ndindex(values.shape):
        ink = "white" if dark[i, j] else "black"
        ax.text(j, i, form.format(values[i, j]), ha="center", va="center", color=ink, fontsize=8)
    ax.plot(column[0], row[0], "o", ms=26, mfc="none", mec="white", mew=2)
    ax.plot(column[1], row[1], "D", ms=22, mfc="none", mec="white", mew=1.2)
    ax.set_xticks(range(len(betas)), [f"{beta / betas[3]:.3g}" for beta in betas])
    ax.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
    ax.set(title=title, xlabel="β, multiples of the automatic one")
    ax.tick_params(length=0)
axes[0].set_ylabel("α")
plt.show()
