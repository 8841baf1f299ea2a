"""The report of 'compare': accuracies and paired intervals, and every method to click through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spdatoms.cli.comparison import HEADER, RECOMMENDED, Compared, class_accuracies
from spdatoms.cli.report.drawings import drawn_figure
from spdatoms.cli.report.page import Rows, bars, items_to_browse, table_of, write_report
from spdatoms.cli.show import counted
from spdatoms.plotting.display import INK

#: The greatest numbers of classes, confusions and matrices that are listed for a method.
_LISTED = 20


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
    figure = drawn_figure("differences", caption, intervals, (5.0, 0.8 + 0.4 * len(rows)))
    table = table_of("All methods", HEADER, [row.cells() for row in rows])
    hint = (
        "Which folds, classes and matrices make the difference? Matrices are named by their rows."
    )
    browser = items_to_browse("One method at a time", hint, [_item(row) for row in rows])
    write_report(path, "A comparison", summary, [figure], [table], browser)


def _item(row: Compared) -> dict[str, Any]:
    """Return what is shown of a method: its folds, its classes, what it confuses, and where it differs."""
    accuracy, difference = row.cells()[1:3]
    lines = [f"Accuracy {accuracy} %, {row.seconds:.2g} s of processor time per fold."]
    if row.method != RECOMMENDED:
        lines.append(f"Difference to {RECOMMENDED}: {difference} points.")
        lines.append(
            f"It has {_named(row.gained)} right more often, and {_named(row.lost)} less often."
        )
    shares = class_accuracies(row.confusions)[1].items()
    worst = sorted(((c, 100.0 * share) for c, share in shares), key=lambda one: one[1])[:_LISTED]
    mistakes = Counter({pair: n for pair, n in row.confusions.items() if pair[0] != pair[1]})
    return {
        "name": f"{row.method} {row.accuracy:.1f}",
        "kinds": [],
        "lines": lines,
        "picture": -1,
        "groups": [
            bars("Accuracy of folds (%)", [(f"fold {i}", v) for i, v in enumerate(row.folds, 1)]),
            bars("Accuracy of classes (%), the least first", worst),
            bars(
                "Taken for another class",
                [(f"{label} as {other}", n) for (label, other), n in mistakes.most_common(_LISTED)],
            ),
        ],
    }


def _named(rows: Sequence[int]) -> str:
    """Return how many matrices these are, and the first of them."""
    shown = ", ".join(f"#{row}" for row in rows[:_LISTED])
    more = ", …" if len(rows) > _LISTED else ""
    return counted(len(rows), "matrix", "matrices") + (f" ({shown}{more})" if rows else "")
