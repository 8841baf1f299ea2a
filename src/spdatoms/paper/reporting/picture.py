"""A drawn figure, and empty ones to draw on."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spdatoms._utils.extras import import_extra
from spdatoms.paper.plotting import AccuracyBySizeDisplay

#: As many panels stand one below the other on a narrow screen; more stand in pairs.
_FEW = 3


@dataclass(frozen=True)
class Picture:
    """A drawn figure.

    Parameters
    ----------
    name : str
        The name of its file, without an ending.
    caption : str
        What it shows, in one sentence.
    figure : matplotlib Figure
        The drawing.
    narrow : matplotlib Figure, default=None
        The same for a narrow screen.
    """

    name: str
    caption: str
    figure: Any
    narrow: Any = None

    def render(self, format: str, *, narrow: bool = False) -> bytes:
        """Return the picture as a file, the same bytes for the same data.

        Parameters
        ----------
        format : {"png", "svg"}
            The format of the file.
        narrow : bool, default=False
            The drawing for a narrow screen, if there is one.

        Returns
        -------
        bytes
        """
        buffer = io.BytesIO()
        matplotlib = import_extra("matplotlib", extra="plot")
        with matplotlib.rc_context({"svg.hashsalt": self.name, "svg.fonttype": "path"}):
            metadata = {"Date": None} if format == "svg" else None
            figure = self.narrow if narrow and self.narrow is not None else self.figure
            figure.savefig(buffer, format=format, dpi=150, metadata=metadata)
        return buffer.getvalue()


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure of this size in inches, which belongs to no window."""
    figure = import_extra("matplotlib.figure", extra="plot").Figure
    return figure(figsize=size, layout="constrained")


def wide_and_narrow(
    draw: Callable[[Any, list[Any]], None],
    count: int,
    size: tuple[float, float],
    columns: int,
    share: bool = True,
) -> list[Any]:
    """Return two figures of as many panels: in some columns, and for telephones below each other or in pairs."""
    slim = ((3.2, size[1]), 1) if count <= _FEW else ((1.7, 0.8 * size[1]), 2)
    found = [panels(count, *shape, share) for shape in ((size, columns), slim)]
    for figure, axes in found:
        draw(figure, axes)
    return [figure for figure, _ in found]


def panels(
    count: int, size: tuple[float, float], columns: int, share: bool = True
) -> tuple[Any, list[Any]]:
    """Return a figure and axes of this size in inches, which share their scales row by row."""
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    figure = new_figure((columns * size[0] + 1.2, rows * size[1]))
    axes = (
        figure.subplots(rows, columns, squeeze=False, sharey="row" if share else False)
        .ravel()
        .tolist()
    )
    for ax in axes[count:]:
        ax.remove()
    return figure, axes[:count]


def draw_curves(ax: Any, curves: Mapping[str, Iterable[tuple[float, ...]]]) -> Any:
    """Draw curves of points (x, accuracy) or (x, accuracy, deviation) without a legend, and return the display."""
    columns = {name: list(zip(*points, strict=True)) for name, points in curves.items()}
    axes = range(len(next(iter(columns.values()))))
    display = AccuracyBySizeDisplay(
        *({name: own[i] for name, own in columns.items()} for i in axes)
    )
    display.plot(ax)
    ax.get_legend().remove()
    return display


def legend_below(figure: Any, ax: Any, columns: int, fontsize: float | None = 9) -> None:
    """Draw the legend of some axes below all of them, in fewer columns where there is no room."""
    handles = ax.get_legend_handles_labels()
    columns = columns if figure.get_figwidth() > 6.0 else min(columns, 2)
    figure.legend(
        *handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=fontsize
    )


def title_panel(ax: Any, title: str) -> None:
    """Write the title of a panel, whose row shares the label of the vertical axis."""
    ax.set_title(title, fontsize=9)
    if not ax.get_subplotspec().is_first_col():
        ax.set_ylabel("")
