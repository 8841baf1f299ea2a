"""Threads: every block once, and interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from _matrices import random_spd
from spdatoms import SPDSparseCoder, divergence, median, pairwise_divergence
from spdatoms._utils.threads import (
    _blas,
    available_processors,
    blas_threads_for,
    block_slices,
    effective_n_jobs,
    interruptibly,
    map_in_threads,
    one_blas_thread,
    run_blocks,
)
from spdatoms._utils.warning import warn_user, warnings_of
from spdatoms.geometry import geodesic, logm, norm, parallel_transport


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
@pytest.mark.parametrize(("n_items", "block"), [(0, 3), (1, 3), (7, 3), (9, 3), (5, 100), (4, 0)])
def test_every_item_once(n_items, block, n_jobs):
    seen, lock = [], threading.Lock()

    def task(part):
        with lock:
            seen.extend(range(n_items)[part])

    run_blocks(task, n_items, block, n_jobs)
    assert sorted(seen) == list(range(n_items))


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_mapped_results_are_in_order(n_jobs) -> None:
    def square(i: int) -> int:
        time.sleep(0.002 * (i % 3))
        return i * i

    assert map_in_threads(square, 20, n_jobs) == [i * i for i in range(20)]
    assert map_in_threads(square, 0, n_jobs) == []


def test_block_slices():
    assert list(block_slices(7, 3)) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert list(block_slices(0, 3)) == []


def test_one_job_runs_here_and_in_order():
    starts, threads = [], set()

    def task(part):
        starts.append(part.start)
        threads.add(threading.current_thread())

    run_blocks(task, 10, 3, 1)
    assert starts == [0, 3, 6, 9]
    assert threads == {threading.current_thread()}


def test_number_of_jobs():
    processors = available_processors()
    assert effective_n_jobs(None) == 1
    assert effective_n_jobs(3) == 3
    assert effective_n_jobs(-1) == processors
    assert effective_n_jobs(-2) == max(1, processors - 1)
    assert effective_n_jobs(-1000) == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="chooses a processor")
def test_all_processors_are_those_that_the_process_may_use():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert available_processors() == effective_n_jobs(-1) == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert effective_n_jobs(-1) == available_processors() == len(allowed)


def test_processors_are_known_on_every_system(monkeypatch):
    for name in ("process_cpu_count", "sched_getaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    assert available_processors() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_processors() == 1
    monkeypatch.setattr(os, "process_cpu_count", lambda: 3, raising=False)
    assert available_processors() == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_exception_stops_the_run(error, n_jobs):
    """The blocks that have not begun are never begun."""
    begun, raised = [], threading.Event()

    def task(part):
        begun.append(part.start)
        if part.start == 3:
            raised.set()
            raise error("stop")
        if part.start > 3:
            raised.wait(10)
            threading.Event().wait(0.01)

    with pytest.raises(error, match="stop"):
        run_blocks(task, 1000, 1, n_jobs)
    assert 3 in begun
    assert len(begun) < 1000
    if n_jobs == 1:
        assert begun == [0, 1, 2, 3]


def test_a_call_of_seconds_does_not_keep_ctrl_c_waiting(no_collection):
    """It is noticed before the call ends: this one does not, until it is let go."""
    let_go = threading.Event()

    def long_call():
        os.kill(os.getpid(), signal.SIGINT)
        let_go.wait(timeout=60)

    with pytest.raises(KeyboardInterrupt):
        interruptibly(long_call)
    assert not let_go.is_set()
    let_go.set()
    assert interruptibly(divmod, 7, 3) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        interruptibly(divmod, 7, 0)


def test_calls_of_large_matrices_can_be_interrupted(monkeypatch):
    called = []
    for module in ("geometry.spectral", "divergences.affine_invariant"):
        monkeypatch.setattr(
            f"spdatoms.{module}.interruptibly",
            lambda function, *args: called.append(len(args[0])) or function(*args),
        )
    monkeypatch.setattr("spdatoms.geometry.spectral._LARGE", 5)
    monkeypatch.setattr("spdatoms.divergences.affine_invariant._LARGEST_NATIVE", 4)
    X = random_spd(3, 5)
    logm(X)
    assert called == [3]
    pairwise_divergence(X, metric="riemann")
    assert called == [3, 5, 5, 5]
    pairwise_divergence(X[:, :4, :4], metric="riemann")
    assert called == [3, 5, 5, 5]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_reaches_the_waiting_thread(n_jobs, no_collection):
    """Ctrl-C while blocks run: those under way end, the rest is dropped."""
    begun = []

    def task(part):
        begun.append(part.start)
        if len(begun) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.02)

    with pytest.raises(KeyboardInterrupt):
        run_blocks(task, 1000, 1, n_jobs)
    assert 3 <= len(begun) < 1000


LONG_COMPUTATION = """
import numpy as np
from spdatoms import SPDSparseCoder, divergence, median, pairwise_divergence
X = np.repeat(np.eye({n})[None], 4, axis=0)
pairwise_divergence(X, X.copy(), metric={metric!r})
X = np.broadcast_to(np.eye({n}), ({m}, {n}, {n}))

