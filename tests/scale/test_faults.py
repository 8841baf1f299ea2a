"""A computation that workers die of is repeated with smaller spans."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms.scale import open_stream
from spdatoms.scale.passes import with_smaller_spans

distributed = pytest.importorskip("distributed")

PARTS = [slice(i, i + 1) for i in range(8)]
KILLED = distributed.KilledWorker("task", None, 3)


def attempt(sizes, most_that_survives, error=KILLED):
    stream = open_stream(np.repeat(np.eye(2)[None], 8, axis=0))

    def computation(passes):
        sizes.append(passes.parts_per_span)
        if sizes[-1] > most_that_survives:
            raise error
        return len(passes.spans)

    passes = stream.passes(PARTS, 4)
    return with_smaller_spans(passes, lambda most: stream.passes(PARTS, most), computation)


def test_spans_are_halved_until_workers_survive() -> None:
    sizes: list[int] = []
    with pytest.warns(match="tasks of half the size"):
        assert attempt(sizes, 1) == 8
    assert sizes == [4, 2, 1]


@pytest.mark.filterwarnings("ignore")
def test_a_single_part_that_workers_die_of_is_an_error() -> None:
    with pytest.raises(MemoryError, match="more memory or fewer threads"):
        attempt([], 0)


def test_other_errors_are_raised() -> None:
    sizes: list[int] = []
    with pytest.raises(ZeroDivisionError):
        attempt(sizes, 0, ZeroDivisionError())
    assert sizes == [4]
