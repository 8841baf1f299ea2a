"""Baselines of the library's own parts, against those parts."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import SPDKMeans, SPDKNeighborsClassifier, SPDSparseCoder
from spdatoms.paper import baselines
from spdatoms.paper.baselines import KMeansSparseCoder, riemannian_nearest_neighbour


def test_k_means_dictionary_is_k_means_and_coding() -> None:
    X = random_spd(90, 5)
    model = KMeansSparseCoder(6, alpha=0.05, random_state=3).fit(X)
    centres = SPDKMeans(6, "riemann", random_state=3).fit(X).cluster_centers_
    np.testing.assert_array_equal(model.atoms_, centres)
    coder = SPDSparseCoder(centres, alpha=0.05).fit(X)
    np.testing.assert_array_equal(model.transform(X), coder.transform(X))


def test_nearest_neighbour_is_the_librarys_own() -> None:
    model = riemannian_nearest_neighbour(n_jobs=2)
    assert type(model) is SPDKNeighborsClassifier
    assert model.get_params() == SPDKNeighborsClassifier(1, "riemann", n_jobs=2).get_params()
    X, y = random_spd(20, 3), np.arange(20) % 4
    assert model.fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("name", baselines.__all__)
def test_public_names_are_importable_and_documented(name) -> None:
    thing = getattr(baselines, name)
    assert thing.__name__ == name
    assert thing.__doc__
    assert name in dir(baselines)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = baselines.no_such_name
