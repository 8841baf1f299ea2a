"""Where the rows of a table come from, in words: command, commit, sizes, limits, time and load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from spdatoms.paper.experiments.results import Results

#: What seconds are of: all rows know their processor time, or some do not.
PROCESSOR, ELAPSED = "s of processor time", "s of fits and predictions"
#: Between the seconds from beginning to end, and the number of processes.
PASSED = "s from beginning to end with"
_ONE = {"repeats": "repeat", "training samples": "training sample", "queries": "query"}


def origin(results: Results) -> str:
    """Return sentences that say how results were made.

    Parameters
    ----------
    results : Results
        The results of an experiment.

    Returns
    -------
    str
        Two sentences: the command and what it did, then the versions.
    """
    settings, rows = results.settings, results.rows
    if not _asked_for_all(results):
        # What the last run was asked for is not what made the table.
        repeats = Counter((row.part, row.method) for row in rows).values()
        made = f"Made by `{command(settings | {'asked': None})}` in several runs"
        clauses = [made, _range("repeats", list(repeats))]
    else:
        runs = " in several runs" if len({row.commit for row in rows}) > 1 else ""
        clauses = [f"Made by `{command(settings)}`{runs}"]
    clauses.append(_commits(row.commit for row in rows))
    clauses.append(_range("training samples", [row.n_train for row in rows if row.n_train]))
    clauses.append(_range("queries", [row.n_test for row in rows if row.n_test]))
    limit = settings.get("time_limit")
    clauses.append(f"at most {limit:g} s per method and part" if limit else "no time limit")
    kind = ELAPSED if any(row.processor_seconds is None for row in rows) else PROCESSOR
    clauses.append(f"{settings['seconds']:.0f} {kind}, {_threads(settings.get('n_jobs'))}")
    clauses.append(_elapsed(settings))
    loads = [row.load for row in rows if row.load is not None]
    if loads:
        clauses.append(f"load of the machine {min(loads):.1f} to {max(loads):.1f}")
    return f"{', '.join(filter(None, clauses))}. {_versions(settings)}"


def _asked_for_all(results: Results) -> bool:
    """Return whether the last run was asked for all parts and methods that there are."""
    asked = results.settings.get("asked") or {}
    there = {"parts": results.parts(), "methods": [row.method for row in results.rows]}
    return all(
        not asked.get(name) or set(found) <= set(asked[name]) for name, found in there.items()
    )


def command(settings: dict[str, Any]) -> str:
    """Return the command of a run."""
    words = ["spdatoms reproduce", settings["experiment"]]
    words += ["--data FOLDER"] if settings["data"] == "folder" else []
    asked = settings.get("asked") or {}
    for name in ("methods", "parts"):
        words += [f'--{name} "{",".join(asked[name])}"'] if asked.get(name) else []
    words += [f"--repeats {asked['repeats']}"] if asked.get("repeats") else []
    words += [f"--seed {settings['seed']}"] if settings["seed"] else []
    limit = settings.get("time_limit")
    return " ".join([*words, *([f"--time-limit {limit:g}"] if limit else [])])


def _commits(commits: Iterable[str]) -> str:
    found = sorted({commit for commit in commits if commit})
    return f"commit{'s' if len(found) > 1 else ''} {', '.join(found)}" if found else ""


def _range(what: str, counts: Sequence[int]) -> str:
    """Return a clause such as "3–5 queries", or "1 query"."""
    if not counts:
        return ""
    return f"{from_to(counts)} {what}" if max(counts) > 1 else f"1 {_ONE[what]}"


def from_to(counts: Sequence[int]) -> str:
    """Return "least–greatest" of some numbers, or the number if all are equal."""
    return "–".join(str(count) for count in dict.fromkeys((min(counts), max(counts))))


def repeats_made(counts: Sequence[int], whole: int) -> str:
    """Return how many repeats the rows of a table have, and of how many if that is not all."""
    asked = f" of {whole}" if min(counts) < whole else ""
    return f"{from_to(counts)}{asked} repeats"


def _threads(jobs: int | None) -> str:
    if jobs is None or jobs == 1:
        return "one thread"
    if jobs > 0:
        return f"{jobs} threads"
    return "a thread per processor" if jobs == -1 else f"a thread per processor but {-1 - jobs}"


def _elapsed(settings: dict[str, Any]) -> str:
    """Return how long it took, where all runs came to their end."""
    seconds, processes = settings.get("elapsed"), settings.get("processes", 1)
    by = "one process" if processes == 1 else f"{processes} processes"
    return "" if seconds is None else f"{seconds:.0f} {PASSED} {by}"


def _versions(settings: dict[str, Any]) -> str:
    # Records of earlier versions have numba instead of an instruction set.
    names = ("python", "numpy", "scipy", "scikit-learn", "numba", "instruction set")
    software = [f"{name} {settings[name]}" for name in names if name in settings]
    machine = [settings["machine"]] if "machine" in settings else []
    return ", ".join([*machine, f"spdatoms {settings['version']}", *software]) + "."
