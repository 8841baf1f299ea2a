"""Pages from templates, in which text of users is text, and drawings that belong to their page.

Drawings have the colours of the page, in dark mode too, and their text is text.
"""

from __future__ import annotations

import io
import json
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spdatoms._utils.extras import import_extra
from spdatoms._utils.text import visible, visible_lines
from spdatoms._utils.version import __version__
from spdatoms._utils.writing import replace_file
from spdatoms.plotting.display import INK, PALE

#: Its folder ``templates`` has the style and the script of all pages.
_HERE = "spdatoms.cli.report"
#: Packages whose versions a page names.
_PACKAGES = ("numpy", "scipy", "scikit-learn")
#: Colours of drawings, and those of the page that take their place.
_COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--paper)",
    INK: "var(--ink)",
    PALE: "var(--pale)",
}
#: Greys of grids.
_PALE_GREY = re.compile(r"#([d-f].)\1\1")

Rows = Sequence[tuple[str, str]]


def render_page(template: str, package: str, **content: Any) -> str:
    """Return a page; text is escaped, and characters that are commands are shown.

    Parameters
    ----------
    template : str
        The name of the template.
    package : str
        The package whose folder ``templates`` has it.
    **content : dict
        What the template shows.

    Returns
    -------
    str
        HTML.
    """
    jinja = import_extra("jinja2", extra="cli")
    loaders = [jinja.PackageLoader(name, "templates") for name in (package, _HERE)]
    environment = jinja.Environment(
        loader=jinja.ChoiceLoader(loaders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible_lines(value) if type(value) is str else value,
    )
    page: str = environment.get_template(template).render(**content)
    return page


def write_report(
    path: Path,
    title: str,
    summary: Rows,
    figures: Sequence[dict[str, str]],
    tables: Sequence[dict[str, Any]] = (),
    browser: dict[str, Any] | None = None,
) -> None:
    """Write a page of a summary, figures, tables, and items to click through.

    Parameters
    ----------
    path : Path
        The file.
    title : str
        The heading of the page.
    summary : sequence of (name, value)
        What is said first.
    figures : sequence of dict
        As of `drawn_figure`.
    tables : sequence of dict
        As of `table_of`.
    browser : dict or None, default=None
        As of `items_to_browse`.
    """
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    command = " ".join(("spdatoms", *map(visible, sys.argv[1:])))
    page = render_page(
        "report.html.jinja",
        _HERE,
        title=title,
        summary=summary,
        figures=figures,
        tables=tables,
        browser=browser,
        command=command,
        versions=f"spdatoms {__version__}, Python {platform.python_version()}, {versions}",
    )
    replace_file(path, page.encode())


def table_of(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    """Return a table of a page."""
    named = [list(zip(header, row, strict=True)) for row in rows]
    return {"title": title, "header": header, "rows": named}


def bars(title: str, rows: Sequence[tuple[object, float]]) -> dict[str, Any]:
    """Return a group of an item, see `items_to_browse`: names with numbers, and no pictures."""
    return {"title": title, "rows": [(visible(name), float(value), -1) for name, value in rows]}


def items_to_browse(
    title: str,
    hint: str,
    items: Sequence[dict[str, Any]],
    pictures: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Return a list of a page, one item of which is shown at a time.

    Parameters
    ----------
    title : str
        The heading of the list.
    hint : str
        What its items and pictures are.
    items : sequence of dict
        Each has a ``name`` in the list, ``kinds`` to filter by, ``lines`` of text, a ``picture`` (its number, or −1),
        and ``groups``: a title and rows, each a name, a number and the number of a picture.
    pictures : dict or None, default=None
        As of `Pictures.encoded`.

    Returns
    -------
    dict
    """
    data = json.dumps(
        {"items": items, **(pictures or {})}, ensure_ascii=True, separators=(",", ":")
    )
    markup = import_extra("markupsafe", extra="cli").Markup
    # Inside <script> nothing but "<" could end the data.
    return {"title": title, "hint": hint, "data": markup(data.replace("<", "\\u003c"))}


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
