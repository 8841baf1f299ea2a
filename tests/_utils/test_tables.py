"""Cells of tables are no formulas, and come back as they were."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spdatoms._utils import tables
from spdatoms._utils.tables import original, write_rows
from spdatoms.cli.formats.labels import read_labels
from spdatoms.cli.formats.writing import write_table


def written(*cells: object) -> list[str]:
    """Return cells as another program reads them."""
    file = io.StringIO(newline="")
    write_rows(file, [cells])
    file.seek(0)
    (row,) = csv.reader(file)
    return row


@pytest.mark.parametrize("first", "=+-@\t\r＝＋－＠")
def test_text_is_no_formula(first):
    assert written(f"{first}cmd|' /C calc'!A0") == [f"'{first}cmd|' /C calc'!A0"]


def test_numbers_and_other_text_stay():
    cells = [-1.5, -2, np.float64(-3), "-4", "+1e5", "left", "it's", "'quoted'", "a=b", "", " "]
    assert written(*cells) == [str(cell) for cell in cells]


@given(st.text(alphabet="'=+-@\t\r\n ab1é＝") | st.text())
def test_every_text_comes_back(text):
    assert original(written(text, "")[0]) == text


def test_labels_come_back_from_tables(tmp_path):
    labels = ["=1+1", "'=1+1", "''@x", "-a", "-1", "'", "it's", "\tx", "@", "+49 30"]
    write_table(tmp_path / "y.csv", {"=name": np.array(labels), "value": -np.ones(len(labels))})
    assert read_labels(tmp_path / "y.csv", "=name", len(labels)).tolist() == labels
    with open(tmp_path / "y.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["'=name", "value"]
    assert rows[1] == ["'=1+1", "-1.0"]


def test_all_tables_are_written_in_one_place():
    source = Path(tables.__file__).parents[1]
    writing = [p.name for p in source.rglob("*.py") if "csv.writer" in p.read_text("utf-8")]
    assert writing == ["tables.py"]
