"""A dictionary with atoms of every class."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import wishart_classes
from spdatoms import class_dictionary, pairwise_divergence


def test_class_dictionary_has_atoms_of_every_class() -> None:
    X, y = wishart_classes(3, 30)
    labels = np.array(["oak", "elm", "ash"])[y]
    keep = np.concatenate([np.flatnonzero(labels != "ash"), np.flatnonzero(labels == "ash")[:2]])
    atoms, of = class_dictionary(X[keep], labels[keep], 4, random_state=0, max_iter=3)
    assert [(of == label).sum() for label in ("oak", "elm", "ash")] == [4, 4, 2]
    nearest = of[pairwise_divergence(X, atoms).argmin(axis=1)]
    assert (nearest == labels).mean() > 0.8
    started, _ = class_dictionary(X, labels, 4, init="kmeans-riemann", random_state=0, max_iter=1)
    assert started.shape == (12, *X.shape[1:])
    with pytest.raises(ValueError, match="n_atoms_per_class"):
        class_dictionary(X, labels, 0)
