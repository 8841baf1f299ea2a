"""Text that people read; that of users, such as names of classes and files, may command a terminal, or be no text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np

from spdatoms._utils.typing import Array

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


def counted(count: int, one: str, many: str = "") -> str:
    """Return "1 class" or "2 classes"; the plural is ``many``, or else ``one`` and an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def suggestion(given: object, names: Iterable[str]) -> str:
    """Return the question whether the name most like the given one was meant, after a space; nothing if none is."""
    near = get_close_matches(str(given).lower(), names, 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def check_characters(texts: Array, name: str) -> None:
    """Refuse texts from a file whose numbers are no characters: NumPy reads them, Python does not."""
    if texts.dtype.kind != "U" or not texts.dtype.itemsize:
        return
    numbers = np.ascontiguousarray(texts).view(np.dtype("u4").newbyteorder(texts.dtype.byteorder))
    surrogates = (numbers >= 0xD800) & (numbers <= 0xDFFF)
    if (surrogates | (numbers > 0x10FFFF)).any():
        raise ValueError(f"{name} holds numbers that are no characters")
