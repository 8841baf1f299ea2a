"""Results of an experiment: rows in memory, and a file that grows by one line per row.

The file is JSON Lines. The first line holds the settings. Then there are for every run a line about its
methods and versions, one line per row, with the seconds since the run began, and one per problem. Each line is
appended in one write and synced to the disk. A process that is killed loses at most the rows that it was
computing: a last line without its end is cut off when the file is opened again.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.notebook import table_as_html
from spdatoms._utils.tables import write_rows
from spdatoms._utils.writing import append_line, replace_file, replacing

FORMAT = "spdatoms results 1"
#: The key of the seconds since the run began, in the line of a row.
_ELAPSED = "elapsed"

#: What identifies a row: the part, the method and the repeat.
Key = tuple[str, str, int]
#: What could not run, by part and method.
Problems = dict[tuple[str, str], str]


class SettingsError(ValueError):
    """A results file belongs to other settings."""


@dataclass(frozen=True)
class Row:
    """One method in one repeat.

    Parameters
    ----------
    part, method : str
        Which part of the experiment, and which method.
    repeat : int
        The number of the repeat.
    seed : int
        The seed of its division of the data and of the method's randomness.
    parameters : str
        The estimator as it was made.
    scores : dict of str to float
        The scores by name, in per cent.
    fit_seconds, predict_seconds : float
        Wall-clock time.
    extra : dict, default={}
        Curves and predictions.
    note : str, default=""
        What a reader of the scores must know.
    commit : str, default=""
        That of the code, if it ran from a checkout.
    load : float, default=None
        How many processes wanted to run in the minute before.
    n_train, n_test : int, default=0
        The number of training samples and of queries; 0 if it is not known.
    processor_seconds : float, default=None
        What it cost, whatever else the machine had to do; None if it is not known.
    """

    part: str
    method: str
    repeat: int
    seed: int
    parameters: str
    scores: dict[str, float]
    fit_seconds: float
    predict_seconds: float
    extra: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    commit: str = ""
    load: float | None = None
    n_train: int = 0
    n_test: int = 0
    processor_seconds: float | None = None

    @property
    def key(self) -> Key:
        """The part, the method and the repeat, which identify a row."""
        return self.part, self.method, self.repeat

    @property
    def seconds(self) -> float:
        """Its processor time, or the time that passed if that is all that is known."""
        if self.processor_seconds is None:
            return self.fit_seconds + self.predict_seconds
        return self.processor_seconds


@dataclass(frozen=True)
class Summary:
    """One method in one part: means over the repeats.

    Parameters
    ----------
    part, method : str
        Which part of the experiment, and which method.
    repeats : int
        The number of repeats.
    scores, deviations : dict of str to float
        Means and standard deviations in per cent.
    fit_seconds, predict_seconds : float
        Medians.
    notes : tuple of str
        The notes of the rows, each once.
    """

    part: str
    method: str
    repeats: int
    scores: dict[str, float]
    deviations: dict[str, float]
    fit_seconds: float
    predict_seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Results:
    """The rows of an experiment and the settings that they belong to.

    Parameters
    ----------
    settings : dict
        The experiment, its data and seed.
    rows : sequence of Row
        In the order in which they were computed.
    problems : sequence of str, default=()
        Methods that could not run, and why.
    """

    settings: dict[str, Any]
    rows: Sequence[Row]
    problems: Sequence[str] = ()

    def parts(self) -> list[str]:
        """Return the parts in order of appearance.

        Returns
        -------
        list of str
        """
        return list(dict.fromkeys(row.part for row in self.rows))

    @property
    def embedded(self) -> bool:
        """Whether the data are those that come with the package's dependencies."""
        return self.settings.get("data") == "embedded"

    def ran(self, methods: Iterable[str]) -> list[str]:
        """Return those of the methods that have rows.

        Parameters
        ----------
        methods : iterable of str
            Names of methods.

        Returns
        -------
        list of str
            Some of the names, in the same order.
        """
        there = {row.method for row in self.rows}
        return [name for name in methods if name in there]

    def of(self, part: str, method: str) -> list[Row]:
        """Return the rows of one method in one part, by repeat."""
        rows = [row for row in self.rows if (row.part, row.method) == (part, method)]
        return sorted(rows, key=lambda row: row.repeat)

    def summaries(self) -> list[Summary]:
        """Return means and deviations for every part and method.

        Returns
        -------
        list of Summary
        """
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            groups.setdefault((row.part, row.method), []).append(row)
        return [_summary(sorted(rows, key=lambda row: row.repeat)) for rows in groups.values()]

    def _repr_html_(self) -> str:
        """Return a table for notebooks: means and deviations over repeats."""
        rows = [
            (one.part, one.method, score, f"{mean:.1f} ± {one.deviations[score]:.1f}", one.repeats)
            for one in self.summaries()
            for score, mean in one.scores.items()
        ]
        header = ("part", "method", "score", "mean ± deviation (%)", "repeats")
        return table_as_html(str(self.settings.get("experiment", "")), header, rows)

    def write_json(self, path: Path) -> None:
        """Write settings, rows and summaries as one JSON file.

        Parameters
        ----------
        path : Path
            The file.
        """
        document = {
            "settings": self.settings,
            "summaries": [asdict(summary) for summary in self.summaries()],
            "rows": [asdict(row) for row in self.rows],
            "problems": list(self.problems),
        }
        text = json.dumps(document, indent=1, ensure_ascii=False)
        replace_file(path, text.encode())

    def write_csv(self, path: Path) -> None:
        """Write one line for every score of every row as a CSV file.

        Parameters
        ----------
        path : Path
            The file.
        """
        names = ("part", "method", "repeat", "seed", "score", "value")
        with replacing(path) as binary:
            file = codecs.getwriter("utf-8")(binary)
            write_rows(file, [[*names, "fit_seconds", "predict_seconds", "note"]])
            for row in self.rows:
                head = (row.part, row.method, row.repeat, row.seed)
                tail = (f"{row.fit_seconds:.6g}", f"{row.predict_seconds:.6g}", row.note)
                scores = row.scores.items()
                write_rows(file, ([*head, name, f"{value:.6g}", *tail] for name, value in scores))


