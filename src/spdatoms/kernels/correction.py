"""Is a Gram matrix positive semidefinite? If not, correct it.

``exp(−β·divergence)`` need not be positive definite (Jeffrey's kernel is not at any β, Stein's only at some).
A Gram matrix with negative eigenvalues makes the coding problem non-convex, so it is corrected, and
the kernel values between queries and atoms are transformed consistently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import scipy.linalg.lapack

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import in_order
from spdatoms._utils.products import row_products
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.semidefinite import eigenvalue_tolerance
from spdatoms.layout import ANY, BOOLEAN, Gram, Maybe, Numbers, part

Correction = Literal["clip", "flip", "shift", "none"]
CORRECTION = allow.choice(*get_args(Correction))

#: How far a shift lifts the least eigenvalue above zero, as a share of the greatest entry. Cross values stay as they
#: are, so that along an eigenvector of zero the problem of coding has no minimum.
_SHIFT_MARGIN = 1e-6


@dataclass(frozen=True)
class CorrectedGram:
    """A positive semidefinite Gram matrix and how to treat kernel values between queries and atoms.

    Attributes
    ----------
    gram : ndarray of shape (N, N)
        The corrected Gram matrix; the given one, but for rounding, if it needed no correction.
    min_eigenvalue, max_eigenvalue : float or None
        The extreme eigenvalues of the given Gram matrix; None where they were not needed, see `eigenvalues`.
    indefinite : bool
        Whether a correction was needed.
    projection : ndarray of shape (N, N) or None
        What cross values are multiplied by, in models saved before there was a basis.
    basis : ndarray of shape (N, q) or None
        V, an orthonormal basis of some eigenvectors, the fewer of those that are kept and the others;
        None leaves cross values as they are.
    identity_share, basis_share : float
        Cross values k become a·k + b·VVᵀk with these a and b.
    """

    gram: Annotated[Floats, Gram("N")]
    min_eigenvalue: Annotated[float | None, Maybe(ANY)]
    max_eigenvalue: Annotated[float | None, Maybe(ANY)]
    indefinite: Annotated[bool, BOOLEAN]
    projection: Annotated[Floats | None, Maybe(Numbers("N N"))] = None
    basis: Annotated[Floats | None, Maybe(Numbers("N q"))] = None
    identity_share: Annotated[float, ANY] = 1.0
    basis_share: Annotated[float, ANY] = 0.0
    _stored = part()

    def eigenvalues(self) -> tuple[float, float]:
        """Return the extreme eigenvalues of the given Gram matrix, which may be computed now."""
        if self.min_eigenvalue is not None and self.max_eigenvalue is not None:
            return self.min_eigenvalue, self.max_eigenvalue
        found = np.linalg.eigvalsh(self.gram)
        return float(found[0]), float(found[-1])

    def transform(self, cross: FloatArray) -> Floats:
        """Return the cross values (m, N) that belong to the corrected Gram matrix."""
        cross = np.asarray(cross, np.float64)
        if self.projection is not None:
            return np.asarray(row_products(cross, self.projection))
        if self.basis is None:
            return cross
        coefficients = row_products(cross, self.basis)
        coefficients *= self.basis_share
        along = row_products(coefficients, self.basis.T)
        if self.identity_share:
            along += cross if self.identity_share == 1.0 else self.identity_share * cross
        return np.asarray(along)


def _is_square(value: Any) -> bool:
    if not allow.NUMBERS.test(value):
        return False
    shape = np.shape(value)
    return len(shape) == 2 and shape[0] == shape[1] > 0


_SQUARE = allow.Allowed(("a square matrix of finite numbers",), _is_square)


@allow.checks(gram=_SQUARE, correction=CORRECTION)
def correct_gram(gram: FloatArray, correction: str = "clip") -> CorrectedGram:
    """Make a Gram matrix positive semidefinite if it is not.

    It is K itself if λ_min ≥ −ε·λ_max (a λ_min < 0 lifted to |λ_min|), else K made semidefinite.

    Parameters
    ----------
    gram : ndarray of shape (N, N)
        A symmetric matrix of kernel values, in single or double precision.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        With K = U Λ Uᵀ,

        - clip: U max(Λ, 0) Uᵀ, cross values k → U₊U₊ᵀ k (projection on the positive part);
        - flip: U |Λ| Uᵀ, cross values k → U sign(Λ) Uᵀ k;
        - shift: K + μI with μ = |λ_min| + 10⁻⁶ max|K_ij|, cross values unchanged, which adds a ridge μ‖y‖²
          (elastic net);
        - none: an indefinite K is an error.

    Returns
    -------
    CorrectedGram
        In double precision: in single the corrected matrix might be indefinite again.
    """
    gram = in_order(gram)
    tolerance = eigenvalue_tolerance(gram if gram.dtype.kind == "f" else gram.astype(np.float64))
    gram = _symmetric(np.asarray(gram, np.float64))
    eigenvalues, U = np.linalg.eigh(gram)
    least, greatest = float(eigenvalues[0]), float(eigenvalues[-1])
    negligible = tolerance * greatest
    if least >= -negligible:
        # A zero that rounding has made negative is lifted: it is enough to lead a solver astray.
        lifted = gram if least >= 0 else gram - 2.0 * least * np.eye(len(gram))
        return CorrectedGram(lifted, least, greatest, indefinite=False)
    if correction == "none":
        raise ValueError(
            f"The Gram matrix is indefinite: its least eigenvalue is {least:.3g}, its greatest "
            f"{greatest:.3g}. Use correction='clip', 'flip' or 'shift', or another beta."
        )
    if correction == "shift":
        margin = negligible + _SHIFT_MARGIN * float(np.abs(gram).max())
        shifted = gram + (margin - least) * np.eye(len(gram))
        return CorrectedGram(shifted, least, greatest, indefinite=True)
    if correction == "clip":
        kept, factor = eigenvalues > negligible, 0.0
    else:
        kept, factor = eigenvalues >= 0, -1.0
    # Where an eigenvector is kept, cross values are multiplied by 1 along it, elsewhere by the factor.
    corrected = (U * (np.where(kept, 1.0, factor) * eigenvalues)) @ U.T
    few_kept = 2 * np.count_nonzero(kept) < len(kept)
    basis = np.ascontiguousarray(U[:, kept if few_kept else ~kept])
    shares = (factor, 1.0 - factor) if few_kept else (1.0, factor - 1.0)
    return CorrectedGram(
        0.5 * (corrected + corrected.T), least, greatest, True, None, basis, *shares
    )


def semidefinite_gram(gram: Floats, correction: str = "clip") -> CorrectedGram:
    """Return what `correct_gram` does, but without eigenvalues where a Cholesky factor will do.

    It shows that K ≥ 0 is semidefinite in a twentieth of the time.
    """
    gram = _symmetric(gram)
    # 1ᵀK1/N is at most the greatest eigenvalue.
    negligible = eigenvalue_tolerance(gram) * float(gram.mean()) * len(gram)
    return (
        definite_gram(gram)
        or definite_gram(gram + negligible * np.eye(len(gram)))
        or correct_gram(gram, correction)
    )


def definite_gram(gram: Floats) -> CorrectedGram | None:
    """Return a Gram matrix as it is, without its eigenvalues, if it has a Cholesky factor; else None."""
    gram = _symmetric(gram)
    if scipy.linalg.lapack.dpotrf(gram.T, clean=False)[1]:
        return None
    return CorrectedGram(gram, None, None, indefinite=False)


def _symmetric(gram: Floats) -> Floats:
    """Return K; by rounding it may not be symmetric, and eigenvalues and factors are those of one triangle."""
    return gram if np.array_equal(gram, gram.T) else 0.5 * (gram + gram.T)
