"""What ensembles of kernels share: atoms among the training matrices, which queries are compared with, and folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np

from spdatoms._utils.folds import Fold, given_folds, sides_of
from spdatoms._utils.threads import block_slices, map_in_threads
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator
from spdatoms.divergences import Divergence, Jeffrey, PreparedSet
from spdatoms.divergences.hermitian import beside, over
from spdatoms.divergences.means import mean_of_checked
from spdatoms.divergences.registry import METRIC, symmetric_divergence
from spdatoms.geometry.channels import Mask, cut
from spdatoms.geometry.hermitian import as_double, is_complex
from spdatoms.geometry.spectral import inverse_lower
from spdatoms.kernels.kernel import grown
from spdatoms.layout import Each, Matrices, Numbers, Value, part

Metrics: TypeAlias = str | Divergence | Sequence[str | Divergence]
Result = TypeVar("Result")
#: Queries that are compared with the references at a time.
_BLOCK = 256


@dataclass(frozen=True)
class References:
    """Training matrices C_i, re-centred to L⁻¹ C_i L⁻ᵀ with the factor L of their mean LLᵀ.

    Re-centring changes nothing for a divergence that is invariant under congruence. Logarithms and
    differences of matrices it makes comparable between recordings, and as good as tangent vectors at the mean.

    Attributes
    ----------
    metrics : tuple of str or Divergence
        The divergences.
    matrices : ndarray of shape (N, n, n)
        The training matrices, re-centred, in double precision.
    factor : ndarray of shape (n, n)
        L.
    """

    metrics: Annotated[tuple[str | Divergence, ...], Each(Value(METRIC), "metrics")]
    matrices: Annotated[Floats, Matrices("N", double=True)]
    factor: Annotated[Floats, Numbers("n n", "fc")]
    _prepared: tuple[tuple[Divergence, PreparedSet], ...] = field(
        init=False, repr=False, compare=False
    )
    _stored = part()
    _to_centre: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        divergences = [over(symmetric_divergence(metric), self.matrices) for metric in self.metrics]
        prepared = tuple((d, d.prepare(self.matrices)) for d in divergences)
        object.__setattr__(self, "_prepared", prepared)
        object.__setattr__(self, "_to_centre", inverse_lower(self.factor))

    @classmethod
    def of(
        cls,
        X: FloatArray,
        metrics: tuple[str | Divergence, ...],
        weights: Floats | None = None,
    ) -> References:
        """Re-centre matrices at their weighted mean of Jeffrey's divergence, which has a closed form."""
        X = np.ascontiguousarray(as_double(X))
        factor = np.linalg.cholesky(mean_of_checked(X, Jeffrey(), weights))
        return cls(metrics, recentred(X, inverse_lower(factor)), factor)

    @classmethod
    def as_they_are(cls, X: FloatArray, metrics: tuple[str | Divergence, ...]) -> References:
        """Take matrices without re-centring."""
        X = np.ascontiguousarray(as_double(X))
        return cls(metrics, X, np.eye(X.shape[-1], dtype=X.dtype))

    def changed(
        self, kept: Indices, X: FloatArray, among: tuple[Floats, ...], n_jobs: int | None = None
    ) -> tuple[References, tuple[Floats, ...]]:
        """Return some of the training matrices and others, re-centred as these, and each divergence between them.

        Parameters
        ----------
        kept : ndarray of int of shape (k,)
            Which training matrices.
        X : ndarray of shape (m, n, n)
            The others.
        among : tuple of ndarray
            What `among` returns.
        n_jobs : int, default=None
            The number of threads.

        Returns
        -------
        references : References
            All of them, N = k + m.
        among : tuple of ndarray of shape (N, N)
            What is its `among`, up to rounding.
        """
        X = recentred(np.ascontiguousarray(as_double(X)), self._to_centre)
        if X.dtype != self.matrices.dtype:
            every = References(self.metrics, np.concatenate([self.matrices[kept], X]), self.factor)
            return every, every.among(n_jobs)
        new = References(self.metrics, X, self.factor)
        every, prepared, found = copy(new), [], []
        for (divergence, own), (_, added), known in zip(
            self._prepared, new._prepared, among, strict=True
        ):
            joined = divergence.joined(own, kept, added)
            prepared.append((divergence, joined))
            found.append(grown(divergence, known[np.ix_(kept, kept)], added, joined, n_jobs))
        object.__setattr__(every, "matrices", prepared[0][1].matrices)
        object.__setattr__(every, "_prepared", tuple(prepared))
        return every, tuple(found)

    def among(self, n_jobs: int | None = None) -> tuple[Floats, ...]:
        """Return each divergence between the training matrices, shape (N, N)."""
        return tuple(np.asarray(d.pairwise(own, n_jobs=n_jobs)) for d, own in self._prepared)

    def divergences(self, X: FloatArray, n_jobs: int | None = None) -> tuple[Floats, ...]:
        """Return each divergence of matrices X to the training matrices, shape (m, N)."""
        X = recentred(np.ascontiguousarray(as_double(X)), self._to_centre)
        found = []
        for divergence, own in self._prepared:
            between, queries, references = beside(divergence, X, own)
            found.append(np.asarray(between.pairwise(queries, references, n_jobs=n_jobs)))
        return tuple(found)

    def of_blocks(
        self,
        of_block: Callable[[Sequence[Floats]], Result],
        X: FloatArray,
        n_jobs: int | None = None,
    ) -> list[Result]:
        """Return what a function makes of the divergences of matrices X to the training matrices, block by block."""
        blocks = list(block_slices(len(X), _BLOCK))
        if len(blocks) == 1:  # often a single query, which a pool of threads would take longer than
            return [of_block(self.divergences(X))]
        return map_in_threads(
            lambda i: of_block(self.divergences(X[blocks[i]])), len(blocks), n_jobs
        )

    def vjp(self, X: FloatArray, weights: Sequence[Floats]) -> Floats:
        """Return the gradients in X_i of the divergences to the training matrices, with these weights (m, N) each."""
        moved = recentred(np.ascontiguousarray(as_double(X)), self._to_centre)
        total = np.zeros(moved.shape, moved.dtype)
        for (divergence, own), w in zip(self._prepared, weights, strict=True):
            between, queries, references = beside(divergence, moved, own)
            total = total + between.vjp(queries, references, w, both=False)[0]
        found = recentred(total, self._to_centre.conj().T)
        return found if is_complex(X) else np.asarray(found.real)


