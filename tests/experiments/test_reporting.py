"""Reports: tables, files, the page and the record."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from _toy_experiment import Toy
from spdatoms.experiments import read_results, run
from spdatoms.experiments.reporting import Table, narrow, record, report_page, tables, write_folder
from spdatoms.experiments.reporting.table import Line

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")
pytest.importorskip("matplotlib", reason="needs the extra plot")


def test_table_has_means_deviations_and_published_values():
    results = run(Toy(), Path("folder"))
    accuracies, seconds = tables(Toy(), results)
    scores = [row.scores["accuracy"] for row in results.of("", "RSR-S")]
    lines = [line.cells for line in accuracies.lines]
    assert lines[0] == ("RSR-S", f"{np.mean(scores):.1f} ± {np.std(scores):.1f}")
    assert lines[1] == ("RSR-S (published)", "91.2 ± 1.5")
    assert lines[2][0] == "RSR-J"
    assert lines[3] == ("Oracle (published, not run here)", "100.0")
    assert [line.cells[-1] for line in seconds.lines] == ["3", "3"]
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


def test_settings_are_those_of_all_rows(tmp_path):
    run(Toy(), repeats=2, methods=["RSR-S"], out=tmp_path)
    results = run(Toy(), repeats=1, methods=["RSR-J"], out=tmp_path)
    for found in (results, read_results(tmp_path / "results.jsonl")):
        assert found.settings["repeats"] == 2
        assert found.settings["methods"] == ["RSR-S", "RSR-J"]
    title = tables(Toy(), results)[0].title
    assert title == "A toy: accuracy (%), 1–2 of 3 repeats"
    assert title in report_page(Toy(), results)
    assert title in record([(Toy(), results)], "toy")
    assert tables(Toy(), run(Toy(), repeats=4))[0].title.endswith(", 4 repeats")


def test_page_is_self_contained():
    page = report_page(Toy(), run(Toy(), Path("folder"), repeats=2))
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert "91.2 ± 1.5" in page
    for word in ("numpy", "seed", "RSR-J", "SPDSparseClassifier"):
        assert word in page


def test_record_names_every_experiment():
    text = record([(Toy(), run(Toy(), Path("folder"), repeats=1))], "toy")
    assert "## A toy" in text
    assert "| *RSR-S (published)* | *91.2 ± 1.5* |" in text
    assert "Seed 0" in text
