"""The reports of 'learn' and 'classify': one file, with what it is about."""

from __future__ import annotations

import base64
import re
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from _commands import run, two_classes
from spdatoms.cli._predictions import Predictions
from spdatoms.cli._report import write_classification_report

pytest.importorskip("jinja2", reason="needs the extra cli")
pytest.importorskip("matplotlib", reason="needs the extra plot")


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.sources, self.cells, self.tags = [], [], Counter()
        text = path.read_text(encoding="utf-8")
        self.feed(text)
        assert "prefers-color-scheme: dark" in text
        assert "width=device-width" in text

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_report_of_a_thousand_classes_is_short(tmp_path):
    """Not a million cells, and not a thousand names beside a picture: what is confused most."""
    names = np.array([f"class {i}" for i in range(1000)])
    truth = np.repeat(np.arange(1000), 3)
    probabilities = np.full((3000, 1000), 1e-4)
    probabilities[np.arange(3000), truth] = 0.5
    confused = np.flatnonzero(np.isin(truth, (77, 900)))
    probabilities[confused, 123] = 0.6
    path = tmp_path / "r.html"
    write_classification_report(path, names[truth], Predictions(probabilities, names), [])
    page = Page(path)
    assert path.stat().st_size < 500_000
    assert page.tags["td"] <= 3 * 50 + 3 * 12 + 4 * 12
    assert "The most frequent confusions" in page.cells
    assert "Accuracy: the 50 least of 1000 classes" in page.cells
    assert any("The 50 of 1000 classes with the most mistakes" in cell for cell in page.cells)
    assert page.cells.index("class 77") < page.cells.index("class 0")
    drawings = [source for source in page.sources if source.startswith("data:image/svg")]
    drawn = [base64.b64decode(source.partition(",")[2]).decode() for source in drawings]
    assert drawn[0].count("<!-- class ") == 2 * 50
    assert {"<!-- class 77 -->", "<!-- class 123 -->"} <= set(re.findall("<!--.*?-->", drawn[0]))


def test_text_in_reports_is_no_command(tmp_path):
    names = np.array(["a\x1b[31m", "b\u202e$x$y"])
    path = tmp_path / "r.html"
    predictions = Predictions(np.eye(2), names)
    write_classification_report(path, names, predictions, [("predicted", "X\x07.npy")])
    page = Page(path)
    assert {"a\\x1b[31m", "b\\u202e$x$y", "X\\x07.npy"} <= set(page.cells)
    text = path.read_text(encoding="utf-8")
    assert not set(text) & set("\x07\x1b\u202e")
    for source in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", text):
        ElementTree.fromstring(base64.b64decode(source))  # a control character is no XML


def test_reports_need_labels(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    options = ("--test", files / "Z.npy", "--report", files / "r.html")
    assert "--report needs labels" in run("classify", *train, *options, code=2)


@pytest.mark.slow
def test_mistakes_are_listed(files):
    y = two_classes()[1]
    y[[3, 30]] = ["right", "left"]
    np.save(files / "wrong.npy", y)
    train = ("--train", files / "X.npy", "--train-labels", files / "wrong.npy")
    run("classify", *train, "--cv", 4, "--report", files / "r.html")
    page = Page(files / "r.html")
    assert "The surest mistakes" in page.cells
    assert {"3", "30"} <= set(page.cells)
