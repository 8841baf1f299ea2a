"""What pages show of the results of an experiment, stored beside them: pages are written from it alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spdatoms._utils.writing import replace_file
from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results
from spdatoms.paper.reporting.origin import origin
from spdatoms.paper.reporting.picture import Picture
from spdatoms.paper.reporting.table import Line, Table
from spdatoms.paper.reporting.tables import remarks, tables


@dataclass(frozen=True)
class Record:
    """What a page shows.

    Parameters
    ----------
    name, title, protocol : str
        Those of the experiment when it ran.
    kind : str
        The kind of its tables.
    embedded : bool
        Whether other data stand in for those of the paper.
    note : str
        How the data differ from those of the paper.
    methods : dict of str to str
        What the methods are that ran, by name.
    tables : tuple of Table
        The tables.
    figures : dict of str to str
        The captions of the figures by file.
    remarks : tuple of str
        Sentences below the tables.
    origin : str
        Where the rows come from.
    seconds : float
        The processor time.
    elapsed : float or None
        The seconds from beginning to end, if they are known.
    """

    name: str
    title: str
    protocol: str
    kind: str
    embedded: bool
    note: str
    methods: dict[str, str]
    tables: tuple[Table, ...]
    figures: dict[str, str]
    remarks: tuple[str, ...]
    origin: str
    seconds: float
    elapsed: float | None

    def table(self, beginning: str) -> Table | None:
        """Return the first table whose title begins so, if there is one."""
        return next((table for table in self.tables if table.title.startswith(beginning)), None)

    def write(self, path: Path) -> None:
        """Write it as JSON, a row of a table per line."""
        document = asdict(self) | {"tables": [_packed(table) for table in self.tables]}
        replace_file(path, f"{json.dumps(document, indent=1, ensure_ascii=False)}\n".encode())


def read_record(path: Path) -> Record:
    """Return what `Record.write` wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    found["tables"] = tuple(_unpacked(table) for table in found["tables"])
    return Record(**found | {"remarks": tuple(found["remarks"])})


def record_of(experiment: Experiment, results: Results, drawn: Sequence[Picture] = ()) -> Record:
    """Return what a page shows of results and figures."""
    shown = tuple(tables(experiment, results))
    below = {note for table in shown for notes in table.notes.values() for note in notes}
    methods = experiment.methods()
    return Record(
        name=experiment.name,
        title=experiment.title,
        protocol=experiment.protocol,
        kind=experiment.table,
        embedded=results.embedded,
        note=experiment.embedded if results.embedded else experiment.caveat,
        methods={name: methods[name].note for name in results.ran(methods)},
        tables=shown,
        figures={f"{experiment.name}-{one.name}.png": one.caption for one in drawn},
        remarks=tuple(text for text in remarks(experiment, results) if text not in below),
        origin=origin(results),
        seconds=round(results.settings["seconds"], 1),
        elapsed=results.settings.get("elapsed"),
    )


def _packed(table: Table) -> dict[str, Any]:
    rows = [table.header, table.best, *((line.kind, *line.cells) for line in table.lines)]
    notes = [[*place, *notes] for place, notes in table.notes.items()]
    return {"title": table.title, "rows": ["\t".join(row) for row in rows], "notes": notes}


def _unpacked(packed: dict[str, Any]) -> Table:
    header, best, *rows = (tuple(row.split("\t")) for row in packed["rows"])
    notes = {(i, j): tuple(notes) for i, j, *notes in packed["notes"]}
    lines = tuple(Line(row[1:], row[0]) for row in rows)
    return Table(packed["title"], header, lines, () if best == ("",) else best, notes)