def recentred(X: Floats, inverse: Floats) -> Floats:
    """Return L⁻¹ X_i L⁻ᵀ, given L⁻¹."""
    moved = inverse @ X @ inverse.conj().T
    return np.asarray(0.5 * (moved + moved.conj().swapaxes(-1, -2)))


class KernelEnsemble(SPDEstimator):
    """An estimator over some of the training matrices, of which folds are left out in turn."""

    hermitian: ClassVar[bool] = True
    _seen: ClassVar[str] = "atoms_"
    metrics: Metrics
    cv: Any
    n_jobs: int | None
    atoms_: FloatArray
    atom_indices_: Indices
    atom_weights_: Floats | None
    average_: Any
    _references: References
    _sides: Array | None = None  # for models of earlier versions

    def _take_atoms(
        self, X: Any, rows: Indices, weights: Floats | None, folds: Sequence[Fold]
    ) -> References:
        """Keep these rows of the matrices with their weights, and which of them each fold leaves out.

        Return what queries are compared with: the atoms under every metric.
        """
        self.atom_indices_, self.atom_weights_ = rows, weights
        self.atoms_ = X[rows]
        self._sides = sides_of(folds, len(rows))
        self._references = References.of(self.atoms_, listed(self.metrics), self.atom_weights_)
        return self._references

    def _cut_to(self, known: Mask, answers: Array, *others: Any) -> Self:
        """Return the ensemble for fewer channels, fitted to the same atoms and folds with the same labels or targets.

        ``others`` are what `fit` takes after the weights.
        """
        model = self._fitted_anew(
            cut(self.atoms_, known),
            answers,
            None,
            self.atom_weights_,
            *others,
            cv=given_folds(self.cv, self._sides),
            max_atoms=len(self.atoms_),
            class_weight=None,
        )
        model.atom_indices_ = self.atom_indices_
        return model


def listed(value: Any) -> tuple[Any, ...]:
    """Return one thing or a sequence of them as a tuple."""
    return (value,) if isinstance(value, str | Divergence) else tuple(value)
