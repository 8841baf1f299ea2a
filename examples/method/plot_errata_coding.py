r"""
Errata 1 and 2: the search for the code
=======================================

The code of a query minimises :math:`f(y) = 1 - 2 y^\top k + y^\top K y + \lambda \lVert y \rVert_1`. The paper's
algorithm, feature-sign search, is the right one, but two lines of it are printed wrong. Here the
printed and the corrected form run on the same query.
"""

# %%
# **Erratum 1.** The derivative of the smooth part is :math:`2(Ky - k)`. Printed is :math:`Ky - 2k`, in
# the formula and in three places of the algorithm: the quadratic term has lost its factor 2.
#
# **Erratum 2.** In step 4, a violated *non-zero* condition must lead back to the feature-sign step (the
# quadratic problem on the active set is not solved yet), and a violated *zero* condition to the
# selection of a new feature. The two jumps are swapped.
#
# The search, with both as options, is short:

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import DivergenceKernel, sparse_code
from spdatoms.datasets import load_textures
from spdatoms.descriptors import TextureCovariance


def objective(K, k, alpha, y):
    """Return f(y)."""
    return 1 - 2 * y @ k + y @ K @ y + alpha * np.abs(y).sum()


def feature_sign_step(K, k, alpha, y, sign):
    """Return the best point of the segment to the solution with these signs."""
    active = np.flatnonzero(sign)
    new = np.zeros_like(y)
    new[active] = np.linalg.solve(K[np.ix_(active, active)], k[active] - alpha / 2 * sign[active])
    crossing = [t for t in y[active] / (y[active] - new[active] + 1e-300) if 0 < t < 1]
    points = [y + t * (new - y) for t in (*crossing, 1.0)]
    for point in points:
        point[np.abs(point) < 1e-12] = 0
    return min(points, key=lambda point: objective(K, k, alpha, point))


def search(K, k, alpha, printed_gradient, printed_jumps, rounds=40):
    """Return f after every round, and whether the search came to its end."""
    y, history, step = np.zeros(len(k)), [1.0], "select"
    sign = np.zeros(len(k))
    for _ in range(rounds):
        gradient = K @ y - 2 * k if printed_gradient else 2 * (K @ y - k)
        if step == "select":
            best = np.abs(np.where(y == 0, gradient, 0)).argmax()
            if abs(gradient[best]) > alpha:
                sign[best] = -np.sign(gradient[best])
        y = feature_sign_step(K, k, alpha, y, sign)
        sign = np.sign(y)
        history.append(objective(K, k, alpha, y))
        gradient = K @ y - 2 * k if printed_gradient else 2 * (K @ y - k)
        if (np.abs(gradient + alpha * sign)[y != 0] > 1e-9).any():
            step = "select" if printed_jumps else "solve"
        elif (np.abs(gradient)[y == 0] > alpha + 1e-9).any():
            step = "solve" if printed_jumps else "select"
        else:
            return history, True
    return history, False


# %%
# A query and sixty atoms: region covariances of photographs under the Stein kernel.

textures = load_textures(block=32)
X, y = TextureCovariance(block=None).transform(textures.data), textures.target
kernel = DivergenceKernel("stein").fit(X[::6])
alpha, query = 0.05, kernel.cross(X[100:101])[0]
K = kernel.gram_
best, certificate = sparse_code(K, query[None], alpha, return_certificate=True)
print(f"minimum {certificate.objective[0]:.6f}, duality gap {certificate.duality_gap[0]:.1e}")

forms = {
    "both as printed": (True, True),
    "gradient as printed": (True, False),
    "jumps as printed": (False, True),
    "both corrected": (False, False),
}
runs = {name: search(K, query, alpha, *form) for name, form in forms.items()}
for name, (history, ended) in runs.items():
    end = f"ends after {len(history) - 1} rounds" if ended else "never ends"
    print(f"{name:>20}: {end}, f = {history[-1]:.6f}")

# %%
# With the printed derivative the optimality conditions cannot hold at the optimum, so the search adds
# and removes atoms without end. With the printed jumps it solves the same quadratic problem again and
# again, and no second atom is ever selected. Corrected, it ends at the minimum, which :func:`~spdatoms.sparse_code`
# certifies by its duality gap.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
styles = ("k:", "k-", "k-", "k-")
markers = ("", "s", "^", "o")  # at different rounds, because two of the curves coincide
for i, (name, (history, ended)) in enumerate(runs.items()):
    excess = np.maximum(np.array(history) - certificate.objective[0], 1e-16)
    places = slice(3 * i, None, 8) if i in (1, 2) else []
    fill = "white" if i == 1 else "black"
    ax.semilogy(excess, styles[i], marker=markers[i], markevery=places, mfc=fill, ms=7, label=name)
    if ended:
        ax.plot(len(history) - 1, excess[-1], "ko")
        ax.annotate("ends", (len(history) - 1, excess[-1]), (8, -3), textcoords="offset points")
ax.set(xlabel="round", ylabel="f(y) − min f")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="center right")
plt.show()
