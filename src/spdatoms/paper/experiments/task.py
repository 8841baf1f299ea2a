"""What an experiment gives to a method: samples with labels, to learn from and to classify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spdatoms._utils.typing import Array

#: The score of most experiments, and the view of the samples that most methods work on.
ACCURACY = "accuracy"
COVARIANCES = "covariances"


@dataclass(frozen=True)
class LabelledViews:
    """Labelled samples, described in one or several ways.

    Parameters
    ----------
    y : ndarray of shape (m,)
        The labels.
    views : dict of str to ndarray
        Descriptions of the same m samples by name, "covariances" (m, n, n) among them.
    """

    y: Array
    views: Mapping[str, Array]

    def take(self, indices: Any) -> LabelledViews:
        """Return some of the samples.

        Parameters
        ----------
        indices : array-like of int or bool
            Their indices, or a mask.

        Returns
        -------
        LabelledViews
        """
        views = {name: view[indices] for name, view in self.views.items()}
        return LabelledViews(self.y[indices], views)

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Task:
    """What a method has to do in one repeat: learn from some samples, classify others.

    Parameters
    ----------
    train : LabelledViews
        The samples that a classifier is fitted to, or the gallery.
    tests : dict of str to LabelledViews
        The samples to classify, by the name of the score.
    learn : LabelledViews, default=None
        The samples that a dictionary is learned from, where they are not those of `train`.
    parameters : dict, default={}
        Parameters of the methods that the part prescribes, such as the number of atoms.
    """

    train: LabelledViews
    tests: Mapping[str, LabelledViews]
    learn: LabelledViews | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
