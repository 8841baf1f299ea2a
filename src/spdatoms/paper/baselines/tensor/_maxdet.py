"""Tensor sparse codes over a dictionary: the typed front of the MAXDET solver (paper/native/maxdet.hpp)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from spdatoms._utils.products import row_products
from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms._utils.warning import warn_user
from spdatoms.geometry.batched import inverse, log_determinant
from spdatoms.geometry.half_vectors import unvech, vech
from spdatoms.geometry.spectral import cholesky, congruence, whitened
from spdatoms.lasso.certificate import Certificate
from spdatoms.native import kernel

#: Queries that a thread takes at a time.
_BLOCK = 16
# Columns of a report: cᵀy − logdet Σ_j y_j D_j, duality gap, relative error of the conditions, and rounds.
_OBJECTIVE, _GAP, _RESIDUAL, _ROUNDS, _REPORT = range(5)

_code_maxdet = kernel("code_maxdet", "DDDqqDDqdqDDD")


@dataclass(frozen=True)
class TensorCodes:
    """Codes, the proof of how good they are, and the multipliers of the bound.

    Attributes
    ----------
    codes : ndarray of shape (m, N)
        y ≥ 0.
    certificate : Certificate
        Its ``objective`` is B(Σ y_j D_j, X) + α Σ y_j, with the Burg divergence B. Its
        ``kkt_residual`` is relative: max_j |min(c_j y_j, g_j/c_j)| with the gradient g, and the share
        of the duality gap that the bound causes.
    multipliers : ndarray of shape (m, n, n)
        Z ⪰ 0 with tr Z(X − Σ y_j D_j) = 0, zero without a bound.
    """

    codes: Floats
    certificate: Certificate
    multipliers: Floats


class MaxdetDictionary:
    """min_{y≥0} Σ_j y_j (tr(X⁻¹D_j) + α) − logdet(Σ_j y_j D_j) for many X over one dictionary.

    A congruence of all atoms and queries does not change the problem. The one that makes the mean of the
    atoms the identity removes units and most of the condition number.

    Parameters
    ----------
    atoms : ndarray of shape (N, n, n)
        The D_j, checked already.
    """

    def __init__(self, atoms: FloatArray) -> None:
        # The order in memory must not decide how BLAS rounds.
        D = np.ascontiguousarray(atoms, np.float64)
        largest = np.abs(D).max()
        L = cholesky((D / largest).mean(axis=0)) * np.sqrt(largest)
        self.frame: Floats = np.linalg.inv(L)
        self.atoms = self.in_frame(D)
        self.halves = np.ascontiguousarray(vech(self.atoms, weighted=True))
        self.logdets = log_determinant(self.atoms)

    def in_frame(self, X: Floats) -> Floats:
        """Return X (m, n, n) after the congruence that makes the mean atom the identity."""
        return np.ascontiguousarray(whitened(self.frame, X))

    def code(
        self,
        X: FloatArray,
        alpha: float | Floats,
        *,
        bounded: bool,
        tol: float = 1e-9,
        max_rounds: int = 200,
        n_jobs: int | None = None,
    ) -> TensorCodes:
        """Return the codes of X (m, n, n), which were checked; an atom may have an α of its own.

        With ``bounded``, Σ_j y_j D_j ⪯ X holds as well. ``tol`` is the greatest duality gap, divided
        by n.
        """
        queries = self.in_frame(np.ascontiguousarray(X, np.float64))
        m, n = queries.shape[:2]
        costs = row_products(vech(inverse(queries), weighted=True), self.halves.T) + alpha
        codes, report = np.zeros((m, len(self.atoms))), np.zeros((m, _REPORT))
        multipliers = np.zeros((m, self.halves.shape[1]))

        def code_queries(part: slice) -> None:
            _code_maxdet(
                self.atoms, self.halves, self.logdets, len(self.atoms), n, costs[part],
                queries[part] if bounded else None, part.stop - part.start, tol, max_rounds,
                codes[part], multipliers[part], report[part],
            )  # fmt: skip

        run_blocks(code_queries, m, _BLOCK, n_jobs)
        codes /= costs
        Z = congruence(self.frame, unvech(multipliers, weighted=True))
        return TensorCodes(codes, _certify(report, codes, queries, n, tol), Z)


def _certify(report: Floats, codes: Floats, queries: Floats, n: int, tol: float) -> Certificate:
    """Return the certificate, with cᵀy − logdet M + logdet X − n = B(M, X) + α‖y‖₁ as objective."""
    converged = (report[:, _GAP] <= tol * n) & (report[:, _RESIDUAL] <= tol)
    certificate = Certificate(
        kkt_residual=report[:, _RESIDUAL].copy(),
        duality_gap=report[:, _GAP].copy(),
        objective=report[:, _OBJECTIVE] + log_determinant(queries) - n,
        n_nonzero=np.count_nonzero(codes, axis=1).astype(np.int64),
        rounds=report[:, _ROUNDS].astype(np.int64),
        converged=converged,
    )
    # Gaps of the size of rounding errors need no warning.
    short = np.flatnonzero(~(report[:, _GAP] <= max(tol, 1e-6) * n))
    if len(short):
        worst = short[report[short, _GAP].argmax()]
        warn_user(
            f"{len(short)} of {len(codes)} tensor sparse codes have a duality gap above the tolerance, "
            f"query {worst} the largest: {report[worst, _GAP]:.3g}. Their matrices may be too "
            "ill-conditioned: spdatoms.geometry.shrink or regularise helps.",
            ConvergenceWarning,
        )
    return certificate
