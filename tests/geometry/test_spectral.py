"""Functions of matrices through their eigenvalues: the derivatives of the logarithm and of powers."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from _matrices import random_spd
from spdatoms.geometry import logm, powm
from spdatoms.geometry.spectral import log_derivative, power_derivative, spd_roots

#: Eigenvalues that are equal, nearly so, and far apart.
EIGENVALUES = [1.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-3, 50.0, 1e-17, 1e-150, 1e150]


def divided_differences(function, derivative):
    def quotient(a, b):
        return derivative(a) if a == b else (function(a) - function(b)) / (a - b)

    with mpmath.workdps(400):
        values = [mpmath.mpf(x) for x in EIGENVALUES]
        return np.array([[float(quotient(a, b)) for b in values] for a in values])


def table(derivative, *parameters):
    """Return what the derivative multiplies entries by, of diagonal matrices."""
    n = len(EIGENVALUES)
    roots = np.sqrt([EIGENVALUES])
    return derivative(roots, np.eye(n)[None], np.ones((1, n, n)), *parameters)[0]


def test_divided_differences_of_the_logarithm() -> None:
    expected = divided_differences(mpmath.log, lambda x: 1 / x)
    np.testing.assert_allclose(table(log_derivative), expected, rtol=1e-13)


@pytest.mark.parametrize("p", [0.5, 1.0, -1.0, 1e-6, 2.0, -0.3])
def test_divided_differences_of_powers(p) -> None:
    exact = mpmath.mpf(p)
    expected = divided_differences(lambda x: x**exact, lambda x: exact * x ** (exact - 1))
    np.testing.assert_allclose(table(power_derivative, p), expected, rtol=1e-13)


def test_derivatives_are_those_of_differences() -> None:
    X, V = random_spd(3, 4, seed=1), random_spd(3, 4, seed=2) - np.eye(4)
    h = 1e-5
    differences = (logm(X + h * V) - logm(X - h * V)) / (2 * h)
    np.testing.assert_allclose(log_derivative(*spd_roots(X), V), differences, atol=1e-7)
    differences = (powm(X + h * V, 0.3) - powm(X - h * V, 0.3)) / (2 * h)
    np.testing.assert_allclose(power_derivative(*spd_roots(X), V, 0.3), differences, atol=1e-7)
