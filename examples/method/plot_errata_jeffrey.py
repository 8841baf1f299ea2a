r"""
Jeffrey's kernel is not a kernel
================================

The paper calls :math:`\exp(-\beta J)` conditionally positive definite, for all β. It is neither that
nor positive definite, for any β, and the case of 1×1 matrices is enough to see it.
"""

# %%
# For positive numbers :math:`e^u, e^v` Jeffrey's divergence is :math:`\cosh(u - v) - 1`, a function of the
# difference of logarithms. By Bochner's theorem such a kernel is positive definite if and only if its
# Fourier transform is nowhere negative. That of :math:`\exp(-\beta \cosh t)` is
# :math:`2 K_{i\omega}(\beta)`, a modified Bessel function of imaginary order, which oscillates for
# :math:`\omega > \beta`. (A negative value at some :math:`\omega \ne 0` excludes conditional definiteness as
# well: the test vector is a wave, which sums to zero.)

import numpy as np
from matplotlib import pyplot as plt
from scipy.integrate import quad

from spdatoms import pairwise_divergence


def transform(omega, beta):
    """Return the Fourier transform of exp(−β·(cosh t − 1)) at ω."""
    value, _ = quad(
        lambda t: 2 * np.exp(-beta * (np.cosh(t) - 1)), 0, 12, weight="cos", wvar=omega, limit=400
    )
    return value


omegas = np.linspace(0.05, 6, 120)
spectra = {beta: np.array([transform(omega, beta) for omega in omegas]) for beta in (0.1, 0.5, 2.0)}

# %%
# The same in matrices: the least eigenvalue of the Gram matrix of 200 random SPD matrices, relative to
# the greatest, against β. Stein's kernel is definite at β = ½, 1, …, (n−1)/2 and beyond.

rng = np.random.default_rng(0)


def least_eigenvalue(metric, n, betas):
    """Return least over greatest eigenvalue of the Gram matrix, for every β."""
    samples = rng.standard_normal((200, n, 2 * n + 2)) * np.exp(rng.standard_normal((200, n, 1)))
    d = pairwise_divergence(samples @ samples.swapaxes(1, 2), metric=metric)
    spectra = [np.linalg.eigvalsh(np.exp(-beta * d))[[0, -1]] for beta in betas]
    return np.array([least / greatest for least, greatest in spectra])


betas = np.geomspace(0.01, 30, 60)

# %%
# The violation shrinks as β grows, and on a finite set it ends where the Gram matrix comes close to the
# identity (the curves that leave at the top). This is why the library checks the Gram matrix, corrects it
# if necessary (:class:`~spdatoms.DivergenceKernel`), and warns.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for style, (beta, spectrum) in zip(("k-", "k--", "k:"), spectra.items(), strict=True):
    left.plot(omegas, spectrum / np.abs(spectrum).max(), style, label=f"β = {beta}")
left.axhline(0, color="0.6", linewidth=0.8)
left.set(xlabel="ω", ylabel="Fourier transform / maximum")
left.set_yscale("symlog", linthresh=1e-4)
left.set_title("exp(−β·(cosh t − 1)): negative values", fontsize=10)
for n, style in ((1, "-"), (3, "--"), (10, ":")):
    right.semilogx(
        betas, least_eigenvalue("jeffrey", n, betas), "k" + style, label=f"Jeffrey, n = {n}"
    )
right.semilogx(
    betas,
    least_eigenvalue("stein", 10, betas),
    color="0.55",
    lw=3,
    alpha=0.7,
    zorder=0,
    label="Stein, n = 10",
)
right.axhline(0, color="0.6", linewidth=0.8)
right.set(xlabel="β", ylabel="least / greatest eigenvalue", ylim=(-0.085, 0.03))
right.set_title("200 matrices: negative eigenvalues", fontsize=10)
left.legend(frameon=False)
right.legend(frameon=False, loc="lower right")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
