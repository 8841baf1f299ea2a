"""The squared distance of inverses."""

from __future__ import annotations

from typing import ClassVar

from spdatoms.divergences.power_euclidean import PowerEuclidean


class Harmonic(PowerEuclidean):
    """The squared distance of inverses.

    d(X, Y) = ‖X⁻¹ − Y⁻¹‖²_F, whose mean is the harmonic one.

    The kernel exp(−β·d) is that of Gauss, positive definite at every β.
    """

    name: ClassVar[str] = "harmonic"

    def __init__(self) -> None:
        super().__init__(-1.0)
