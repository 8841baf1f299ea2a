"""The figures of the documentation: drawn from recorded tables, in light and dark."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="needs the extra docs")
mpl = pytest.importorskip("matplotlib", reason="needs the extra docs")
mpl.use("Agg")

DOCS = Path(__file__).resolve().parent.parent / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="needs the folder docs of the checkout")


@pytest.fixture(autouse=True)
def _extensions(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])


@pytest.fixture
def record():
    import result_figures

    return result_figures.recorded()


def test_tables_are_read(record):
    import result_figures

    found = result_figures.table(record, "Classifiers side by side")
    page = (DOCS / "paper" / "results" / "classifiers.md").read_text(encoding="utf-8")
    line = next(one for one in page.splitlines() if one.startswith("| MDM | "))
    cells = [cell.strip(" *").replace("\u00a0", " ") for cell in line.strip("|").split("|")]
    assert list(found["MDM"].values()) == cells[1:]
    broken = result_figures.table(record, "Broken channels: mean", 2)
    assert ("RSR-S", "told") in broken
    assert result_figures.number("-2.7 ± 0.9") == -2.7
    with pytest.raises(AssertionError, match="has no table Nothing"):
        result_figures.table(record, "Nothing")


def test_figures_show_the_figures(record):
    """The dots of the first figure are the means of the table, the best above."""
    import result_figures

    figure = result_figures.which_method(record)
    table = result_figures.table(record, "Classifiers side by side")
    means = sorted(result_figures.number(row["mean"]) for row in table.values())
    dots = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert dots == means
    mpl.pyplot.close(figure)


def test_the_figure_of_the_first_page_shows_what_is_recorded():
    """Its description holds the figures that it was drawn from: after a new run it must be drawn again."""
    image = pytest.importorskip("PIL.Image", reason="needs the extra vision")
    import result_figures

    shown = result_figures.leads(result_figures.recorded_by_name()), result_figures.speeds()
    for name in ("where.png", "where_narrow.png"):
        with image.open(DOCS / "paper" / "results" / name) as picture:
            assert json.loads(picture.text["Description"]) == json.loads(json.dumps(shown))


def test_the_manuscript_says_what_is_recorded():
    import result_figures

    text = result_figures.MANUSCRIPT.read_text(encoding="utf-8")
    said = result_figures.comparison(result_figures.recorded_by_name(), result_figures.speeds())
    assert f"\n{said}\n" in text
    assert result_figures.renewed(text, said) == text
    body = text.split("---\n", 2)[2]
    assert 750 <= len(re.sub(r"<!--.*?-->", "", body).split()) <= 1000
    cited = set(re.findall(r"@(\w+)", body))
    entries = result_figures.MANUSCRIPT.with_suffix(".bib").read_text(encoding="utf-8")
    assert cited == set(re.findall(r"^@\w+\{(\w+),", entries, flags=re.M))


def test_dark_figures_keep_their_contrast():
    import dark_figures

    figure = mpl.figure.Figure()
    ax = figure.subplots()
    (dots,) = ax.plot([1, 2], "k.")
    ax.text(0, 0, "text", color="white")
    dark_figures.darken(figure)
    paper = mpl.colors.to_rgba(dark_figures.PAPER)
    assert figure.get_facecolor() == ax.get_facecolor() == paper
    for colour in (dots.get_color(), dots.get_markerfacecolor(), ax.xaxis.label.get_color()):
        assert min(mpl.colors.to_rgb(colour)) > 0.9
    orange = mpl.colors.to_rgba("#c2571a")
    assert dark_figures.dark_colour(orange) == pytest.approx(orange)
