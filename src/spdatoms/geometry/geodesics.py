"""Geodesics from many SPD matrices at once: found by one decomposition, evaluated at any step length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import Array, Floats
from spdatoms.geometry.functions import expm
from spdatoms.geometry.hermitian import complex_form, real_form
from spdatoms.geometry.spectral import adjoint, cholesky, gram, solve_lower

#: No step of length 1 changes a matrix by more than this factor in any direction. A centre of
#: matrices of both signs may lie at the edge of the cone, where nothing can be computed any more.
_GREATEST_RATIO = 100.0


class Geodesics(ABC):
    """Curves D_r(t), r = 1 … B, with D_r(0) = D_r."""

    @abstractmethod
    def points(self, t: float | Floats) -> Floats:
        """Return D_r(t), shape (B, n, n), for one t or one for every curve.

        However long the step is, no matrix changes by more than a factor of 100 in any direction.
        """


@dataclass(frozen=True)
class AffineGeodesics(Geodesics):
    """D(t) = F exp(t·u) Fᵀ with D = F Fᵀ: geodesics of the affine-invariant metric."""

    frames: Floats
    speeds: Floats

    @classmethod
    def whitened(cls, L: Floats, directions: Floats) -> AffineGeodesics:
        """Return L exp(t·V) Lᵀ, where D = L Lᵀ, for symmetric V."""
        u, U = np.linalg.eigh(directions)
        return cls.of_spectrum(L, u, U)

    @classmethod
    def of_spectrum(cls, L: Floats, u: Floats, U: Floats) -> AffineGeodesics:
        """Return L U exp(t·u) Uᵀ Lᵀ, where D = L Lᵀ, for orthogonal U."""
        limit = np.log(_GREATEST_RATIO)
        return cls(L @ U, np.clip(u, -limit, limit))

    def points(self, t: float | Floats) -> Floats:
        """Return F exp(t·u) Fᵀ."""
        limit = np.log(_GREATEST_RATIO)
        u = np.clip(np.reshape(t, (-1, 1)) * self.speeds, -limit, limit)
        return gram(self.frames * np.exp(0.5 * u)[:, None, :])


@dataclass(frozen=True)
class LogGeodesics(Geodesics):
    """D(t) = exp(log D + t·V): geodesics of the log-Euclidean metric."""

    logarithms: Floats
    directions: Floats
    lengths: Floats

    @classmethod
    def bounded(cls, logarithms: Floats, V: Floats) -> LogGeodesics:
        """Return exp(log D + t·V) with V shortened where it is too long."""
        length = np.abs(np.linalg.eigvalsh(V)).max(axis=-1)
        shortened = np.minimum(1.0, np.log(_GREATEST_RATIO) / np.maximum(length, 1e-300))
        return cls(logarithms, V * shortened[:, None, None], length * shortened)

    def points(self, t: float | Floats) -> Floats:
        """Return exp(log D + t·V)."""
        longest = np.log(_GREATEST_RATIO) / np.maximum(self.lengths, 1e-300)
        steps = np.minimum(t, np.maximum(longest, 1.0))
        return np.asarray(expm(self.logarithms + steps[:, None, None] * self.directions))


@dataclass(frozen=True)
class HermitianGeodesics(Geodesics):
    """The curves of real forms, taken apart."""

    real: Geodesics

    def points(self, t: float | Floats) -> Array:
        """Return D_r(t) as complex matrices."""
        return complex_form(self.real.points(t))


def whiten(L: Floats, A: Floats) -> Floats:
    """L⁻¹ A L⁻ᵀ for symmetric A, L⁻¹ A L⁻ᴴ for Hermitian A."""
    return solve_lower(L, adjoint(solve_lower(L, A)))


def relative_change(old: Floats, new: Floats) -> Floats:
    """‖L⁻¹ (new − old) L⁻ᵀ‖_F / √n with old = L Lᵀ, invariant under congruence; one number per matrix."""
    old, new = real_form(old), real_form(new)
    whitened = whiten(cholesky(old), new - old)
    squares = np.einsum("...ij,...ij->...", whitened, whitened)
    return np.asarray(np.sqrt(squares / old.shape[-1]))


def well_conditioned(C: Floats, least: float) -> NDArray[np.bool_]:
    """Return which matrices have no eigenvalue below ``least`` in their unit-diagonal scaling."""
    C = real_form(C)
    finite = np.isfinite(C).all(axis=(-2, -1)) & (np.einsum("pii->pi", C) > 0).all(axis=-1)
    scale = 1.0 / np.sqrt(np.einsum("pii->pi", C[finite]))
    shifted = C[finite] * scale[:, :, None] * scale[:, None, :] - least * np.eye(C.shape[-1])
    finite[finite] = _have_cholesky_factors(shifted)
    return np.asarray(finite)


def _have_cholesky_factors(stack: Floats) -> NDArray[np.bool_]:
    try:
        np.linalg.cholesky(stack)
    except np.linalg.LinAlgError:
        if len(stack) == 1:
            return np.zeros(1, dtype=bool)
        middle = len(stack) // 2
        halves = [_have_cholesky_factors(half) for half in (stack[:middle], stack[middle:])]
        return np.concatenate(halves)
    return np.ones(len(stack), dtype=bool)
