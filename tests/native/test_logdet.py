"""Log-determinants of all sums of pairs, against NumPy's."""

import numpy as np
import pytest

from spdatoms.geometry.batched import Lanes, careful_log_determinant, log_determinants

TOLERANCES = {np.float64: 1e-12, np.float32: 2e-4}


def definite(count, n, dtype=np.float64, seed=0):
    A = np.random.default_rng([n, seed]).standard_normal((count, n, n + 2))
    return (A @ A.transpose(0, 2, 1) / n + 0.1 * np.eye(n)).astype(dtype)


def twin(X, Y, factor, shifts_x, shifts_y, floor, power):
    sums = factor * X[:, None].astype(float) + Y.astype(float)
    logs = np.linalg.slogdet(np.ldexp(sums, power))[1]
    return np.maximum(floor, logs - shifts_x[:, None] - shifts_y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [*range(1, 41), 57])
def test_every_size(n, dtype):
    X, Y = definite(3, n, dtype), definite(37, n, dtype, seed=1)
    shifts_x, shifts_y = np.arange(3).astype(dtype), np.linspace(0, 1, 37).astype(dtype)
    computed = log_determinants(X, Lanes(Y, 1.0), 0.5, shifts_x, shifts_y, floor=-1.0, power=1)
    expected = twin(X, Y, 0.5, shifts_x, shifts_y, -1.0, 1)
    scale = TOLERANCES[dtype] * (n + 1)
    np.testing.assert_allclose(computed, expected, rtol=TOLERANCES[dtype], atol=scale)


@pytest.mark.parametrize("n", [1, 3, 8, 9, 14, 23])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 17, 41])
def test_a_value_does_not_depend_on_the_other_matrices(n, count):
    X, Y = definite(2, n), definite(count, n, seed=1)
    zeros = np.zeros(count)
    together = log_determinants(X, Lanes(Y, 1.0), 1.0, zeros[:1].repeat(2), zeros, floor=-np.inf)
    for j in range(count):
        alone = log_determinants(
            X[1:], Lanes(Y[j : j + 1], 1.0), 1.0, zeros[:1], zeros[:1], floor=-np.inf
        )
        assert alone[0, 0] == together[1, j]


@pytest.mark.parametrize("n", [*range(1, 20), 30])
def test_a_pivot_that_is_not_positive_is_an_error(n):
    for place in range(n):
        Y = definite(5, n)
        Y[3, place, place] = -10.0
        with pytest.raises(ValueError, match=r"not positive definite \(the first is 0, 3\)"):
            log_determinants(
                np.zeros((1, n, n)), Lanes(Y, 1.0), 1.0, np.zeros(1), np.zeros(5), floor=-np.inf
            )


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_scales_that_differ_by_hundreds_of_bits(n):
    A = definite(1, n)[0]
    scales = np.logspace(-120, 120, n)
    scaled = scales[:, None] * A * scales
    expected = np.linalg.slogdet(A)[1] + 2 * np.log(scales).sum()
    np.testing.assert_allclose(careful_log_determinant(scaled, scaled), expected, rtol=1e-12)
