"""A drawn figure, and empty ones to draw on."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from spdatoms._utils.extras import import_extra
from spdatoms.paper.plotting import AccuracyBySizeDisplay

#: At most this number of panels stand side by side.
_IN_A_ROW = 3
#: Up to this number they stand one below the other on a narrow screen; more stand in pairs there.
_FEW = 3
#: From this width on, in inches, a legend has all its columns.
WIDE = 6.0
#: What a panel is about.
Key = TypeVar("Key")


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


def panelled(
    name: str,
    caption: str,
    draw: Callable[[Any, Key], None],
    keys: Sequence[Key],
    size: tuple[float, float],
    *,
    legend: int = 0,
    fontsize: float = 9,
    share: bool = True,
) -> Picture:
    """Return a picture with a panel for every key, three in a row, for telephones below each other or in pairs.

    The legend below them, in some columns, has what any of them shows. Panels of a row share the
    scale of their vertical axes if they are to ``share`` it.
    """
    figures = []
    slim = ((3.2, size[1]), 1) if len(keys) <= _FEW else ((1.7, 0.8 * size[1]), 2)
    for (width, height), most in ((size, _IN_A_ROW), slim):
        columns = min(most, len(keys))
        rows = math.ceil(len(keys) / columns)
        figure = new_figure((columns * width + 1.2, rows * height))
        grid = figure.subplots(rows, columns, squeeze=False, sharey="row" if share else False)
        axes = grid.ravel().tolist()
        for ax in axes[len(keys) :]:
            ax.remove()
        for ax, key in zip(axes, keys, strict=False):
            draw(ax, key)
        if legend:
            shown: dict[str, Any] = {}
            for ax in axes[: len(keys)]:
                for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
                    shown.setdefault(label, handle)
            handles = list(shown.values())
            fitting = legend if figure.get_figwidth() >= WIDE else min(legend, 2)
            legend_below(figure, handles, fitting, fontsize)
        figures.append(figure)
    return Picture(name, caption, *figures)


def legend_below(figure: Any, handles: Sequence[Any], columns: int, fontsize: float = 9) -> None:
    """Draw one legend below all panels."""
    place, style = "outside lower center", {"frameon": False, "fontsize": fontsize}
    figure.legend(handles=handles, loc=place, ncols=columns, **style)


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


def title_panel(ax: Any, title: str) -> None:
    """Write the title of a panel, whose row shares the label of the vertical axis."""
    ax.set_title(title, fontsize=9)
    if not ax.get_subplotspec().is_first_col():
        ax.set_ylabel("")
