"""exp(−β·d) to the last bit but one, in arrays of any layout."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spdatoms.kernels.bandwidth import kernel_in_place, kernel_values


@settings(deadline=None)
@given(d=st.floats(0.0, 800.0) | st.floats(0.0, 1e-3), beta=st.floats(1e-3, 1e3))
def test_the_error_is_at_most_one_unit_of_the_last_place(d, beta):
    (value,) = kernel_values(np.array([d]), beta)
    exponent = -beta * d
    if exponent < -708.39:
        assert value < 3e-308
    else:
        expected = float(mpmath.exp(mpmath.mpf(exponent)))
        assert abs(value - expected) <= np.spacing(expected)


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 67])
def test_a_value_does_not_depend_on_its_neighbours(length):
    d = np.random.default_rng(0).uniform(0.0, 9.0, length)
    alone = [kernel_values(one, 0.7) for one in d[:, None]]
    np.testing.assert_array_equal(kernel_values(d, 0.7), np.array(alone).reshape(length))


def test_beta_may_be_an_integer():
    d = np.random.default_rng(0).uniform(0.0, 9.0, 20)
    np.testing.assert_array_equal(kernel_values(d, 2), kernel_values(d, 2.0))


def test_layouts_and_precision():
    d = np.random.default_rng(1).uniform(0.0, 9.0, (12, 10))
    expected = np.exp(-0.5 * d)
    for view in (d.T.copy().T, d.copy(), np.repeat(d, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(kernel_values(view, 0.5), expected, rtol=1e-15)
        assert kernel_in_place(view, 0.5) is view
        np.testing.assert_allclose(view, expected, rtol=1e-15)
    single = kernel_values(d.astype(np.float32), 0.5)
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, expected, rtol=1e-6)


def test_extremes():
    values = kernel_values(np.array([np.nan, np.inf, -np.inf, 0.0, 1e-320]), 1.0)
    np.testing.assert_array_equal(values, [np.nan, 0.0, np.inf, 1.0, 1.0])
