"""Sparse coding and dictionary learning of SPD matrices in the Frobenius norm (Sra and Cherian).

A matrix is a non-negative combination of positive semidefinite atoms in the flat space of symmetric
matrices. For given codes the loss is a multiple of ‖D_r − C_r‖²_F plus a constant, as a function of one
atom D_r. So the best admissible atom is the projection of C_r, in closed form and for every rank, where
the original method [1]_ takes gradient steps.

.. [1] S. Sra, A. Cherian, Generalized dictionary learning for symmetric positive definite matrices
   with application to nearest neighbor retrieval, 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.utils.extmath import row_norms

from spdatoms._utils import parameters as allow
from spdatoms._utils.products import row_products
from spdatoms._utils.sampling import first_samples, generator
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry import unvech, vech
from spdatoms.lasso import sparse_code
from spdatoms.layout import Numbers, holds
from spdatoms.paper.baselines.atoms import AlternatingLearner, Coding, DictionaryCoder

#: The α of "auto", in units of the mean square of the norms.
_ALPHA = 0.01


def typical_norm(X: FloatArray) -> float:
    """Return √(Σ_i ‖X_i‖²_F / m), of matrices of any scale."""
    largest = float(np.abs(X).max())
    return largest * float(np.sqrt(np.mean(np.sum((X / largest) ** 2, axis=(1, 2), dtype=float))))


def vectors(X: FloatArray, scale: float) -> Floats:
    """Return half-vectors of X / scale whose inner products are those of the matrices."""
    return np.asarray(vech(X.astype(np.float64) / scale, weighted=True))


class _FrobeniusCoding(Coding):
    """Coding over half-vectors ``_atoms`` (N, p) in units of ``scale_``."""

    alpha: float | str
    scale_: float
    _atoms: Floats
    _stored = holds("alpha_ scale_", _atoms=Numbers("N h"))

    def _code(self, X: FloatArray) -> tuple[Floats, Floats]:
        V = vectors(X, self.scale_)
        Y = code(V, self._atoms, self.alpha_, self.n_jobs)
        return Y, _losses(V, Y, self._atoms) + self.alpha_ * Y.sum(axis=1)

    def _choose_alpha(self) -> None:
        self.alpha_ = _ALPHA if isinstance(self.alpha, str) else float(self.alpha)


def code(V: Floats, D: Floats, alpha: float, n_jobs: int | None) -> Floats:
    """min_{y≥0} ‖v − Σ_j y_j d_j‖² + α Σ_j y_j for every row v of V."""
    codes: Floats = sparse_code(
        D @ D.T,
        row_products(V, D.T),
        alpha,
        query_norm=row_norms(V, squared=True),
        positive=True,
        check_gram=False,
        n_jobs=n_jobs,
    )
    return codes


@allow.with_parameters
class FrobeniusSparseCoder(_FrobeniusCoding, DictionaryCoder):
    """Non-negative sparse codes under the Frobenius norm.

    min_{y≥0} ‖X − Σ_j y_j D_j‖²_F + α s² Σ_j y_j: the code of X over atoms D_1 … D_N.

    s² is the mean of ‖D_j‖²_F, so that α is a number without a unit. The code is exact: see
    `sparse_code`. With the ½ that Sra and Cherian [1]_ write before the norm, their λ is α s²/2.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ = Σ y. ``"auto"`` is 0.01.

    Attributes
    ----------
    atoms_
    scale_ : float
        The s of the formula.
    alpha_, n_features_in_

    References
    ----------
    .. [1] S. Sra, A. Cherian, Generalized dictionary learning for symmetric positive definite
       matrices with application to nearest neighbor retrieval, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import FrobeniusSparseCoder
    >>> D = np.array([[[2.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]])
    >>> FrobeniusSparseCoder(alpha=0.0).fit(D).transform([[[7.0, 0.0], [0.0, 5.0]]]).round(6)
    array([[3., 1.]])
    """

    dictionary: ArrayLike | None = allow.parameter(allow.NONE | allow.MATRICES, default=None)
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    def _prepare(self) -> None:
        self._choose_alpha()
        self.scale_ = typical_norm(self.atoms_)
        self._atoms = vectors(self.atoms_, self.scale_)


@allow.with_parameters
class FrobeniusDictionaryLearning(_FrobeniusCoding, AlternatingLearner):
    """Learn a dictionary under the Frobenius norm.

    min_{D,Y≥0} Σ_i ‖X_i − Σ_j y_ij D_j‖²_F + α s² Σ_ij y_ij with D_j ⪰ 0 and ‖D_j‖_F ≤ s.

    s² is the mean of ‖X_i‖²_F: atoms have the unit of the data, and α has none. Exact coding and exact
    updates of one atom after the other alternate, so the objective never increases. An atom that no
    code uses is replaced by the matrix that is represented worst.

    Parameters
    ----------
    rank : int, default=None
        The greatest rank of an atom. 1 gives atoms d dᵀ, as in the experiments of Sra and
        Cherian [1]_; None stands for the size of the matrices.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ = Σ y. ``"auto"`` is 0.01.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness for the first atoms, which are training matrices.

    Attributes
    ----------
    atoms_ : ndarray of shape (n_atoms, n, n)
        The dictionary: symmetric, positive semidefinite.
    objective_ : ndarray of shape (2 · n_iter_,)
        The objective in units of s² after every half-step: coding, update, coding, update …
    n_iter_
    scale_ : float
        The s of the formula.
    alpha_, n_features_in_

    References
    ----------
    .. [1] S. Sra, A. Cherian, Generalized dictionary learning for symmetric positive definite
       matrices with application to nearest neighbor retrieval, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import FrobeniusDictionaryLearning
    >>> G = np.random.default_rng(0).standard_normal((60, 3, 12))
    >>> learner = FrobeniusDictionaryLearning(6, rank=1, random_state=0).fit(G @ G.swapaxes(1, 2))
    >>> np.linalg.matrix_rank(learner.atoms_)
    array([1, 1, 1, 1, 1, 1])
    >>> bool(np.all(np.diff(learner.objective_) <= 1e-9))
    True
    """

    _stored = holds(atoms_=Numbers("N n n"))
    n_atoms: int = allow.parameter(allow.integer(1), default=64)
    rank: int | None = allow.parameter(allow.NONE | allow.integer(1), default=None)
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    _: KW_ONLY
    max_iter: int = allow.parameter(allow.integer(1), default=50)

    def _iterations(self, X: FloatArray) -> Iterator[tuple[Floats, float, float]]:
        self._choose_alpha()
        self.scale_ = typical_norm(X)
        V = vectors(X, self.scale_)
        D = self._first_atoms(X, V)
        while True:
            Y = code(V, D, self.alpha_, self.n_jobs)
            coded = objective(V, Y, D, self.alpha_)
            D, Y = self._update(V, Y, D)
            yield D, coded, objective(V, Y, D, self.alpha_)

    def _is_small(self, decrease: float, before: float, after: float) -> bool:
        return decrease <= self.tol * before

    def _take(self, D: Floats, dtype: DTypeLike) -> None:
        self._atoms = D
        self.atoms_ = (unvech(D, weighted=True) * self.scale_).astype(dtype)

    def _update(self, V: Floats, Y: Floats, D: Floats) -> tuple[Floats, Floats]:
        """Return the atoms, each the best for the codes and the others, and the codes.

        With A = YᵀY the loss is A_rr ‖D_r − C_r‖² + const for C_r = D_r + (YᵀV − AD)_r / A_rr. If
        the best D_r is zero, so are its coefficients.
        """
        D, Y = D.copy(), Y.copy()
        A, B = Y.T @ Y, Y.T @ V
        for r in np.flatnonzero(A.diagonal() > 0):
            D[r] = admissible(D[r] + (B[r] - A[r] @ D) / A[r, r], self.rank)
        Y[:, ~D.any(axis=1)] = 0.0
        unused = np.flatnonzero(~Y.any(axis=0))
        worst = np.argsort(-_losses(V, Y, D), kind="stable")
        for r, i in zip(unused, worst, strict=False):
            D[r] = self._atom_of(V[i])
        return D, Y

    def _first_atoms(self, X: FloatArray, V: Floats) -> Floats:
        order = generator(self.random_state).permutation(len(X))
        return np.stack([self._atom_of(V[i]) for i in first_samples(X, order, self.n_atoms)])

    def _atom_of(self, v: Floats) -> Floats:
        """Return the admissible atom in the direction of a sample, with ‖D‖_F = 1."""
        atom = admissible(v, self.rank)
        return np.asarray(atom / np.linalg.norm(atom))


def objective(V: Floats, Y: Floats, D: Floats, alpha: float) -> float:
    """Σ_i ‖v_i − Σ_j y_ij d_j‖² + α Σ_ij y_ij."""
    return float(_losses(V, Y, D).sum() + alpha * Y.sum())


def _losses(V: Floats, Y: Floats, D: Floats) -> Floats:
    """‖v_i − Σ_j y_ij d_j‖² of every row."""
    return np.asarray(row_norms(V - Y @ D, squared=True))


def admissible(v: Floats, rank: int | None = None) -> Floats:
    """Return the nearest half-vector of a matrix D ⪰ 0 with ‖D‖_F ≤ 1 and at most this rank.

    The greatest eigenvalues are kept if they are positive, and scaled down if their norm is above 1:
    the nearest point of the cone inside the unit ball lies on the ray of the nearest point of the cone.
    """
    eigenvalues, U = np.linalg.eigh(unvech(v, weighted=True))
    kept = slice(max(0, len(eigenvalues) - (rank or len(eigenvalues))), None)
    positive, U = np.maximum(eigenvalues[kept], 0.0), U[:, kept]
    positive /= max(1.0, float(np.linalg.norm(positive)))
    return np.asarray(vech((U * positive) @ U.T, weighted=True))
