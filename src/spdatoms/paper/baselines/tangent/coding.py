"""Sparse coding in the tangent space of the query, with an affine constraint.

J. Ho, Y. Xie, B. Vemuri: *On a nonlinear generalization of sparse coding and dictionary learning*,
ICML 2013.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms._utils.warning import warn_user
from spdatoms.geometry.spectral import inverse_cholesky
from spdatoms.paper.baselines.atoms import Coding, DictionaryCoder, LabelledAtomsClassifier, ranked
from spdatoms.paper.baselines.tangent._affine_lasso import affine_codes
from spdatoms.paper.baselines.tangent._tangents import tangent_vectors

#: The tolerance of the solver, relative to the largest squared distance of an atom. Residuals up to the second number
#: need no warning: where matrices are ill-conditioned, they are rounding errors.
_TOL, _TOLERATED = 1e-9, 1e-6
#: Entries of matrices in the tangent spaces that a thread works on at a time, and of their Gram matrices.
_ENTRIES, _GRAM_ENTRIES = 2**16, 2**19


def tangent_codes(
    X: FloatArray,
    atoms: FloatArray,
    alpha: float,
    *,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats]:
    """min_y ‖Σ_j y_j log_X(D_j)‖²_X + α‖y‖₁ over Σ_j y_j = 1, for each of the matrices X.

    Parameters
    ----------
    X : ndarray of shape (m, n, n)
        The queries, checked already.
    atoms : ndarray of shape (N, n, n)
        The D_j.
    alpha : float
        The penalty of ‖y‖₁. Since Σ y = 1, only negative entries are penalised.
    n_jobs : int, default=None
        The number of threads.

    Returns
    -------
    codes : ndarray of shape (m, N)
        The codes, one per row.
    objective : ndarray of shape (m,)
        The least value for each of the matrices.
    kkt_residual : ndarray of shape (m,)
        The largest violation of the optimality conditions, relative to the largest squared distance
        of an atom or to α, if that is larger, but at most to twice that distance.

    Raises
    ------
    ValueError
        If a code is not finite.

    Warns
    -----
    ConvergenceWarning
        If some codes violate the optimality conditions by more than the tolerance.
    """
    D = np.asarray(atoms, np.float64)
    codes, objective, residual = np.empty((len(X), len(D))), np.empty(len(X)), np.empty(len(X))

    def code_queries(part: slice) -> None:
        B = _all_vectors(X[part], D)
        codes[part], objective[part], residual[part] = affine_codes(B, alpha, _TOL)

    run_blocks(code_queries, len(X), _block(D), n_jobs)
    _judge(residual, alpha)
    return codes, objective, residual


def _judge(residual: Floats, alpha: float) -> None:
    """Refuse codes that are not finite, and warn how many are not optimal to the tolerance."""
    lost = ~np.isfinite(residual)
    if lost.any():
        raise ValueError(
            f"The code of query {int(lost.argmax())} is not finite: alpha={alpha:.3g} is too large, lower it."
        )
    short = np.flatnonzero(residual > _TOLERATED)
    if len(short):
        worst = short[residual[short].argmax()]
        warn_user(
            f"{len(short)} of {len(residual)} codes in tangent spaces violate the optimality conditions by more than "
            f"the tolerance, query {worst} the most: by {residual[worst]:.3g}, relative to the largest squared "
            "distance of an atom. Either their matrices are too ill-conditioned (spdatoms.geometry.shrink or "
            f"regularise helps), or alpha={alpha:.3g} is too large next to these distances for weighted atoms.",
            ConvergenceWarning,
        )


def _all_vectors(X: FloatArray, D: Floats) -> Floats:
    """Return the log_X(D_j) as vectors, (m, N, p), for all queries X."""
    queries, atoms = np.indices((len(X), len(D))).reshape(2, -1)
    W = inverse_cholesky(np.asarray(X, np.float64))
    return tangent_vectors(W, D, queries, atoms).reshape(len(X), len(D), -1)


def _block(D: Floats) -> int:
    """Return the number of queries that a thread takes at a time."""
    return max(1, min(_ENTRIES // D.size, _GRAM_ENTRIES // len(D) ** 2))


class RiemannianCoding(Threaded, Coding):
    """What the estimators of coding in tangent spaces share: codes of queries over ``atoms_``."""

    alpha: float

    def _code(self, X: FloatArray) -> tuple[Floats, Floats]:
        return tangent_codes(X, self.atoms_, float(self.alpha), n_jobs=self.n_jobs)[:2]


@allow.with_parameters
class RiemannianSparseCoder(RiemannianCoding, DictionaryCoder):
    """Sparse codes in the tangent space of every query.

    min_y ‖Σ_j y_j log_X(D_j)‖²_X + α‖y‖₁ over Σ_j y_j = 1, the norm and log affine-invariant.

    Attributes
    ----------
    atoms_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import RiemannianSparseCoder
    >>> D = np.array([np.eye(2), 16.0 * np.eye(2)])
    >>> RiemannianSparseCoder(D).fit(D).transform(2.0 * D[:1]).round(6)
    array([[0.75, 0.25]])
    """

    dictionary: ArrayLike | None = allow.parameter(allow.NONE | allow.MATRICES, default=None)
    alpha: float = allow.parameter(allow.real(0), default=0.1)


@allow.with_parameters
class RiemannianSparseClassifier(RiemannianCoding, LabelledAtomsClassifier):
    """Classification by sparse codes in tangent spaces.

    The class c with the least ‖Σ_{j∈c} y_j log_X(D_j) / Σ_{j∈c} y_j‖_X, y the code of X.

    The training matrices are the labelled atoms; if they have weights w, their penalties are α|y_j|/√w_j. The part of
    a class is divided by its sum, so that it satisfies the affine constraint. Classes without a positive share of
    the code come after the others, in the order of the distance of their nearest atom.

    Attributes
    ----------
    classes_
    atoms_ : ndarray of shape (N, n, n)
        The training matrices, but those of weight zero.
    atom_weights_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import RiemannianSparseClassifier
    >>> X = np.array([np.diag([1.0, 4.0]), np.diag([4.0, 1.0])])
    >>> RiemannianSparseClassifier().fit(X, ["tall", "wide"]).predict(1.1 * X[::-1])
    array(['wide', 'tall'], dtype='<U4')
    """

    alpha: float = allow.parameter(allow.real(0), default=0.1)

    def _scores(self, X: FloatArray) -> Floats:
        """Return minus the residuals of the classes."""
        D = np.asarray(self.atoms_, np.float64)
        members = np.equal.outer(np.arange(len(self.classes_)), self._atom_classes)
        residuals, residual = np.empty((len(X), len(self.classes_))), np.empty(len(X))
        distances = np.empty_like(residuals)
        alpha = float(self.alpha)

        def score_queries(part: slice) -> None:
            vectors = _all_vectors(X[part], D)
            codes, _, residual[part] = affine_codes(vectors, alpha, _TOL, self.atom_weights_)
            for i, (B, y) in enumerate(zip(vectors, codes, strict=True), part.start):
                residuals[i] = _class_residuals(B, y, members)
                distances[i] = np.where(members, np.linalg.norm(B, axis=1), np.inf).min(axis=1)

        run_blocks(score_queries, len(X), _block(D), self.n_jobs)
        _judge(residual, alpha)
        return ranked(residuals, distances)


def _class_residuals(B: Floats, y: Floats, members: NDArray[np.bool_]) -> Floats:
    parts = members * y
    shares = parts.sum(axis=1)
    used = shares > 1e-9  # below it is rounding: a query that is an atom has no other share
    shares = np.where(used, shares, 1.0)
    return np.where(used, np.linalg.norm(parts @ B, axis=1) / shares, np.inf)
