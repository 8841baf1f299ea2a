"""Run a task over blocks of items: threads, Ctrl-C and progress in one place.

Compiled kernels release the GIL and work on a block for a few to a few hundred milliseconds. So plain
threads scale, the interpreter sees Ctrl-C between two blocks, and a progress bar can be updated.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from threading import RLock, Thread, current_thread, main_thread
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller looks for it)
from threadpoolctl import LibController, ThreadpoolController

from spdatoms._utils.progress import progress_bar, progress_is_due
from spdatoms._utils.warning import holding_warnings, warn_user

Result = TypeVar("Result")

#: Seconds before the blocks of a verbose estimator get a bar: most of its loops are over by then.
_DELAY = 0.5
#: Sizes of matrices for which threads of BLAS mostly wait for each other: LAPACK then takes up to ten times as long,
#: most of all where other programs run.
_WAITING = range(25, 1000)
#: Whether this is a block of a run that threads share. What it calls has one thread: the others are busy.
_SHARED: ContextVar[bool] = ContextVar("shared", default=False)


def available_processors() -> int:
    """Return how many processors this process may use, which can be fewer than the machine has."""
    # The first is new in Python 3.13, the second is not everywhere.
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads: ``None`` means 1, ``-1`` all available processors, ``-2`` all but one.

    Within a block of `run_blocks` that threads share it is 1.
    """
    if n_jobs is None or _SHARED.get():
        return 1
    if n_jobs < 0:
        return max(1, available_processors() + 1 + n_jobs)
    return n_jobs


def block_slices(n_items: int, block: int) -> Iterator[slice]:
    """Cut ``range(n_items)`` into consecutive slices of at most ``block`` items."""
    for start in range(0, n_items, block):
        yield slice(start, min(n_items, start + block))


@cache
def _blas() -> list[LibController]:
    # Looking for the loaded libraries costs a millisecond, more than some whole computations here.
    return [
        library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"
    ]


class _OneBlasThread:
    """Holds BLAS at one thread from when the first enters until the last leaves: the limit is one for all threads."""

    def __init__(self) -> None:
        # The thread that forks holds the lock, see below; a signal may let it fork where it holds it already.
        self.lock, self.inside = RLock(), 0
        self.before: list[tuple[LibController, int]] = []

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                # Often it has one thread already, and there is nothing to do.
                counts = [(library, library.get_num_threads()) for library in _blas()]
                self.before = [(library, n) for library, n in counts if n not in (None, 1)]
                for library, _ in self.before:
                    library.set_num_threads(1)
            self.inside += 1

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.restore()

    def restore(self) -> None:
        """Give BLAS the threads that it had before the first entered."""
        for library, count in self.before:
            library.set_num_threads(count)
        self.before = []


_one_blas_thread = _OneBlasThread()


def one_blas_thread() -> Any:
    """Context manager that holds BLAS at one thread."""
    return _one_blas_thread


def blas_threads_for(*sizes: int) -> Any:
    """Context manager that holds BLAS at one thread for matrices of these sizes, if that is quicker."""
    return _one_blas_thread if max(sizes, default=0) in _WAITING else nullcontext()


def one_thread() -> Any:
    """Context manager that holds BLAS and OpenMP, scikit-learn's loops, at one thread."""
    return ThreadpoolController().limit(
        limits=1
    )  # not the cached one: libraries may have come since


def run_blocks(
    task: Callable[[slice], None],
    n_items: int,
    block: int,
    n_jobs: int | None = None,
    progress: bool = False,
    description: str = "",
    uses_blas: bool = True,
) -> None:
    """Call ``task`` on consecutive slices of ``range(n_items)``, with a progress bar where one is due.

    With one job the slices run in the calling thread, in order; with more other threads help it, and the
    order is any. If the task uses BLAS, BLAS is held at one thread meanwhile, so that the two do not
    compete for the cores. An exception, Ctrl-C included, stops the run after the blocks that are under
    way. Warnings of the user that blocks of several threads give come after the last of them, in the
    order of the blocks.
    """
    slices = list(block_slices(n_items, max(1, block)))
    jobs = min(effective_n_jobs(n_jobs), len(slices))
    shown = progress or (len(slices) > 1 and progress_is_due())
    if len(slices) == 1 and not (shown or uses_blas):
        task(slices[0])
        return
    with (
        one_blas_thread() if uses_blas else nullcontext(),
        progress_bar(n_items, description, shown, delay=0.0 if progress else _DELAY) as advance,
    ):
        if jobs <= 1:
            for part in slices:
                task(part)
                advance(part.stop - part.start)
        else:
            _run_threaded(task, slices, jobs, advance)


