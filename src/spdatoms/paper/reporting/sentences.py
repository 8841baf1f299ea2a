"""Three sentences about the results of an experiment: what was done, what came out, what to make of it.

All but the first are made from the tables, so that they say what these say.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spdatoms.paper.reporting.record import Record
from spdatoms.paper.reporting.table import MEASURED, MISSING, PUBLISHED, Table, number, sign
from spdatoms.paper.reporting.tables import OURS, PEER, STURDY

TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
_MARK = " (published)"
POINT = 1.0


@dataclass(frozen=True)
class Pair:
    """A published figure and ours."""

    method: str
    column: str
    published: str
    ours: str

    @property
    def difference(self) -> float:
        """Ours minus the published one."""
        return (number(self.ours) or 0.0) - (number(self.published) or 0.0)

    @property
    def verdict(self) -> str:
        """How ours compares."""
        if abs(self.difference) <= POINT:
            return "within a point"
        return f"{abs(self.difference):.1f} points {'higher' if self.difference > 0 else 'lower'}"


def three_sentences(record: Record) -> list[str]:
    """Return what was done, what came out, and what to make of it."""
    make = {
        "scores": _scores,
        "sparsity": _sparsity,
        "comparison": _comparison,
        "curves": _curves,
        "imperfect": _imperfect,
        "seconds": _seconds,
        "descent": _descent,
    }
    done = TEXTS["done"].get(record.name, f"{record.protocol.partition('. ')[0].rstrip('.')}.")
    return [done, *(make[record.kind](record) if record.tables else ())]


def pairs(record: Record) -> list[Pair]:
    """Return the published figures that stand beside ours; the average alone where there is one."""
    found = []
    for table in record.tables if record.kind in ("scores", "sparsity") else ():
        part = table.title.removeprefix(f"{record.title}, ").partition(":")[0]
        for line in table.lines:
            if line.kind != PUBLISHED or not line.cells[0].endswith(_MARK):
                continue
            method = line.cells[0].removesuffix(_MARK)
            said, ours = table.row(line.cells[0]), table.row(method)
            columns = ["average"] if "average" in said else list(said)
            found += [
                Pair(method, f"{part}, {c}" if part != record.title else c, said[c], ours[c])
                for c in columns
                if number(said[c]) is not None and number(ours.get(c, "")) is not None
            ]
    return found


def _signs(cells: Iterable[str]) -> tuple[int, int, int]:
    """Return how many differences are surely positive, how many surely negative, and how many there are."""
    signs = [sign(cell) for cell in cells if number(cell) is not None]
    return signs.count(1), signs.count(-1), len(signs)


def _means(table: Table) -> dict[str, float]:
    """Return the average of every measured row, or the mean of its columns if it has all of them, the best first."""
    found = {}
    for line in table.lines:
        row = table.row(line.cells[0])
        shown = [row["average"]] if "average" in row else list(row.values())
        values = [v for cell in shown if (v := number(cell)) is not None]
        if line.kind == MEASURED and values and len(values) == len(shown):
            found[line.cells[0]] = float(np.mean(values))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _rank(record: Record) -> str:
    means = _means(record.tables[0])
    if not means:
        return ""
    best = next(iter(means))
    if record.reference not in means:
        return f"The best of {len(means)} methods is {best} ({means[best]:.1f} %)"
    place = list(means.values()).index(means[record.reference]) + 1
    own = f"{record.reference} has {means[record.reference]:.1f} %"
    first = "the best" if place == 1 else f"place {place}; the best is {best}, {means[best]:.1f}"
    return f"{own} ({first}) of {len(means)} methods"


def _against_paper(record: Record) -> str:
    if record.embedded:
        return f"The data are not those of the paper, so nothing follows for its figures. {_rank(record)}."
    found = pairs(record)
    if not found:
        return f"The paper prints no figures for this. {_rank(record)} in the mean of the columns."
    higher, lower = (sum(s * p.difference > POINT for p in found) for s in (1, -1))
    quoted = [
        f"{p.method} {p.ours.partition(' ')[0]} for {p.published.partition(' ')[0]} ({p.column})"
        for p in found
        if p.method.startswith("RSR")
    ]
    return (
        f"Of {len(found)} published figures ours are higher by more than a point for {higher}, lower for {lower} and "
        f"within a point for {len(found) - higher - lower}: {'; '.join(quoted)}."
    )


def _scores(record: Record) -> list[str]:
    table = record.table("Difference to ")
    came = _against_paper(record)
    if table is None:
        return [came, "No differences to other methods can be told from it."]
    better, worse, count = _signs(cell for line in table.lines for cell in line.cells[1:])
    other = f"better in {better} and worse in {worse}" if count > 1 else "better" if better else ""
    return [
        came,
        f"Against {record.reference}, in {count} comparisons of another method in a column, the other is {other} "
        "beyond two standard errors (or p < 0.05)."
        if other
        else f"{record.reference} and the other method cannot be told apart.",
    ]


def _sparsity(record: Record) -> list[str]:
    tables = [t for t in record.tables if "learned atoms win" in t.title]
    clauses = []
    for kind in ("random", "k-means"):
        lines = [line for t in tables for line in t.lines if line.cells[0].endswith(f"− {kind}")]
        better, worse, count = _signs(cell for line in lines for cell in line.cells[1:])
        clauses.append(f"{better} of {count} comparisons with {kind} atoms and worse in {worse}")
    made = f"At equal sparsity learned atoms are better beyond two standard errors in {' and in '.join(clauses)}."
    return [_against_paper(record), made] if tables else _scores(record)


def to_peer(record: Record) -> dict[str, tuple[str, str, str]]:
    """Return of every column of a comparison, and of their mean, our accuracy, the peer's, and their difference."""
    ours, peer = (record.tables[0].row(name) for name in (OURS, PEER))
    paired = record.table(f"Difference to {PEER}")
    found = {}
    for column, cell in ours.items():
        values = number(cell), number(peer.get(column, ""))
        if values[0] is not None and values[1] is not None:
            shown = f"{values[0] - values[1]:+.1f}"
            if paired is not None:
                shown = paired.row(OURS).get(column, shown)
            found[column] = f"{values[0]:.1f}", f"{values[1]:.1f}", shown
    return found


