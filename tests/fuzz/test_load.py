"""Threads, processes, a full disk and many queries, in short; `fuzz.load` has the long form."""

from __future__ import annotations

import pytest

pytest.importorskip("resource", reason="limits and forks of POSIX")

from fuzz.load import LOADS


# Kills at several moments are in tests/dictionary/test_checkpoint.py.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, (_, _, times) in LOADS.items() if times])
def test_under_load(name: str) -> None:
    load, _, times = LOADS[name]
    load(times)
