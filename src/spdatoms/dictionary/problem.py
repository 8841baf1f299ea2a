"""What is fixed before a dictionary is learned: β, α, and the ridge that an indefinite kernel needs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.dictionary._update import UpdateRule
from spdatoms.divergences import Divergence
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.kernels.bandwidth import choose_beta
from spdatoms.kernels.correction import eigenvalue_tolerance
from spdatoms.kernels.kernel import kernel_values
from spdatoms.lasso.alpha import automatic_alpha

#: β and the ridge are found from this many samples at most.
_SUBSAMPLE = 500
#: K + μI has no eigenvalue below this on the subsample and the first atoms.
_MARGIN = 1e-3
#: The least Schur complement of an atom in K + (μ − ν)I: what rounding cannot reach.
_LEAST_SCHUR = 1e-5
#: The least eigenvalue of an atom in its unit-diagonal scaling.
_LEAST_EIGENVALUE = 1e-10


@dataclass(frozen=True)
class Problem:
    """The kernel and the objective, fixed from the first step to the last.

    Attributes
    ----------
    divergence : Divergence
        The d of the kernel exp(−β·d).
    beta, alpha : float
        β, and the penalty α of ‖y‖₁.
    ridge : float
        The penalty μ of ‖y‖².
    margin : float or None
        The ν that no eigenvalue of K + μI may fall below; None where the kernel is positive definite
        on every set of matrices of this size, and there is nothing to watch.
    """

    divergence: Divergence
    beta: float
    alpha: float
    ridge: float
    margin: float | None

    def gram(self, atoms: Floats) -> Floats:
        """Return K of a dictionary."""
        divergence = self.divergence
        return kernel_values(divergence.pairwise(divergence.prepare(atoms)), self.beta)

    def ridged(self, gram: Floats) -> Floats:
        """Return K + μI."""
        return gram + self.ridge * np.eye(len(gram))

    def rule(self, update: str, block_size: int | None, X: FloatArray) -> UpdateRule:
        """Return how atoms move, so that they are SPD in the precision of X, too."""
        eps = float(np.finfo(X.dtype).eps)
        return UpdateRule(
            self.divergence.atom_sums(),
            self.beta,
            gradient=update == "gradient",
            block_size=block_size,
            shift=None if self.margin is None else self.ridge - self.margin,
            least_schur=_LEAST_SCHUR,
            least_eigenvalue=max(_LEAST_EIGENVALUE, 4.0 * X.shape[-1] * eps),
        )


def fix_problem(
    X: FloatArray,
    atoms: Floats,
    divergence: Divergence,
    beta: float | str,
    alpha: float | str,
) -> Problem:
    """Choose β, α and the ridge from a subsample of X and the first atoms.

    The ridge is μ = max(0, 0.001 − λ_min) with the least eigenvalue of the Gram matrix of both. On
    them f(y) ≥ −μ then holds for every y. Learning would seek out other matrices where it does not,
    so the least eigenvalue of K + μI may fall to ν, half of what it is for the first atoms, or half
    of μ if that is less: with N atoms f(y) ≥ 1 − N/ν, whatever they are.
    """
    samples = np.asarray(X[evenly_spaced(len(X), _SUBSAMPLE)], np.float64)
    divergences = divergence.pairwise(divergence.prepare(np.concatenate([samples, atoms])))
    beta = choose_beta(beta, divergences[: len(samples), : len(samples)])
    ridge, margin, indefinite = 0.0, None, False
    if not divergence.kernel_is_guaranteed(beta, X.shape[-1]):
        gram = kernel_values(divergences, beta)
        eigenvalues = np.linalg.eigvalsh(gram)
        indefinite = bool(eigenvalues[0] < -eigenvalue_tolerance(gram) * eigenvalues[-1])
        ridge = max(0.0, _MARGIN - float(eigenvalues[0]))
        least = float(np.linalg.eigvalsh(gram[len(samples) :, len(samples) :])[0])
        margin = 0.5 * min(max(ridge, _MARGIN), least + ridge)
        if indefinite:
            _warn_of_ridge(divergence, beta, eigenvalues, ridge)
    chosen = automatic_alpha(indefinite) if isinstance(alpha, str) else float(alpha)
    return Problem(divergence, beta, chosen, ridge, margin)


def _warn_of_ridge(divergence: Divergence, beta: float, eigenvalues: Floats, ridge: float) -> None:
    warnings.warn(
        f"The {divergence.name} kernel at beta={beta:.3g} is indefinite on these matrices (least "
        f"eigenvalue {eigenvalues[0]:.3g}, greatest {eigenvalues[-1]:.3g}): a ridge of {ridge:.3g} "
        "times the squared norm of the codes is added to the objective.",
        IndefiniteKernelWarning,
        stacklevel=4,
    )