def _comparison(record: Record) -> list[str]:
    found = to_peer(record)
    named = record.table(f"Difference to {PEER} in points, ± half")
    best = record.table(f"{record.reference} against")
    came = ""
    if "mean" in found:
        ours, peer, difference = found.pop("mean")
        means = f"{OURS} has {ours} % and {PEER} {peer}, a difference of {difference}"
        came = f"In the mean over {len(found)} data sets {means}."
    if named is not None:
        cells = {column: difference for column, (_, _, difference) in found.items()}
        against, errors = f"Against {PEER}, named before looking, {OURS}", 1.0
        by, mean = "with 95 % confidence", ""
    elif best is not None:
        cells = {line.cells[0]: line.cells[-1] for line in best.lines}
        against, errors = (
            f"Against the best peer of every column, chosen after looking, {record.reference}",
            2.0,
        )
        by, mean = (
            "beyond two standard errors",
            f", {cells.pop('mean', MISSING)} points in the mean",
        )
    else:
        return [came]
    sides = [[name for name, cell in cells.items() if sign(cell, errors) == s] for s in (1, -1)]
    ahead, behind = (", ".join(side) or "none" for side in sides)
    return [came, f"{against} is ahead {by} on {ahead} and behind on {behind}{mean}."]


def _curves(record: Record) -> list[str]:
    clauses, gains = [], []
    for table in (t for t in record.tables if ": mean accuracy" in t.title):
        kind = table.title.partition(":")[0].lower()
        columns = {
            c: {m: v for m in record.methods if (v := number(table.row(m).get(c, ""))) is not None}
            for c in table.header[1:]
        }
        hardest = min(columns, key=lambda c: max(columns[c].values(), default=np.inf))
        best = max(columns[hardest], key=lambda m: columns[hardest][m], default=None)
        if best is not None:
            clauses.append(f"{kind} {hardest}: {best} ({columns[hardest][best]:.1f})")
        gains += [v[OURS] - v[STURDY] for v in columns.values() if OURS in v and STURDY in v]
    came = f"The best at the hardest level of each kind: {'; '.join(clauses)}."
    if not gains:
        return [came]
    won = sum(gain > 0 for gain in gains)
    mean = f"{np.mean(gains):+.1f} points in the mean"
    return [came, f"{OURS} is ahead of {STURDY} at {won} of {len(gains)} levels, {mean}."]


def differences_to_peer(record: Record) -> dict[str, str]:
    """Return the differences of ours to the peer where data are imperfect, by what is imperfect."""
    found = {}
    for table in record.tables:
        cell = table.row(STURDY).get("mean difference", "")
        if (difference := number(cell)) is not None:
            case = ", ".join(table.title.partition(":")[0].split(", ")[:2])
            found[case] = f"{-difference:+.1f}" + cell[len(cell.split(" ")[0]) :]
    return found


def _imperfect(record: Record) -> list[str]:
    found = differences_to_peer(record)
    if not found:
        return []
    ahead, behind, count = _signs(found.values())
    shown = "; ".join(f"{case} {cell}" for case, cell in found.items())
    return [
        f"{record.reference} minus {STURDY}, treated alike, in points: {shown}.",
        f"Beyond two standard errors over data sets it is ahead in {ahead} of {count} cases and behind in {behind}.",
    ]


def _seconds(record: Record) -> list[str]:
    (table,) = record.tables
    ratio, bound = table.header[3], table.header[5]
    measured = {line.cells[0]: table.row(line.cells[0]) for line in table.lines}
    both = {m: row for m, row in measured.items() if number(row[bound]) is not None}
    times = [f"{row[ratio]} times as long as {m}" for m, row in both.items()]
    bounds = [row[bound].removeprefix("> ") for row in both.values()]
    kept = sum((number(row[ratio]) or 0.0) > (number(row[bound]) or 0.0) for row in both.values())
    return [
        f"{record.reference} takes {' and '.join(times)}; by the paper's bounds more than {' and '.join(bounds)}.",
        f"The paper's ratio is reached for {kept} of {len(both)}.",
    ]


def _descent(record: Record) -> list[str]:
    lowest, closed = [], []
    for table in record.tables:
        part, last = table.title.partition(":")[0], table.header[-2]
        values = {line.cells[0]: float(table.row(line.cells[0])[last]) for line in table.lines}
        best = min(values, key=lambda name: values[name])
        lowest.append(f"{part}: {best} ({values[best]:.2f})")
        if {"closed form", "gradient"} <= set(values):
            closed.append(f"{part} {values['closed form']:.2f} and {values['gradient']:.2f}")
    return [
        f"The lowest mean objective at the end, in %: {'; '.join(lowest)}.",
        f"From the same random atoms, the closed form and gradient descent end at: {'; '.join(closed)}.",
    ]
