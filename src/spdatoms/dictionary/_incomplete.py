"""Atoms for matrices that lack channels: min_{D,Y} Σ_i w_i (1 − 2 y_iᵀk_i + y_iᵀ(K_o + μI)y_i + α‖y_i‖₁).

A matrix X_i that knows the channels o is compared with the atoms cut to these: K_o and k_i hold exp(−β_o·d) among them
and with X_i. The gradient of d(X_i, D_oo) is that on the small cone, with zeros for the other channels. All atoms
go downhill at once, along geodesics, and only as far as the objective falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.divergences import Divergence, PreparedSet
from spdatoms.geometry.channels import Mask, cut, patterns
from spdatoms.geometry.geodesics import AffineGeodesics, well_conditioned
from spdatoms.geometry.spectral import adjoint, cholesky
from spdatoms.kernels.bandwidth import automatic_beta
from spdatoms.kernels.correction import is_semidefinite
from spdatoms.kernels.values import kernel_values
from spdatoms.lasso.certificate import ShortCodes
from spdatoms.lasso.solve import sparse_code_block

#: Step lengths are halved at most this number of times.
_HALVINGS = 12
#: The least eigenvalue of an atom in its unit-diagonal scaling, and of K + μI at the beginning.
_LEAST_EIGENVALUE, _MARGIN = 1e-10, 1e-3


@dataclass
class _Group:
    """Matrices with the same channels, their codes, and the kernel among the atoms cut to these channels."""

    divergence: Divergence
    mask: Mask
    matrices: Floats
    weights: Floats
    beta: float = 1.0
    ridge: float = 0.0
    prepared: PreparedSet = field(init=False)
    codes: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.prepared = self.divergence.prepare(self.matrices)

    def divergences(self, atoms: Floats) -> tuple[Floats, Floats]:
        """Return d among the atoms (N, N), and between matrices and atoms (m, N)."""
        own = self.divergence.prepare(cut(atoms, self.mask))
        return self.divergence.pairwise(own), self.divergence.pairwise(self.prepared, own)

    def kernel(self, atoms: Floats) -> tuple[Floats, Floats]:
        """Return K + μI and k."""
        among, between = (kernel_values(d, self.beta) for d in self.divergences(atoms))
        among.flat[:: len(among) + 1] += self.ridge
        return among, between

    def code(self, atoms: Floats, alpha: float, positive: bool) -> float:
        """Find the codes, and return their share of the objective."""
        gram, cross = self.kernel(atoms)
        self.codes, certificate = sparse_code_block(
            gram, cross, alpha, first=0, short=ShortCodes(), positive=positive, query_norm=1.0
        )
        return float(self.weights @ certificate.objective)

    def smooth_part(self, atoms: Floats) -> float:
        """Return the share of the objective, without 1 and the penalty of the codes; inf if K + μI is not sound."""
        gram, cross = self.kernel(atoms)
        if not is_semidefinite(gram):
            return np.inf
        loss = np.einsum("ij,ij->i", self.codes @ gram - 2.0 * cross, self.codes)
        return float(self.weights @ loss)

    def add_gradient(self, atoms: Floats, gradient: Floats, curvature: Floats) -> None:
        """Add the gradient of `smooth_part` by each atom, and a measure of its curvature."""
        gram, cross = self.kernel(atoms)
        D = cut(atoms, self.mask)
        at = np.ix_(self.mask, self.mask)
        weighted = self.weights[:, None] * self.codes
        products = self.codes.T @ weighted
        np.fill_diagonal(products, 0.0)
        # ∂k = −βk ∂d; of the pairs of atoms each is in the sum twice.
        for coefficients, others in (
            ((2.0 * self.beta * weighted * cross).T, self.matrices),
            (-2.0 * self.beta * products * gram, D),
        ):
            r, i = np.nonzero(coefficients)
            if not len(r):
                continue
            terms = coefficients[r, i][:, None, None] * self.divergence.gradient(D[r], others[i])
            sums = np.zeros((len(D), *terms.shape[1:]), terms.dtype)
            np.add.at(sums, r, terms)
            gradient[:, at[0], at[1]] += sums
            curvature += np.abs(coefficients).sum(axis=1)


def learn_incomplete(
    divergence: Divergence,
    X: Floats,
    known: Mask,
    weights: Floats | None,
    atoms: Floats,
    *,
    beta: float,
    automatic: bool,
    alpha: float,
    ridge: float,
    positive: bool,
    max_iter: int,
    tol: float,
    report: Callable[[float], object] = float,
) -> tuple[Floats, list[float]]:
    """Return atoms learned from matrices that lack channels, and the objective after every half-step.

    Parameters
    ----------
    divergence : Divergence
        The d of the kernels.
    X : ndarray of shape (m, n, n)
        The matrices, in double precision.
    known : ndarray of bool, shape (m, n)
        Which channels they have, each one at least.
    weights : ndarray of shape (m,) or None
        Their weights.
    atoms : ndarray of shape (N, n, n)
        The first atoms.
    beta, automatic : float, bool
        The β of complete matrices, and whether that of fewer channels is as many times the reciprocal of the median
        divergence between atoms.
    alpha, ridge, positive : float, float, bool
        The penalties of the codes, and whether these are not negative. The ridge is raised where K_o needs it.
    max_iter, tol : int, float
        The most iterations, and the relative fall of the objective that ends them.
    report : callable
        It is told the objective after every iteration.

    Returns
    -------
    atoms : ndarray of shape (N, n, n)
    objective : list of float
    """
    own = np.ones(len(X)) if weights is None else weights
    groups = [
        _Group(divergence, mask, cut(X[rows], mask), own[rows], beta, ridge)
        for mask, rows in patterns(known)
    ]
    if automatic:
        of_all = automatic_beta(divergence.pairwise(divergence.prepare(atoms)))
        for group in groups:
            group.beta = beta * automatic_beta(group.divergences(atoms)[0]) / of_all
    least = min(float(np.linalg.eigvalsh(group.kernel(atoms)[0])[0]) for group in groups)
    for group in groups:
        group.ridge = ridge + max(0.0, _MARGIN - least) * (least < 0.0)
    objective: list[float] = []
    step = 1.0
    for _ in range(max_iter):
        coded = sum(group.code(atoms, alpha, positive) for group in groups)
        objective.append(coded)
        atoms, fall, step = _moved(groups, atoms, step)
        objective.append(coded - fall)
        report(objective[-1])
        if len(objective) > 3 and objective[-3] - objective[-1] <= tol * abs(objective[-1]):
            break
    return atoms, objective


def _moved(groups: list[_Group], atoms: Floats, step: float) -> tuple[Floats, float, float]:
    """Return the atoms after a step downhill, how much the objective fell, and the length to try next."""
    gradient, curvature = np.zeros_like(atoms), np.zeros(len(atoms))
    for group in groups:
        group.add_gradient(atoms, gradient, curvature)
    L = cholesky(atoms)
    scale = np.maximum(curvature, np.finfo(float).tiny)[:, None, None]
    geodesics = AffineGeodesics.whitened(L, -(adjoint(L) @ gradient @ L) / scale)
    before = sum(group.smooth_part(atoms) for group in groups)
    for halving in range(_HALVINGS):
        trial = np.where(curvature[:, None, None] > 0, geodesics.points(step), atoms)
        if well_conditioned(trial, _LEAST_EIGENVALUE).all():
            fall = before - sum(group.smooth_part(trial) for group in groups)
            if fall > 0:
                return trial, fall, step if halving else 2.0 * step
        step *= 0.5
    return atoms, 0.0, step
