"""Text of users where it is shown."""

from __future__ import annotations

import re
import sys
import unicodedata
from pathlib import Path

from spdatoms import cli
from spdatoms._utils.text import drawable, visible, visible_lines


def test_only_commands_change():
    """All control characters and surrogates, and all that turn the direction of text; nothing else."""
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for character in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(character)
        is_command = (
            category in ("Cc", "Cs", "Zl", "Zp")
            or unicodedata.bidirectional(character) in turning
            or character in "\u061c\u200e\u200f"  # marks of a direction
        )
        assert (visible(character) != character) == is_command, hex(ord(character))


def test_commands_are_shown_as_python_writes_them():
    assert visible("a\x1b[2J\u202eb\n") == "a\\x1b[2J\\u202eb\\n"
    assert visible_lines("a\x1b\nb") == "a\\x1b\nb"
    assert drawable("$x\x00$") == "\\$x\\x00\\$"
    assert visible(7) == "7"


def test_the_command_line_prints_in_one_place():
    """Where commands are made visible; what rich draws goes through `visible` cell by cell."""
    folder = Path(cli.__file__).parent
    printing = re.compile(r"(?<![.\w])print\(|\becho\(")
    found = [p.name for p in folder.rglob("*.py") if printing.search(p.read_text("utf-8"))]
    assert found == ["show.py"]
