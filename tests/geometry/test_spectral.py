"""Functions of matrices through their eigenvalues: the derivative of the logarithm."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms.geometry import logm
from spdatoms.geometry.spectral import log_derivative, spd_spectrum


def test_derivative_of_the_logarithm_where_eigenvalues_meet() -> None:
    values = np.array([[1.0, 1.0 + 1e-9, 1.0 + 1e-3, 50.0]])
    table = log_derivative(values, np.eye(4)[None], np.ones((1, 4, 4)))[0]
    np.testing.assert_allclose(table.diagonal(), 1 / values[0])
    assert table[0, 3] == pytest.approx(np.log(50) / 49)
    assert table[0, 2] == pytest.approx(np.log1p(1e-3) / 1e-3, rel=1e-12)
    assert table[0, 1] == pytest.approx(1.0, rel=1e-8)


def test_derivative_of_the_logarithm_is_that_of_differences() -> None:
    X, V = random_spd(3, 4, seed=1), random_spd(3, 4, seed=2) - np.eye(4)
    h = 1e-5
    differences = (logm(X + h * V) - logm(X - h * V)) / (2 * h)
    np.testing.assert_allclose(log_derivative(*spd_spectrum(X), V), differences, atol=1e-7)
