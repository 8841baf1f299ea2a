"""exp(scale·x) of many numbers, against NumPy's."""

import numpy as np
import pytest

from spdatoms.native import kernel

scaled_exp = kernel("scaled_exp", "Dqd")


def twin(x, scale):
    with np.errstate(over="ignore", under="ignore"):
        result = np.exp(scale * x)
    return np.where(result < np.finfo(float).tiny, 0.0, result)


@pytest.mark.parametrize("count", [*range(41), 1003])
def test_every_count(count):
    x = np.random.default_rng(count).normal(scale=100.0, size=count + 2)
    computed = x.copy()
    scaled_exp(computed[1:-1], count, -0.7)
    np.testing.assert_allclose(computed[1:-1], twin(x[1:-1], -0.7), rtol=4e-16)
    np.testing.assert_array_equal(computed[[0, -1]], x[[0, -1]])


def test_a_number_does_not_depend_on_its_place():
    x = np.linspace(-3.0, 3.0, 100)
    whole = x.copy()
    scaled_exp(whole, 100, 1.0)
    for start in range(60):
        part = x[start : start + 37].copy()
        scaled_exp(part, 37, 1.0)
        np.testing.assert_array_equal(part, whole[start : start + 37])


def test_the_ends_of_the_range():
    x = np.array([-np.inf, -1e308, -708.5, -708.3, 0.0, 709.7, 709.9, 1e308, np.inf, np.nan])
    computed = x.copy()
    scaled_exp(computed, len(x), 1.0)
    np.testing.assert_allclose(computed, twin(x, 1.0), rtol=1e-15)
