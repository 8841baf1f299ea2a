r"""
Side claims of the paper, checked
=================================

Besides its tables the paper makes smaller claims. Four of them are tested here with small data.

1. Residuals classify better than the sum or the maximum of a class's part of the code.
2. J is cheaper than S for matrices smaller than about 35 (its counts say larger).
3. The lengths of curves under S and under AIRM agree up to a constant factor.
4. Closed-form updates of atoms are faster than Riemannian gradient descent.
"""

# %%
# **1. The rule.** Textures, five training blocks of each of six photographs, twenty random splits.

import time
import warnings

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import SPDDictionaryLearning, SPDSparseClassifier, pairwise_divergence
from spdatoms.datasets import load_textures
from spdatoms.descriptors import TextureCovariance
from spdatoms.geometry import expm

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
textures = load_textures(block=24)
X, y = TextureCovariance(block=None).transform(textures.data), textures.target
rules = ("residual", "sum", "max")
accuracy = {(metric, rule): [] for metric in ("stein", "jeffrey") for rule in rules}
for _ in range(20):
    train = np.zeros(len(X), dtype=bool)
    for label in range(6):
        train[rng.choice(np.flatnonzero(y == label), 5, replace=False)] = True
    for metric, rule in accuracy:
        model = SPDSparseClassifier(metric, rule=rule).fit(X[train], y[train])
        accuracy[metric, rule].append(100 * model.score(X[~train], y[~train]))
for (metric, rule), values in accuracy.items():
    print(f"{metric:>8}, {rule:>8}: {np.mean(values):.1f} ± {np.std(values) / np.sqrt(20):.1f} %")

# %%
# **2. The cost.** The paper counts :math:`\frac{2}{3} n^3` operations for S, and :math:`2n^{2.3} + \frac{1}{2} n^3` for
# J, with an inverse for every pair; by these counts J would be cheaper for :math:`n > 34.8`, not below.
# Inverses belong to single matrices, not to pairs: computed once, J is
# one inner product of :math:`n(n+1)` numbers per pair, all pairs are one matrix product, and J is the
# cheaper one at every size, and the difference grows with n.

sizes = (2, 3, 5, 8, 12, 22, 35, 50)
microseconds = {"stein": [], "jeffrey": []}
for n in sizes:
    G = rng.standard_normal((200, n, 2 * n))
    Z = G @ G.swapaxes(1, 2)
    for metric, values in microseconds.items():
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            pairwise_divergence(Z, Z, metric=metric)
            best = min(best, time.perf_counter() - start)
        values.append(1e6 * best / len(Z) ** 2)

# %%
# **3. Lengths.** A random smooth curve in the cone, cut into ever more segments. The sum of the distances
# :math:`\sqrt{S}` and AIRM of successive points tends to the length; their ratio to :math:`\sqrt8`, since
# :math:`S = \text{AIRM}^2/8` to second order.

A, B = rng.standard_normal((2, 4, 4))
segments = np.array([2, 4, 8, 16, 32, 64, 128])
ratios = []
for count in segments:
    t = np.linspace(0, 1, count + 1)[:, None, None]
    points = expm(2 * np.sin(2 * t) * (A + A.T) / 2 + np.cos(3 * t) * (B + B.T))
    S, airm = (
        pairwise_divergence(points, metric=metric).diagonal(1) for metric in ("stein", "riemann")
    )
    ratios.append(np.sqrt(airm).sum() / np.sqrt(S).sum())
print("AIRM length / S length:", *np.round(ratios, 4), "→", np.round(np.sqrt(8), 4))

# %%
# **4. The update.** The same learner with the centre as proposal, and with gradient steps.

G = rng.standard_normal((1500, 6, 18)) * np.exp(0.6 * rng.standard_normal((1500, 6, 1)))
Z = G @ G.swapaxes(1, 2) / 18
curves = {}
for update in ("centre", "gradient"):
    learner = SPDDictionaryLearning(32, alpha=0.1, init=Z[:32], max_iter=15, tol=0, update=update)
    start = time.perf_counter()
    learner.fit(Z)
    seconds = time.perf_counter() - start
    curves[update] = seconds * np.arange(1, 16) / 15, learner.objective_[1::2]

# %%
# The residual rule is clearly better than the maximum, and slightly better than the sum. J is
# cheaper everywhere, below 35 and above. The lengths agree up to :math:`\sqrt8`. Closed-form updates get
# further in the same time with the Stein kernel.

figure, axes = plt.subplots(2, 2, figsize=(10, 6.6), layout="constrained")
ax = axes[0, 0]
for shift, metric, face in ((-0.12, "stein", "black"), (0.12, "jeffrey", "white")):
    values = np.array([accuracy[metric, rule] for rule in rules])
    error = values.std(axis=1) / np.sqrt(values.shape[1])
    ax.errorbar(
        np.arange(3) + shift,
        values.mean(axis=1),
        error,
        fmt="ko",
        mfc=face,
        capsize=3,
        label=metric,
    )
ax.set_xticks(range(3), rules)
ax.set(ylabel="accuracy (%)", xlim=(-0.5, 2.5), title="1. rule")
ax = axes[0, 1]
ax.loglog(sizes, microseconds["stein"], "ko-", label="stein")
ax.loglog(sizes, microseconds["jeffrey"], "ko--", mfc="white", label="jeffrey")
ax.axvline(35, color="0.7", linewidth=0.8)
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set(xlabel="n", ylabel="µs per pair", title="2. cost, inverses included")
ax = axes[1, 0]
ax.semilogx(segments, ratios, "ko-", base=2)
ax.axhline(np.sqrt(8), color="0.6", linewidth=0.8)
ax.text(2, np.sqrt(8) + 0.004, "√8", va="bottom", color="0.3")
ax.set_xticks(segments, segments)
ax.set(
    xlabel="segments of the curve", ylabel="AIRM length / S length", title="3. lengths of curves"
)
ax = axes[1, 1]
for (update, (seconds, objective)), style in zip(curves.items(), ("ko-", "ko--"), strict=True):
    ax.plot(
        seconds, objective, style, mfc="white" if update == "gradient" else "black", label=update
    )
ax.set(xlabel="seconds", ylabel="objective", title="4. update of atoms")
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
plt.show()
