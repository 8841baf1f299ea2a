"""Text of users, such as names of classes and files, where it is shown: it may command a terminal, or a figure."""

from __future__ import annotations

import re

#: Characters that a terminal obeys, and those that end lines or turn the direction of text around.
_COMMANDS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: object) -> str:
    """Return text as one line in which characters that are commands are seen, as Python writes them: ``\\x1b``."""
    return _COMMANDS.sub(lambda found: repr(found[0])[1:-1], str(text))


def visible_lines(text: str) -> str:
    """Return text in which commands are seen, but lines stay lines."""
    return "\n".join(map(visible, text.split("\n")))


def drawable(text: object) -> str:
    """Return text in which matplotlib finds neither commands nor formulas."""
    return visible(text).replace("$", r"\$")
