"""Passes over a stream: a function of each span of the data, and the sum of its results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from spdatoms._utils.typing import FloatArray
from spdatoms.geometry.hermitian import as_double

#: A function of a span: (matrices or None, span, its state or None, *shared) → term.
Term = Callable[..., Any]
#: A function that also gives the span a new state, for the next pass: (…) → (state, term).
Work = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True)
class Span:
    """Consecutive parts of the data that one task reads together."""

    parts: tuple[slice, ...]

    @property
    def rows(self) -> slice:
        """The rows of all its matrices."""
        return slice(self.parts[0].start, self.parts[-1].stop)

    def split(self, X: FloatArray) -> list[FloatArray]:
        """Return the matrices of each part, in the form that kernels need."""
        start = self.rows.start
        return [
            np.require(as_double(X[part.start - start : part.stop - start]), None, ["C", "A"])
            for part in self.parts
        ]


class SumTuple(tuple[Any, ...]):
    """A tuple whose sum with another is taken item by item."""

    __slots__ = ()

    def __add__(self, other: Any) -> SumTuple:
        return SumTuple(a + b for a, b in zip(self, other, strict=True))


class StreamPasses(ABC):
    """Passes over the spans of a stream.

    A span may have a state, which a pass leaves there for the next one. States are held where they were
    computed, so a list of them is only to be given to another pass or to `collect`.

    Attributes
    ----------
    spans : list of Span
        What the tasks of a pass read.
    sources : object
        Where they read it.
    in_this_process : bool
        Whether states are held in the memory of this process.
    """

    spans: list[Span]
    sources: Any
    in_this_process: ClassVar[bool] = False

    @property
    def parts_per_span(self) -> int:
        """The greatest number of parts in a span."""
        return max(len(span.parts) for span in self.spans)

    def total(self, term: Term, states: list[Any] | None, *shared: Any, read: bool = True) -> Any:
        """Return the sum of a term over the spans; without ``read`` no matrices are read."""
        return self._sum(self._results(term, states, shared, read, keep=True))

    def run(
        self,
        work: Work,
        states: list[Any] | None,
        *shared: Any,
        keep: bool = True,
        read: bool = True,
    ) -> tuple[list[Any], Any]:
        """Return the new states of the spans, and the sum of the terms.

        Unless ``keep``, each of the old states is dropped as soon as it has been used. Without
        ``read`` no matrices are read.
        """
        results = self._results(work, states, shared, read, keep)
        new_states, terms = [result[0] for result in results], [result[1] for result in results]
        return self._held(new_states, terms, None if keep else states)

    def over(self, states: list[Any]) -> Self:
        """Return passes over the same spans that read these states in place of matrices."""
        passes = copy(self)
        passes.sources = states
        return passes

    def put(self, values: Sequence[Any]) -> list[Any]:
        """Return states with these values, one for each span."""
        return list(values)

    @abstractmethod
    def collect(self, states: Sequence[Any]) -> list[Any]:
        """Return the states themselves, in the memory of this process."""

    @abstractmethod
    def _results(
        self, function: Term, states: Any, shared: tuple[Any, ...], read: bool, keep: bool
    ) -> list[Any]:
        """Return the function of every span, perhaps still to be computed."""

    @abstractmethod
    def _sum(self, terms: list[Any]) -> Any:
        """Return the sum of terms."""

    @abstractmethod
    def _held(self, states: list[Any], terms: list[Any], old: Any) -> tuple[list[Any], Any]:
        """Return states, held where they were computed, and the sum of terms; drop old states, if they are given."""
