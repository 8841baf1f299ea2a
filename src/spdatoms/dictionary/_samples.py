"""Samples with their codes, and the passes over them that learning makes.

The learner sees the data only through these passes, and each is a sum over parts of the data. Neither the parts nor
the tree along which their terms are added depend on where the data lie and who computes, and so neither does the
result. Samples in memory are a stream like any other, of which everything is kept that a pass prepares.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.weights import part_of
from spdatoms._utils.writing import scratch_file
from spdatoms.divergences.atom_sums import columns_of_entries
from spdatoms.geometry.hermitian import as_double
from spdatoms.scale.parts import Largest, Span, SumTuple, added, part_slices
from spdatoms.scale.passes import StreamPasses, with_smaller_spans
from spdatoms.scale.stream import Stream

Result = TypeVar("Result")
#: What becomes of what is prepared of a part: the same in memory, or an array that reads it from a file.
Keep: TypeAlias = Callable[[Any], Any]
#: More bytes of features than this lie in files, where matrices do.
_SCRATCH_BYTES = 1 << 30
#: Features that take more than 1/8 of the memory of the workers lie in files: half of a small worker are
#: libraries, and there have to be codes and the matrices of running tasks.
_SHARE_OF_MEMORY = 8


@dataclass(frozen=True)
class PackedColumns:
    """A sparse matrix of codes, packed: workers hold the codes of all samples.

    Attributes
    ----------
    values : ndarray
        The non-zeros of Y, column by column.
    pattern : ndarray of uint8
        Where they are, one bit per entry, column by column; a sparse matrix would take 32 bits per non-zero.
    shape : tuple of int
        (m, N).
    """

    values: Floats
    pattern: NDArray[np.uint8]
    shape: tuple[int, int]

    @classmethod
    def of(cls, Y: scipy.sparse.csc_array) -> PackedColumns:
        """Pack codes."""
        used = np.zeros(Y.shape[::-1], dtype=bool)
        used[columns_of_entries(Y), Y.indices] = True
        return cls(Y.data, np.packbits(used), Y.shape)

    def unpacked(self) -> scipy.sparse.csc_array:
        """Return Y."""
        m, n_atoms = self.shape
        used = np.unpackbits(self.pattern, count=m * n_atoms).reshape(n_atoms, m)
        atoms, samples = used.nonzero()
        starts = np.searchsorted(atoms, np.arange(n_atoms + 1))
        return scipy.sparse.csc_array((self.values, samples, starts), shape=self.shape)


@dataclass(frozen=True)
class Coded:
    """What is kept of the codes of a part between two passes.

    Attributes
    ----------
    codes : csc_array or PackedColumns
        Y, exactly.
    losses : ndarray of shape (m,)
        w_i f(y_i) of every sample; not known before the first coding.
    weights : ndarray of shape (m,) or None
        The weights w_i of the samples; None is ones.
    """

    codes: scipy.sparse.csc_array | PackedColumns
    losses: Floats
    weights: Floats | None = None

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays, by which Dask knows how much memory its workers use."""
        arrays = (getattr(self.codes, name, None) for name in ("values", "pattern"))
        return sum(a.nbytes for a in (*arrays, self.losses, self.weights) if a is not None)

    @classmethod
    def uncoded(cls, Y: scipy.sparse.csr_array, weights: Floats | None) -> Coded:
        """Return codes from which a coding is to start."""
        return cls(Y.tocsc(), np.full(Y.shape[0], np.inf), weights)

    def packed(self) -> Coded:
        """Return the same with codes that take less memory."""
        return Coded(PackedColumns.of(self.columns()), self.losses, self.weights)

    def columns(self) -> scipy.sparse.csc_array:
        """Return Y by columns, that is by atoms."""
        return self.codes.unpacked() if isinstance(self.codes, PackedColumns) else self.codes


