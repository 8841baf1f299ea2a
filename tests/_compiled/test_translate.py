"""Translated functions do what Python does with the same text."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import types

from spdatoms._compiled.corner import factorise_corner, scale_row, transpose
from spdatoms._compiled.panel import PANEL, eliminate, subtract_products
from spdatoms._compiled.rows import ENTRIES, fetch, take_entries_off, take_rows_off
from spdatoms._compiled.scan import greatest, indices_above, take_off, two_largest
from spdatoms._compiled.translate import address, apart, reordered, translated

WEIGHT = 0.5


class Pair(NamedTuple):
    rows: np.ndarray
    limit: float


def first_above(values, limit):
    for i in range(values.shape[0]):
        if not values[i] <= limit:  # or it is a NaN
            return i, True
    return values.shape[0], False


@reordered
def total(values):
    result = 0.0
    for i in range(values.shape[0]):
        result += values[i]
    return result


def extremes(pair):
    rows, least, greatest = pair.rows, math.inf, -math.inf
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(row.shape[0] - 1, -1, -2):
            if row[j] == 0.0:
                continue
            least, greatest = min(least, row[j], rows[i, 0]), max(greatest, row[j])
            if greatest > pair.limit >= least:
                break
    return least, greatest


def mixture(values, rows, counts, limit, flag):
    position, found = first_above(values, limit)
    rest = values[position:]
    least, greatest = extremes(Pair(rows, limit))
    for i in range(1, counts.shape[0], 2):
        counts[i] += i // 2 * 3 - i % 2
    positive = 0
    for i in range(values.shape[0]):
        positive += (values[i] > 0.0 and not math.isfinite(limit - values[i])) or values[i] != limit
    scale = WEIGHT if flag else -math.sqrt(abs(limit))
    values[0] = counts[counts.shape[0] - 1] * scale
    values[1] = math.copysign(total(rest), limit) if found else 1.0
    values[2] = min(greatest, 1e6) - max(least, -1e6) + int(2.75 * positive)
    return position


compiled_mixture = translated(types.int64)(mixture)

NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 2))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(NUMBERS | st.just(math.nan), min_size=3, max_size=9),
    rows=st.lists(NUMBERS, min_size=6, max_size=6),
    limit=NUMBERS,
    flag=st.booleans(),
)
def test_the_same_as_python(values, rows, limit, flag):
    ours = (np.array(values), np.array(rows).reshape(2, 3), np.arange(5))
    theirs = tuple(array.copy() for array in ours)
    assert compiled_mixture(*ours, limit, flag) == mixture(*theirs, limit, flag)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12)
    np.testing.assert_array_equal(ours[2], theirs[2])


def strided_sums(tag, values, step, out):
    for i in range(0, values.shape[0], step):
        out[i] = 0.1 * values[i] + tag[1]
        out[i] *= 3.0
    return address(values[step:]) - address(values)


def test_single_precision_is_computed_in_double_and_steps_may_be_variables():
    values, out = np.random.default_rng(0).standard_normal((2, 7)).astype(np.float32)
    expected = out.copy()
    for i in range(0, 7, 2):
        expected[i] = np.float32(0.1 * float(values[i]) + 3)
        expected[i] = np.float32(float(expected[i]) * 3.0)
    offset = translated(types.int64)(strided_sums)((1, 3), values, 2, out)
    assert offset == 8
    np.testing.assert_array_equal(out, expected)


def becomes_a_float(count):
    total = 0
    for _ in range(count):
        total = total + 0.5
    return total


def compares_sets(count):
    return {count} == {1}


@pytest.mark.parametrize(
    ("function", "words"),
    [(becomes_a_float, "total is an integer"), (compares_sets, "Set in compiled code")],
)
def test_what_cannot_be_translated_is_an_error(function, words):
    with pytest.raises(Exception, match=words):
        translated(types.float64)(function)(3)


def scanned(values, fold, level, indices, rows, panel, reciprocal):
    count = indices_above(values, fold, level, indices)
    indices[rows.shape[0]] = count
    eliminate((rows[0], rows[1], rows[2], rows[3]), panel, 2, reciprocal)
    subtract_products((panel[1:], panel[3:]), PANEL, panel, 1, 5, (rows[4], rows[5]))
    return greatest(values, fold)


compiled_scan = translated(types.float64)(scanned)


@pytest.mark.parametrize("fold", [0.0, -1.0])
def test_vector_code_computes_what_its_function_says(fold):
    rng = np.random.default_rng(0)
    ours = [
        rng.standard_normal(29),
        np.zeros(30, np.int64),
        rng.standard_normal((6, 8)),
        rng.standard_normal(8 * PANEL),
        rng.uniform(1.0, 2.0, 8),
    ]
    theirs = [array.copy() for array in ours]
    found = compiled_scan(ours[0], fold, 0.3, *ours[1:])
    assert found == scanned(theirs[0], fold, 0.3, *theirs[1:])
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def cornered(squares, floors, count, pivots, roots, right, panel, targets):
    factorise_corner(squares, floors, count, pivots, roots, right)
    scale_row(squares[count - 1], roots[count - 1], panel[2 * PANEL :])
    rows = (
        targets[0], targets[1], targets[2], targets[3],
        targets[4], targets[5], targets[6], targets[7],
    )  # fmt: skip
    transpose(panel, rows, 3)


compiled_corner = translated(types.void)(cornered)


@pytest.mark.parametrize("count", [1, 5, PANEL])
@pytest.mark.parametrize("left_out", [-1, 0, 2])
def test_the_corner_of_a_factor(count, left_out):
    rng = np.random.default_rng(count)
    A = rng.standard_normal((PANEL, 12))
    floors = np.where(np.arange(PANEL) == left_out, 1e3, 1e-12)
    ours = [
        A @ A.T, floors, np.zeros(PANEL), np.zeros(PANEL), rng.standard_normal(PANEL),
        rng.standard_normal(PANEL * PANEL), np.zeros((PANEL, 12)),
    ]  # fmt: skip
    theirs = [array.copy() for array in ours]
    gram, right = ours[0].copy(), ours[4].copy()
    for compiled, arrays in ((compiled_corner, ours), (cornered, theirs)):
        compiled(*arrays[:2], count, *arrays[2:])
    for index in (2, 3, 4):
        np.testing.assert_allclose(ours[index][:count], theirs[index][:count], rtol=1e-11)
    upper = np.triu_indices(count)
    np.testing.assert_allclose(ours[0][upper], theirs[0][upper], rtol=1e-11, atol=1e-12)
    later = slice(3 * PANEL, None)
    np.testing.assert_array_equal(ours[5][later], theirs[5][later])
    np.testing.assert_array_equal(ours[6][:, 3 : 3 + PANEL], ours[5].reshape(PANEL, PANEL).T)
    kept = np.flatnonzero(np.arange(count) != left_out)
    L = np.linalg.cholesky(gram[np.ix_(kept, kept)])
    np.testing.assert_allclose(1 / ours[3][kept], L.diagonal(), rtol=1e-11)
    np.testing.assert_allclose(ours[4][kept], np.linalg.solve(L, right[kept]), rtol=1e-9)


def greedy(values, fold, indices, rows, order, left):
    count = values.shape[0] - PANEL
    best, following = two_largest(values, fold, count)
    for q in range(order.shape[0]):
        order[q] = best
        best, following = take_off(rows[q], 0.3, fold, indices, values, count, best)
    fetch(rows[0])
    atoms = indices[left.shape[0] :]
    take_rows_off(rows[3], rows, atoms, rows[1], 1, 2, left)
    for some in range(1, ENTRIES + 1):
        whole = left.shape[0] - left.shape[0] % PANEL
        take_entries_off(rows, atoms, rows[some - 1], 0, some, indices, whole, left)
    return following


compiled_greedy = translated(types.int64)(greedy)


@pytest.mark.parametrize("fold", [0.0, -1.0])
@pytest.mark.parametrize("count", [1, 8, 21])
def test_the_largest_is_found_while_something_is_taken_off(fold, count):
    rng = np.random.default_rng(0)
    values = np.r_[rng.standard_normal(count), np.full(PANEL, np.nan)]
    rows = rng.standard_normal((4, count + PANEL))
    indices, left = np.r_[rng.permutation(count + PANEL), 0, 3, 1, 2], np.zeros(count + PANEL)
    ours = [values, indices, rows, np.zeros(2, np.int64), left]
    theirs = [array.copy() for array in ours]
    compiled_greedy(ours[0], fold, *ours[1:])
    greedy(theirs[0], fold, *theirs[1:])
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


class Sized(NamedTuple):
    values: np.ndarray
    scale: float


@apart
def scaled_sum(sized, first, factor):
    result = 0.0
    for i in range(first, sized.values.shape[0]):
        sized.values[i] *= factor
        result += sized.values[i] * sized.scale
    return result, first + 1, result > 0.0


@apart
def clear(sized):
    for i in range(sized.values.shape[0]):
        sized.values[i] = 0.0


def in_parts(rows, scale):
    one, following, positive = scaled_sum(Sized(rows[0], scale), 1, 2.0)
    other, following, _ = scaled_sum(Sized(rows[1], scale), following, 3.0)
    again, following, _ = scaled_sum(Sized(rows[1], one), 0, 2.0)
    clear(Sized(rows[2], scale))
    return one + 10 * other + 100 * again + following if positive else -1.0


def test_functions_that_are_translated_on_their_own():
    ours = np.random.default_rng(0).uniform(1.0, 2.0, (3, 5))
    theirs = ours.copy()
    result = translated(types.float64)(in_parts)(ours, 0.5)
    assert result == pytest.approx(in_parts(theirs, 0.5), rel=1e-12)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
