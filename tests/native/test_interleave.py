"""The order of the lane kernels: there and back."""

import numpy as np
import pytest

from spdatoms.native import TILE, lane_count
from spdatoms.native.interleave import (
    flat_order,
    pack_lanes,
    pack_scalars,
    places_of,
    read_lanes,
    tile_order,
)

PRECISIONS = [np.float64, np.float32]


def symmetric(count, n, dtype):
    A = np.random.default_rng(n).standard_normal((count, n, n))
    return (A + A.transpose(0, 2, 1)).astype(dtype)


@pytest.mark.parametrize("n", range(1, 41))
def test_every_entry_has_one_slot(n):
    rows, columns = tile_order(n)
    assert len(set(zip(rows, columns, strict=True))) == len(rows)
    assert (rows // TILE >= columns // TILE - 1).all()
    below = rows >= columns
    assert below.sum() == n * (n + 1) // 2
    np.testing.assert_array_equal(places_of(n)[flat_order(n)], np.arange(len(rows)))


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", range(1, 41))
def test_pack(n, dtype):
    X, lanes = symmetric(2 * lane_count(dtype) + 1, n, dtype), lane_count(dtype)
    rows, columns = tile_order(n)
    expected = dtype(0.25) * X[:, rows, columns]
    np.testing.assert_array_equal(pack_scalars(X, 0.25), expected)
    packed = pack_lanes(X, 0.25)
    assert packed.shape == (3, len(rows), lanes)
    side_by_side = packed.transpose(0, 2, 1).reshape(3 * lanes, len(rows))
    np.testing.assert_array_equal(side_by_side[: len(X)], expected)
    np.testing.assert_array_equal(
        side_by_side[len(X) :], np.broadcast_to(expected[-1], (lanes - 1, len(rows)))
    )


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", range(1, 41))
def test_read(n, dtype):
    X = symmetric(lane_count(dtype) + 1, n, dtype)
    rows, columns = tile_order(n)
    slots = np.flatnonzero(rows >= columns)
    scales = np.linspace(1.0, 2.0, len(slots)).astype(dtype)
    out = np.full((len(X) + 1, len(slots)), np.nan, dtype)
    read_lanes(pack_lanes(X, 1.0), slots, scales, out[:-1])
    np.testing.assert_array_equal(out[:-1], X[:, rows[slots], columns[slots]] * scales)
    assert np.isnan(out[-1]).all()