@dataclass(frozen=True)
class SomeSamples:
    """Some rows of a stream: those among which first atoms and landmarks are chosen."""

    X: Any
    rows: Indices

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> FloatArray:
        return np.asarray(self.X[self.rows[chosen]])

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the rows together."""
        return (len(self.rows), *self.X.shape[1:])

    @property
    def dtype(self) -> Any:
        """That of the stream."""
        return self.X.dtype


class Samples:
    """Samples with codes, which are the states of the spans of a stream and stay where they are computed.

    Parameters
    ----------
    problem : Problem or LandmarkProblem
        What passes prepare of samples, and how they are coded.
    X : ndarray or Stream of shape (m, n, n)
        The samples.
    n_atoms : int
        The length of a code.
    n_jobs : int or None
        The number of threads for an array.
    weights : ndarray of shape (m,) or None
        The weights of the samples, kept with their codes; None is ones.
    """

    passes: StreamPasses
    states: list[Any] | None
    _kept: StreamPasses | None

    def __init__(
        self,
        problem: Any,
        X: FloatArray | Stream,
        n_atoms: int,
        n_jobs: int | None = None,
        weights: Floats | None = None,
    ) -> None:
        self.in_memory = isinstance(X, np.ndarray)
        self.stream = Stream(X, n_jobs) if isinstance(X, np.ndarray) else X
        self.problem, self.n_atoms, self.weights = problem, n_atoms, weights
        self.slices = part_slices(len(X), X.shape[-1], n_atoms)
        self._cut(1 if self.in_memory else None)
        self._start = scipy.sparse.csr_array((len(X), n_atoms))
        self._coded_with: list[tuple[Floats, Floats]] = []
        self.nonzeros = 0.0  # the mean number of non-zeros of a code

    def __len__(self) -> int:
        return len(self.stream)

    def start_from(self, codes: scipy.sparse.csr_array) -> None:
        """Let the next coding start from these codes."""
        self._start, self._coded_with = codes, []
        self.states = self._put()

    def code(self, images: Floats, atoms: Floats) -> tuple[float, list[Floats]]:
        """Code every sample, each from its last code.

        Returns
        -------
        objective : float
            Σ_i w_i f(y_i).
        sums : list of ndarray
            What the update of the atoms wants to know of samples and codes, see the ``code`` of the problem.
        """
        self.states, (objective, nnz, *sums) = self._attempt(
            lambda: self._next_states(images, atoms)
        )
        if not self.passes.in_this_process:
            self._coded_with.append((images, atoms))
        self.nonzeros = float(nnz / len(self))
        return float(objective), sums

    def total(self, term: Callable[..., Any], *shared: Any) -> Any:
        """Return the sum of ``term(prepared, coded, *shared)`` over the parts."""
        return self._attempt(
            lambda: self._reading().total(_sum_of_parts, self.states, self.problem, term, *shared)
        )

    def worst_represented(self, count: int) -> Indices:
        """Return the samples with the greatest losses, worst first; the earlier one at equal loss."""
        worst: Largest = self._attempt(
            lambda: self.passes.total(_greatest_losses, self.states, count, read=False)
        )
        return worst.indices

    def samples(self, chosen: Indices) -> Floats:
        """Return some samples."""
        return as_double(self.stream[chosen])

    def codes(self) -> scipy.sparse.csr_array:
        """Return all codes, (m, N), in the memory of this process."""
        spans = self._attempt(lambda: self.passes.collect(self.states or []))
        parts = [coded.columns().tocsr() for span in spans for coded in span]
        return scipy.sparse.vstack(parts, "csr")

    def _put(self) -> list[Any] | None:
        """Return the codes to start from, and weights, as the states of the spans; None if there is nothing to keep."""
        codes = self._start
        if codes.nnz == 0 and self.weights is None:
            return None

        def coded(rows: slice) -> Coded:
            start = Coded.uncoded(codes[rows], part_of(self.weights, rows))
            return start if self.in_memory else start.packed()

        return self.passes.put([tuple(map(coded, span.parts)) for span in self.passes.spans])

    def _next_states(self, images: Floats, atoms: Floats) -> tuple[list[Any], Any]:
        before, self.states = self.states, None
        coding = self.problem.coding(images, atoms)
        shared = self.problem, coding, self.n_atoms, not self.in_memory
        return self._reading().run(_code, before, *shared, keep=False)

    def _attempt(self, one_pass: Callable[[], Result]) -> Result:
        """Return the result of a pass; if workers die of it, from smaller spans."""

        def computation(passes: StreamPasses) -> Result:
            if self.states is None:  # as they were before the data was cut anew
                self.states = self._put()
                for dictionary in self._coded_with:
                    self.states, _ = self._next_states(*dictionary)
            return one_pass()

        return with_smaller_spans(self.passes, self._cut, computation)

    def _cut(self, most: int | None) -> StreamPasses:
        """Return passes with at most this many parts per span; their states are yet to be computed."""
        self.passes, self.states, self._kept = self.stream.passes(self.slices, most), None, None
        return self.passes

    def _reading(self) -> StreamPasses:
        """Return passes that read what is kept of the samples; the first one prepares it. Else they read matrices."""
        if self._kept is None:
            keep = self._keep()
            if keep is None:
                return self.passes
            prepared, _ = self.passes.run(_prepare, None, self.problem, keep)
            self._kept = self.passes.over(prepared)
        return self._kept

    def _keep(self) -> Keep | None:
        """Return how what is prepared of samples is kept: in memory, or much of it in files; None if it is not."""
        if self.in_memory:
            return _in_memory
        if self.problem.n_features is None:
            return None
        size, memory = 4 * len(self.stream) * self.problem.n_features, self.stream.memory
        if self.passes.in_this_process:
            return StoredArray if size > _SCRATCH_BYTES else _in_memory
        return StoredArray if memory and size > memory // _SHARE_OF_MEMORY else _in_memory


class StoredArray:
    """An array in a file of this process, or of this worker, which goes when the object does.

    Dask would keep the array in memory, and write it to disk and back when there is too little. The file
    lies in the worker's own folder, which Dask removes when the worker ends, or when a later one starts.
    Sent to another worker, the array gets a file there.

    Parameters
    ----------
    array : ndarray
        The array.
    """

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        with scratch_file(_folder()) as (file, self.path):
            file.write(np.ascontiguousarray(array).data)
        weakref.finalize(self, self.path.unlink, missing_ok=True)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Read the array."""
        array = np.fromfile(self.path, self.dtype).reshape(self.shape)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredArray, (np.asarray(self),)


