"""Translated functions do what Python does with the same text."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import types

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