def compute(n_jobs):
    print("begun", flush=True)
    for _ in range(1000):
        pairwise_divergence(X, metric={metric!r}, n_jobs=n_jobs)

try:
    compute(n_jobs=1)
except KeyboardInterrupt:
    compute(n_jobs=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(("metric", "m", "n"), [("stein", 3000, 43), ("jeffrey", 2500, 43)])
def test_a_long_computation_can_be_interrupted(metric, m, n):
    """With one thread it goes on with two; with two, that is the end of it."""
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_COMPUTATION.format(m=m, n=n, metric=metric)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Ten minutes of grace for a loaded machine; without interruption it would be an hour.
    end = threading.Timer(600, process.kill)
    end.start()
    try:
        for _ in range(2):
            assert process.stdout.readline() == "begun\n"
            threading.Event().wait(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    finally:
        end.cancel()
        process.kill()
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode != 0


def test_progress_bar(capsys):
    run_blocks(lambda part: None, 10, 3, progress=True, description="pairs")
    assert "pairs" in capsys.readouterr().err


def blas_threads() -> set[int]:
    """Return the threads of the BLAS of NumPy and SciPy; other libraries may load one of their own later."""
    return {library.get_num_threads() for library in _blas()}


@pytest.mark.parametrize(
    "call",
    [
        logm,
        lambda X: geodesic(X, X[::-1], 0.3),
        lambda X: norm(X, X),
        lambda X: parallel_transport(X, X[0], X[1]),
        median,
        lambda X: pairwise_divergence(X, metric="riemann"),
        partial(divergence, np.eye(40), metric="logeuclid"),
        SPDSparseCoder().fit,
        lambda X: SPDSparseCoder().fit(X=random_spd(30, 2, seed=1)),
    ],
)
def test_blas_has_one_thread_for_matrices_of_middle_size(call, monkeypatch):
    """Where its threads mostly wait for each other; larger ones keep them, and smaller ones do not wait for a limit."""
    held = []

    class Spy(type(one_blas_thread())):
        def __enter__(self) -> None:
            held.append(self)
            super().__enter__()

    monkeypatch.setattr("spdatoms._utils.threads._one_blas_thread", Spy())
    call(random_spd(2, 40, seed=0))
    assert held
    for sizes in ((), (24,), (24, 2, 2), (1000, 30, 30)):
        assert isinstance(blas_threads_for(*sizes), nullcontext)


@pytest.mark.parametrize("shape", [None, 5, (None, 4, 4)])
def test_fit_takes_arrays_of_odd_shapes(shape) -> None:
    class Odd:
        def __array__(self, dtype=None, copy=None) -> np.ndarray:
            return random_spd(6, 4, seed=0)

    X = Odd()
    X.shape = shape
    assert len(SPDSparseCoder().fit(X).atoms_) == 6


def test_blas_has_one_thread_until_the_last_has_left():
    before = blas_threads()
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_blocks_within_a_shared_block_have_one_thread():
    """The other threads are busy with other blocks."""
    found = map_in_threads(lambda i: effective_n_jobs(-1), 4, 2)
    assert found == [1] * 4
    assert effective_n_jobs(2) == 2
    assert map_in_threads(lambda i: effective_n_jobs(2), 4, 1) == [2] * 4


def test_every_helper_that_is_asked_for_comes():
    """All blocks wait for each other, so there must be as many threads; also where two callers want some."""
    together = threading.Barrier(6)

    def compute():
        run_blocks(lambda part: together.wait(60), 3, 1, 3)

    other = threading.Thread(target=compute)
    other.start()
    compute()
    other.join()


def test_helpers_forget_what_they_have_done():
    class Large:
        pass

    large = Large()
    gone = weakref.ref(large)
    run_blocks(lambda part, held=large: time.sleep(0.01), 4, 1, 2)
    del large
    for _ in range(1000):
        if gone() is None:
            return
        time.sleep(0.01)
    raise AssertionError("a waiting thread holds the last task")


def succeeds_in_a_fork(function):
    """Return whether a forked process can call a function, without an exception and within a minute."""
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)  # nobody else would end it
            function()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
forks_with_threads = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@forks
@forks_with_threads
def test_a_forked_process_has_helpers_of_its_own():
    run_blocks(lambda part: None, 4, 1, 2)

    def compute():
        together = threading.Barrier(2)
        run_blocks(lambda part: together.wait(60), 2, 1, 2)

    assert succeeds_in_a_fork(compute)


def limit_and_release_blas():
    """Hold BLAS, which has two threads, at one thread."""
    assert blas_threads() == {2}
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.fixture
def two_blas_threads():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS cannot have two threads")
        yield


@forks
@forks_with_threads
def test_a_forked_process_has_the_blas_threads_that_another_thread_had_taken(two_blas_threads):
    """In it that thread does not exist, and would never give them back."""
    inside, forked = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread():
            inside.set()
            forked.wait(120)

    other = threading.Thread(target=hold)
    other.start()
    inside.wait(60)
    try:
        assert succeeds_in_a_fork(limit_and_release_blas)
    finally:
        forked.set()
        other.join()
    limit_and_release_blas()


@forks
@forks_with_threads
def test_a_process_can_be_forked_while_another_thread_limits_blas(two_blas_threads, monkeypatch):
    begun = threading.Event()

    class SlowLibrary:
        get_num_threads = _blas()[0].get_num_threads

        def set_num_threads(self, count):
            _blas()[0].set_num_threads(count)
            if threading.current_thread() is other:
                begun.set()
                time.sleep(0.5)

    def hold():
        with one_blas_thread():
            pass

    slow = [SlowLibrary(), *_blas()[1:]]
    monkeypatch.setattr("spdatoms._utils.threads._blas", lambda: slow)
    other = threading.Thread(target=hold)
    other.start()
    begun.wait(60)
    assert succeeds_in_a_fork(limit_and_release_blas)
    other.join()
    limit_and_release_blas()


@forks
@forks_with_threads
def test_a_thread_that_holds_blas_can_fork(two_blas_threads):
    def leave():
        held.__exit__()
        limit_and_release_blas()

    held = one_blas_thread()
    with held:
        assert succeeds_in_a_fork(leave)
        assert blas_threads() == {1}
    limit_and_release_blas()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_warnings_of_blocks_come_from_the_line_of_the_caller_and_in_order(n_jobs):
    def task(part):
        time.sleep(0.002 * (part.start % 2))
        warn_user(f"block {part.start}")

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        run_blocks(task, 6, 1, n_jobs)
    assert [str(w.message) for w in given] == [f"block {i}" for i in range(6)]
    assert {w.filename for w in given} == {__file__}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_warnings_of_blocks_name_the_estimator_and_come_once(n_jobs):
    class Coder:
        pass

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        with warnings_of(Coder()):
            run_blocks(lambda part: warn_user("poor"), 6, 1, n_jobs)
    assert [str(w.message) for w in given] == ["Coder: poor"]
