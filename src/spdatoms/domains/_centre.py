"""The centre, the scale and the range of one domain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.channels.rank import SPDRange
from spdatoms.divergences import Divergence, mean
from spdatoms.divergences.incomplete import completed
from spdatoms.geometry.channels import Mask, find_unfit_channels, known_channels
from spdatoms.geometry.functions import logm, powm
from spdatoms.geometry.hermitian import as_double, in_precision_of
from spdatoms.geometry.spectral import adjoint, cholesky, symmetric_part
from spdatoms.geometry.validation import as_float, check_semidefinite, check_stack, find_unfit


@dataclass(frozen=True)
class Centre:
    """Where the matrices of a domain are.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
        Their mean M. It is singular if they are.
    rank : int
        The dimension of their range.
    scale : float
        The s of ``(M^-½ X M^-½)^(1/s)``.
    weight : float
        The number of matrices that M is the mean of, less what was forgotten.
    """

    matrix: Floats
    rank: int
    scale: float
    weight: float

    @cached_property
    def range(self) -> SPDRange | None:
        """The range of singular matrices; None if they are definite."""
        if self.rank == len(self.matrix):
            return None
        return SPDRange(rank=self.rank).fit(self.matrix[None])

    @cached_property
    def definite(self) -> Floats:
        """M on its range."""
        return self.matrix if self.range is None else self.range.transform(self.matrix[None])[0]

    def bring(self, X: FloatArray) -> FloatArray:
        """Return ``(M^-½ X M^-½)^(1/s)`` of matrices that may lack channels, the identity outside their range."""
        if self.range is not None:
            U = self.range.basis_
            Z = U @ self._whitened(as_double(self.range.transform(X))) @ adjoint(U)
            return in_precision_of(X, symmetric_part(Z + (np.eye(len(U)) - U @ adjoint(U))))
        own = as_double(X)
        known = known_channels(own)
        if not known.all():
            own = completed(own, known, self.matrix)
        return in_precision_of(X, self._whitened(own))

    def take_back(self, Z: FloatArray) -> FloatArray:
        """Return ``M^½ Z^s M^½``, of what Z is on the range."""
        own = as_double(Z)
        if self.range is not None:
            U = self.range.basis_
            own = symmetric_part(adjoint(U) @ own @ U)
        own = own if self.scale == 1.0 else powm(own, self.scale)
        own = _squared(powm(self.definite, 0.5) @ cholesky(own))
        own = own if self.range is None else self.range.inverse_transform(own)
        return in_precision_of(Z, own)

    def _whitened(self, X: Floats) -> Floats:
        Z = _squared(powm(self.definite, -0.5) @ cholesky(X))
        return Z if self.scale == 1.0 else powm(Z, 1.0 / self.scale)


def centre_of(
    X: FloatArray,
    metric: str | Divergence,
    *,
    scaled: bool,
    forgetting: float = 1.0,
    before: Centre | None = None,
) -> Centre:
    """Return the centre of checked matrices, and of those before: an older one counts less by the forgetting.

    M minimises ``w₀ d(M₀, M) + Σ_i w_i d(X_i, M)``, with the weights ``w_i = ρ^(k − i)`` and ``w₀ = ρ^k w``. The scale
    is ``s² = Σ_i w_i ‖log(M^-½ X_i M^-½)‖²_F / Σ_i w_i`` as if no channel lacked, together with w₀ s₀².
    """
    own, known = as_double(X), known_channels(X)
    k, n = len(X), X.shape[-1]
    weights = forgetting ** np.arange(k - 1, -1, -1.0)
    reach = before.range if before is not None else None
    if before is None and known.all() and find_unfit(X).count:
        reach = SPDRange().fit(X)
    if reach is not None:
        own, known = as_double(reach.transform(X)), known[:, : reach.rank_]
    past = 0.0 if before is None else before.weight * forgetting**k
    stack, shares = own, weights
    if before is not None:
        stack = np.concatenate([before.definite[None], own])
        shares = np.array([past, *weights])
    M = as_double(mean(stack, metric, sample_weight=shares))
    whole = M if reach is None else reach.inverse_transform(M[None])[0]
    centre = Centre(whole, len(M), 1.0, past + float(weights.sum()))
    if not scaled:
        return centre
    squares = float(weights @ _squares(centre, own, known)) * n * (n + 1) / 2
    squares += past * before.scale**2 if before is not None else 0.0
    scale = float(np.sqrt(squares / centre.weight))
    return Centre(whole, len(M), scale if scale > 0 else 1.0, centre.weight)


def _squares(centre: Centre, X: Floats, known: Mask) -> Floats:
    """Return ``‖log(M^-½ X M^-½)‖²_F`` of matrices on the range, per dimension of those that have these channels."""
    on_range = Centre(centre.definite, len(centre.definite), 1.0, 1.0)
    logs = logm(on_range.bring(X))
    counts = known.sum(axis=1)
    return np.asarray((abs(logs) ** 2).sum(axis=(1, 2)) / (0.5 * counts * (counts + 1)))


def checked(X: object, name: str = "X") -> FloatArray:
    """Return matrices that may lack channels or, if they do not, be singular."""
    X = as_float(X, name)  # type: ignore[arg-type]
    check_stack(X, name)
    known = known_channels(X)
    if known.all():
        return check_semidefinite(X, name=name)
    find_unfit_channels(X, known).raise_if_any(name, X.shape[:1])
    if not known.any(axis=1).all():
        raise ValueError(f"{name}[{int(known.any(axis=1).argmin())}] has no channel: leave it out.")
    return X


def _squared(F: Floats) -> Floats:
    """Return FFᴴ, which is positive definite in spite of rounding."""
    return symmetric_part(F @ adjoint(F))
