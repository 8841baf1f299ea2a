"""Badly scaled matrices: variables in units that are many orders of magnitude apart, against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from _matrices import assert_close, assert_symmetric, random_spd
from _references import reference_geodesic, reference_in_frame, to_array
from spdatoms import check_spd, mean
from spdatoms.exceptions import OutOfRangeError
from spdatoms.geometry import (
    exp_map,
    expm,
    geodesic,
    geometric_mean,
    invsqrtm,
    log_map,
    logm,
    regularise,
    shrink,
    sqrtm,
)
from spdatoms.geometry.graded import in_units, unit_exponents


def badly_scaled(n, decades, *, count=2, scales=1.0, seed=0):
    """Return matrices with variables in units between 10^-decades and 10^decades, other ones for each."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.uniform(-decades, decades, (count, 1, n))
    X = random_spd(count, n, seed=rng) * units * units.swapaxes(1, 2)
    X *= np.reshape(scales, (-1, 1, 1))
    return 0.5 * X + 0.5 * X.swapaxes(1, 2)


def assert_accurate(actual, expected, variances):
    """Compare entry (i, j) relative to the standard deviations of the variables i and j."""
    root = np.sqrt(variances)
    error = abs(actual - expected) / root[..., :, None] / root[..., None, :]
    assert error.max() < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1e100, 1e-100), (1e-120, 1e130)])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_geodesics_in_other_units(n, scales):
    for seed in range(2):
        A, B = badly_scaled(n, 5, scales=scales, seed=seed)
        for t in (0.5, 0.3, 1.0):
            expected = reference_geodesic(A, B, t, digits=100)
            assert_accurate(geodesic(A, B, t), expected, expected.diagonal())
        V = log_map(B, A)
        assert_symmetric(V)
        expected = reference_in_frame(mpmath.log, A, B, digits=100)
        size = abs(expected).max() / abs(A).max()
        assert_accurate(V / size, expected / size, A.diagonal())


@pytest.mark.parametrize("scale", [1e-290, 1e-100, 1e100, 1e290])
def test_ends_of_the_range(scale):
    A, B = random_spd(2, 4, seed=3)
    middle = np.sqrt(scale) * geometric_mean(A, B)
    assert_close(geometric_mean(scale * A, B), middle, 1e-14)
    assert_close(geodesic(A / scale, scale * A, 0.75), np.sqrt(scale) * A, 1e-13)
    assert_close(exp_map(log_map(scale * A, B), B), scale * A, 1e-11)
    assert_close(mean([scale * A, scale * B], "riemann") / scale, geometric_mean(A, B), 1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (logm, mpmath.log),
        (sqrtm, mpmath.sqrt),
        (invsqrtm, lambda x: 1 / mpmath.sqrt(x)),
    ],
)
def test_functions_of_one_badly_scaled_matrix(function, reference, seed):
    (A,) = badly_scaled(5, 7, count=1, seed=seed)
    with mpmath.workdps(100):
        eigenvalues, U = mpmath.eigsy(mpmath.matrix(A.tolist()))
        expected = to_array(U * mpmath.diag([reference(x) for x in eigenvalues]) * U.T)
    assert_close(function(A), expected, 1e-13)


def test_the_mean_of_two_is_their_geometric_mean_in_any_units():
    X = badly_scaled(5, 5, seed=7)
    G = geometric_mean(*X)
    assert_accurate(mean(X, "riemann", tol=1e-13), G, G.diagonal())


def test_units_are_exact_and_bring_variances_near_one():
    (A,) = badly_scaled(6, 100, count=1)
    units = unit_exponents(A)
    scaled = in_units(A, units)
    assert (scaled.diagonal() >= 0.5).all()
    assert (scaled.diagonal() < 2.0).all()
    np.testing.assert_array_equal(in_units(scaled, -units), A)


@pytest.mark.parametrize("scale", [1e290, 1e307, 1e-300])
def test_ridge_and_shrinkage_at_the_ends_of_the_range(scale):
    A = random_spd(3, 5, seed=1)
    for function in (lambda X: regularise(X, 0.5), lambda X: shrink(X, 0.3)):
        assert_close(function(scale * A) / scale, function(A), 1e-14)
    with pytest.raises(OutOfRangeError, match="beyond the range of float64: bring the matrices"):
        regularise(1e300 * A, 1e20)


def test_what_is_rounding_in_the_input_is_no_asymmetry_of_the_result():
    X = random_spd(4, 6, seed=2)
    X[:, 0, 1] *= 1 + 1e-15
    for function in (shrink, regularise, expm, logm):
        assert_symmetric(function(X))
    check_spd(shrink(X))


def test_an_error_out_of_range_is_a_value_error_and_an_overflow():
    for error in (ValueError, OverflowError):
        with pytest.raises(error, match="nearer to one"):
            exp_map(1e5 * np.eye(2), np.eye(2))
