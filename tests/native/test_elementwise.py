"""Last steps of pairwise divergences, against NumPy."""

import numpy as np
import pytest

from spdatoms.native.elementwise import mirror, scale_and_shift, settle_squares, symmetrise

PRECISIONS = [np.float64, np.float32]
RTOL = {np.float64: 1e-15, np.float32: 1e-6}


def rows(shape, dtype=np.float64, seed=0):
    return np.random.default_rng([*shape, seed]).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("columns", [*range(1, 41), 67])
def test_scale_and_shift(columns, dtype):
    given, shifts_x, shifts_y = (
        rows((3, columns), dtype),
        rows((3,), dtype),
        rows((columns,), dtype),
    )
    out = given.copy()
    assert scale_and_shift(out, -2.5, shifts_x, shifts_y)
    expected = np.maximum(0, -2.5 * given + (shifts_x[:, None] + shifts_y))
    np.testing.assert_allclose(out, expected, rtol=RTOL[dtype], atol=RTOL[dtype])


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 7, 18])
def test_what_is_not_finite_is_told(place, bad, dtype):
    given = rows((2, 19), dtype)
    given[1, place] = bad
    assert not scale_and_shift(given, 1.0, np.zeros(2, dtype), np.zeros(19, dtype))
    square = rows((19, 19), dtype)
    square[place, (place + 1) % 19] = bad
    assert not symmetrise(square, 1.0, 0.0)


def test_what_rounding_makes_infinite_is_told():
    assert not scale_and_shift(
        np.full((1, 3), 3e38, np.float32), 2.0, *np.zeros((2, 3), np.float32)
    )


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [*range(1, 41), 65, 97])
def test_symmetrise(n, dtype):
    given = rows((n, n), dtype)
    out = given.copy()
    assert symmetrise(out, 0.5, -0.25)
    expected = np.maximum(0, 0.5 * (given + given.T) - 0.25)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(out, expected, rtol=RTOL[dtype], atol=RTOL[dtype])


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [*range(1, 41), 65])
def test_mirror(n, dtype):
    given = rows((n, n), dtype)
    out = given.copy()
    for start in range(0, n, 7):
        mirror(out, start, min(start + 7, n))
    np.testing.assert_array_equal(out, np.triu(given) + np.triu(given, 1).T)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_stack_is_mirrored(count):
    given = rows((count * 17, 17)).reshape(count, 17, 17)
    out = given.copy()
    mirror(out, 0, 17)
    np.testing.assert_array_equal(out, np.triu(given) + np.triu(given, 1).swapaxes(1, 2))


@pytest.mark.parametrize("length", [1, 2, 6])
@pytest.mark.parametrize("columns", [*range(1, 41), 65])
def test_settle_squares(columns, length):
    X, Y = rows((2, length)), rows((columns, length), seed=1)
    Y[::3] = X[0] + 1e-9 * Y[::3]
    Y[0] = X[1]
    out = X @ Y.T
    settle_squares(out, (X * X).sum(axis=1), (Y * Y).sum(axis=1), X, Y)
    np.testing.assert_allclose(out, ((X[:, None] - Y) ** 2).sum(axis=2), rtol=1e-12)
    assert out[1, 0] == 0


def test_only_equal_rows_have_distance_zero():
    X, Y = np.array([[1e-200, 0.0]]), np.array([[2e-200, 0.0], [1e-200, 0.0]])
    out = np.zeros((1, 2))
    settle_squares(out, np.zeros(1), np.zeros(2), X, Y)
    np.testing.assert_array_equal(out, [[5e-324, 0.0]])
