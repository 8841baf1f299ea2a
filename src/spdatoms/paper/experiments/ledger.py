"""The rows of a run: which are there already, which are to be computed, and the methods that had to stop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from threading import RLock

from spdatoms.paper.experiments.cell import Cell
from spdatoms.paper.experiments.results import ResultsFile, Row, SettingsError


class Ledger:
    """The rows so far, in memory and on file, and the methods that had to stop.

    Threads may share it: with several processes another thread than the one that enters rows asks what is lacking.

    Parameters
    ----------
    file : ResultsFile
        Where new rows are written; the rows of an earlier run are taken from it.
    totals : dict of str to int
        The number of repeats of every part.
    time_limit : float or None
        Seconds of processor time that a method may take for all its repeats in a part.
    """

    def __init__(
        self, file: ResultsFile, totals: Mapping[str, int], time_limit: float | None
    ) -> None:
        self.file, self.totals, self.time_limit = file, totals, time_limit
        self.rows = {row.key: row for row in file.rows}
        self._problems = dict(file.problems)
        self._stopped: set[tuple[str, str]] = set()
        self._spent: defaultdict[tuple[str, str], float] = defaultdict(float)
        for row in self.rows.values():
            self._count(row)
        self._lock = RLock()

    @property
    def problems(self) -> list[str]:
        """What could not run, in this run or an earlier one that it continues."""
        return list(self._problems.values())

    def lacks(self, cell: Cell) -> bool:
        """Return whether the row of a cell is to be computed: it is not there, and the method need not stop."""
        part, method, repeat = cell.key
        with self._lock:
            if (part, method) in self._stopped:
                return False
            try:
                parameters = cell.parameters
            except ImportError as error:
                self._stop(part, method, str(error))
                return False
            if cell.key in self.rows:
                _check_parameters(self.rows[cell.key], parameters)
                return False
            if self.time_limit is not None and self._spent[part, method] > self.time_limit:
                made = f"{repeat} of {self.totals[part]} repeats"
                self._stop(part, method, f"{made} because time ran out")
                return False
            return True

    def enter(self, cell: Cell, found: Row | str) -> None:
        """Write down the row of a cell, or why the method must stop there."""
        part, method, _ = cell.key
        with self._lock:
            if isinstance(found, str):
                self._stop(part, method, found)
                return
            self.rows[cell.key] = found
            self._count(found)
            self._problems.pop((part, method), None)
            self.file.append(found)

    def _count(self, row: Row) -> None:
        self._spent[row.part, row.method] += row.fit_seconds + row.predict_seconds

    def _stop(self, part: str, method: str, reason: str) -> None:
        self._stopped.add((part, method))
        problem = f"{method}{f' ({part})' if part else ''}: {reason}"
        self._problems[part, method] = problem
        self.file.add_problem(part, method, problem)


def _check_parameters(row: Row, parameters: str) -> None:
    if row.parameters != parameters:
        raise SettingsError(
            f"The results hold {row.method} with other parameters ({row.parameters}) than now "
            f"({parameters}): give another --out, or begin anew with --fresh."
        )
