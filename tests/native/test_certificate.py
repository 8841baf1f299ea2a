"""Sizes of rows and duality gaps, against NumPy."""

import numpy as np
import pytest

from spdatoms.native import kernel
from spdatoms.native.feature_sign import LINEAR, NORM, PEAK, QUADRATIC, REPORT, VIOLATION

row_sizes = kernel("row_sizes", "DqqD")
duality_gaps = kernel("duality_gaps", "DqDDDdDDD")


@pytest.mark.parametrize("n", range(1, 41))
def test_row_sizes(n):
    rows, sizes = np.random.default_rng(n).standard_normal((3, n)), np.full(5, 7.0)
    assert row_sizes(rows, 3, n, sizes[1:-1])
    np.testing.assert_array_equal(sizes, [7, *np.abs(rows).max(axis=1), 7])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 7, 8, 18])
def test_what_is_not_finite_is_told(place, bad):
    rows = np.ones((2, 19))
    rows[1, place] = bad
    assert not row_sizes(rows, 2, 19, np.zeros(2))


def best_dual(report, alpha, squared_norm, scale):
    """Return P(y) and the greatest of ‖x‖² − ‖x − s·residual‖² over feasible s between 0 and the unconstrained one."""
    linear, quadratic, norm = report[[LINEAR, QUADRATIC, NORM]] * scale
    left, distance = squared_norm - linear, squared_norm - 2 * linear + quadratic
    feasible = np.inf if 2 * report[PEAK] <= alpha else alpha / (2 * report[PEAK])
    steps = [min(max(left / distance, 0.0), feasible), min(1.0, feasible)]
    return distance + alpha * norm, max(s * (2 * left - s * distance) for s in steps)


@pytest.mark.parametrize("by_ridge", [0.0, 10.0])
@pytest.mark.parametrize("m", [1, 5])
def test_duality_gaps(m, by_ridge):
    rng = np.random.default_rng(m)
    report, scale = rng.uniform(0.1, 1.0, (m, REPORT)), rng.uniform(0.5, 1.0, m)
    alpha, squared_norm = rng.uniform(0.0, 1.0, m), rng.uniform(2.0, 3.0, m)
    objective, gap, terms = np.empty((3, m))
    duality_gaps(report, m, alpha, squared_norm, scale, by_ridge, objective, gap, terms)
    for i in range(m):
        primal, dual = best_dual(report[i], alpha[i], squared_norm[i], scale[i])
        bound = by_ridge * report[i, VIOLATION] ** 2 * scale[i] if by_ridge else np.inf
        assert objective[i] == pytest.approx(primal, rel=1e-13)
        assert gap[i] == pytest.approx(min(max(primal - dual, 0.0), bound), rel=1e-11)
    expected = squared_norm + scale * (report[:, LINEAR] + report[:, QUADRATIC])
    np.testing.assert_allclose(terms, expected, rtol=1e-14)
