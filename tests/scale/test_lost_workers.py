"""Workers of a Dask cluster that die. Their cluster is their own."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from _learned import assert_same, learner
from spdatoms.dictionary import _samples as coding

pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("many_parts"),
]


def kill_a_worker(client) -> None:
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_worker_killed_in_an_iteration_is_survived(client, stored, expected, monkeypatch) -> None:
    """It takes its codes with it, and dies while the others of the same pass are computed."""
    killed = []
    original = coding.Samples.total

    def total(self, *arguments):
        if len(self._coded_with) == 2 and not killed:
            killed.append(True)
            victim = threading.Timer(0.02, kill_a_worker, [client])
            victim.start()
            result = original(self, *arguments)
            victim.join()
            return result
        return original(self, *arguments)

    monkeypatch.setattr(coding.Samples, "total", total)
    assert_same(learner().fit(stored), expected)
    assert killed
    client.wait_for_workers(2, timeout=600)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_spans_that_workers_die_of_are_cut_smaller(client, X, stored, monkeypatch) -> None:
    """Whatever is more than one part kills the worker, as a want of memory would."""
    code = coding._code

    def code_or_die(matrices, span, *arguments):
        if len(span.parts) > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return code(matrices, span, *arguments)

    few = learner(init=X[:32])
    expected = few.fit(X[:1500]).atoms_
    monkeypatch.setattr(coding, "_code", code_or_die)
    with one_death_is_enough(client), pytest.warns(match="tasks of half the size"):
        found = few.fit(stored[:1500].rechunk((1500, 4, 4))).atoms_
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_where_nothing_is_small_enough_an_error_says_what_to_do(
    client, stored, monkeypatch
) -> None:
    monkeypatch.setattr(coding, "_code", lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
    with (
        one_death_is_enough(client),
        pytest.raises(MemoryError, match="more memory or fewer threads, or rechunk X"),
    ):
        learner().fit(stored[:700].rechunk((700, 4, 4)))


@contextlib.contextmanager
def one_death_is_enough(client) -> Iterator[None]:
    """Give a task up after the first worker that it killed: new ones take seconds to start."""

    def allow(count):
        def set_on(dask_scheduler) -> None:
            dask_scheduler.allowed_failures = count

        client.run_on_scheduler(set_on)

    allow(0)
    yield
    client.wait_for_workers(2, timeout=600)
    allow(3)
