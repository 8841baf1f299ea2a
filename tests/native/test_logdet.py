"""Log-determinants of all sums of pairs, against NumPy's."""

import numpy as np
import pytest

from spdatoms.geometry import batched
from spdatoms.geometry.batched import Lanes, careful_log_determinant, log_determinants
from spdatoms.native import kernels, lane_count
from spdatoms.native.interleave import pack_scalars

pair_logdets = kernels("pair_logdets", "qqTIIddTT")

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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [*range(6, 41), 57])
def test_chosen_pairs(n, dtype):
    X, lanes = definite(5, n, dtype), lane_count(dtype)
    rng = np.random.default_rng(n)
    first, second = rng.integers(0, 5, 3 * lanes), rng.integers(-1, 5, 3 * lanes)
    shifts, out = rng.random(3 * lanes).astype(dtype), np.full(3 * lanes + 2, 7.0, dtype)
    scalars = pack_scalars(X, 0.5)
    assert pair_logdets(dtype)(n, 3, scalars, first, second, -1.0, n, shifts, out[1:-1])
    Y = np.concatenate([X, np.zeros((1, n, n))]).astype(float)  # −1 is the last
    expected = np.linalg.slogdet(Y[first] + Y[second])[1] - shifts
    assert (out[[0, -1]] == 7.0).all()
    np.testing.assert_allclose(
        out[1:-1], np.maximum(-1.0, expected), rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype] * n
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", [2, 3, 4, 8, 9, 17])
def test_few_large_matrices_have_the_bits_of_many(m, dtype, monkeypatch):
    X, many = definite(m, 41, dtype), definite(90, 41, dtype)
    # With two lanes rows are always chosen.
    monkeypatch.setattr(batched, "pairs_fill_lanes", lambda m, n, lanes: m < 90)
    many[:m] = X
    logdets = batched.packed_log_determinant(Lanes(X, 1.0))
    shifts = np.zeros(90, dtype)
    all_logdets = log_determinants(
        np.zeros((1, 41, 41), dtype), Lanes(many, 1.0), 1.0, shifts[:1], shifts, floor=-np.inf
    )[0]
    np.testing.assert_array_equal(logdets, all_logdets[:m])
    few = log_determinants(
        X, Lanes(X, 1.0), 1.0, logdets, logdets, floor=0.0, power=-1, triangle=True, n_jobs=2
    )
    rows = log_determinants(X, Lanes(many, 1.0), 1.0, logdets, all_logdets, floor=0.0, power=-1)
    off = ~np.eye(m, dtype=bool)
    np.testing.assert_array_equal(few[off], rows[:, :m][off])
    assert (few.diagonal() == 0.0).all()


def test_few_large_matrices_that_are_not_definite(monkeypatch):
    monkeypatch.setattr(batched, "pairs_fill_lanes", lambda m, n, lanes: True)
    X = definite(4, 40)
    X[2, 7, 7] = -50.0
    with pytest.raises(ValueError, match=r"not positive definite \(the first is 0, 2\)"):
        batched.packed_log_determinant(Lanes(X, 1.0))
    zeros = np.zeros(4)
    with pytest.raises(ValueError, match=r"not positive definite \(the first is 0, 2\)"):
        log_determinants(X, Lanes(X, 1.0), 1.0, zeros, zeros, floor=0.0, triangle=True)


def test_pairs_are_chosen_where_rows_leave_lanes_idle():
    assert batched.pairs_fill_lanes(4, 128, 8)
    assert batched.pairs_fill_lanes(8, 128, 8)
    assert not batched.pairs_fill_lanes(4, 12, 8)
    assert not batched.pairs_fill_lanes(500, 40, 8)
