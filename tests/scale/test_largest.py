"""The largest values of all data, from those of its parts."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms.scale.parts import Largest, added


@pytest.mark.parametrize("count", [1, 7, 40, 200])
def test_parts_give_the_largest_of_all(count) -> None:
    rng = np.random.default_rng(0)
    values, indices = rng.integers(9, size=100) / 4.0, np.arange(100)  # with many ties
    labels = rng.integers(5, size=100)
    parts = np.array_split(indices, 6)
    found = added([Largest.of(count, values[p], indices[p], labels[p]) for p in parts])
    expected = sorted(indices, key=lambda i: (-values[i], i))[:count]
    np.testing.assert_array_equal(found.indices, expected)
    np.testing.assert_array_equal(found.values, values[expected])
    np.testing.assert_array_equal(found.labels, labels[expected])


def test_labels_are_optional() -> None:
    values = np.array([1.0, 3.0, 2.0])
    both = Largest.of(2, values, np.arange(3)) + Largest.of(2, values, np.arange(3, 6))
    assert both.indices.tolist() == [1, 4]
    assert both.labels.tolist() == [0, 0]
