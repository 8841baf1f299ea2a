"""Tables as text, with commas, semicolons or tabs between the columns; no spreadsheet runs their cells.

A spreadsheet takes a cell that begins with "=", "+", "-" or "@" for a formula, which may run a program. Text of this
kind is written with an apostrophe before it. So that every text comes back as it was, text that looks as if it had
been written so gets another one. Numbers stay as they are.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.array_files import refusing_damage
from spdatoms._utils.typing import Array

TEXT_FILES = (".csv", ".tsv", ".txt")
_DELIMITERS = ",;\t"
#: What begins a formula, also as the wide characters of Chinese, Japanese and Korean text.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_GUARD = "'"


def write_rows(file: Any, rows: Iterable[Sequence[object]]) -> None:
    """Write rows of numbers and text to a file that takes text."""
    csv.writer(file).writerows([_guarded(cell) for cell in row] for row in rows)


def read_rows(path: Path) -> list[list[str]]:
    """Return the rows of a text file, without empty ones, and without spaces around cells."""
    with (
        refusing_damage("a text file in UTF-8"),
        path.open(newline="", encoding="utf-8-sig") as file,
    ):
        first = file.readline()
        # A comma in a file of tabs is part of a name.
        delimiter = "\t" if path.suffix == ".tsv" else max(_DELIMITERS, key=first.count)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter)
        return [[original(cell.strip()) for cell in row] for row in reader if row]


def read_numbers(path: Path) -> Array:
    """Return the numbers of a text file, (rows, columns), without a first line of names and columns of text."""
    rows = read_rows(path)
    names = rows[0] if rows and not _are_numbers(rows[0]) else []
    rows = rows[1:] if names else rows
    widths = {len(row) for row in rows} | ({len(names)} if names else set())
    if not rows or len(widths) != 1:
        raise ValueError("has rows of different lengths" if rows else "has no numbers")
    if names and not all(map(_are_numbers, rows)):
        # Columns of names have no number at all: one that has both is an error.
        columns = [c for c in zip(*rows, strict=True) if any(_are_numbers([cell]) for cell in c)]
        rows = [list(row) for row in zip(*columns, strict=True)]
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError:
        raise ValueError("has entries that are not numbers") from None


def original(cell: str) -> str:
    """Return the text that a cell was written for."""
    is_guarded = cell.startswith(_GUARD) and _FORMULA.match(cell)
    return cell[len(_GUARD) :] if is_guarded else cell


def _guarded(cell: object) -> object:
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _are_numbers([cell])
    return f"{_GUARD}{cell}" if is_formula else cell


def _are_numbers(row: Sequence[str]) -> bool:
    try:
        [float(cell) for cell in row]
    except ValueError:
        return False
    return True
