"""Dictionaries for sparse coding in tangent spaces: Riemannian gradient descent on Σ_i ‖Σ_j y_ij log_{X_i}(D_j)‖².

J. Ho, Y. Xie, B. Vemuri: *On a nonlinear generalization of sparse coding and dictionary learning*,
ICML 2013.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from spdatoms._utils import parameters as allow
from spdatoms._utils.sampling import generator
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.dictionary.initial import INIT, first_atoms
from spdatoms.divergences import get_divergence
from spdatoms.geometry.half_vectors import unvech
from spdatoms.geometry.spectral import inverse_cholesky
from spdatoms.paper.baselines.atoms import AlternatingLearner, lowered, steepest_descent
from spdatoms.paper.baselines.tangent._tangents import tangent_vectors
from spdatoms.paper.baselines.tangent.coding import RiemannianCoding, tangent_codes


class TangentLoss:
    """Σ_i ‖V_i‖² with V_i = Σ_j y_ij log_{X_i}(D_j), a function of the atoms, over the pairs with y_ij ≠ 0 alone.

    Parameters
    ----------
    W : ndarray of shape (m, n, n)
        L_i⁻¹ of the matrices X_i = L_i L_iᵀ.
    codes : ndarray of shape (m, N)
        The y_ij.
    """

    def __init__(self, W: Floats, codes: Floats) -> None:
        self.W = W
        self.queries, self.atoms = np.nonzero(codes)
        values, number = codes[self.queries, self.atoms], np.arange(len(self.queries))
        m, n_atoms = codes.shape
        self._to_queries = csr_array((values, (self.queries, number)), (m, len(number)))
        self._to_atoms = csr_array((values, (self.atoms, number)), (n_atoms, len(number)))

    def value(self, atoms: Floats) -> float:
        """Return the loss."""
        return float((self._combined(atoms) ** 2).sum())

    def gradient(self, atoms: Floats) -> tuple[float, Floats]:
        """Return the loss and ∂/∂D_j Σ_i ‖V_i‖² = Σ_i 2 y_ij (D log)ᵀ V_i."""
        vectors = self._combined(atoms)
        V = unvech(vectors, weighted=True)
        gradients = tangent_vectors(self.W, atoms, self.queries, self.atoms, V)
        return float((vectors**2).sum()), unvech(2.0 * (self._to_atoms @ gradients), weighted=True)

    def _combined(self, atoms: Floats) -> Floats:
        """Return the V_i as vectors."""
        vectors = tangent_vectors(self.W, atoms, self.queries, self.atoms)
        return np.asarray(self._to_queries @ vectors)


@allow.with_parameters
class RiemannianDictionaryLearning(RiemannianCoding, AlternatingLearner):
    """Learn a dictionary for sparse codes in tangent spaces.

    min_{D,Y} Σ_i ‖Σ_j y_ij log_{X_i}(D_j)‖² + α‖y_i‖₁ over Σ_j y_ij = 1.

    Exact coding and steps of Riemannian gradient descent of all atoms alternate; no half-step raises
    the objective.

    Parameters
    ----------
    init : {"random", "kmeans", "kmeans-riemann"} or array-like of shape (n_atoms, n, n), default="random"
        The first atoms: random training matrices, centres of k-means under the affine-invariant
        distance (by either name), or given ones.

    Attributes
    ----------
    atoms_, objective_, n_iter_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import RiemannianDictionaryLearning
    >>> G = np.random.default_rng(0).standard_normal((20, 3, 12))
    >>> X = G @ G.swapaxes(1, 2) / 12
    >>> learner = RiemannianDictionaryLearning(n_atoms=3, max_iter=4, random_state=0).fit(X)
    >>> bool(np.all(np.diff(learner.objective_) <= 1e-9))
    True
    """

    n_atoms: int = allow.parameter(allow.integer(1), default=16)
    alpha: float = allow.parameter(allow.real(0), default=0.1)
    _: KW_ONLY
    init: str | ArrayLike = allow.parameter(INIT, default="random")
    max_iter: int = allow.parameter(allow.integer(1), default=30)

    def _iterations(self, X: FloatArray) -> Iterator[tuple[Floats, float, float]]:
        X = np.ascontiguousarray(X, np.float64)
        rng, metric = generator(self.random_state), get_divergence("riemann")
        atoms = first_atoms(X, self.init, self.n_atoms, metric, rng, self.n_jobs)
        W = inverse_cholesky(X)
        step, alpha = 1.0, float(self.alpha)
        while True:
            codes, losses, _ = tangent_codes(X, atoms, alpha, n_jobs=self.n_jobs)
            coded = float(losses.sum())
            atoms, decrease, step = _descend(TangentLoss(W, codes), atoms, codes, 2.0 * step)
            yield atoms, coded, coded - decrease


def _descend(
    loss: TangentLoss, atoms: Floats, codes: Floats, first_step: float
) -> tuple[Floats, float, float]:
    """Follow the geodesics of steepest descent; return the atoms, the decrease and the step."""
    before, gradient = loss.gradient(atoms)
    # Twice the squared codes would be the curvature of an atom if the space were flat.
    curve = steepest_descent(atoms, gradient, 2.0 * (codes**2).sum(axis=0))

    def trial(t: float) -> tuple[float, Floats]:
        moved = curve.points(t)
        return loss.value(moved), moved

    after, atoms, step = lowered(trial, (before, atoms), min(first_step, 1.0))
    return atoms, before - after, step
