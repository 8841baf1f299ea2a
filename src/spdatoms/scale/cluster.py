"""Wait for the workers of a cluster, and stop with a clear error if nothing happens any more.

Dask waits for ever: for a task on a worker that is stopped, for a worker where there is none, for a scheduler
that is gone. Here the scheduler is asked now and then whether the state of any task has changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any

from spdatoms._utils import parameters as allow
from spdatoms._utils.extras import import_extra
from spdatoms.exceptions import ClusterError

_PATIENCE: ContextVar[float] = ContextVar("spdatoms worker timeout", default=600.0)
#: Seconds between two looks at the scheduler, and for its answer.
_LOOK, _ANSWER = 5.0, 30.0
_PACKAGE = __name__.partition(".")[0]
_RESUME = "A fit with a checkpoint goes on from there when it is called again."
_LONGER = "Use spdatoms.scale.worker_timeout to wait longer."


_SECONDS = allow.real(above=0) | allow.Allowed(
    ("infinity",), lambda value: isinstance(value, float) and value == float("inf")
)


@allow.checks(seconds=_SECONDS)
@contextmanager
def worker_timeout(seconds: float) -> Iterator[None]:
    """Let computations on a cluster fail if for so long no task of it begins, ends or moves.

    The default is 600 seconds. Then `spdatoms.exceptions.ClusterError` says what is missing. A single task
    takes some seconds, so a longer time is needed only where workers are waited for, as in the queue of a
    computing centre.

    Parameters
    ----------
    seconds : float
        More than 0; ``float("inf")`` waits for ever.

    Returns
    -------
    context manager
        The time holds inside it.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDKMeans
    >>> from spdatoms.scale import worker_timeout
    >>> X = np.arange(1.0, 7.0)[:, None, None] * np.eye(2)
    >>> with worker_timeout(3600):
    ...     kmeans = SPDKMeans(2, random_state=0).fit(X)
    """
    token = _PATIENCE.set(float(seconds))
    try:
        yield
    finally:
        _PATIENCE.reset(token)


def _distributed() -> Any:
    """Return the module, which is there if the user has a client, or else None."""
    return sys.modules.get("distributed")


def client_of_user() -> Any | None:
    """Return the client that the user has made, if there is one."""
    distributed = _distributed()
    try:
        return distributed.get_client() if distributed else None
    except ValueError:
        return None


def futures_of(value: Any) -> list[Any]:
    """Return the futures in a value: what workers have computed of it, or are about to."""
    distributed = _distributed()
    return list(distributed.futures_of(value)) if distributed else []


def results_of(delayed: Sequence[Any]) -> list[Any]:
    """Return the values of delayed ones, computed by the cluster if there is one."""
    dask = import_extra("dask", extra="scale")
    with cluster_errors():
        held = dask.persist(*delayed)
        futures = [future for one in held for future in futures_of(one)]
        if len(futures) < len(held):
            return list(dask.compute(*held))
        wait_for(futures)
        return [_fetched(future) for future in futures]


def _fetched(future: Any) -> Any:
    """Return what a worker has computed."""
    patience = _PATIENCE.get()
    try:
        return future.result(timeout=patience if patience < float("inf") else None)
    except TimeoutError:
        if future.status == "error":
            raise  # of the task
        raise ClusterError(
            f"A worker has not sent its result for {patience:.0f} seconds. {_RESUME} {_LONGER}"
        ) from None


def asked(ask: Callable[..., Any], question: Callable[..., Any]) -> Any:
    """Return the scheduler's answer to a call; `ClusterError` if there is none for a while."""
    with cluster_errors():
        try:
            return ask(question, callback_timeout=min(_ANSWER, _PATIENCE.get()))
        except TimeoutError:
            raise ClusterError(
                f"The scheduler of the cluster does not answer: look at its process. {_RESUME}"
            ) from None


def check_workers() -> None:
    """Refuse a cluster whose workers lack the package: they would close down, one after the other."""
    client = client_of_user()
    if client is None:
        return
    # `eval`, because a function of this package could not be read there.
    question = f"__import__({_PACKAGE!r}).__version__"
    with cluster_errors():
        try:
            answers = client.run(eval, question, on_error="return", callback_timeout=_ANSWER)
        except TimeoutError:
            return  # a worker may be lost, which is noticed when it is waited for
    wrong = {
        worker: answer for worker, answer in answers.items() if isinstance(answer, ImportError)
    }
    if wrong:
        worker, error = next(iter(wrong.items()))
        raise ClusterError(
            f"{len(wrong)} of {len(answers)} workers of the cluster cannot import spdatoms ({worker}: "
            f"{error}): install the same version there as here."
        )


def wait_for(futures: Sequence[Any], *, all_of_them: bool = True) -> None:
    """Wait until futures, or one of them, have been computed; `ClusterError` if nothing happens any more."""
    wait, which = _distributed().wait, "ALL" if all_of_them else "FIRST"
    patience, last, since = _PATIENCE.get(), -1, monotonic()
    with cluster_errors():
        while True:
            try:
                wait(futures, timeout=min(_LOOK, patience / 2), return_when=f"{which}_COMPLETED")
                return
            except TimeoutError:
                changes, workers, busy = _state_now(futures[0].client)
            if changes not in (None, last):
                last, since = changes, monotonic()
            elif monotonic() - since > patience:
                missing = sum(future.status == "pending" for future in futures)
                raise ClusterError(
                    f"Nothing has happened on the cluster for {patience:.0f} seconds, and "
                    f"{missing} of {len(futures)} results are missing: {_reason(workers, busy)}. "
                    f"{_RESUME} {_LONGER}"
                )


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Turn what Dask raises if a cluster is gone or lacks the package into clear errors."""
    client = client_of_user()
    if client is None:
        yield
        return
    distributed = _distributed()
    lost = distributed.comm.core.CommClosedError
    try:
        yield
    except (distributed.CancelledError, distributed.client.ClosedClientError, OSError) as error:
        of_a_task = isinstance(error, OSError) and not isinstance(error, lost)
        if of_a_task and client.status == "running":
            raise
        raise ClusterError(
            "The connection to the scheduler of the cluster was lost, or the cluster was closed: start it "
            f"again, make a new Client, and repeat the call. {_RESUME}"
        ) from error
    except Exception as error:
        unreadable = "deserialization" in str(error).lower()
        if not unreadable and not isinstance(_root(error), ImportError):
            raise
        raise ClusterError(
            "The scheduler or a worker of the cluster cannot read the tasks: install the same versions of "
            f"spdatoms and of what it needs there as here. What was missing: {_root(error)}"
        ) from error


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _state_now(client: Any) -> tuple[int | None, int | None, list[str]]:
    """Return the state of a cluster; None and None if its scheduler does not answer."""
    try:
        state: tuple[int, int, list[str]] = client.run_on_scheduler(
            _state, callback_timeout=_ANSWER
        )
    except TimeoutError:
        return None, None, []
    return state


def _state(dask_scheduler: Any) -> tuple[int, int, list[str]]:
    """Return how often tasks have changed their states, the number of workers, and those with tasks."""
    workers = dask_scheduler.workers.values()
    busy = [str(worker.address) for worker in workers if worker.processing]
    return int(dask_scheduler.transition_counter), len(workers), busy


def _reason(workers: int | None, busy: list[str]) -> str:
    if workers is None:
        return "the scheduler does not answer"
    if not workers:
        return "the cluster has no workers, so start some"
    if busy:
        return f"look at the workers {', '.join(busy)}, which have not finished their tasks"
    return f"none of the {workers} workers has a task"
