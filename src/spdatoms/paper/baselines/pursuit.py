"""Orthogonal matching pursuit through a Gram matrix: greedy codes in place of the Lasso's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.classification.scores import ClassRule, warn_of_zero_codes
from spdatoms.coding.blocks import AtomLengths
from spdatoms.divergences import Divergence
from spdatoms.divergences.pairwise import pairwise_divergence
from spdatoms.divergences.registry import SYMMETRIC_METRIC
from spdatoms.kernels import Kernel
from spdatoms.kernels.correction import CORRECTION
from spdatoms.kernels.kernel import DivergenceKernel
from spdatoms.layout import Part, holds
from spdatoms.paper.baselines.atoms import DictionaryCoder, LabelledAtomsClassifier, OverAtoms

#: A direction counts as spanned if no more than this fraction of it is left.
_SPANNED = 1e-10
#: Numbers held at a time by a pursuit.
_BLOCK_ENTRIES = 4_000_000


def pursue(gram: Floats, cross: Floats, n_nonzero: int) -> Floats:
    """Return the codes of orthogonal matching pursuit, shape (m, N), for all samples at once.

    In each of ``n_nonzero`` steps a sample takes the atom with the greatest correlation with its residual
    and computes all its coefficients by least squares, until nothing is left. Scikit-learn's
    `orthogonal_mp_gram` does the same for one sample after the other.
    """
    codes = np.zeros_like(cross)
    steps = min(n_nonzero, len(gram))
    for part in block_slices(len(cross), max(1, _BLOCK_ENTRIES // (steps * len(gram)))):
        _pursue_block(gram, cross[part], steps, codes[part])
    return codes


def _pursue_block(gram: Floats, cross: Floats, steps: int, codes: Floats) -> None:
    """Write the codes of one block.

    Gram–Schmidt on the chosen atoms, seen through the Gram matrix alone: ``directions[i, t]`` are the
    inner products of the t-th orthonormal direction of sample i with all atoms.
    """
    m = len(cross)
    rows = np.arange(m)
    left = cross.copy()
    pivots = np.tile(gram.diagonal(), (m, 1))
    directions = np.zeros((m, steps, len(gram)))
    support = np.zeros((m, steps), dtype=np.intp)
    along = np.zeros((m, steps))
    negligible = _SPANNED * np.abs(cross).max(axis=1)
    going = np.ones(m, dtype=bool)
    for t in range(steps):
        atoms = support[:, t] = np.abs(left).argmax(axis=1)
        going &= np.abs(left[rows, atoms]) > negligible
        going &= pivots[rows, atoms] > _SPANNED * gram[atoms, atoms]
        if not going.any():
            break
        root = np.sqrt(np.where(going, pivots[rows, atoms], 1.0))
        past = directions[rows, :t, atoms]
        new = gram[atoms] - np.einsum("it,itj->ij", past, directions[:, :t])
        new *= (going / root)[:, None]
        directions[:, t] = new
        along[:, t] = going * left[rows, atoms] / root
        left -= along[:, t, None] * new
        pivots -= new * new
    factors = directions[rows[:, None], :, support]
    np.add.at(codes, (rows[:, None], support), _back_substitute(factors, along))


def _back_substitute(L: Floats, b: Floats) -> Floats:
    """L⁻ᵀ b for each lower triangle, with zeros where the diagonal is zero: there a pursuit had ended."""
    x = np.zeros_like(b)
    for t in range(b.shape[1] - 1, -1, -1):
        known = np.einsum("is,is->i", L[:, t + 1 :, t], x[:, t + 1 :])
        pivot = L[:, t, t]
        np.divide(b[:, t] - known, pivot, out=x[:, t], where=pivot > 0)
    return x


@allow.shared_parameters
class _KernelPursuit(Threaded, OverAtoms):
    """Greedy codes in the feature space of a kernel that is fitted to the atoms."""

    metric: str | Divergence
    beta: float | str
    correction: str = allow.parameter(CORRECTION, default="clip")
    n_nonzero: int = allow.parameter(allow.integer(1), default=5)
    _stored = holds(kernel_=Part(Kernel))

    def _prepare(self) -> None:
        kernel = DivergenceKernel(self.metric, self.beta, self.correction, self.n_jobs)
        self.kernel_ = kernel.fit_checked(self.atoms_)

    def _coded(self, X: FloatArray, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Return codes of matrices over atoms that may have weights, and kernel values with them."""
        atoms = AtomLengths(weights)
        gram = atoms.lengthened_gram(np.asarray(self.kernel_.gram_, np.float64))
        cross = np.asarray(self.kernel_.cross_checked(X), np.float64)
        return atoms.lengthened(pursue(gram, atoms.lengthened(cross), self.n_nonzero)), cross


