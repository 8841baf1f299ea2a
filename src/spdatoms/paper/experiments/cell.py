"""A cell of a run: one method in one repeat of one part, and the row that comes of it, in this process or another."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed

from spdatoms._utils.threads import one_thread
from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.method import Method, Outcome, Setting
from spdatoms.paper.experiments.provenance import commit, load
from spdatoms.paper.experiments.results import Key, Row
from spdatoms.paper.experiments.task import Task


@dataclass(frozen=True)
class Cell:
    """One method in one repeat of one part.

    Parameters
    ----------
    experiment : Experiment
        What is run.
    part : str
        The part of its data.
    repeat : int
        The number of the repeat.
    method : Method
        What is compared there.
    setting : Setting
        The seed, the number of threads and the time limit.
    """

    experiment: Experiment
    part: str
    repeat: int
    method: Method
    setting: Setting

    @property
    def key(self) -> Key:
        """The part, the method and the repeat, which identify a row."""
        return self.part, self.method.name, self.repeat

    @property
    def parameters(self) -> str:
        """The estimator in words, without what differs between repeats and machines."""
        return " ".join(repr(self.method.make(Setting(seed=0))).split())

    def row(self, task: Task) -> Row | str:
        """Return the row, or why the method cannot run."""
        if self.method.view not in task.train.views:
            return f"these data have no {self.method.view} to work on"
        try:
            return self._measured(task)
        except ImportError as error:
            return str(error)

    def _measured(self, task: Task) -> Row:
        # One thread: seconds of methods can then be compared, and threads do not wait for each other on a busy machine.
        with warnings.catch_warnings(), one_thread():
            # Indefinite kernels and all-zero codes are part of what is being compared.
            warnings.simplefilter("ignore")
            start = time.process_time()
            outcome = self._outcome(task)
            spent = time.process_time() - start
        return Row(
            *self.key,
            self.setting.seed,
            self.parameters,
            **vars(outcome),
            commit=commit(),
            load=load(),
            n_train=len(task.train),
            n_test=sum(len(test) for test in task.tests.values()),
            processor_seconds=round(spent, 3),
        )

    def _outcome(self, task: Task) -> Outcome:
        try:
            return self.experiment.evaluate(self.method, task, self.setting)
        except (ArithmeticError, ValueError) as error:  # also LinAlgError
            if not self.experiment.errors_are_noted:
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            return Outcome({}, 0.0, 0.0, note=f"no accuracy in a division ({reason})")


def rows(cells: Iterable[tuple[Cell, Task]], processes: int) -> Iterator[tuple[Cell, Row | str]]:
    """Yield cells with their rows, or with why there is none, as they are ready.

    With one process each cell is taken when the row before it has been dealt with.
    """
    workers: Any = Parallel(
        n_jobs=processes,
        batch_size=1,
        pre_dispatch=processes,
        max_nbytes=None,  # no files in place of arrays: they would pile up until the end of the run
        return_as="generator_unordered",
    )
    yield from workers(delayed(_with_row)(cell, task) for cell, task in cells)


def _with_row(cell: Cell, task: Task) -> tuple[Cell, Row | str]:
    return cell, cell.row(task)
