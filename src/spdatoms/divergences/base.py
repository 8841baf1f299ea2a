"""What every divergence offers: pairwise values, gradients, and the centre of weighted matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from spdatoms._utils.typing import FloatArray, Floats


class Divergence(ABC):
    """A measure d(X, Y) ≥ 0 of how far two SPD matrices are apart, zero only where they are equal.

    The methods trust their input: `spdatoms.check_spd` has been asked before, once. What a
    divergence needs to know about a set of matrices (inverses, logarithms, log-determinants) is
    found once by `prepare`; everything else takes the prepared sets.
    """

    #: The name in the registry.
    name: ClassVar[str]
    #: Whether d(X, Y) = d(Y, X).
    symmetric: ClassVar[bool] = True
    #: Whether `centre` is the stationary point itself, rather than a step towards it.
    closed_form: ClassVar[bool] = False
    #: How many times the step of `centre` it is to the stationary point, where matrices lie close.
    relaxation: ClassVar[float] = 1.0

    @abstractmethod
    def prepare(self, X: FloatArray) -> Any:
        """Return what the other methods need to know about the matrices X (m, n, n)."""

    @abstractmethod
    def pairwise(self, X: Any, Y: Any | None = None, *, n_jobs: int | None = None) -> FloatArray:
        """Return d(X_i, Y_j) for all pairs of two prepared sets, shape (m, N).

        Without Y the pairs are those within X. Then, for a symmetric divergence, only half of them
        is computed, and the diagonal is exactly zero.
        """

    @abstractmethod
    def centre(self, Z: Any, weights: Floats, current: Floats) -> Floats:
        """Return the C that makes Σ_i w_i d(Z_i, C) stationary, or a step from ``current`` to it.

        Z is a prepared set. The weights, which sum to a positive number, may be negative for some matrices: then the
        result is projected onto the cone.
        """
