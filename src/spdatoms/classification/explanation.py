"""Why a query has its class: what every training matrix adds to the total of its own class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms.classification.named_atoms import LISTED, Listing, NamedAtoms, SeveralExplanations
from spdatoms.classification.relevance import ChannelRelevance, Relevance


@dataclass(frozen=True)
class Explanation(NamedAtoms):
    """The decision about one query, taken apart by training matrices.

    The total of a class is the sum of what its training matrices contribute, plus an offset that is the same for
    all classes. The class with the largest total is the prediction.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        The labels of the classes.
    totals : ndarray of shape (C,)
        Their totals: the scores of ``decision_function``.
    offset : float
        What is not due to single training matrices.
    atoms : ndarray of shape (k,)
        The indices of the training matrices (of those with a positive weight), or of the atoms that were learned
        from them; what moves the margin most comes first.
    contributions : ndarray of shape (k,)
        What each adds to the total of its own class.
    labels : ndarray of shape (k,)
        Their labels.
    n_used : int
        The number of all that contribute, of which the k may be a part.
    names : tuple of str or None
        The names of the k, if names were given.
    domains : tuple of str or None
        The domains of the k, if the classifier knows them.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseClassifier
    >>> X = np.eye(2) * np.array([1.0, 2.0, 10.0, 20.0])[:, None, None]
    >>> classifier = SPDSparseClassifier(alpha=0.1).fit(X, ["a", "a", "b", "b"])
    >>> print(classifier.explain(1.5 * X[:1])[0])
    a (0.994) before b (0). 2 matrices, 100 % of the margin: a #1 +0.593, a #0 +0.402
    """

    classes: Array
    totals: Floats
    offset: float
    atoms: Indices
    contributions: Floats
    labels: Array
    n_used: int
    names: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None
    contributed_to = "the total of its class"
    #: What computes the relevance of channels, and which of its queries this is.
    _relevance: tuple[Relevance, int] | None = field(default=None, repr=False, compare=False)

    @property
    def channels(self) -> ChannelRelevance:
        """What channels, and pairs of channels, contributed to the margin; computed when it is first asked for."""
        relevance, row = self._known_relevance()
        return relevance.of([row])[0]

    def rough_channels(self) -> ChannelRelevance:
        """Return the same as ``channels``, but for some hundredths, sooner: enough for a picture.

        Returns
        -------
        ChannelRelevance
        """
        relevance, row = self._known_relevance()
        return relevance.roughly(row)

    def _known_relevance(self) -> tuple[Relevance, int]:
        if self._relevance is None:
            raise ValueError("There is nothing that knows the relevance of channels here.")
        return self._relevance

    @property
    def prediction(self) -> Any:
        """The class with the largest total."""
        return self.classes[self.totals.argmax()]

    @property
    def runner_up(self) -> Any:
        """The class with the second largest total; None if there is one class."""
        return self.classes[two_best(self.totals)[1]] if len(self.classes) > 1 else None

    @property
    def margin(self) -> float:
        """The largest total minus the second largest."""
        best, second = two_best(self.totals)
        return float(self.totals[best] - self.totals[second])

    @property
    def share(self) -> float:
        """The share of the margin that the k training matrices hold; the others hold the rest.

        It may exceed 1: then the others speak for the runner-up.
        """
        held = self.contribution_of(self.prediction) - self.contribution_of(self.runner_up)
        return held / self.margin if self.margin > 0.0 else 1.0

    @property
    def domain_shares(self) -> dict[str, float]:
        """The share of the margin that the k training matrices of each domain hold, the largest first."""
        if self.domains is None or self.margin <= 0.0:
            return {}
        sign = (self.labels == self.prediction) * 1.0 - (self.labels == self.runner_up)
        held: dict[str, float] = {}
        for name, moved in zip(self.domains, sign * self.contributions / self.margin, strict=True):
            held[name] = held.get(name, 0.0) + float(moved)
        return dict(sorted(held.items(), key=lambda one: -one[1]))

    @property
    def alone(self) -> Any:
        """The class that the k training matrices alone would give."""
        return self.classes[np.argmax([self.contribution_of(c) for c in self.classes])]

    def contribution_of(self, label: object) -> float:
        """Return the sum of what the k training matrices with this label contribute.

        Parameters
        ----------
        label : object
            A label of the training set.

        Returns
        -------
        float
        """
        return float(self.contributions[self.labels == label].sum())

    @property
    def headline(self) -> str:
        """The two best classes with their totals."""
        if self.runner_up is None:
            return f"{self.prediction}: there is no other class"
        first, second = np.sort(self.totals)[::-1][:2]
        return f"{self.prediction} ({first:.3g}) before {self.runner_up} ({second:.3g})"

    @property
    def agreeing(self) -> NDArray[np.bool_]:
        """Which of the k training matrices have the predicted label."""
        return np.asarray(self.labels == self.prediction)

    def __str__(self) -> str:
        if self.runner_up is None:
            return self.headline
        # What adds to the predicted class speaks for it, and so does what takes from another.
        count, listed = self._listed(self.agreeing == (self.contributions > 0))
        text = f"{self.headline}. {count}, {100 * self.share:.0f} % of the margin: {listed}"
        if shares := list(self.domain_shares.items())[:LISTED]:
            text += (
                f". By domain: {', '.join(f'{name} {100 * share:.0f} %' for name, share in shares)}"
            )
        if self.alone != self.prediction:
            text += f". Alone they would give {self.alone}"
        return text

    def named(self) -> Iterator[tuple[str, float]]:
        """Yield the label and name, and the contribution of each of the k training matrices.

        Yields
        ------
        tuple of str and float
        """
        for i, label in enumerate(self.labels):
            yield f"{label} {self._name(i)}", float(self.contributions[i])


class Explanations(SeveralExplanations[Explanation]):
    """The explanations of several queries, one per query.

    Parameters
    ----------
    found : sequence of Explanation
        The explanations.

    Attributes
    ----------
    totals : ndarray of shape (m, C)
        The totals of the classes for every query.
    predictions : ndarray of shape (m,)
        The class with the largest total of every query.
    """

    @property
    def totals(self) -> Floats:
        """The totals of the classes, one row per query."""
        return np.array([one.totals for one in self._found])

    @property
    def predictions(self) -> Array:
        """The class with the largest total of every query."""
        return np.array([one.prediction for one in self._found])

    @property
    def channels(self) -> ChannelRelevance:
        """What channels, and pairs of channels, contributed to the margins; computed when it is first asked for."""
        sources = [one._relevance for one in self._found if one._relevance is not None]
        for relevance in {id(source): source for source, _ in sources}.values():
            relevance.of(
                [row for source, row in sources if source is relevance]
            )  # together is quicker
        each = [one.channels for one in self._found]
        if len({one.pairs.shape for one in each}) > 1:
            raise ValueError(
                "The matrices have different channels: ask one explanation at a time for its channels."
            )
        return ChannelRelevance.of(each)

    def with_relevance(self, relevance: Relevance) -> Explanations:
        """Return the explanations with what computes the relevance of channels; they are those of all its queries.

        Parameters
        ----------
        relevance : Relevance
            What computes it.

        Returns
        -------
        Explanations
        """
        return Explanations(
            [replace(one, _relevance=(relevance, row)) for row, one in enumerate(self._found)]
        )


def taken_apart(
    totals: Floats,
    contributions: Floats,
    classes: Array,
    atom_classes: Indices,
    listing: Listing,
    domains: Array | None = None,
) -> Iterator[Explanation]:
    """Yield the explanations of queries with class totals (m, C) and contributions of atoms (m, N).

    ``domains`` are those of the atoms, if they are known.
    """
    for own_totals, own in zip(totals, contributions, strict=True):
        best, second = two_best(own_totals)
        sums = np.bincount(atom_classes, own, len(classes))
        # What moves the margin between the two best classes comes first, then the rest by size.
        moves = np.isin(atom_classes, (best, second))
        used = np.flatnonzero(own)
        used = used[np.lexsort((-np.abs(own[used]), ~moves[used]))]
        atoms, indices, names = listing.of(used)
        yield Explanation(
            classes,
            own_totals,
            float(own_totals[best] - sums[best]),
            indices,
            own[atoms],
            classes[atom_classes[atoms]],
            len(used),
            names,
            None if domains is None else tuple(domains[atoms].tolist()),
        )


def two_best(totals: Floats) -> Indices:
    """Return the classes with the largest and the second largest total, (…, 2) for totals (…, C)."""
    best = totals.argmax(axis=-1)[..., None]
    others = np.where(np.arange(totals.shape[-1]) == best, -np.inf, totals)
    return np.concatenate([best, others.argmax(axis=-1)[..., None]], axis=-1)
