"""The report of 'compare': accuracies and paired intervals, as a figure and a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spdatoms.cli.comparison import HEADER, Compared
from spdatoms.cli.report.drawings import drawn_figure
from spdatoms.cli.report.page import Rows, table_of, write_report
from spdatoms.plotting.display import INK


def write_comparison_report(path: Path, rows: Sequence[Compared], summary: Rows) -> None:
    """Write which methods were compared, what they reach, and how certain the differences are.

    Parameters
    ----------
    path : Path
        The file.
    rows : sequence of Compared
        The methods, the best first.
    summary : sequence of (name, value)
        What is said first.
    """

    def intervals(ax: Any) -> None:
        places = range(len(rows))
        differences, margins = [r.difference for r in rows], [r.margin for r in rows]
        ax.axvline(0.0, color="0.7", linestyle="--")
        ax.errorbar(differences, places, xerr=margins, fmt="o", color=INK)
        ax.set_yticks(places, [row.method for row in rows])
        ax.invert_yaxis()
        ax.set_xlabel("points")

    caption = (
        "Differences of accuracy to SPDEnsembleClassifier, with 95 % intervals of paired folds."
    )
    figure = drawn_figure("differences", caption, intervals, (6.4, 0.8 + 0.4 * len(rows)))
    table = table_of("All methods", HEADER, [row.cells() for row in rows])
    write_report(path, "A comparison", summary, [figure], [table])
