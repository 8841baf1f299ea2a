"""Three sentences about results: what was done, what came out, what to make of it; and what the first page compares.

Figures in sentences are looked up in tables, so that they say what these say.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from spdatoms.paper.reporting.record import Record
from spdatoms.paper.reporting.table import PUBLISHED, number, sign

TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
#: The library's default, and the peer with the best mean over the columns of 'classifiers', which was named before
#: other data were looked at. Where classes are small or channels lack, its sturdier form is the peer.
OURS, PEER = "SPDEnsembleClassifier", "tangent space + LDA LW"
STURDY = "tangent space + LDA pooled"
#: A cell, {table|row|column}; or how many differences of a table, or of some of its rows, are surely positive, surely
#: negative or there at all, {+table}, {-table|rows}, {#table}; or rows whose last cells are so, {>table}, {<table}.
_PLACE = re.compile(r"\{([-+#<>]?)([^{}|]+)(?:\|([^{}|]+))?(?:\|([^{}|]+))?\}")


def three_sentences(record: Record) -> list[str]:
    """Return what was done, what came out, and what to make of it, without those whose cells are not there."""
    first = f"{record.protocol.partition('. ')[0].rstrip('.')}."
    templates = TEXTS["sentences"].get(record.name, [first])
    return [text for template in templates if (text := _filled(template, record))]


def _filled(template: str, record: Record) -> str:
    def fill(place: re.Match[str]) -> str:
        mode, title, row, column = place.groups()
        found = [table for table in record.tables if title in table.title]
        if not mode:
            return found[0].row(row)[column]
        errors = 1.0 if "95 %" in found[0].title else 2.0
        lines = [line for t in found for line in t.lines if not row or row in line.cells[0]]
        if mode in "<>":
            wanted = 1 if mode == ">" else -1
            sure = [line.cells[0] for line in lines if sign(line.cells[-1], errors) == wanted]
            return ", ".join(name for name in sure if name != "mean") or "none"
        cells = [cell for line in lines for cell in line.cells[1:] if cell[:1] in ("+", "-")]
        signs = [sign(cell, errors) for cell in cells]
        return str(len(signs) if mode == "#" else signs.count(1 if mode == "+" else -1))

    try:
        return _PLACE.sub(fill, template)
    except (KeyError, IndexError):
        return ""


def pairs(record: Record) -> list[tuple[str, str, str, str, str]]:
    """Return method, column, published figure, ours and a verdict for the paper's methods; an average alone."""
    found = []
    for table in record.tables:
        part = table.title.removeprefix(f"{record.title}, ").partition(":")[0]
        for line in table.lines:
            method = line.cells[0].removesuffix(" (published)")
            if line.kind != PUBLISHED or not method.startswith("RSR"):
                continue
            said, ours = table.row(line.cells[0]), table.row(method)
            for column in ["average"] if "average" in said else said:
                first, second = number(said[column]), number(ours.get(column, ""))
                if first is not None and second is not None:
                    name = f"{part}, {column}" if part != record.title else column
                    points = f"{abs(second - first):.1f} points"
                    verdict = f"{points} {'higher' if second > first else 'lower'}"
                    verdict = verdict if abs(second - first) > 1.0 else "within a point"
                    found.append((method, name, said[column], ours[column], verdict))
    return found


def to_peer(record: Record) -> dict[str, tuple[str, str, str]]:
    """Return of every column of a comparison, and of their mean, our accuracy, the peer's, and their difference."""
    ours, peer = (record.tables[0].row(name) for name in (OURS, PEER))
    paired = record.table(f"Difference to {PEER}")
    known = {} if paired is None else paired.row(OURS)
    found = {}
    for column, cell in ours.items():
        first, second = number(cell), number(peer.get(column, ""))
        if first is not None and second is not None:
            shown = known.get(column, f"{first - second:+.1f}")
            found[column] = f"{first:.1f}", f"{second:.1f}", shown
    return found


def differences_to_peer(record: Record) -> dict[str, str]:
    """Return the differences of ours to the peer where data are imperfect, by what is imperfect."""
    found = {}
    for table in record.tables:
        cell = table.row(STURDY).get("mean difference", "")
        if (difference := number(cell)) is not None:
            case = ", ".join(table.title.partition(":")[0].split(", ")[:2])
            found[case] = " ".join([f"{-difference:+.1f}", *cell.split(" ")[1:]])
    return found
