r"""
Three ways to measure a cone
============================

A 2×2 SPD matrix has three numbers, so all of them can be drawn: they are the inside of a cone. Here is
the cone, cut open, with the curves of equal divergence from one point: Stein, Jeffrey,
affine-invariant (AIRM), and Euclidean for comparison.
"""

# %%
# With :math:`X = \begin{pmatrix} a & b \\ b & c \end{pmatrix}`, positive definite means
# :math:`a c > b^2`, :math:`a > 0`. The section :math:`a + c = 2`, matrices of one trace, is a disc: its
# centre is the identity, its edge the singular matrices. Angle and radius are the direction and the
# elongation of the ellipse.

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import mean, pairwise_divergence

grid = np.linspace(-1, 1, 241)
u, v = np.meshgrid(grid, grid)
inside = np.hypot(u, v) < 0.995


def matrices(u, v):
    """Return the SPD matrices of trace 2 at these points of the disc."""
    return np.moveaxis(np.array([[1 + u, v], [v, 1 - u]]), (0, 1), (-2, -1))


def ellipse(A):
    """Return the outline of xᵀA⁻¹x = 1, (2, 80)."""
    angle = np.linspace(0, 2 * np.pi, 80)
    return np.linalg.cholesky(A) @ [np.cos(angle), np.sin(angle)]


disc = matrices(u[inside], v[inside])
centre = matrices(np.array([0.55]), np.array([0.25]))

# %%
# The curves are drawn at fixed multiples of the median divergence over the disc. Euclidean
# circles leave the cone; the others become dense towards the edge, which is infinitely far away. Stein
# and AIRM have nearly the same shape near the point, as they must: to second order
# :math:`S = \text{AIRM}^2 / 8 = J / 4`.

metrics = {"stein": "Stein", "jeffrey": "Jeffrey", "riemann": "AIRM²", "euclid": "Euclidean²"}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
shapes = [(r * np.cos(t), r * np.sin(t)) for r in (0.0, 0.5, 0.85) for t in np.arange(0, 6.2, 1.05)]
for ax, (metric, title) in zip(axes, metrics.items(), strict=True):
    values = np.full(u.shape, np.nan)
    values[inside] = pairwise_divergence(disc, centre, metric=metric)[:, 0]
    levels = np.nanmedian(values) * np.array([0.05, 0.2, 0.5, 1, 2, 4])
    ax.contourf(u, v, values, levels=[0, *levels], cmap="Greys_r", alpha=0.55)
    ax.contour(u, v, values, levels=levels, colors="k", linewidths=0.9)
    for x, y in shapes:
        outline = 0.07 * ellipse(matrices(np.array([x]), np.array([y]))[0])
        ax.plot(x + outline[0], y + outline[1], color="#1f3b57", linewidth=1)
    ax.plot(0.55, 0.25, "o", color="white", mec="black", ms=6)
    ax.plot(*ellipse(np.eye(2)), color="black", linewidth=2)
    ax.set(title=title, aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
    ax.set_axis_off()
plt.show()

# %%
# The same holds for means. The Euclidean mean of two thin ellipses that cross is larger than both (its
# determinant is larger); the other means keep the area. The geometric mean of *two* matrices is the same
# under AIRM, Stein and Jeffrey.

pair = matrices(np.array([0.9, -0.6]), np.array([0.0, 0.7]))
figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
for ax, (metric, title) in zip(axes, metrics.items(), strict=True):
    middle = mean(pair, metric=metric)
    for A in pair:
        ax.plot(*ellipse(A), color="0.5", linewidth=1.2)
    ax.fill(*ellipse(middle), color="#9aa7b4", alpha=0.5)
    ax.plot(*ellipse(middle), color="#1f3b57", linewidth=2)
    ax.set(aspect="equal", xlim=(-1.5, 1.5), ylim=(-1.5, 1.5))
    ax.set_title(f"{title.rstrip('²')} mean: determinant {np.linalg.det(middle):.2f}", fontsize=10)
    ax.set_axis_off()
print("determinants of the two:", np.linalg.det(pair).round(2))
plt.show()
