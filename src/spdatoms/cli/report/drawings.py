"""Drawings that belong to their page: they have its colours, in dark mode too, and their text is text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from spdatoms._utils.extras import import_extra
from spdatoms.plotting.display import INK, PALE

#: Colours of drawings, and those of the page that take their place.
_COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--paper)",
    INK: "var(--ink)",
    PALE: "var(--pale)",
}
#: Greys of grids.
_PALE_GREY = re.compile(r"#([d-f].)\1\1")


def inline_svg(figure: Any, name: str, caption: str) -> str:
    """Return a matplotlib figure as an element of a page, the same text for the same data.

    Parameters
    ----------
    figure : matplotlib Figure
        The drawing.
    name : str
        A name that no other drawing of the page has.
    caption : str
        What a screen reader says of it.

    Returns
    -------
    str
        An element ``svg``.
    """
    matplotlib = import_extra("matplotlib", extra="plot")
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(content, format="svg", metadata={"Date": None}, transparent=True)
    drawn = content.getvalue().decode()
    for colour, of_page in _COLOURS.items():
        drawn = drawn.replace(colour, of_page)
    drawn = _PALE_GREY.sub("var(--line)", drawn)
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    escape = import_extra("markupsafe", extra="cli").escape
    # Their names are made the drawing's own, because a page has several drawings.
    drawn = re.sub(r'( id="|href="#|url\(#)', rf"\1{name}-", drawn)
    return drawn[drawn.index("<svg") :].replace(
        "<svg", f'<svg role="img" aria-label="{escape(caption)}"', 1
    )


def drawn_figure(
    name: str, caption: str, draw: Callable[[Any], Any], size: tuple[float, float] = (4.8, 3.2)
) -> dict[str, str]:
    """Return a figure of a page: what ``draw`` draws into axes, with its caption."""
    figure = import_extra("matplotlib.figure", extra="plot").Figure(size, layout="constrained")
    draw(figure.add_subplot())
    return {"caption": caption, "drawing": inline_svg(figure, name, caption)}