def map_in_threads(
    function: Callable[[int], Result], count: int, n_jobs: int | None = None
) -> list[Result]:
    """Return ``[function(0), …, function(count - 1)]``, computed as by `run_blocks`."""
    results: dict[int, Result] = {}

    def compute(one: slice) -> None:
        results[one.start] = function(one.start)

    run_blocks(compute, count, 1, n_jobs)
    return [results[number] for number in range(count)]


def _new_helpers() -> ThreadPoolExecutor:
    """Return threads that wait to help others: as many as are asked for at the same time."""
    return ThreadPoolExecutor(sys.maxsize, thread_name_prefix="spdatoms")


_helpers = _new_helpers()


def interruptibly(function: Callable[..., Result], *args: Any) -> Result:
    """Return ``function(*args)``, a call of seconds that cannot be cut into blocks, such as one of LAPACK.

    Another thread computes it while the main one waits, so that Ctrl-C is noticed at once. What was begun then ends
    unnoticed. Other threads, which get no Ctrl-C, call the function themselves.
    """
    if current_thread() is not main_thread():
        return function(*args)
    outcome: Future[Result] = Future()

    def compute() -> None:
        try:
            outcome.set_result(function(*args))
        except BaseException as error:
            outcome.set_exception(error)

    # Not one of the helpers: Python waits for these before it ends.
    Thread(target=copy_context().run, args=(compute,), daemon=True).start()
    _wait_for([outcome])
    return outcome.result()


def _wait_for(futures: list[Future[Any]]) -> None:
    while wait(futures, timeout=0.2).not_done:  # not for ever: Windows would not notice Ctrl-C
        pass


def _before_fork() -> None:
    """Wait until no thread changes the limit of BLAS: the child would have half of the change."""
    _one_blas_thread.lock.acquire()


def _after_fork_in_parent() -> None:
    _one_blas_thread.lock.release()


def _after_fork_in_child() -> None:
    """Begin anew in a process that was forked: it has none of the threads that help, or that hold BLAS."""
    global _helpers, _one_blas_thread
    _helpers = _new_helpers()
    _one_blas_thread.restore()
    _one_blas_thread.lock.release()  # the thread that forked may be inside, and has to leave
    _one_blas_thread = _OneBlasThread()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _run_threaded(
    task: Callable[[slice], None],
    slices: list[slice],
    jobs: int,
    advance: Callable[..., None],
) -> None:
    """Run blocks in the calling thread, which begins at once, and in others that help it, until one has failed.

    It waits for blocks that others have begun, but for no thread: on a busy machine one may come too late for any.
    """
    left, finished = deque(slices), deque[int]()
    warnings: dict[int, list[tuple[str, type[Warning]]]] = {}

    def run_one() -> bool:
        """Run a block in this thread; return whether there was one."""
        try:
            part = left.popleft()
        except IndexError:
            return False
        try:
            with holding_warnings() as warnings[part.start]:
                task(part)
        except BaseException:
            left.clear()
            raise
        finished.append(part.stop - part.start)
        return True

    def run_all() -> None:
        while run_one():
            pass

    def report() -> None:
        advance(sum(finished.popleft() for _ in range(len(finished))))

    others: list[Future[None]] = []
    token = _SHARED.set(True)
    try:
        others.extend(_helpers.submit(copy_context().run, run_all) for _ in range(jobs - 1))
        while run_one():
            report()
    finally:
        _SHARED.reset(token)
        left.clear()
        begun = [other for other in others if not other.cancel()]
        _wait_for(begun)
    report()
    for other in begun:
        other.result()
    for start in sorted(warnings):
        for message, category in warnings[start]:
            warn_user(message, category)
