"""The reports of 'learn' and 'classify': one file, with what it is about."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from _commands import run, two_classes
from spdatoms import SPDEnsembleClassifier
from spdatoms.cli.predictions import Predictions
from spdatoms.cli.report.classification import write_classification_report
from spdatoms.cli.report.pictures import Pictures
from spdatoms.storage import load

pytest.importorskip("jinja2", reason="needs the extra cli")
pytest.importorskip("matplotlib", reason="needs the extra plot")


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.sources, self.cells, self.tags = [], [], Counter()
        text = path.read_text(encoding="utf-8")
        self.drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
        self.data = json.loads(found[1]) if found else None
        self.feed(re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL))
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
    assert len(page.drawings) == 3
    assert "5 atoms of 40 matrices" in page.cells
    model = load(files / "m.spdatoms")
    codes = model.transform(np.load(files / "X.npy"))
    assert sorted(item["name"] for item in page.data["items"]) == [f"atom {i}" for i in range(5)]
    for item in page.data["items"]:
        own = codes[:, int(item["name"].split()[1])]
        assert item["lines"] == [f"{np.count_nonzero(own)} of 40 codes use it."]
        for name, value, _ in item["groups"][0]["rows"]:
            assert own[int(name.split("#")[1])] == value


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
    assert len(page.drawings) == 2
    assert page.data["side"] == 4
    wrong = sum("mistakes" in item["kinds"] for item in page.data["items"])
    assert accuracy == f"{100 - 100 * wrong / 40:.2f}%"


@pytest.mark.slow
def test_reasons_are_those_of_the_classifier(files):
    """What is shown of every query is what `explain` says, and its pictures are of these matrices."""
    X, y = two_classes()
    Z = np.load(files / "Z.npy")
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    run("classify", *train, "--test", files / "Z.npy", "--report", files / "r.html")
    page = Page(files / "r.html")
    assert page.drawings == []  # without labels nothing is judged
    found = SPDEnsembleClassifier().fit(X, y).explain(Z, n_atoms=5)
    assert len(page.data["items"]) == len(Z)
    pictures = np.frombuffer(base64.b64decode(page.data["values"]), np.uint8).reshape(-1, 10)
    shown = {}
    for item, one in zip(page.data["items"], found, strict=True):
        assert item["name"].split()[1] == one.prediction
        totals, atoms, channels = (group["rows"] for group in item["groups"])
        contributed = {f"channel {i}": value for i, value in enumerate(one.channels.channels)}
        margin = 0.03 * max(map(abs, contributed.values()))
        assert {name: value for name, value, _ in channels} == pytest.approx(
            contributed, abs=margin
        )
        assert [value for _, value, _ in totals] == sorted(one.totals.tolist(), reverse=True)
        assert [(name, value) for name, value, _ in atoms] == list(one.named())
        shown |= {number: X[i] for i, (_, _, number) in zip(one.atoms, atoms, strict=True)}
    for number, matrix in shown.items():
        correlation = matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1])
        assert abs(pictures[number][1] - (127 + 127 * correlation)) <= 0.5 + 1e-9


def test_pictures_of_large_and_incomplete_matrices():
    """Blocks of channels are averaged, what is missing is marked, and the page stays small."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((5000, 60, 4))
    X = samples @ samples.swapaxes(1, 2) + np.eye(60)
    X[0, 59], X[0, :, 59] = np.nan, np.nan
    pictures = Pictures()
    assert [pictures.add(x) for x in X] == list(range(5000))
    assert pictures.add(X[7]) == 7
    encoded = pictures.encoded()
    assert len(encoded["values"]) < 1_000_000
    assert 10 <= encoded["side"] <= 24
    few = Pictures()
    few.add(X[0])
    few.add(np.eye(60) * np.nan)
    side = few.encoded()["side"]
    values = np.frombuffer(base64.b64decode(few.encoded()["values"]), np.uint8).reshape(2, -1)
    assert side == 24
    assert (values[1] == 255).all()
    assert not (values[0] == 255).any()  # no block of channels is missing as a whole


@pytest.mark.slow
def test_scalps_and_photographs_of_a_thousand_queries_have_room(tmp_path):
    """Each query with five training matrices that no other has, 64 channels, and photographs of pure noise."""
    rng = np.random.default_rng(0)
    variances = rng.uniform(1.0, 2.0, (6000, 64))
    pictures = Pictures(rng.uniform(-1.0, 1.0, (64, 2)))
    for own in variances:
        pictures.add(np.diag(own))
    encoded = pictures.encoded()
    assert len(encoded["scalps"]) + len(encoded["values"]) < 1_000_000
    scalps = np.frombuffer(base64.b64decode(encoded["scalps"]), np.uint8).reshape(6000, 64)
    assert (np.diff(scalps[5][np.argsort(variances[5])].astype(int)) >= 0).all()
    images = pytest.importorskip("PIL.Image")
    noise = rng.integers(0, 256, (40, 30, 3), dtype=np.uint8)
    few = Pictures()
    for k in range(2000):
        images.fromarray(noise).save(tmp_path / f"{k}.png")
        assert few.add(np.eye(2), tmp_path / f"{k}.png") == -2 - k
    sheet = few.encoded()
    assert len(sheet["sheet"]) <= 900_000
    width, height = sheet["tile"]
    assert width / height == pytest.approx(30 / 40, abs=0.05)


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
    names = re.findall(r">(class \d+)</text>", page.drawings[0])
    assert len(names) == 2 * 50
    assert {"class 77", "class 123"} <= set(names)


def test_doubtful_labels_are_listed_up_to_a_bound(tmp_path):
    doubts = [(row, "a", "b", "0.90") for row in range(1000)]
    predictions = Predictions(np.eye(2), np.array(["a", "b"]))
    write_classification_report(tmp_path / "r.html", None, predictions, [], doubts)
    page = Page(tmp_path / "r.html")
    assert "Training labels that are probably wrong: the 50 most doubtful of 1000" in page.cells
    assert page.tags["td"] == 4 * 50


def test_text_in_reports_is_no_command(tmp_path):
    names = np.array(["a\x1b[31m", "b\u202e$x$y"])
    path = tmp_path / "r.html"
    predictions = Predictions(np.eye(2), names)
    write_classification_report(path, names, predictions, [("predicted", "X\x07.npy")])
    page = Page(path)
    assert {"a\\x1b[31m", "b\\u202e$x$y", "X\\x07.npy"} <= set(page.cells)
    text = path.read_text(encoding="utf-8")
    assert not set(text) & set("\x07\x1b\u202e")
    for drawing in page.drawings:
        ElementTree.fromstring(drawing)  # a control character is no XML


def test_reports_need_queries(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    options = ("--save-model", files / "m.spdatoms", "--report", files / "r.html")
    assert "--report needs --test, or --cv" in run("classify", *train, *options, code=2)


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
