"""Tables as text whose cells no spreadsheet runs.

A spreadsheet takes a cell that begins with "=", "+", "-" or "@" for a formula, which may run a program. Text of this
kind is written with an apostrophe before it. So that every text comes back as it was, text that looks as if it had
been written so gets another one. Numbers stay as they are.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any

#: What begins a formula, also as the wide characters of Chinese, Japanese and Korean text.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_GUARD = "'"


def write_rows(file: Any, rows: Iterable[Sequence[object]]) -> None:
    """Write rows of numbers and text to a file that takes text."""
    csv.writer(file).writerows([_guarded(cell) for cell in row] for row in rows)


def original(cell: str) -> str:
    """Return the text that a cell was written for."""
    is_guarded = cell.startswith(_GUARD) and _FORMULA.match(cell)
    return cell[len(_GUARD) :] if is_guarded else cell


def _guarded(cell: object) -> object:
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _is_number(cell)
    return f"{_GUARD}{cell}" if is_formula else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
