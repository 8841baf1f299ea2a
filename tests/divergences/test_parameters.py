"""Two divergences of one name are told apart by their parameters."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spdatoms.divergences import Hermitian, PowerEuclidean, Stein
from spdatoms.divergences.registry import divergence_classes, divergence_parameters, same_divergence


class Weighted(Stein):
    """A divergence with whatever a user thinks of."""

    name = "weighted"

    def __init__(self, weights, options=None):
        self.weights = weights
        self.options = options


class Private(Stein):
    """One that keeps its parameter under another name."""

    name = "private"

    def __init__(self, scale):
        self._scale = scale


def test_of_the_library_two_have_parameters() -> None:
    found = {cls.name: divergence_parameters(cls()) for cls in divergence_classes()}
    named = {name: value for name, value in found.items() if value}
    assert named == {"poweuclid": {"p": 0.5}, "burg": {"side": "right"}}


def test_a_hermitian_divergence_has_those_of_the_real_one() -> None:
    assert divergence_parameters(Hermitian(Stein())) == {}
    assert divergence_parameters(Hermitian(PowerEuclidean(2.0))) == {"p": 2.0}
    assert same_divergence(Hermitian(Stein()), Stein())


def test_arrays_differ_in_any_entry() -> None:
    weights = np.ones(5000)
    other = weights.copy()
    other[2500] = 2.0  # where a repr has its dots
    assert same_divergence(Weighted(weights), Weighted(weights.copy()))
    assert not same_divergence(Weighted(weights), Weighted(other))
    assert not same_divergence(Weighted(weights), Weighted(weights.reshape(50, 100)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 2.0),
        (None, 0),
        ([1, np.arange(3)], [1, np.arange(1, 4)]),
        ({"a": (1, 2)}, {"a": (1, 3)}),
        (PowerEuclidean(0.5), PowerEuclidean(2.0)),
        (Stein(), PowerEuclidean()),
        (np.sin, np.cos),
        (len, sorted),
        (1j, 2j),
        (np.random.PCG64, np.random.MT19937),
    ],
)
def test_other_parameters_are_other_divergences(one, other) -> None:
    for cls in (Private, Weighted):
        assert same_divergence(cls(one), cls(one))
        assert not same_divergence(cls(one), cls(other))
        json.dumps(divergence_parameters(cls(one)))


def test_objects_are_what_they_hold_and_not_where_they_are() -> None:
    class Option:
        def __init__(self, value):
            self.value = value

    assert same_divergence(Weighted(1, Option(1)), Weighted(1, Option(1)))
    assert not same_divergence(Weighted(1, Option(1)), Weighted(1, Option(2)))
