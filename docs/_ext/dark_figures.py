"""Figures in light and dark, wide and narrow: each is drawn several times, and pages show the one that fits the reader.

Beside a picture ``name.svg`` or ``name.png`` lies its twin ``name_dark.svg`` or ``name_dark.png``, and perhaps
``name_narrow`` for telephones. Pictures of `docs/paper/results` have no dark twins, but the class ``plot``, and the
style sheet inverts them.
"""

from __future__ import annotations

import colorsys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from docutils import nodes
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

#: The colour of dark pages.
PAPER = "#14181e"
#: Colours that are darker, or have less colour, are mirrored: black becomes white. Others are kept.
_DARK, _GREY = 0.36, 0.25


def dark_colour(colour: Any) -> tuple[float, ...]:
    """Return the colour that has the same part on a dark page."""
    red, green, blue, alpha = to_rgba(colour)
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    if lightness > 0.99:
        return to_rgba(PAPER, alpha)
    if lightness < _DARK or saturation < _GREY:
        lightness = 1.0 - 0.9 * lightness
    return (*colorsys.hls_to_rgb(hue, lightness, saturation), alpha)


def darken(figure: Any) -> None:
    """Give a figure the colours of dark pages; images and what is written on them stay as they are."""
    on_images = {text for ax in figure.axes if ax.images for text in ax.texts}
    for artist in figure.findobj():
        if artist in on_images or isinstance(artist, mpl.image.AxesImage):
            continue
        if isinstance(artist, mpl.text.Text):
            artist.set_color(dark_colour(artist.get_color()))
        elif isinstance(artist, mpl.lines.Line2D):
            # All are read before the first is changed, because markers may follow their line.
            parts = ("markerfacecolor", "markeredgecolor", "color")
            colours = {part: getattr(artist, f"get_{part}")() for part in parts}
            for part, colour in colours.items():
                if str(colour) != "none":
                    getattr(artist, f"set_{part}")(dark_colour(colour))
        elif isinstance(artist, mpl.patches.Patch):
            face, edge = artist.get_facecolor(), artist.get_edgecolor()
            artist.set_facecolor(dark_colour(face))
            artist.set_edgecolor(dark_colour(edge))
        elif isinstance(artist, mpl.collections.Collection) and artist.get_array() is None:
            faces, edges = artist.get_facecolor(), artist.get_edgecolor()
            artist.set_facecolor([dark_colour(face) for face in faces])
            artist.set_edgecolor([dark_colour(edge) for edge in edges])


def twin_of(path: Path, ending: str = "_dark") -> Path:
    """Return the file of the dark twin of a picture, or of another one."""
    return path.with_name(f"{path.stem}{ending}{path.suffix}")


def save(figure: Any, path: Path) -> None:
    """Write a figure and its dark twin."""
    figure.savefig(path, transparent=True)
    darken(figure)
    figure.savefig(twin_of(path), transparent=True)


def scraper(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save the figures of an example as sphinx-gallery does, and their dark twins."""
    from sphinx_gallery.scrapers import matplotlib_scraper

    figures = [plt.figure(number) for number in plt.get_fignums()]
    text: str = matplotlib_scraper(block, variables, settings)
    paths = variables["image_path_iterator"].paths
    for figure, path in zip(figures, paths[len(paths) - len(figures) :], strict=True):
        darken(figure)
        figure.savefig(twin_of(Path(path)), facecolor=PAPER)
    return text


class Twins(SphinxTransform):
    """Puts its twins for narrow screens and for dark pages beside each picture that has some."""

    default_priority = 100

    def apply(self, **options: Any) -> None:
        """Change the page."""
        source = Path(self.app.srcdir)
        page = source / Path(self.env.docname).parent
        for node in list(self.document.findall(_is_picture)):
            if "://" in node["uri"]:
                continue
            shown = [node]
            if _path(node, source, page, "_narrow").exists():
                shown.append(_beside(node, "_narrow", "only-wide", "only-narrow"))
            for one in shown:
                if _path(one, source, page, "_dark").exists():
                    _beside(one, "_dark", "only-light", "only-dark")
                elif _path(one, source, page).parent.name == "results":
                    one["classes"].append("plot")


def _path(node: Any, source: Path, page: Path, ending: str = "") -> Path:
    """Return the file of a picture, or of its twin."""
    uri = twin_of(Path(node["uri"]), ending).as_posix()
    return source / uri[1:] if uri.startswith("/") else page / uri


def _beside(node: Any, ending: str, own: str, other: str) -> Any:
    """Put a twin beside a picture, give both their classes, and return the twin."""
    # A link holds one picture, so it has a twin, too.
    whole = node.parent if isinstance(node.parent, nodes.reference) else node
    copy = whole.deepcopy()
    twin = next(iter(copy.findall(_is_picture)))
    twin["uri"] = twin_of(Path(node["uri"]), ending).as_posix()
    for one, scheme in ((node, own), (twin, other)):
        one["classes"] = [*one.get("classes", []), scheme]
        if "srcset" in one:  # of sphinx-gallery, which writes the first class only
            one["class"] = [" ".join([*(one["class"] or []), scheme])]
            one["srcset"] = one["uri"]
    whole.parent.insert(whole.parent.index(whole) + 1, copy)
    return twin


def _is_picture(node: nodes.Node) -> bool:
    return isinstance(node, nodes.image) or type(node).__name__ == "imgsgnode"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(Twins)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
