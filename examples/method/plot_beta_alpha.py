"""
What β and α do
===============

β sets how fast the kernel falls with the divergence, α is the penalty of the codes. Here are accuracy,
sparsity and time of the classifier on textures over a wide range of both, with the automatic choice.
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

alphas = np.array([1.0, 0.3, 0.1, 0.05, 0.03, 0.01, 0.003, 0.001])
factors = np.array([0.03, 0.1, 0.3, 1, 3, 10, 30, 100])


def fitted(metric, **parameters):
    """Return a classifier of the training matrices."""
    model = SPDSparseClassifier(metric, rule="residual", **parameters)
    return model.fit(X[train], y[train])


def maps(metric, automatic):
    """Return accuracy, non-zeros and microseconds per query for every α and β."""
    accuracy, nonzeros, seconds = np.zeros((3, len(alphas), len(factors)))
    for i, j in np.ndindex(accuracy.shape):
        model = fitted(metric, beta=automatic * factors[j], alpha=alphas[i])
        accuracy[i, j] = 100 * model.score(X[~train], y[~train])
        cross = model.kernel_.cross(X[~train])
        seconds[i, j] = np.inf
        for _ in range(3):
            start = time.perf_counter()
            codes = sparse_code(model.kernel_.gram_, cross, alphas[i], check_gram=False)
            seconds[i, j] = min(seconds[i, j], 1e6 * (time.perf_counter() - start) / len(cross))
        nonzeros[i, j] = (codes != 0).sum(axis=1).mean()
    return accuracy, nonzeros, seconds


# %%
# The automatic choice, and what :class:`~spdatoms.SPDSparseClassifierCV` would choose on the training matrices
# alone, by leaving one out:

found = {}
for metric in ("stein", "jeffrey"):
    automatic = fitted(metric, beta="auto", alpha="auto")
    tried = automatic.kernel_.beta_ * np.array([0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
    choice = SPDSparseClassifierCV(metric, tried, alphas, cv="loo")
    chosen = choice.fit(X[train], y[train]).best_estimator_
    print(f"{metric}, automatic: β = {automatic.kernel_.beta_:.3g}, α = {automatic.alpha_:.3g}")
    print(f"{metric}, chosen:    β = {chosen.kernel_.beta_:.3g}, α = {chosen.alpha_:.3g}")
    places = [(model.kernel_.beta_, model.alpha_) for model in (automatic, chosen)]
    found[metric] = maps(metric, automatic.kernel_.beta_), places

# %%
# Stein has a broad plateau, and the automatic choice (circle) stands on it. To the upper right every
# kernel value is below α/2: codes are empty, and the classifier falls back to the nearest atom and
# warns. Towards the lower edge codes become dense and slow and gain nothing. Jeffrey's plateau is narrower: its
# Gram matrix has been corrected, and codes with a small α follow the correction. So its automatic α is
# larger. The diamond has the least log-loss for matrices that were left out.

figure, axes = plt.subplots(2, 3, figsize=(12.5, 7.6), layout="constrained")
titles = {
    "accuracy (%)": "{:.0f}",
    "non-zeros per code": "{:.1f}",
    "coding, µs per query": "{:.0f}",
}
for line, (metric, (values_of, places)) in zip(axes, found.items(), strict=True):
    betas = places[0][0] * factors
    for ax, values, (title, form) in zip(line, values_of, titles.items(), strict=True):
        shown = values if title == "accuracy (%)" else np.log(values + 0.1)
        ax.imshow(shown, cmap="cividis", aspect="auto")
        dark = shown < (shown.min() + shown.max()) / 2
        for i, j in np.ndindex(values.shape):
            ink = "white" if dark[i, j] else "black"
            ax.text(
                j, i, form.format(values[i, j]), ha="center", va="center", color=ink, fontsize=8
            )
        for (beta, alpha), marker, size in zip(places, "oD", (26, 22), strict=True):
            column = np.abs(np.log(betas / beta)).argmin()
            row = np.abs(np.log(alphas / alpha)).argmin()
            ax.plot(column, row, marker, ms=size, mfc="none", mec="white", mew=1.6)
        ax.set_xticks(range(len(factors)), [f"{factor:.3g}" for factor in factors])
        ax.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
        ax.set_title(f"{metric}: {title}")
        ax.tick_params(length=0)
    line[0].set_ylabel("α")
for ax in axes[1]:
    ax.set_xlabel("β, multiples of the automatic one")
plt.show()
