"""Which training labels the other training matrices contradict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from spdatoms._utils import parameters as allow
from spdatoms._utils.notebook import table_as_html
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms.classification.ensemble import SPDEnsembleClassifier

_LISTED = 10
#: The share of wrong labels is looked for among at least this number of matrices.
_FEWEST = 5


@dataclass(frozen=True)
class SuspectLabels:
    """Training matrices, those whose label is most doubtful first.

    Attributes
    ----------
    indices : ndarray of shape (m,)
        Their rows in the training set.
    probabilities : ndarray of shape (m,)
        How probable it is that the label is wrong.
    labels : ndarray of shape (m,)
        The labels they have.
    suggestions : ndarray of shape (m,)
        The most probable other labels.
    noise : float
        The share of all labels that is wrong, estimated.
    """

    indices: Indices
    probabilities: Floats
    labels: Array
    suggestions: Array
    noise: float

    def above(self, probability: float = 0.5) -> Indices:
        """Return the rows of the matrices whose label is wrong with more than this probability.

        Parameters
        ----------
        probability : float, default=0.5
            Between 0 and 1.

        Returns
        -------
        ndarray of int
        """
        return self.indices[self.probabilities > probability]

    def _doubtful(self) -> list[tuple[Any, ...]]:
        """Return the first rows, labels, suggestions and probabilities of labels that are probably wrong."""
        rows = zip(self.indices, self.labels, self.suggestions, self.probabilities, strict=True)
        return [row for row in list(rows)[:_LISTED] if row[-1] > 0.5]

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        caption = f"{len(self.above())} of {len(self.labels)} labels are probably wrong"
        rows = [(*row, f"{100 * p:.0f} %") for *row, p in self._doubtful()]
        return table_as_html(caption, ("row", "label", "suggestion", "probably wrong"), rows)

    def __str__(self) -> str:
        listed = [
            f"#{index} is {label}, probably {other}: {100 * p:.0f} %"
            for index, label, other, p in self._doubtful()
        ]
        return "\n".join(listed) or "no label is more probably wrong than right"


@allow.checks(
    estimator=allow.NONE
    | allow.Allowed(
        ("an SPDEnsembleClassifier",), lambda value: isinstance(value, SPDEnsembleClassifier)
    ),
    n_jobs=allow.N_JOBS,
)
def suspect_labels(
    X: ArrayLike, y: ArrayLike, *, estimator: Any = None, n_jobs: int | None = None
) -> SuspectLabels:
    """Return which labels of training matrices the others contradict, with probabilities.

    Each matrix is classified by an ensemble that was fitted without it. A label is suspect if its
    calibrated probability is small, and the more so, the more labels are contradicted where the ensemble is sure.

    Parameters
    ----------
    X : array-like of shape (m, n, n)
        SPD matrices.
    y : array-like of shape (m,)
        Their labels, some of which may be wrong.
    estimator : SPDEnsembleClassifier or None, default=None
        The ensemble; None stands for one with its defaults. Folds are those of its ``cv``.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.

    Returns
    -------
    SuspectLabels
        All matrices, the most doubtful first.

    Notes
    -----
    The ensemble says how probable it is, p, that a matrix has the label that was given to it. If a share ε of the
    labels is wrong, at random, the label is right with the probability (1 − ε)(p − ε′)/((1 − ε − ε′)p), where
    ε′ = ε/(C − 1) for C classes. What is taken for ε is the share of labels that differ from the most probable class,
    among the k matrices that the ensemble is surest of, for the k from 5 on for which it is least. So where classes are
    hard to tell apart, labels are not suspected for that alone.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import suspect_labels
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((40, 3, 20))
    >>> samples[20:, 2] *= 3.0
    >>> X, y = samples @ samples.swapaxes(1, 2) / 20, np.repeat(["round", "long"], 20)
    >>> y[7] = "long"
    >>> int(suspect_labels(X, y).indices[0])
    7
    """
    y = np.asarray(y)
    model = SPDEnsembleClassifier() if estimator is None else clone(estimator)
    model.set_params(n_jobs=n_jobs).fit(X, y)
    return suspects_of(model, X, y)


def suspects_of(model: SPDEnsembleClassifier, X: ArrayLike | None, y: Array) -> SuspectLabels:
    """Return what `suspect_labels` does, for an ensemble that was fitted to these matrices.

    Without X it is about those of them that are its atoms, of which everything is known already.
    """
    rows, probabilities = model.atom_indices_, model.left_out_probabilities_
    others = np.delete(np.arange(len(y)), rows)  # they had no part in the fit
    if X is not None and len(others):
        rows = np.concatenate([rows, others])
        others_say = model.predict_proba(np.asarray(X)[others])
        probabilities = np.concatenate([probabilities, others_say])
    order = np.argsort(rows)
    rows, probabilities = rows[order], probabilities[order]
    own, each = np.searchsorted(model.classes_, y[rows]), np.arange(len(rows))
    given = probabilities[each, own]
    noise = share_of_wrong_labels(probabilities, own)
    probabilities[each, own] = -1.0
    order = np.argsort(given, kind="stable")
    suggestions = model.classes_[probabilities[order].argmax(axis=1)]
    wrong = wrong_label(given[order], noise, len(model.classes_))
    return SuspectLabels(rows[order], wrong, y[rows[order]], suggestions, noise)


def share_of_wrong_labels(probabilities: Floats, own: Indices) -> float:
    """Return ε, see `suspect_labels`, for the probabilities (m, C) of left-out matrices with these labels."""
    surest = np.argsort(-probabilities.max(axis=1), kind="stable")
    contradicted = probabilities.argmax(axis=1)[surest] != own[surest]
    # One more of each kind, because of the few that the first shares are of.
    shares = (np.cumsum(contradicted) + 1.0) / (np.arange(len(own)) + 3.0)
    n_classes = probabilities.shape[1]
    # With more, labels would tell nothing.
    most = 0.9 * (1.0 - 1.0 / n_classes)
    return float(min(shares[min(_FEWEST, len(own)) - 1 :].min(), most))


def wrong_label(given: Floats, noise: float, n_classes: int) -> Floats:
    """Return the probability that labels are wrong to which the ensemble gives these probabilities."""
    other = noise / max(n_classes - 1, 1)
    right = (1.0 - noise) * np.maximum(given - other, 0.0) / (1.0 - noise - other)
    return np.asarray(1.0 - np.minimum(right / np.where(given > 0, given, 1.0), 1.0))
