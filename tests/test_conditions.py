"""The options that repeat the tests under other conditions do what they say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from _conditions import paced, shuffled


@pytest.mark.parametrize("factor", [0.1, 1.0, 20.0])
def test_a_clock_has_its_pace_from_now_on(factor):
    now = 100.0
    clock = paced(lambda: now, factor)
    assert clock() == 100.0
    now = 103.0
    assert clock() == pytest.approx(100.0 + 3.0 * factor)


def test_a_clock_of_nanoseconds_counts_whole_ones():
    now = 10**18 + 1
    clock = paced(lambda: now, 0.1)
    assert clock() == now
    now += 25
    assert clock() == 10**18 + 3


def test_files_and_their_tests_are_shuffled_and_stay_together():
    items = [
        SimpleNamespace(path=Path(f"{file}.py"), name=i) for file in range(9) for i in range(9)
    ]
    first, again, other = (shuffled(items, seed) for seed in (1, 1, 2))
    assert first == again != other
    for order in (first, other):
        files = [item.path for item in order]
        assert [file for i, file in enumerate(files) if file not in files[:i]] == files[::9]
        assert sorted(order, key=items.index) == items
        assert [item.name for item in order[:9]] != list(range(9))
        assert files != sorted(files)
