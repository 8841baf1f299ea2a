"""The reports of 'learn' and 'classify': one file, with what it is about."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from _commands import run, two_classes

pytest.importorskip("jinja2", reason="needs the extra cli")
pytest.importorskip("matplotlib", reason="needs the extra plot")


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.sources, self.cells = [], []
        text = path.read_text(encoding="utf-8")
        self.feed(text)
        assert "prefers-color-scheme: dark" in text
        assert "width=device-width" in text

    def handle_starttag(self, tag, attributes):
        self.sources += [v for k, v in attributes if k in ("src", "href")]

    def handle_data(self, data):
        self.cells.append(data.strip())


@pytest.mark.slow
def test_report_of_a_dictionary(files):
    out = ("--atoms", 5, "--iterations", 3, "--out", files / "m.spdatoms")
    said = run("learn", files / "X.npy", *out, "--report", files / "r.html")
    assert "report" in said
    page = Page(files / "r.html")
    assert all(source.startswith("data:") for source in page.sources)
    assert sum(source.startswith("data:image/svg") for source in page.sources) == 4
    assert "5 atoms of 40 matrices" in page.cells
    assert "The 5 atoms that are used most." in page.cells


@pytest.mark.parametrize("how", ["cv", "test"])
def test_report_of_a_classification(files, how):
    labels = files / "y.csv"
    labels.write_text("\n".join(["<b>$x", "right"][i // 20] for i in range(40)))
    train = ("--train", files / "X.npy", "--train-labels", labels)
    rest = {"cv": ("--cv", 4), "test": ("--test", files / "Z.npy", "--test-labels", labels)}[how]
    said = run("classify", *train, *rest, "--report", files / "r.html")
    accuracy = re.search(r"all 40 ([\d.]+%)", said)[1]
    page = Page(files / "r.html")
    assert f"{accuracy} of 40" in page.cells
    assert "<b>$x" in page.cells  # a label is no markup
    assert sum(source.startswith("data:image/svg") for source in page.sources) == 2


def test_reports_need_labels(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    options = ("--test", files / "Z.npy", "--report", files / "r.html")
    assert "--report needs labels" in run("classify", *train, *options, code=2)


def test_mistakes_are_listed(files):
    y = two_classes()[1]
    y[[3, 30]] = ["right", "left"]
    np.save(files / "wrong.npy", y)
    train = ("--train", files / "X.npy", "--train-labels", files / "wrong.npy")
    run("classify", *train, "--cv", 4, "--report", files / "r.html")
    page = Page(files / "r.html")
    assert "The surest mistakes" in page.cells
    assert {"3", "30"} <= set(page.cells)
