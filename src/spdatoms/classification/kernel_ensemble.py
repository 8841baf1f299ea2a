"""What ensembles of kernels share: atoms chosen among the training matrices, folds of them, and fewer channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeAlias

from spdatoms._utils.folds import Fold, given_folds, sides_of
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator
from spdatoms.classification.average import in_blocks
from spdatoms.classification.references import References
from spdatoms.divergences import Divergence
from spdatoms.geometry.channels import Mask, cut

Metrics: TypeAlias = str | Divergence | Sequence[str | Divergence]


class KernelEnsemble(SPDEstimator):
    """An estimator over some of the training matrices, of which folds are left out in turn."""

    hermitian: ClassVar[bool] = True
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
    ) -> None:
        """Keep these rows of the matrices with their weights, and which of them each fold leaves out."""
        self.atom_indices_, self.atom_weights_ = rows, weights
        self.atoms_ = X[rows]
        self._sides = sides_of(folds, len(rows))

    def _compare_atoms(self) -> References:
        """Keep what queries are compared with: the atoms under every metric."""
        self._references = References.of(self.atoms_, listed(self.metrics), self.atom_weights_)
        return self._references

    def _of_blocks(
        self, of_block: Callable[[Sequence[Floats]], Floats], X: FloatArray
    ) -> list[Floats]:
        """Return what a function makes of the divergences of queries to the atoms, block by block."""
        return in_blocks(of_block, self._references, X, self.n_jobs)

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