def _summary(rows: Sequence[Row]) -> Summary:
    names = dict.fromkeys(name for row in rows for name in row.scores)
    scores = {name: [row.scores[name] for row in rows if name in row.scores] for name in names}
    return Summary(
        rows[0].part,
        rows[0].method,
        len(rows),
        {name: float(np.mean(values)) for name, values in scores.items()},
        {name: float(np.std(values)) for name, values in scores.items()},
        float(np.median([row.fit_seconds for row in rows])),
        float(np.median([row.predict_seconds for row in rows])),
        tuple(dict.fromkeys(row.note for row in rows if row.note)),
    )


class History:
    """What the lines of a file of results tell so far.

    Parameters
    ----------
    lines : iterable of dict, default=()
        The first lines; others may be added.

    Attributes
    ----------
    rows : dict of (str, str, int) to Row
        The rows by their keys, each once: two runs at the same time may have computed the same.
    stopped : dict of (str, str) to str
        What could not run in the last run, by part and method.
    """

    def __init__(self, lines: Iterable[dict[str, Any]] = ()) -> None:
        self.rows: dict[Key, Row] = {}
        self.stopped: Problems = {}
        self._unsolved: Problems = {}
        self._environment: dict[str, Any] = {}
        self._seconds: list[float | None] = []
        for line in lines:
            self.add(line)

    def add(self, line: dict[str, Any]) -> None:
        """Take in a line: that a run begins, that something could not run, or a row."""
        if "run" in line:
            self._unsolved |= self.stopped
            self.stopped = {}
            self._environment = line["run"]
            self._seconds.append(0.0)
        elif "problem" in line:
            part, method = line.get("of", ("", line["problem"]))
            self.stopped[part, method] = line["problem"]
        elif "method" in line:
            row = Row(**{key: line[key] for key in line if key != _ELAPSED})
            self.rows[row.key] = row
            # The method goes on where an earlier run had to stop.
            self._unsolved.pop((row.part, row.method), None)
            if self._seconds:
                self._seconds[-1] = line.get(_ELAPSED)

    def results(self, settings: dict[str, Any]) -> Results:
        """Return the results, with the problems that no later run has solved.

        The time that passed is that of all runs up to their last rows, or None if rows of one do not tell it.
        """
        known = [seconds for seconds in self._seconds if seconds is not None]
        elapsed = sum(known) if known and len(known) == len(self._seconds) else None
        environment = {**self._environment, "elapsed": elapsed}
        problems = list((self._unsolved | self.stopped).values())
        return gathered(settings | environment, list(self.rows.values()), problems)


