"""Reports: tables, files, the page and the record."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from _toy_experiment import Toy, two_kinds
from spdatoms.paper.experiments import Method, Published, Results, Row, read_results, run
from spdatoms.paper.reporting import (
    Table,
    narrow,
    remarks,
    report_page,
    tables,
    to_markdown,
    write_folder,
    write_record,
)
from spdatoms.paper.reporting.comparison import difference, mcnemar
from spdatoms.paper.reporting.descent import descent_tables
from spdatoms.paper.reporting.figures import pictures
from spdatoms.paper.reporting.origin import PASSED, PROCESSOR, origin
from spdatoms.paper.reporting.pages import first_page, page
from spdatoms.paper.reporting.record import read_record, record_of
from spdatoms.paper.reporting.table import HIGH, LOW, PUBLISHED, Line

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")
pytest.importorskip("matplotlib", reason="needs the extra plot")


def test_table_has_means_deviations_and_published_values():
    results = run(Toy(), Path("folder"))
    accuracies, differences, nonzeros = tables(Toy(), results)
    scores = [row.scores["accuracy"] for row in results.of("", "RSR-S")]
    lines = [line.cells for line in accuracies.lines]
    assert lines[0] == ("RSR-S", f"{np.mean(scores):.1f} ± {np.std(scores):.1f}")
    assert lines[1] == ("RSR-S (published)", "91.2 ± 1.5")
    assert lines[2][0] == "RSR-J"
    assert lines[3] == ("Oracle (published, not run here)", "100.0")
    others = [row.scores["accuracy"] for row in results.of("", "RSR-J")]
    paired = np.subtract(others, scores)
    error = np.std(paired, ddof=1) / np.sqrt(3)
    assert differences.lines[0].cells == ("RSR-J", f"{paired.mean():+.1f} ± {error:.1f}")
    assert [line.cells[0] for line in nonzeros.lines] == ["RSR-S", "RSR-J"]
    # Nothing was published of the embedded data.
    embedded = tables(Toy(), run(Toy(), repeats=1))[0]
    assert [line.cells[0] for line in embedded.lines] == ["RSR-S", "RSR-J"]


def test_wide_tables_are_cut_into_columns():
    cells = ("a method", "12.0 ± 3.4", "56.0 ± 7.8", "9.0 ± 0.1")
    wide = Table("title", ("method", "5c", "10", "16c"), (Line(cells),))
    assert narrow(wide, 80) == [wide]
    first, second = narrow(wide, 40)
    assert (first.header, second.header) == (("method", "5c", "10"), ("method", "16c"))
    assert second.lines[0].cells == ("a method", "9.0 ± 0.1")


def test_the_best_of_every_column_is_bold():
    lines = (
        Line(("a", "90.0 ± 2.0", "7.1", "5.0", "–")),
        Line(("b", "90.0 ± 1.0", "6.9", "5.0", "0.2 + 3")),
        Line(("published", "99.0", "1.0", "9.0", "–"), PUBLISHED),
        Line(("1-NN c", "80.0", "10.0", "5.0", "–")),
    )
    table = Table("", ("method", "%", "s", "same", "free"), lines, ("", HIGH, LOW, HIGH, ""))
    assert table.best_cells() == {(0, 1), (1, 1), (1, 2)}
    text = to_markdown(table).replace("\N{NO-BREAK SPACE}", "_").splitlines()
    assert text[2:] == [
        "| a | **90.0_±_2.0** | 7.1 | 5.0 | – |",
        "| b | **90.0_±_1.0** | **6.9** | 5.0 | 0.2_+_3 |",
        "| *published* | *99.0* | *1.0* | *9.0* | *–* |",
        "| 1-NN c | 80.0 | 10.0 | 5.0 | – |",
    ]


def test_marks_of_markdown_are_escaped_but_for_code():
    line = Line(("a|b", "seq/<name>/*.png", "see `f(*a)`"))
    text = to_markdown(Table("", ("x", "y", "z"), (line,)))
    assert text.splitlines()[2] == r"| a\|b | seq/\<name>/\*.png | see `f(*a)` |"


def test_notes_are_footnotes_and_asterisks():
    notes = {(0, 1): ("a: 3 of 5 repeats",), (1, 1): ("b: few queries", "a: 3 of 5 repeats")}
    table = Table("", ("method", "%"), (Line(("a", "1.0")), Line(("b", "2.0"))), notes=notes)
    _, _, first, second, _, *footnotes = to_markdown(table, "toy").splitlines()
    assert (first, second) == ("| a | 1.0[^toy-1] |", "| b | 2.0[^toy-2][^toy-1] |")
    assert footnotes == ["[^toy-1]: a: 3 of 5 repeats.", "", "[^toy-2]: b: few queries."]
    (shown,) = narrow(table, 80)
    assert [line.cells[1] for line in shown.lines] == ["1.0*", "2.0*"]


def page_of(experiment, results):
    return page(record_of(experiment, results))


@pytest.mark.slow
def test_methods_are_explained_and_fewer_repeats_stand_in_a_footnote(tmp_path):
    run(Toy(), repeats=2, methods=["RSR-S"], out=tmp_path)
    results = run(Toy(), repeats=1, methods=["RSR-J"], out=tmp_path)
    known = [Noted(), Renamed()]
    write_record(tmp_path / "results.md", [(experiment, results) for experiment in known], known)
    first, second = ((tmp_path / "results" / f"{e.name}.md").read_text() for e in known)
    assert "- **RSR-J**: with Jeffrey's kernel" in first
    # The second experiment means something else by the name.
    assert "- **RSR-J**: with another kernel" in second
    assert "[^toy-0-1]: RSR-J: 1 of 2 repeats." in first
    assert "- RSR-J: 1 of 2 repeats" not in first


@pytest.mark.slow
def test_files_hold_the_results(tmp_path):
    results = run(Toy(), Path("folder"), repeats=2, out=tmp_path)
    files = write_folder(Toy(), results, tmp_path)
    assert {path.name for path in files} == {
        "results.json",
        "results.csv",
        "accuracy.png",
        "accuracy.svg",
        "report.html",
    }
    document = json.loads((tmp_path / "results.json").read_text())
    means = {s["method"]: s["scores"]["accuracy"] for s in document["summaries"]}
    assert means == {s.method: s.scores["accuracy"] for s in results.summaries()}
    assert document["settings"]["seed"] == 0
    with open(tmp_path / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == [
        pytest.approx(row.scores["accuracy"], rel=1e-5) for row in results.rows
    ]
    assert Image.open(tmp_path / "accuracy.png").size[0] > 300


@pytest.mark.slow
def test_settings_are_those_of_all_rows(tmp_path):
    run(Toy(), repeats=2, methods=["RSR-S"], out=tmp_path)
    results = run(Toy(), repeats=1, methods=["RSR-J"], out=tmp_path)
    for found in (results, read_results(tmp_path / "results.jsonl")):
        assert found.settings["repeats"] == 2
        assert found.settings["methods"] == ["RSR-S", "RSR-J"]
        assert remarks(Toy(), found) == ["RSR-J: 1 of 2 repeats"]
    title = tables(Toy(), results)[0].title
    assert title == "A toy: accuracy (%), 1–2 of 3 repeats"
    assert title in report_page(Toy(), results)
    assert title in page_of(Toy(), results)
    assert tables(Toy(), run(Toy(), repeats=4))[0].title.endswith(", 4 repeats")


def test_report_is_self_contained():
    page = report_page(Toy(), run(Toy(), Path("folder"), repeats=2))
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert '<svg role="img"' in page
    assert "91.2 ± 1.5" in page
    for word in ("numpy", "seed", "RSR-J", "SPDSparseClassifier"):
        assert word in page


def test_rows_of_earlier_runs_are_not_said_to_be_of_the_last():
    results = run(Toy(), Path("folder"), repeats=2)
    for asked in ({"parts": ["another part"], "repeats": 1}, {"methods": ["RSR-S"]}):
        later = dataclasses.replace(results, settings=results.settings | {"asked": asked})
        text = page_of(Toy(), later)
        assert "Made by `spdatoms reproduce toy --data FOLDER` in several runs, 2 repeats" in text
        assert "another part" not in text


class Sizes(Toy):
    name, title = "sizes", "Toys by size"

    def load(self, folder, on_error="raise"):
        return {size: two_kinds(int(size)) for size in ("9", "10", "20")}


def test_the_same_text_whatever_ran_first(tmp_path):
    """Parts and methods come in their own order, and a run that was resumed is written as one that was not."""
    for parts in (["20"], ["9", "20"], None):
        for methods in (["RSR-J"], None):
            resumed = run(Sizes(), repeats=2, parts=parts, methods=methods, out=tmp_path)
    assert resumed.parts() == ["9", "10", "20"]
    text = page_of(Sizes(), resumed)
    assert page_of(Sizes(), read_results(tmp_path / "results.jsonl")) == text
    assert without_times(page_of(Sizes(), run(Sizes(), repeats=2))) == without_times(text)


def without_times(text: str) -> str:
    seconds, load = rf"\d+ ({PROCESSOR}|{PASSED})", r"load of the machine [\d.]+ to [\d.]+"
    rest, found = re.subn(f"{seconds}|{load}", "", text)
    assert found == 3
    return rest


def test_page_has_tables_sentences_and_origin():
    results = run(Toy(), Path("folder"), repeats=2)
    text = page_of(Toy(), results)
    assert text.startswith("# A toy\n\nHalf of them are known.\n")
    assert "| *RSR-S (published)* | *91.2\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}1.5* |" in text
    seconds = f"{results.settings['seconds']:.0f}"
    assert "Made by `spdatoms reproduce toy --data FOLDER --repeats 2`" in text
    assert f"20 training samples, 20 queries, no time limit, {seconds} s of processor time" in text


def test_origin_names_what_ran_and_how():
    results = run(Toy(), repeats=1, methods=["rsr-s", "RSR-S"])
    assert [row.method for row in results.rows] == ["RSR-S"]
    assert 'Made by `spdatoms reproduce toy --methods "RSR-S" --repeats 1`, ' in origin(results)
    for jobs, words in (
        (-1, "a thread per processor,"),
        (-2, "processor but 1,"),
        (2, "2 threads"),
    ):
        settings = results.settings | {"n_jobs": jobs}
        assert words in origin(dataclasses.replace(results, settings=settings))
    rows = [dataclasses.replace(row, n_test=1, commit=c) for row in results.rows for c in "ab"]
    text = origin(dataclasses.replace(results, rows=rows))
    assert "in several runs, commits a, b, " in text
    assert " 1 query, " in text


def test_objectives_of_different_length():
    learned = {"short": [[9.0, 8.0]], "long": [[9.0, 8.0, 7.0, 6.0, 5.0, 4.0], [9.0, 6.0]]}
    rows = [
        Row("Stein", name, i, 0, "", {}, 0.0, 0.0, {"objective": objective})
        for name, objectives in learned.items()
        for i, objective in enumerate(objectives)
    ]
    methods = {name: Method(name, lambda setting: None) for name in learned}
    experiment = SimpleNamespace(methods=lambda: methods, repeats=2)
    (table,) = descent_tables(experiment, Results({}, rows))
    assert table.header == ("method", "first atoms", "after 1", "after 3", "lowest in")
    assert [line.cells[1:] for line in table.lines] == [
        ("9.00", "8.00", "8.00", "0 of 1"),
        ("9.00", "7.00", "5.00", "2 of 2"),
    ]


class Noted(Toy):
    notes = ("with Stein's kernel", "with Jeffrey's kernel")

    def methods(self):
        pairs = zip(super().methods().values(), self.notes, strict=True)
        return {method.name: dataclasses.replace(method, note=note) for method, note in pairs}


class Renamed(Noted):
    name, title, notes = (
        "renamed",
        "Of the same names",
        ("with Stein's kernel", "with another kernel"),
    )


class Second(Toy):
    name, title, repeats = "second", "Another toy", 2
    published = (Published("Oracle", {"accuracy": 99.5}, cited=True, why="An oracle"),)
    missing = (("a third kind", "Data of it"),)


class Absent(Toy):
    name, title, wants = "absent", "A toy of others", "a folder of theirs"


@pytest.mark.slow
def test_pages_are_renewed_one_by_one(tmp_path):
    path, known = tmp_path / "results.md", [Toy(), Second(), Absent()]
    folder = tmp_path / "results"
    first, second = run(Toy(), Path("folder")), run(Second(), Path("folder"))
    write_record(path, [(known[1], second)], known)
    alone = (folder / "second.md").read_text()
    assert "[Another toy](results/second.md)" in path.read_text()
    assert "results/toy.md" not in path.read_text()
    write_record(path, [(known[0], first)], known)
    both = path.read_text()
    # The page that was there stays to the byte, and comes after the new one.
    assert (folder / "second.md").read_text() == alone
    assert both.index("results/toy.md") < both.index("results/second.md")
    # Written again without results, and from an empty folder, the same comes out.
    (folder / "toy.md").unlink()
    write_record(path, [], known)
    whole = tmp_path / "whole" / "results.md"
    write_record(whole, [(known[0], first), (known[1], second)], known)
    assert path.read_text() == whole.read_text() == both
    for name in ("toy", "second"):
        written = [root / "results" / f"{name}.md" for root in (tmp_path, tmp_path / "whole")]
        assert written[0].read_text() == written[1].read_text()
    assert "![" in alone
    for file in ("toy-accuracy.png", "toy-accuracy_narrow.png"):
        assert (folder / file).stat().st_size > 1000


def test_first_page_says_what_is_reproduced_and_what_is_not():
    known = [Toy(), Second(), Absent()]
    results = run(Toy(), Path("folder"), repeats=2)
    toy = dataclasses.replace(record_of(known[0], results), seconds=7200.0, elapsed=3600.0)
    second = dataclasses.replace(toy, name="second", title="Another toy")
    text = first_page([toy, second], known, "results")
    assert "takes 4.0 hours of one processor, and took 2.0 hours." in text
    killed = dataclasses.replace(second, elapsed=None)
    assert "takes 4.0 hours of one processor.<" in first_page([toy, killed], known, "results")
    mean = np.mean([row.scores["accuracy"] for row in results.of("", "RSR-S")])
    (row,) = re.findall(r"^\| \[A toy\]\(results/toy.md\) \| RSR-S .*$", text, flags=re.M)
    assert f"| {mean:.1f}" in row
    verdict = f"{abs(mean - 91.2):.1f} points {'higher' if mean > 91.2 else 'lower'}"
    assert row.endswith(f"| {verdict} |")
    assert "| A toy of others |  |  | yes | – | not run: the data are not at hand |" in text
    table = text.partition("What is not reproduced")[2].partition("</details>")[0]
    assert "| Another toy | Oracle | 99.5 | An oracle |" in table
    assert "| Another toy | a third kind | – | Data of it |" in table
    published = "91.2\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}1.5"
    assert f"| A toy of others | RSR-S | {published} | The data: a folder of theirs |" in table
    assert "| A toy |" not in table


def test_what_a_page_shows_is_read_as_it_was_written(tmp_path):
    results = run(Toy(), Path("folder"), repeats=2)
    table = Table(
        "t",
        ("method", "%"),
        (Line(("a", "1.0 ± 2.0"), PUBLISHED),),
        ("", LOW),
        {(0, 1): ("x", "y")},
    )
    record = record_of(Toy(), results, pictures(Toy(), results))
    record = dataclasses.replace(record, tables=(*record.tables, table))
    record.write(tmp_path / "toy.json")
    assert read_record(tmp_path / "toy.json") == record


# --- differences and sparsity ------------------------------------------------------------------------


def test_mcnemar_against_its_definition():
    assert mcnemar([100.0, 0.0, -100.0, 0.0]) == 1.0
    assert mcnemar([0.0, 0.0]) == 1.0
    # Five queries that one method alone has right, none the other way round: 2·2⁻⁵.
    assert mcnemar([100.0] * 5 + [0.0] * 20) == pytest.approx(2 * 0.5**5)
    assert difference({"a": 100.0}, {"b": 0.0}, queries=True) == "–"
    zeros, right = ({str(i): value for i in range(20)} for value in (0.0, 100.0))
    assert difference(right, zeros, queries=True) == "+100.0 (p < 0.001)"
    assert difference(right, right, queries=True) == "+0.0 (p = 1)"


class Sparsity(Toy):
    """Curves against non-zeros: learned atoms, random ones, and codes with a number of their own."""

    name, table, figure = "sparsity", "sparsity", "sparsity"

    def methods(self):
        names = ("RSR-S learned", "RSR-S random", "Tensor dictionary")
        return {name: Method(name, lambda setting: None) for name in names}


def sparse_rows():
    levels = ("2", "5", "10", "20", "50")
    for repeat in range(2):
        learned = {level: [60.0 + i + repeat, float(level)] for i, level in enumerate(levels)}
        random = {level: [58.0 + 2 * i, float(level) + 0.5] for i, level in enumerate(levels)}
        own = {"0": [50.0 + repeat, 14.0]}
        for name, curve in zip(Sparsity().methods(), (learned, random, own), strict=True):
            accuracy, nonzeros = list(curve.values())[-1]
            extra = {"curve": curve, "nonzeros": nonzeros}
            yield Row("104", name, repeat, 0, "", {"accuracy": accuracy}, 1.0, 1.0, extra)


def test_accuracy_against_nonzeros():
    settings = {"data": "folder", "repeats": 2, "experiment": "sparsity"}
    results = Results(settings, list(sparse_rows()))
    accuracies, curves, pairs, nonzeros = tables(Sparsity(), results)
    assert accuracies.lines[0].cells == ("RSR-S learned", "64.5 ± 0.5")
    assert curves.header[1:3] == ("2 (2.0–2.5)", "5 (5.0–5.5)")
    cells = [line.cells for line in curves.lines]
    assert cells[0][:3] == ("RSR-S learned", "60.5 ± 0.5", "61.5 ± 0.5")
    assert cells[2] == ("Tensor dictionary", *["–"] * 5, "50.5 ± 0.5 (14.0)", "2")
    # 60, 61 against 58; 64, 65 against 66.
    assert pairs.lines[0].cells[:2] == ("RSR-S learned − random", "+2.5 ± 0.5 (2 of 2)")
    assert pairs.lines[0].cells[-1] == "-1.5 ± 0.5 (0 of 2)"
    assert [line.cells[1] for line in nonzeros.lines] == ["50.0", "50.5", "14.0"]
    assert [picture.name for picture in pictures(Sparsity(), results)] == [
        "accuracy-by-size",
        "accuracy-by-nonzeros",
    ]
