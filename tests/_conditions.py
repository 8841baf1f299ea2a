"""Options that repeat the tests under other conditions: with clocks of another pace, and in another order.

Tests that depend on how fast the machine is, or on what ran before them, fail then. A plugin of pytest, which
``conftest.py`` names; the workers of ``-n`` have it, too.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

import pytest

#: What tells how long something took. ``monotonic`` keeps its pace, because event loops wait by it.
CLOCKS = ("time", "perf_counter", "process_time", "thread_time")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conditions")
    group.addoption(
        "--clock",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="let the clocks of the tests run FACTOR times as fast, as on a machine that is so much slower",
    )
    group.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run files, and tests in a file, in a random order; workers of -n hash strings by the seed",
    )


def pytest_configure(config: pytest.Config) -> None:
    seed, factor = config.getoption("shuffle"), config.getoption("clock")
    if seed is not None:
        # A process has the seed of its hashes from its beginning: this is for workers and other children.
        os.environ["PYTHONHASHSEED"] = str(seed % 2**32)
    if factor != 1.0:
        patch = pytest.MonkeyPatch()
        config.add_cleanup(patch.undo)
        for name in (f"{clock}{unit}" for clock in CLOCKS for unit in ("", "_ns")):
            patch.setattr(time, name, paced(getattr(time, name), factor))


# First, so that pytest then brings together what shares a parametrised fixture.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("shuffle")
    if seed is not None:
        items[:] = shuffled(items, seed)


def paced(clock: Callable[[], float], factor: float) -> Callable[[], float]:
    """Return a clock that agrees with another one now, and then runs ``factor`` times as fast."""
    begun = clock()
    return lambda: begun + type(begun)(factor * (clock() - begun))


def shuffled(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """Return tests in a random order that keeps those of a file together, as they share its fixtures."""
    chance = random.Random(seed)
    files = {item.path: chance.random() for item in items}
    return sorted(items, key=lambda item: (files[item.path], chance.random()))