class ResultsFile(History):
    """An append-only file of rows that belong to the same settings, with those of earlier runs.

    Parameters
    ----------
    path : Path or None
        The file; its directory must exist. None keeps nothing.
    settings : dict
        What the rows depend on. A file with other settings is refused.
    fresh : bool, default=False
        Begin the file anew, whatever it holds.
    """

    def __init__(self, path: Path | None, settings: dict[str, Any], fresh: bool = False) -> None:
        super().__init__()
        self.path, self.settings = path, settings
        if path is not None and (fresh or not self._continue(path)):
            header = json.dumps({"format": FORMAT, "settings": settings}, ensure_ascii=False)
            replace_file(path, f"{header}\n".encode())

    def begin(self, environment: dict[str, Any]) -> None:
        """Write down the methods, repeats and versions that a run begins with."""
        self._write({"run": environment})
        self._start = perf_counter()

    def append(self, row: Row) -> None:
        """Add a row; when this returns it is on the disk."""
        self._write({**asdict(row), _ELAPSED: round(perf_counter() - self._start, 3)})

    def add_problem(self, part: str, method: str, problem: str) -> None:
        """Write down what could not run."""
        self._write({"problem": problem, "of": [part, method]})

    def _write(self, entry: dict[str, Any]) -> None:
        if self.path is not None:
            append_line(self.path, (json.dumps(entry, ensure_ascii=False) + "\n").encode())
        self.add(entry)

    def _continue(self, path: Path) -> bool:
        """Read what earlier runs wrote, and return whether there was one."""
        lines, torn = _entries(path) if path.exists() else ([], False)
        if not lines:
            return False
        self._check(lines[0].get("settings") if lines[0].get("format") == FORMAT else None)
        for line in lines:
            self.add(line)
        if torn:
            whole = path.read_bytes()
            replace_file(path, whole[: whole.rfind(b"\n") + 1])
        return True

    def _check(self, found: dict[str, Any] | None) -> None:
        if found == self.settings:
            return
        differing = [
            f"{name}: {(found or {}).get(name)!r} there, {value!r} now"
            for name, value in self.settings.items()
            if (found or {}).get(name) != value
        ]
        raise SettingsError(
            f"{self.path} holds results with other settings ({'; '.join(differing)}). It is left as it "
            "is: give another --out, or begin anew with --fresh."
        )


@allow.checks(path=allow.PATH)
def read_results(path: Path | str) -> Results:
    """Return the results in a file that `run` wrote.

    Parameters
    ----------
    path : path-like
        A file ``results.jsonl``.

    Returns
    -------
    Results
        All rows, and the problems that no later run has solved.
    """
    lines, _ = _entries(Path(path))
    if not lines or lines[0].get("format") != FORMAT:
        raise SettingsError(f"{path} is not a file of results.")
    return History(lines).results(lines[0]["settings"])


def gathered(settings: dict[str, Any], rows: Sequence[Row], problems: Sequence[str]) -> Results:
    """Return results that count the repeats, methods and seconds of all rows, not of the last run.

    Parts come in the order of the data, repeats by number and methods in the order of the experiment, whichever ran
    first.
    """
    places = [
        {name: place for place, name in enumerate(settings.get(kind, ()))}
        for kind in ("parts", "order")
    ]

    def place(row: Row) -> tuple[int, int, int]:
        part, method = places
        return part.get(row.part, len(part)), row.repeat, method.get(row.method, len(method))

    rows = sorted(rows, key=place)
    counted = {
        "repeats": len({row.repeat for row in rows}),
        "methods": list(dict.fromkeys(row.method for row in rows)),
        "seconds": sum(row.seconds for row in rows),
    }
    return Results(settings | counted, rows, problems)


def _entries(path: Path) -> tuple[list[dict[str, Any]], bool]:
    """Return the complete lines of a file, and whether there is an incomplete one at its end."""
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    entries = []
    for number, line in enumerate(content[:end].splitlines(), start=1):
        try:
            entries.append(json.loads(line))
        except ValueError as error:
            raise SettingsError(
                f"{path}: line {number} is damaged. The file is left as it is: repair the line or "
                "remove it, or begin anew with --fresh."
            ) from error
    return entries, end < len(content)
