"""Run an experiment: every method in every repeat of every part, from where an earlier run stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from joblib import hash as digest_of

from spdatoms._utils import parameters as allow
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.threads import one_thread
from spdatoms._utils.version import __version__
from spdatoms.paper.experiments.cell import Cell, rows
from spdatoms.paper.experiments.experiment import Experiment, UnknownNameError
from spdatoms.paper.experiments.method import Method, Setting
from spdatoms.paper.experiments.provenance import versions
from spdatoms.paper.experiments.results import Results, ResultsFile, Row, SettingsError
from spdatoms.paper.experiments.task import Task

RESULTS_FILE = "results.jsonl"


@allow.checks(
    experiment=allow.Allowed(("an Experiment",), lambda value: isinstance(value, Experiment)),
    data=allow.NONE | allow.PATH,
    methods=allow.NONE | allow.NAMES,
    parts=allow.NONE | allow.NAMES,
    repeats=allow.NONE | allow.integer(1, 1_000_000),
    seed=allow.integer(0),
    n_jobs=allow.N_JOBS,
    time_limit=allow.NONE | allow.real(above=0),
    on_error=allow.choice("raise", "warn"),
    out=allow.NONE | allow.PATH,
    fresh=allow.BOOLEAN,
    progress=allow.BOOLEAN,
    processes=allow.integer(1, 1024),
)
def run(
    experiment: Experiment,
    data: Path | str | None = None,
    *,
    methods: Sequence[str] | None = None,
    parts: Sequence[str] | None = None,
    repeats: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    on_error: str = "raise",
    out: Path | str | None = None,
    fresh: bool = False,
    progress: bool = False,
    processes: int = 1,
) -> Results:
    """Return the results of an experiment, from earlier runs or computed now.

    Parameters
    ----------
    experiment : Experiment
        What to run, see `get_experiment`.
    data : path-like, default=None
        The folder with the data. None stands for the embedded data, which some experiments have.
    methods : sequence of str, default=None
        Names of methods; upper and lower case do not matter. None stands for the default ones of the
        experiment.
    parts : sequence of str, default=None
        Names of parts: mosaics, sequences, sizes of dictionaries. None stands for all.
    repeats : int, default=None
        The number of repeats, or fewer in parts that have fewer. None stands for that of the protocol,
        which may be less for methods that take long.
    seed : int, default=0
        Every repeat gets a seed made of this one and its number.
    n_jobs : int, default=None
        The number of threads.
    time_limit : float, default=None
        Seconds of processor time that a method may take for the predictions of a repeat, and for all its
        repeats in a part. What had to be left out is noted in the results.
    on_error : {"raise", "warn"}, default="raise"
        What to do about files that are missing or cannot be read: stop before anything is computed,
        or go on without them.
    out : path-like, default=None
        A folder for the file ``results.jsonl``, from which a later run continues.
    fresh : bool, default=False
        Begin that file anew.
    progress : bool, default=False
        Show a progress bar.
    processes : int, default=1
        How many methods or repeats are computed at the same time, each in a process of its own. An experiment
        whose result is time takes one.

    Returns
    -------
    Results
        All rows, those of earlier runs in the same file included.
    """
    chosen = choose_methods(experiment, methods, embedded=data is None)
    sources = experiment.load(None if data is None else Path(data), on_error)
    wanted = choose_parts(list(sources), parts)
    here = {part: sources[part] for part in wanted}
    totals = numbers_of_repeats(experiment, repeats, here, embedded=data is None)
    settings = {
        "experiment": experiment.name,
        "data": "embedded" if data is None else "folder",
        "fingerprint": fingerprint(sources),
        "seed": seed,
        "version": __version__,
    }
    processes = 1 if experiment.timed else processes
    file = ResultsFile(_results_file(out), settings, fresh)
    file.begin(
        {
            "asked": {
                "methods": [method.name for method in chosen] if methods else None,
                "parts": wanted if parts else None,
                "repeats": repeats,
            },
            "parts": list(sources),
            "order": list(experiment.methods()),
            "time_limit": time_limit,
            "n_jobs": n_jobs,
            "processes": processes,
            **versions(),
        }
    )
    ledger = Ledger(file, totals, time_limit)
    cells = [
        Cell(experiment, part, repeat, method, Setting(seed_of(seed, repeat), n_jobs, time_limit))
        for part, total in totals.items()
        for repeat in range(total)
        for method in chosen
        if repeats is not None or repeat < experiment.few(part, method.name)
    ]
    with progress_bar(len(cells), experiment.name, progress) as advance:
        missing = _missing(cells, ledger, sources, advance)
        for cell, found in rows(missing, processes):
            ledger.enter(cell, found)
            advance()
    return file.results(settings)


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


def _missing(
    cells: Iterable[Cell],
    ledger: Ledger,
    sources: Mapping[str, Any],
    advance: Callable[..., None],
) -> Iterator[tuple[Cell, Task]]:
    """Yield the cells that have no row yet, with what is to be done there."""

    @lru_cache(maxsize=1)  # the methods of a repeat share it
    def task(part: str, repeat: int, seed: int, experiment: Experiment) -> Task:
        with one_thread():  # as for the methods: threads of a busy machine wait for each other
            return experiment.task(sources[part], repeat, np.random.default_rng(seed))

    for cell in cells:
        advance(0, running=f"{cell.part} {cell.method.name}".strip())
        if ledger.lacks(cell):
            yield cell, task(cell.part, cell.repeat, cell.setting.seed, cell.experiment)
        else:
            advance()


def fingerprint(sources: Mapping[str, Any]) -> str:
    """Return a digest of the data of all parts: of their values, whatever their classes are called."""

    def content(data: Any) -> Any:
        if not is_dataclass(data):
            return data
        return {field.name: getattr(data, field.name) for field in fields(data)}

    return str(digest_of({part: content(data) for part, data in sources.items()}))


def seed_of(seed: int, repeat: int) -> int:
    """Return the seed of a repeat, independent of those of other repeats and other seeds."""
    return int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])


def choose_methods(
    experiment: Experiment, names: Sequence[str] | None, embedded: bool
) -> list[Method]:
    """Return the methods of these names, or the default ones."""
    known = experiment.methods()
    if not names:
        return [known[name] for name in experiment.default_methods(embedded)]
    by_name = {name.casefold(): method for name, method in known.items()}
    unknown = [name for name in names if name.casefold() not in by_name]
    if unknown:
        raise UnknownNameError(
            f"The experiment '{experiment.name}' has no method {', '.join(map(repr, unknown))}; there "
            f"are {', '.join(known)}."
        )
    return [by_name[name] for name in dict.fromkeys(name.casefold() for name in names)]


def choose_parts(known: Sequence[str], names: Sequence[str] | None) -> list[str]:
    """Return the parts of these names, or all."""
    if not names:
        return list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownNameError(
            f"There is no part {', '.join(map(repr, unknown))} in these data; there are "
            f"{', '.join(map(repr, known))}."
        )
    return list(dict.fromkeys(names))


def numbers_of_repeats(
    experiment: Experiment, repeats: int | None, sources: Mapping[str, Any], embedded: bool
) -> dict[str, int]:
    """Return the number of repeats of every part: the given one, or that of the protocol.

    A part that has fewer different repeats takes all of them.
    """
    limits = {part: experiment.most_repeats(data) for part, data in sources.items()}
    usual = experiment.usual_repeats(embedded)
    if repeats is not None:
        known = [limit for limit in limits.values() if limit is not None]
        most = max(known) if len(known) == len(limits) else None
        if most is not None and repeats > most:
            raise ValueError(
                f"The number of repeats of '{experiment.name}' must be at most {most}, got {repeats}."
            )
        usual = repeats
    return {part: usual if limit is None else min(usual, limit) for part, limit in limits.items()}


def _results_file(out: Path | str | None) -> Path | None:
    if out is None:
        return None
    if Path(out).exists() and not Path(out).is_dir():
        raise ValueError(f"out must be a folder, but {str(out)!r} is a file.")
    Path(out).mkdir(parents=True, exist_ok=True)
    return Path(out) / RESULTS_FILE
