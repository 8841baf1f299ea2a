"""The rows of a run: kept if they are there already, computed if not."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from spdatoms._utils.threads import one_thread
from spdatoms.experiments.experiment import Experiment, Method, Setting, Task
from spdatoms.experiments.provenance import commit, load
from spdatoms.experiments.results import ResultsFile, Row, SettingsError


class Ledger:
    """The rows so far, in memory and on file, and the methods that had to stop.

    Parameters
    ----------
    file : ResultsFile or None
        Where new rows are written; the rows of an earlier run are taken from it.
    totals : dict of str to int
        The number of repeats of every part.
    time_limit : float or None
        Seconds that a method may take for all its repeats in a part.
    """

    def __init__(
        self, file: ResultsFile | None, totals: Mapping[str, int], time_limit: float | None
    ) -> None:
        self.file, self.totals, self.time_limit = file, totals, time_limit
        self.rows = {row.key: row for row in (file.rows if file else ())}
        self._problems = dict(file.problems) if file else {}
        self._stopped: set[tuple[str, str]] = set()

    @property
    def problems(self) -> list[str]:
        """What could not run, in this run or an earlier one that it continues."""
        return list(self._problems.values())

    def begin(self, environment: dict[str, Any]) -> None:
        """Write down what the run begins with: its methods, repeats and versions."""
        if self.file:
            self.file.begin(environment)

    def complete(
        self,
        experiment: Experiment,
        method: Method,
        part: str,
        repeat: int,
        setting: Setting,
        task: Callable[[], Task],
    ) -> None:
        """Make sure that there is a row for this method in this repeat, unless the method had to stop."""
        if (part, method.name) in self._stopped:
            return
        key = (part, method.name, repeat)
        try:
            parameters = _parameters(method)
            if key in self.rows:
                _check_parameters(self.rows[key], parameters)
                return
            if self._spent(part, method.name):
                total = self.totals[part]
                self._stop(part, method.name, f"{repeat} of {total} repeats because time ran out")
                return
            if method.view not in task().train.views:
                self._stop(part, method.name, f"these data have no {method.view} to work on")
                return
            row = _row(experiment, method, task(), setting, key, parameters)
        except ImportError as error:
            self._stop(part, method.name, str(error))
            return
        self.rows[key] = row
        self._problems.pop((part, method.name), None)
        if self.file:
            self.file.append(row)

    def _spent(self, part: str, method: str) -> bool:
        """Return whether a method has used up its time in a part."""
        rows = [row for row in self.rows.values() if (row.part, row.method) == (part, method)]
        seconds = sum(row.fit_seconds + row.predict_seconds for row in rows)
        return self.time_limit is not None and seconds > self.time_limit

    def _stop(self, part: str, method: str, reason: str) -> None:
        self._stopped.add((part, method))
        problem = f"{method}{f' ({part})' if part else ''}: {reason}"
        self._problems[part, method] = problem
        if self.file:
            self.file.add_problem(part, method, problem)


def _parameters(method: Method) -> str:
    """Return the estimator in words, without what differs between repeats and machines."""
    return " ".join(repr(method.make(Setting(seed=0))).split())


def _check_parameters(row: Row, parameters: str) -> None:
    if row.parameters != parameters:
        raise SettingsError(
            f"The results hold {row.method} with other parameters ({row.parameters}) than now "
            f"({parameters}): give another --out, or begin anew with --fresh."
        )


def _row(
    experiment: Experiment,
    method: Method,
    task: Task,
    setting: Setting,
    key: tuple[str, str, int],
    parameters: str,
) -> Row:
    # One thread: seconds of methods can then be compared, and threads do not wait for each other on a busy machine.
    with warnings.catch_warnings(), one_thread():
        # Indefinite kernels and all-zero codes are part of what is being compared.
        warnings.simplefilter("ignore")
        start = time.process_time()
        outcome = experiment.evaluate(method, task, setting)
        spent = time.process_time() - start
    return Row(
        *key,
        setting.seed,
        parameters,
        **vars(outcome),
        commit=commit(),
        load=load(),
        n_train=len(task.train),
        n_test=sum(len(test) for test in task.tests.values()),
        processor_seconds=round(spent, 3),
    )
