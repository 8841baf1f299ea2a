"""Geodesics from many SPD matrices at once: found by one decomposition, evaluated at any step length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._spectral import gram, symmetric_part, transpose
from spdatoms.geometry import expm

Floats = NDArray[np.float64]

#: No step of length 1 changes a matrix by more than this factor in any direction. A centre of
#: matrices of both signs may lie at the edge of the cone, where nothing can be computed any more.
_GREATEST_RATIO = 100.0


class Geodesics(ABC):
    """Curves D_r(t), r = 1 … B, with D_r(0) = D_r."""

    @abstractmethod
    def points(self, t: float) -> Floats:
        """Return D_r(t), shape (B, n, n)."""

    @abstractmethod
    def take(self, chosen: NDArray[np.intp]) -> Geodesics:
        """Return some of the geodesics."""

    @abstractmethod
    def merge(self, other: Any, chosen: NDArray[np.bool_]) -> Geodesics:
        """Return these geodesics where they are chosen, and the others (of the same kind) elsewhere."""


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

    def points(self, t: float) -> Floats:
        """Return F exp(t·u) Fᵀ."""
        return gram(self.frames * np.exp(0.5 * t * self.speeds)[:, None, :])

    def take(self, chosen: NDArray[np.intp]) -> AffineGeodesics:
        """Return some of the geodesics."""
        return AffineGeodesics(self.frames[chosen], self.speeds[chosen])

    def merge(self, other: AffineGeodesics, chosen: NDArray[np.bool_]) -> AffineGeodesics:
        """Return these geodesics where they are chosen, and the others elsewhere."""
        return AffineGeodesics(
            np.where(chosen[:, None, None], self.frames, other.frames),
            np.where(chosen[:, None], self.speeds, other.speeds),
        )


@dataclass(frozen=True)
class LogGeodesics(Geodesics):
    """D(t) = exp(log D + t·V): geodesics of the log-Euclidean metric."""

    logarithms: Floats
    directions: Floats

    @classmethod
    def bounded(cls, logarithms: Floats, V: Floats) -> LogGeodesics:
        """Return exp(log D + t·V) with V shortened where it is too long."""
        length = np.abs(np.linalg.eigvalsh(V)).max(axis=-1)
        shortened = np.minimum(1.0, np.log(_GREATEST_RATIO) / np.maximum(length, 1e-300))
        return cls(logarithms, V * shortened[:, None, None])

    def points(self, t: float) -> Floats:
        """Return exp(log D + t·V)."""
        return np.asarray(expm(self.logarithms + t * self.directions))

    def take(self, chosen: NDArray[np.intp]) -> LogGeodesics:
        """Return some of the geodesics."""
        return LogGeodesics(self.logarithms[chosen], self.directions[chosen])

    def merge(self, other: LogGeodesics, chosen: NDArray[np.bool_]) -> LogGeodesics:
        """Return these geodesics where they are chosen, and the others elsewhere."""
        directions = np.where(chosen[:, None, None], self.directions, other.directions)
        return LogGeodesics(self.logarithms, directions)


def congruence(L: Floats, A: Floats) -> Floats:
    """Lᵀ A L, exactly symmetric."""
    return symmetric_part(transpose(L) @ A @ L)
