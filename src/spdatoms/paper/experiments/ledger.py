"""The rows of a run: which are to be computed, and the methods that have to stop."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock

from spdatoms.paper.experiments.cell import Cell
from spdatoms.paper.experiments.results import ResultsFile, Row, SettingsError


class Ledger:
    """What is still to be done in a run.

    Threads may share it: with several processes another thread than the one that enters rows asks what is lacking.

    Parameters
    ----------
    file : ResultsFile
        Where new rows are written, with the rows of earlier runs.
    totals : dict of str to int
        The number of repeats of every part.
    time_limit : float or None
        Seconds of processor time that a method may take for all its repeats in a part.
    """

    def __init__(
        self, file: ResultsFile, totals: Mapping[str, int], time_limit: float | None
    ) -> None:
        self.file, self.totals, self.time_limit = file, totals, time_limit
        self._lock = RLock()

    def lacks(self, cell: Cell) -> bool:
        """Return whether the row of a cell is to be computed: it is not there, and the method need not stop."""
        with self._lock:
            if (cell.part, cell.method.name) in self.file.stopped:
                return False
            try:
                parameters = cell.parameters
            except ImportError as error:
                self._stop(cell, str(error))
                return False
            if cell.key in self.file.rows:
                _check_parameters(self.file.rows[cell.key], parameters)
                return False
            if self.time_limit is not None and self._spent(cell) > self.time_limit:
                made = f"{cell.repeat} of {self.totals[cell.part]} repeats"
                self._stop(cell, f"{made} because time ran out")
                return False
            return True

    def enter(self, cell: Cell, found: Row | str) -> None:
        """Write down the row of a cell, or why the method must stop there."""
        with self._lock:
            if isinstance(found, str):
                self._stop(cell, found)
            else:
                self.file.append(found)

    def _spent(self, cell: Cell) -> float:
        """Return the seconds that the method of a cell took for its repeats in the same part."""
        rows = self.file.rows.values()
        own = (row for row in rows if (row.part, row.method) == (cell.part, cell.method.name))
        return sum(row.fit_seconds + row.predict_seconds for row in own)

    def _stop(self, cell: Cell, reason: str) -> None:
        part, method, _ = cell.key
        where = f" ({part})" if part else ""
        self.file.add_problem(part, method, f"{method}{where}: {reason}")


def _check_parameters(row: Row, parameters: str) -> None:
    if row.parameters != parameters:
        raise SettingsError(
            f"The results hold {row.method} with other parameters ({row.parameters}) than now "
            f"({parameters}): give another --out, or begin anew with --fresh."
        )