def _folder() -> str | None:
    """Return the folder of this worker; None, for that of all temporary files, where there is none."""
    try:
        return str(sys.modules["distributed"].get_worker().local_directory)
    except (KeyError, ValueError):  # threads have no worker
        return None


def _in_memory(prepared: Any) -> Any:
    return prepared


def _prepare(
    matrices: FloatArray, span: Span, state: None, problem: Any, keep: Keep
) -> tuple[tuple[Any, ...], int]:
    """Return what is prepared of every part of a span, as it is kept."""
    return tuple(keep(problem.prepare(X)) for X in span.split(matrices)), 0


def _parts(source: Any, span: Span, problem: Any) -> Sequence[Any]:
    """Return what is prepared of the parts of a span: it was kept, or is prepared now."""
    return source if isinstance(source, tuple) else list(map(problem.prepare, span.split(source)))


def _code(
    source: Any,
    span: Span,
    state: Sequence[Coded] | None,
    problem: Any,
    coding: tuple[Any, ...],
    n_atoms: int,
    pack: bool,
) -> tuple[tuple[Coded, ...], SumTuple]:
    """Code the samples of a span, and add up what the update of the atoms wants to know."""
    if state is None:
        sizes = [rows.stop - rows.start for rows in span.parts]
        state = [Coded.uncoded(scipy.sparse.csr_array((m, n_atoms)), None) for m in sizes]
    coded, terms = [], []
    for part, start in zip(_parts(source, span, problem), state, strict=True):
        found, sums = problem.code(part, start, *coding)
        coded.append(found.packed() if pack else found)
        terms.append(sums)
    return tuple(coded), added(terms)


def _sum_of_parts(
    source: Any,
    span: Span,
    state: Sequence[Coded],
    problem: Any,
    term: Callable[..., Any],
    *shared: Any,
) -> Any:
    parts = zip(_parts(source, span, problem), state, strict=True)
    return added([term(prepared, coded, problem, *shared) for prepared, coded in parts])


def _greatest_losses(source: None, span: Span, state: Sequence[Coded], count: int) -> Largest:
    """Find the samples of a span with the greatest losses."""
    losses = np.concatenate([part.losses for part in state])
    return Largest.of(count, losses, np.arange(span.rows.start, span.rows.stop))
