r"""
Errata 8 to 13: sentences, a lemma and a table
==============================================

These errors change no formula of the method. The first one changes how its comparison with log-Euclidean coding is
to be read; the others cost a reader time.
"""

# %%
# **Erratum 8.** The paper argues against coding in a tangent space: with negative curvature, "pair-wise distances
# are not even directly bounded" there. They are bounded, by the geodesic distances. Negative curvature makes
# :math:`\lVert\log_P X - \log_P Y\rVert_P \le d(X, Y)` for every point :math:`P` (it is positive curvature where
# the tangent space is larger). Here are 2,000 random triples of three sizes; at the identity the left side is the
# log-Euclidean distance.

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import nearest_spd, sparse_code
from spdatoms.geometry import expm, invsqrtm, logm

rng = np.random.default_rng(0)


def draw(count, n):
    """Return matrices whose logarithms are Gaussian."""
    S = rng.standard_normal((count, n, n))
    return expm(S + S.swapaxes(1, 2))


def norm(S):
    """Return the Frobenius norms of matrices."""
    return np.linalg.norm(S, axis=(1, 2))


ratios = []
for n, count in ((2, 700), (4, 700), (8, 600)):
    P, X, Y = draw(count, n), draw(count, n), draw(count, n)
    W = invsqrtm(P)  # congruence with W moves P to the identity, and is an isometry
    X, Y = W @ X @ W, W @ Y @ W
    X, Y = (X + X.swapaxes(1, 2)) / 2, (Y + Y.swapaxes(1, 2)) / 2
    V = invsqrtm(X)
    between = V @ Y @ V
    geodesic = norm(logm((between + between.swapaxes(1, 2)) / 2))
    ratios.append(norm(logm(X) - logm(Y)) / geodesic)
ratios = np.concatenate(ratios)
print(f"tangent distance / geodesic distance: {ratios.min():.2f} to {ratios.max():.6f}")
assert (ratios <= 1 + 1e-12).all()

# %%
# **Erratum 9.** J needs :math:`\operatorname{tr}(X^{-1}Y)`. The paper counts :math:`n^{2.3}` operations, as for a
# fast matrix product. But a trace needs only the diagonal of the product, the inner product of the two matrices:
# :math:`n^2` multiplications.

sizes = np.array([2, 4, 8, 16, 32, 64])
A, B = draw(1, 8)[0], draw(1, 8)[0]
print("tr(AB) by the product and by n² multiplications:", np.trace(A @ B), np.sum(A * B))

# %%
# **Erratum 10.** The nearest SPD matrix is defined as a minimiser over all positive definite matrices. These are an
# open set: for a matrix with a negative eigenvalue there are ever nearer ones, and none is the nearest. The limit
# has eigenvalues that are zero, so a floor belongs into the definition, as in ``nearest_spd``.

S = rng.standard_normal((4, 4))
indefinite = S + S.T
values, vectors = np.linalg.eigh(indefinite)
floors = 10.0 ** -np.arange(0, 9)
distances = [
    np.linalg.norm((vectors * np.maximum(values, floor)) @ vectors.T - indefinite)
    for floor in floors
]
infimum = np.linalg.norm(np.minimum(values, 0))
repaired = nearest_spd(indefinite)
print(f"infimum {infimum:.9f}, nearest_spd {np.linalg.norm(repaired - indefinite):.9f}")

# %%
# **Erratum 11.** The proof of Lemma 2 says that an atom is selected "whenever the optimality condition (a) is not
# satisfied", and two lines later that (a) is satisfied. The first must be condition (b), that of the zero entries.
# Where a search selects an atom, (a) holds to rounding and (b) does not:

Z = draw(30, 3) / 4
K = np.exp(-(norm((logm(Z)[:, None] - logm(Z)[None]).reshape(-1, 3, 3)).reshape(30, 30) ** 2) / 40)
k, alpha = K[1:, 0], 0.1
K = K[1:, 1:]
chosen = []
for _ in range(4):
    y = np.zeros(29)
    if chosen:
        y[chosen] = sparse_code(K[np.ix_(chosen, chosen)], k[None, chosen], alpha)[0]
    gradient = 2 * (K @ y - k)
    a = np.abs(gradient + alpha * np.sign(y))[y != 0].max(initial=0.0)
    b = (np.abs(gradient) - alpha)[y == 0].max()
    print(f"{len(chosen)} atoms: condition (a) is violated by {a:.0e}, condition (b) by {b:.0e}")
    if b < 1e-9:
        break
    chosen.append(int(np.where(y == 0, np.abs(gradient), 0).argmax()))

# %%
# **Erratum 12.** A row of a confusion matrix in percent has the sum 100. That of kicking has 115 in the paper's
# matrix of RSR-S for UCF sports: 95 kicking, 15 running, 5 high bar. The method's accuracy tells which number is
# wrong. 94.0 % of 150 videos are 141, so there are nine errors. Without the 15 % (three of twenty videos) the rows
# have just nine:

errors = {"diving": (7.1, 14), "kicking": (5.0, 20), "skateboarding": (30.8, 13)}
errors |= {"pommel horse": (16.7, 12), "walking": (7.7, 13)}
counts = {action: round(share * videos / 100) for action, (share, videos) in errors.items()}
print(counts, "sum:", sum(counts.values()), "with the 15 %:", sum(counts.values()) + 3)

# %%
# The numbers of videos are the denominators that explain the printed shares: 1/14 = 7.1 %, 4/13 = 30.8 %.
#
# **Erratum 13.** UCF sports has ten actions. The sentence that lists them has nine, and one of them is "driving",
# which is diving. Riding a horse is missing: the confusion matrices have it.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
axes[0].hist(ratios, bins=40, color="0.3")
axes[0].axvline(1, color="0.7", linewidth=0.8)
axes[0].set(
    xlabel="tangent / geodesic distance",
    ylabel="triples",
    title="8. bounded, by one",
    xlim=(0, 1.1),
)
axes[1].loglog(sizes, sizes**2.3, "k--", label="$n^{2.3}$, printed")
axes[1].loglog(sizes, sizes**2, "k-", label="$n^2$, enough")
axes[1].set_xticks(sizes, sizes)
axes[1].minorticks_off()
axes[1].legend(frameon=False)
axes[1].set(xlabel="n", ylabel="multiplications", title="9. trace of a product")
axes[2].loglog(floors, np.array(distances) - infimum, "ko-")
axes[2].set(
    xlabel="smallest eigenvalue", ylabel="distance − infimum", title="10. never the nearest"
)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