@allow.with_parameters
class KernelPursuitCoder(_KernelPursuit, DictionaryCoder):
    """Sparse codes by orthogonal matching pursuit in feature space.

    Greedy min_y 1 − 2 yᵀk_X + yᵀKy with at most s entries in y.

    In every step the atom with the greatest correlation with the residual joins, and all coefficients are
    computed anew by least squares [1]_. The interface is that of `SPDSparseCoder`, whose codes minimise the
    same loss with the penalty α‖y‖₁.

    Parameters
    ----------
    beta : float or "auto", default="auto"
        The β of the kernel, as in `DivergenceKernel`.

    Attributes
    ----------
    atoms_, kernel_, n_features_in_

    References
    ----------
    .. [1] H. Nguyen, V. Patel, N. Nasrabadi, R. Chellappa, Design of non-linear kernel dictionaries for object
       recognition, IEEE Transactions on Image Processing, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import KernelPursuitCoder
    >>> G = np.random.default_rng(0).standard_normal((9, 3, 12))
    >>> X = G @ G.swapaxes(1, 2)
    >>> codes = KernelPursuitCoder(n_nonzero=2).fit(X[:6]).transform(X)
    >>> (codes != 0).sum(axis=1).tolist()
    [1, 1, 1, 1, 1, 1, 2, 2, 2]
    """

    dictionary: ArrayLike | None = allow.parameter(allow.NONE | allow.MATRICES, default=None)
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")

    def _codes(self, X: FloatArray) -> Floats:
        return self._coded(X)[0]


@allow.with_parameters
class KernelPursuitClassifier(_KernelPursuit, LabelledAtomsClassifier):
    """Classification by codes of orthogonal matching pursuit in feature space.

    The class c with the least ‖φ(X) − Σ_{j∈c} y_j φ(D_j)‖, for y as in `KernelPursuitCoder`.

    The training matrices are the atoms, as in `SPDSparseClassifier`. If they have weights w, the one with the greatest
    √w_j times correlation joins a code.

    Parameters
    ----------
    beta : float or "auto", default="auto"
        The β of the kernel, as in `DivergenceKernel`.

    Attributes
    ----------
    classes_
    atoms_ : ndarray of shape (N, n, n)
        The training matrices, but those of weight zero.
    atom_weights_, kernel_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import KernelPursuitClassifier
    >>> G = np.random.default_rng(0).standard_normal((40, 3, 20))
    >>> G[20:, 2] *= 3.0
    >>> X, y = G @ G.swapaxes(1, 2), np.repeat(["round", "long"], 20)
    >>> KernelPursuitClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")

    def _scores(self, X: FloatArray) -> Floats:
        codes, cross = self._coded(X, self.atom_weights_)

        def to_atoms(some: NDArray[np.bool_]) -> Any:
            return pairwise_divergence(X[some], self.atoms_, metric=self.metric, n_jobs=self.n_jobs)

        rule = ClassRule("residual", self._atom_classes, len(self.classes_))
        scores, zero = rule.scores_or_nearest(codes, self.kernel_.gram_, cross, to_atoms)
        warn_of_zero_codes(int(zero.sum()), len(X))
        return scores
