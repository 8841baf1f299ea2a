"""The ordered map over threads."""

from __future__ import annotations

import time

import pytest

from spdatoms._utils.threads import map_in_threads


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_results_are_in_order(n_jobs) -> None:
    def square(i: int) -> int:
        time.sleep(0.002 * (i % 3))
        return i * i

    assert map_in_threads(square, 20, n_jobs) == [i * i for i in range(20)]
    assert map_in_threads(square, 0, n_jobs) == []
