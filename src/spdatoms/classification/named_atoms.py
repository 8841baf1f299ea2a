"""What explanations of classes and of numbers share: the call, and training matrices with names as text or table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils import parameters as allow
from spdatoms._utils.notebook import table_as_html
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator, by_channels

#: What ``n_atoms`` and ``names`` of an ``explain`` may be.
_N_ATOMS = allow.NONE | allow.integer(1)
_NAMES = allow.NONE | allow.ARRAY
#: The greatest number of atoms that the text of an explanation lists.
LISTED = 5
#: The greatest number of rows of its table.
_ROWS = 20


@dataclass(frozen=True)
class Listing:
    """Which of the atoms that contribute an explanation lists, and what it calls them.

    Attributes
    ----------
    n_atoms : int or None
        Their greatest number.
    names : sequence of str or None
        A name for each atom.
    indices : ndarray of shape (N,) or None, default=None
        Which training matrices the atoms are, if they are some of them.
    """

    n_atoms: int | None
    names: Sequence[str] | None
    indices: Indices | None = None

    def check(self, count: int) -> None:
        """Refuse what ``explain`` cannot be told, for a number of atoms."""
        _N_ATOMS.check("n_atoms", self.n_atoms)
        _NAMES.check("names", self.names)
        if self.names is not None and len(self.names) != count:
            raise ValueError(
                f"names must hold a name for each of the {count} atoms, got {len(self.names)}."
            )

    def of(self, used: Indices) -> tuple[Indices, Indices, tuple[str, ...] | None]:
        """Return the first atoms of those that are used, their indices among the training matrices, and their names."""
        atoms, names = used[: self.n_atoms], self.names
        named = None if names is None else tuple(str(names[atom]) for atom in atoms)
        return atoms, atoms if self.indices is None else self.indices[atoms], named


class NamedAtoms(ABC):
    """What explanations share: training matrices with names or numbers, and a table of them.

    Subclasses are dataclasses with ``atoms``, ``contributions``, ``n_used``, ``names`` and a ``headline``, and say what
    stands in the table.
    """

    atoms: Indices
    contributions: Floats
    n_used: int
    names: tuple[str, ...] | None
    #: What the training matrices contribute to, in words.
    contributed_to: ClassVar[str]

    @property
    @abstractmethod
    def headline(self) -> str:
        """The prediction."""

    @property
    @abstractmethod
    def agreeing(self) -> NDArray[np.bool_]:
        """Which of the k training matrices speak for the prediction."""

    @abstractmethod
    def named(self) -> Iterator[tuple[str, float]]:
        """Yield the name and the contribution of each of the k training matrices."""

    def _name(self, i: int) -> str:
        return f"#{self.atoms[i]}" if self.names is None else self.names[i]

    def _listed(self, supporting: NDArray[np.bool_] | None = None) -> tuple[str, str]:
        """Return how many training matrices there are, and the first of them, those for the prediction first."""
        shown = [f"{name} {value:+.3g}" for name, value in list(self.named())[:LISTED]]
        more = ", …" if len(self.atoms) > LISTED else ""
        speaks = np.ones(len(shown), bool) if supporting is None else supporting[: len(shown)]
        agree, against = (
            ", ".join(np.array(shown, object)[side].tolist()) for side in (speaks, ~speaks)
        )
        listed = f"{agree}{more}; against it: {against}" if against else f"{agree}{more}"
        count = f"{len(self.atoms)}"
        if len(self.atoms) < self.n_used:
            count += f" of {self.n_used}"
        noun = "matrix" if self.n_used == 1 else "matrices"
        return f"{count} {noun}", listed

    def _repr_html_(self) -> str:
        """Return a table for notebooks: one row per training matrix, with bars."""
        shown = list(self.named())
        greatest = max([abs(value) for _, value in shown] + [float(np.finfo(float).tiny)])
        bars = [
            f'<div style="width:{10 * abs(value) / greatest:.1f}em;height:.8em;'
            f'background:{"#3b6ea5" if value >= 0 else "#b5651d"}"></div>'
            for _, value in shown[:_ROWS]
        ]
        rows = [(name, f"{value:+.3g}") for name, value in shown[:_ROWS]]
        header = ("training matrix", "contribution", "")
        return table_as_html(self.headline, header, rows, bars)


One = TypeVar("One", bound=NamedAtoms)


class SeveralExplanations(Sequence[One]):
    """A sequence of explanations, one per query."""

    def __init__(self, found: Sequence[One]) -> None:
        self._found = tuple(found)

    @overload
    def __getitem__(self, index: int) -> One: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> One | Self:
        if isinstance(index, slice):
            return type(self)(self._found[index])
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __str__(self) -> str:
        return "\n".join(map(str, self._found))

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self._found[:_ROWS])


Several = TypeVar("Several", bound=SeveralExplanations[Any])


class ExplainingEstimator(SPDEstimator, Generic[Several]):
    """An estimator whose predictions are sums over training matrices or atoms."""

    @abstractmethod
    def _explained(self, X: FloatArray, listing: Listing) -> Several:
        """Return the explanations of matrices that were checked."""

    @by_channels
    def explain(
        self,
        X: ArrayLike,
        n_atoms: int | None = None,
        *,
        names: Sequence[str] | None = None,
        channels: ArrayLike | None = None,
    ) -> Several:
        """Return what every atom adds to the prediction: an exact sum.

        Of a classifier it adds to the score of its class, as `decision_function` returns it; of a regressor to the mean
        target.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            The matrices whose predictions are explained.
        n_atoms : int, default=None
            List only this number of atoms, those that move the prediction most (of a classifier, the margin between the
            two best classes). None lists all that contribute.
        names : sequence of str, default=None
            A name for each atom, to be shown instead of its index.
        channels : array-like, default=None
            As in `predict`.

        Returns
        -------
        Explanations or TargetExplanations
            One explanation per matrix: the class with the largest total is what `predict` returns, and so is the mean
            target with all contributions.
        """
        return self._explained(self.check_queries(X), Listing(n_atoms, names))
