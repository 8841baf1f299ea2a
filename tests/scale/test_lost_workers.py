"""Workers of a Dask cluster that die, one after the other or all of them.

Their cluster is their own: tasks that were given up may still kill workers after a test has ended.
"""

from __future__ import annotations

import os
import signal
import threading

import pytest

from _learned import assert_same, learner
from spdatoms.dictionary import _streamed as coding

pytest.importorskip("distributed")

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("many_parts")]


def kill_a_worker(client) -> None:
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_worker_killed_in_an_iteration_is_survived(client, stored, expected, monkeypatch) -> None:
    """It takes its codes with it, and dies while the others of the same pass are computed."""
    killed = []
    original = coding.StreamedCodedData.correlations_of

    def correlations_of(self, *arguments):
        if len(self.codings) == 2 and not killed:
            killed.append(True)
            victim = threading.Timer(0.02, kill_a_worker, [client])
            victim.start()
            result = original(self, *arguments)
            victim.join()
            return result
        return original(self, *arguments)

    monkeypatch.setattr(coding.StreamedCodedData, "correlations_of", correlations_of)
    assert_same(learner().fit(stored), expected)
    assert killed
    client.wait_for_workers(2, timeout=600)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_spans_that_workers_die_of_are_cut_smaller(client, stored, expected, monkeypatch) -> None:
    """Whatever is more than one part kills the worker, as a want of memory would."""
    code = coding._code

    def code_or_die(matrices, span, *arguments):
        if len(span.parts) > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return code(matrices, span, *arguments)

    monkeypatch.setattr(coding, "_code", code_or_die)
    allow_failures(client, 1)  # a worker may take an innocent task with it
    with pytest.warns(match="tasks of half the size"):
        fitted = learner().fit(stored.rechunk((1500, 4, 4)))
    allow_failures(client, 3)
    assert_same(fitted, expected)
    client.wait_for_workers(2, timeout=600)


def allow_failures(client, count) -> None:
    def allow(dask_scheduler) -> None:
        dask_scheduler.allowed_failures = count

    client.run_on_scheduler(allow)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_where_nothing_is_small_enough_an_error_says_what_to_do(
    client, stored, monkeypatch
) -> None:
    monkeypatch.setattr(coding, "_code", lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
    allow_failures(client, 0)
    with pytest.raises(MemoryError, match="more memory or fewer threads, or rechunk X"):
        learner().fit(stored)
    client.wait_for_workers(2, timeout=600)
    allow_failures(client, 3)  # not before: tasks that are still waiting would kill more workers
