"""Passes over a stream: a map over its parts, and a sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spdatoms._utils.typing import FloatArray

#: A function of a piece: (matrices or None, piece, what was left there, *shared) → term.
Term = Callable[..., Any]


#: One that also leaves something there for the next pass: (…) → (what to leave, term).
Work = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True)
class Piece:
    """Neighbouring parts of the data that are read together."""

    parts: tuple[slice, ...]

    @property
    def rows(self) -> slice:
        """All of its matrices."""
        return slice(self.parts[0].start, self.parts[-1].stop)

    def split(self, X: FloatArray) -> list[FloatArray]:
        """Return the parts of its matrices, ready for the compiled kernels."""
        start = self.rows.start
        return [
            np.require(X[part.start - start : part.stop - start], np.float64, ["C", "A"])
            for part in self.parts
        ]


class Addends(tuple[Any, ...]):
    """Several things that are added at once."""

    __slots__ = ()

    def __add__(self, other: Any) -> Addends:
        return Addends(a + b for a, b in zip(self, other, strict=True))


class Sweeps(ABC):
    """Passes over the pieces of a stream.

    Attributes
    ----------
    pieces : list of Piece
        What a task works on.
    """

    pieces: list[Piece]

    @property
    def parts_of_a_piece(self) -> int:
        """The number of parts that a piece has, at most."""
        return max(len(piece.parts) for piece in self.pieces)

    @abstractmethod
    def total(self, term: Term, left: list[Any] | None, *shared: Any, read: bool = True) -> Any:
        """Return the sum of a term over the pieces; without ``read`` it gets no matrices."""

    @abstractmethod
    def run(
        self, work: Work, left: list[Any] | None, *shared: Any, keep: bool = True
    ) -> tuple[list[Any], Any]:
        """Do the work at every piece; return what it leaves there, and the sum of the terms.

        What is left (one for each piece) is for the next passes and for `collect` only: it may be
        somewhere else. Unless it is to be kept, what was left before goes as soon as it has been used.
        """

    @abstractmethod
    def collect(self, left: Sequence[Any]) -> list[Any]:
        """Return what is left at the pieces."""

    def put(self, values: Sequence[Any]) -> list[Any]:
        """Leave a value at every piece."""
        return list(values)
