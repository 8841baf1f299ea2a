"""Samples as vectors φ(X_i) in the span of landmarks, with their codes.

Matrices are read once, for their features. After that an iteration needs the features alone: coding
takes them, and of the codes the atoms want to know A = YᵀY and B = YᵀΦ, which are sums over samples.
Features are kept in single precision, and a long file's in another file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spdatoms._utils.files import scratch_array
from spdatoms._utils.threads import map_in_threads
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms._utils.weights import part_of
from spdatoms.dictionary._coded_data import Lasso, code_products, sparse_rows, with_weights
from spdatoms.dictionary._packed import Coded
from spdatoms.dictionary._samples import SamplesInMemory, StreamedSamples
from spdatoms.kernels.landmarks import LandmarkSpace, landmark_gram
from spdatoms.lasso.solve import sparse_code
from spdatoms.layout import Numbers, part
from spdatoms.scale.parts import added
from spdatoms.scale.passes import Span, StreamPasses, SumTuple
from spdatoms.scale.stored import StoredArray
from spdatoms.scale.stream import Stream

Result = TypeVar("Result")
Singles: TypeAlias = NDArray[np.float32]
#: Arguments of a coding: the features P of the atoms, PPᵀ, and what is asked of the codes.
Coding: TypeAlias = tuple[Floats, Floats, Lasso]
#: What becomes of the features of these rows: the same in memory, or an array that reads them from a file.
Keep: TypeAlias = Callable[[Singles, slice], Any]
#: More bytes of features than this lie in a file, where matrices do.
_SCRATCH_BYTES = 1 << 30
#: Features that take more than 1/8 of the memory of the workers lie in files: half of a small worker are
#: libraries, and there have to be codes and the matrices of running tasks.
_SHARE_OF_MEMORY = 8


@dataclass(frozen=True)
class Statistics:
    """All that the update of the atoms wants to know about samples and their codes.

    Attributes
    ----------
    code_gram : ndarray of shape (N, N)
        A = YᵀWY, with the weights W of the samples.
    products : ndarray of shape (N, r)
        B = YᵀWΦ.
    """

    code_gram: Floats
    products: Floats
    _stored = part(code_gram=Numbers("N N"), products=Numbers("N r"))


@dataclass(frozen=True)
class FeaturePart:
    """Consecutive samples: their features, codes and losses.

    Attributes
    ----------
    features : ndarray of float32 of shape (m, r)
        Φ.
    codes : csr_array of shape (m, N)
        Y.
    losses : ndarray of shape (m,)
        w_i f(y_i) of every sample.
    weights : ndarray of shape (m,) or None
        The weights w_i of the samples; None is ones.
    """

    features: Singles
    codes: scipy.sparse.csr_array
    losses: Floats
    weights: Floats | None = None

    @classmethod
    def uncoded(
        cls, features: FloatArray, codes: scipy.sparse.csr_array, weights: Floats | None = None
    ) -> FeaturePart:
        """Samples whose coding is to start from these codes."""
        unknown = np.full(len(features), np.inf)
        return cls(features.astype(np.float32, copy=False), codes, unknown, weights)

    def coded(self, P: Floats, gram: Floats, lasso: Lasso) -> FeaturePart:
        """Code every sample over atoms with features P, each from its last code."""
        features = self.features.astype(np.float64)
        codes, certificate = sparse_code(
            gram,
            features @ P.T,
            lasso.alpha,
            positive=lasso.positive,
            query_norm=np.einsum("ij,ij->i", features, features),
            init=self.codes.toarray(),
            check_gram=False,
            return_certificate=True,
        )
        losses = with_weights(certificate.objective, self.weights)
        return FeaturePart(self.features, sparse_rows(codes), losses, self.weights)

    def terms(self) -> SumTuple:
        """Return Σ w_i f(y_i), the number of non-zeros, A and B."""
        Y, features = self.codes, self.features.astype(np.float64)
        if self.weights is not None:  # √w y_i and √w φ(X_i) in the place of y_i and φ(X_i)
            roots = np.sqrt(self.weights)[:, None]
            Y, features = Y.multiply(roots).tocsr(), roots * features
        return SumTuple(
            (float(self.losses.sum()), Y.nnz, code_products(Y), np.asarray(Y.T @ features))
        )


class FeatureData(SamplesInMemory):
    """Samples in memory, as features with codes, cut into parts.

    Parameters
    ----------
    X : ndarray of shape (m, n, n)
        The samples.
    space : LandmarkSpace
        The map φ.
    n_atoms : int
        The length of a code.
    n_jobs : int, optional
        The number of threads.
    weights : ndarray of shape (m,) or None
        The weights of the samples; None is ones.
    """

    def __init__(
        self,
        X: FloatArray,
        space: LandmarkSpace,
        n_atoms: int,
        n_jobs: int | None,
        weights: Floats | None = None,
    ) -> None:
        super().__init__(X, n_atoms, n_jobs)
        empty = scipy.sparse.csr_array((len(X), n_atoms))

        def uncoded(i: int) -> FeaturePart:
            rows = self.slices[i]
            return FeaturePart.uncoded(space.features(X[rows]), empty[rows], part_of(weights, rows))

        self.parts = self._over_parts(uncoded)

    def _over_parts(self, function: Callable[[int], Result]) -> list[Result]:
        return map_in_threads(function, len(self.slices), self.n_jobs)

    def code(self, P: Floats, lasso: Lasso) -> float:
        """Code every sample, each from its last code, and return Σ_i w_i f(y_i)."""
        gram = landmark_gram(P)
        self.parts = self._over_parts(lambda i: self.parts[i].coded(P, gram, lasso))
        objective, _, *sums = added(self._over_parts(lambda i: self.parts[i].terms()))
        self.statistics = Statistics(*sums)
        return float(objective)

    def codes(self) -> scipy.sparse.csr_array:
        """Return all codes, (m, N)."""
        return scipy.sparse.vstack([part.codes for part in self.parts], "csr")

    def start_from(self, codes: scipy.sparse.csr_array) -> None:
        """Let the next coding start from these codes."""
        self.parts = [
            FeaturePart.uncoded(part.features, codes[rows], part.weights)
            for part, rows in zip(self.parts, self.slices, strict=True)
        ]


class StreamedFeatureData(StreamedSamples):
    """Samples of a stream, as features that stay where they are computed, as their codes do.

    The methods are those of `FeatureData`. What workers hold of a sample are the r numbers of its
    features and its code; the matrices are read once, and again only if workers die.

    Parameters
    ----------
    stream : Stream
        The samples.
    space : LandmarkSpace
        The map φ.
    n_atoms : int
        The length of a code.
    weights : ndarray of shape (m,) or None
        The weights of the samples; None is ones.
    """

    def __init__(
        self, stream: Stream, space: LandmarkSpace, n_atoms: int, weights: Floats | None = None
    ) -> None:
        super().__init__(stream, n_atoms, weights)
        self.space = space
        self._feature_passes: StreamPasses | None = None

    def _cut(self, most: int) -> StreamPasses:
        self._feature_passes = None
        return super()._cut(most)

    def _over_features(self) -> StreamPasses:
        """Return passes that read features; the first time matrices are read for them."""
        if self._feature_passes is None:
            features, _ = self.passes.run(_features, None, self.space, self._keep())
            self._feature_passes = self.passes.over(features)
        return self._feature_passes

    def _keep(self) -> Keep:
        """Return how features are kept: in memory, or many of them in files."""
        shape = len(self.stream), self.space.size
        size, memory = 4 * shape[0] * shape[1], self.stream.memory
        if self.passes.in_this_process and size > _SCRATCH_BYTES:
            return partial(_in_rows_of, np.asarray(scratch_array(shape, np.float32)))
        return _in_a_file if memory and size > memory // _SHARE_OF_MEMORY else _in_memory

    def code_pass(self, states: list[Any] | None, coding: Coding) -> tuple[list[Any], Any]:
        """Code all samples, from the codes in the states."""
        return self._over_features().run(_coded, states, *coding, keep=False)

    def code(self, P: Floats, lasso: Lasso) -> float:
        """Code every sample, each from its last code, and return Σ_i w_i f(y_i)."""
        objective, nnz, *sums = self.coded((P, landmark_gram(P), lasso))
        self.nnz, self.statistics = int(nnz), Statistics(*sums)
        return float(objective)


def _features(
    matrices: FloatArray, span: Span, state: None, space: LandmarkSpace, keep: Keep
) -> tuple[tuple[Any, ...], int]:
    """Return the features of every part of a span, as they are kept."""
    parts = zip(span.split(matrices), span.parts, strict=True)
    return tuple(keep(space.features(X).astype(np.float32), rows) for X, rows in parts), 0


def _in_memory(features: Singles, rows: slice) -> Singles:
    return features


def _in_rows_of(scratch: Singles, features: Singles, rows: slice) -> Singles:
    scratch[rows] = features
    return scratch[rows]


def _in_a_file(features: Singles, rows: slice) -> StoredArray:
    return StoredArray(features)


def _coded(
    features: Sequence[Any],
    span: Span,
    state: Sequence[Coded] | None,
    P: Floats,
    gram: Floats,
    lasso: Lasso,
) -> tuple[tuple[Coded, ...], SumTuple]:
    """Code the samples of a span."""
    if state is None:
        start: Any = [(scipy.sparse.csr_array((len(part), len(P))), None) for part in features]
    else:
        start = [(coded.columns().tocsr(), coded.weights) for coded in state]
    parts = [
        FeaturePart.uncoded(np.asarray(part), *begin).coded(P, gram, lasso)
        for part, begin in zip(features, start, strict=True)
    ]
    packed = tuple(Coded.of(part.codes.tocsc(), part.losses, part.weights) for part in parts)
    return packed, added([part.terms() for part in parts])
