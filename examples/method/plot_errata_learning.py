r"""
Errata 3, 4 and 5: the update of an atom
========================================

With the codes :math:`Y` fixed, the terms of the objective that contain the atom :math:`D_r` are

.. math::

   F_r(D_r) = -2 \sum_i Y_{ir}\, k(X_i, D_r) + 2 \sum_{j \ne r} A_{rj}\, k(D_j, D_r),
   \qquad A = Y^\top Y.

The paper sets the derivative to zero and solves for :math:`D_r`, with three errors. Here the
printed and the corrected updates learn from the same data, both without any safeguard.
"""

# %%
# **Erratum 3.** The derivative drops the factor 2 of the second sum and keeps the term :math:`j = r`,
# although :math:`k(D_r, D_r) = 1` is constant. Corrected, the weights (frozen at the current atom) are
# :math:`c_i = Y_{ir} k(X_i, D_r)` for samples and :math:`c_j = -A_{rj} k(D_j, D_r)`, :math:`j \ne r`, for
# atoms.
#
# **Erratum 4** (Jeffrey). The update is the geometric mean of :math:`Q` and :math:`P^{-1}`, if both are
# positive definite. With the printed signs, "atoms minus samples", they are the negative of what they
# should be, and the condition never holds.
#
# **Erratum 5** (Stein). Zero gradient means :math:`\sum c (Z + D_r)^{-1} = \frac{1}{2} (\sum c) D_r^{-1}`, so
# :math:`D_r \leftarrow \frac{s}{2} P^{-1}`. Printed is :math:`\frac{2}{s} P^{-1}`. One does not need data
# to see that: multiply all weights by :math:`w`, and the atom must stay; the printed form moves it by
# :math:`w^{-2}`.

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import nearest_spd, pairwise_divergence, sparse_code
from spdatoms.geometry import geometric_mean

ALPHA, ATOMS, ITERATIONS = 0.1, 16, 8
rng = np.random.default_rng(0)
shapes = rng.standard_normal((8, 5, 10))
samples = shapes[rng.integers(8, size=500)] @ rng.standard_normal((500, 10, 40)) / np.sqrt(40)
X = samples @ samples.swapaxes(1, 2)


def weights(Y, cross_r, gram_r, r, printed):
    """Return the weights of the samples and of the atoms in the update of atom r."""
    products = Y[:, r] @ Y
    if printed:  # minus the sign, the factor 2 on the samples alone, and j = r
        return 2 * Y[:, r] * cross_r, -products * gram_r
    products[r] = 0
    return Y[:, r] * cross_r, -products * gram_r


def projected(A):
    """Return A, brought back to the cone if it is not in it."""
    return nearest_spd(A, floor=1e-6)


def update(metric, D, r, c_samples, c_atoms, printed):
    """Return the new atom r."""
    if metric == "stein":
        P = np.tensordot(c_samples, np.linalg.inv(X + D[r]), 1)
        P += np.tensordot(c_atoms, np.linalg.inv(D + D[r]), 1)
        s = c_samples.sum() + c_atoms.sum()
        return projected((2 / s if printed else s / 2) * np.linalg.inv(projected(P)))
    P = np.tensordot(c_samples, np.linalg.inv(X), 1) + np.tensordot(c_atoms, np.linalg.inv(D), 1)
    Q = np.tensordot(c_samples, X, 1) + np.tensordot(c_atoms, D, 1)
    sign = -1 if printed else 1  # "atoms minus samples"
    return geometric_mean(projected(sign * Q), projected(np.linalg.inv(projected(sign * P))))


def learn(metric, beta, printed):
    """Return the objective after the coding of every iteration."""
    D, history = X[:ATOMS].copy(), []
    for _ in range(ITERATIONS):
        gram = np.exp(-beta * pairwise_divergence(D, metric=metric))
        cross = np.exp(-beta * pairwise_divergence(X, D, metric=metric))
        Y, certificate = sparse_code(
            gram + RIDGE * np.eye(ATOMS), cross, ALPHA, return_certificate=True
        )
        history.append(certificate.objective.sum())
        for r in np.flatnonzero(Y.any(axis=0)):
            cross_r = np.exp(-beta * pairwise_divergence(X, D[r : r + 1], metric=metric))[:, 0]
            gram_r = np.exp(-beta * pairwise_divergence(D, D[r : r + 1], metric=metric))[:, 0]
            D[r] = update(metric, D, r, *weights(Y, cross_r, gram_r, r, printed), printed)
    return history


# %%
# β is large enough for Stein's kernel to be positive definite on every set, (n − 1)/2 = 2. Jeffrey's is
# not at any β, so a small ridge :math:`\mu\lVert y \rVert^2` keeps the coding problem convex.

RIDGE, betas = 0.01, {"stein": 2.0, "jeffrey": 0.5}
curves = {
    (metric, printed): learn(metric, beta, printed)
    for metric, beta in betas.items()
    for printed in (True, False)
}
for (metric, printed), history in curves.items():
    print(f"{metric:>8}, {'printed' if printed else 'corrected':>9}:", *np.round(history, 1))

# %%
# With the printed updates the atoms move away from the data until few codes, or none, use them: 500, one for every
# sample, is the objective of an empty dictionary. With the corrected ones the objective falls.
# :class:`~spdatoms.SPDDictionaryLearning` adds safeguards on top: a step that does not lower the objective is shortened
# or refused, so that its curve never rises, on any data.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, metric in zip(axes, betas, strict=True):
    ax.plot(curves[metric, True], "ks--", mfc="white", label="as printed")
    ax.plot(curves[metric, False], "ko-", label="corrected")
    ax.axhline(len(X), color="0.5", linewidth=0.8, linestyle=":")
    ax.text(
        ITERATIONS - 1, len(X) - 4, "empty codes", ha="right", va="top", fontsize=9, color="0.3"
    )
    ax.set(title=metric.capitalize(), xlabel="iteration", ylabel="objective after coding")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, loc="center right")
plt.show()
