"""Docstrings write formulas as plain text, |y_ij| or n_iter_, and reStructuredText must leave them alone.

To it a bar opens a substitution and a trailing underscore ends a link. Both are escaped here, outside
of literals and doctests, after numpydoc has done its part.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_LITERAL = re.compile(r"(``.*?``|`[^`]*`_{0,2})")
_BAR = re.compile(r"(?<!\\)\|")
_UNDERSCORE = re.compile(r"(?<=\w)_(?=\W|$)")


def escape(line: str) -> str:
    """Return a line of text with its bars and trailing underscores escaped."""
    if line.lstrip().startswith((">>>", "...", "..", "| ")):
        return line
    parts = _LITERAL.split(line)
    parts[::2] = [_UNDERSCORE.sub(r"\\_", _BAR.sub(r"\\|", part)) for part in parts[::2]]
    return "".join(parts)


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the lines of one docstring, in place."""
    inside_doctest = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith(">>>"):
            inside_doctest = True
        elif not line.strip():
            inside_doctest = False
        if not inside_doctest:
            lines[number] = escape(line)


def setup(app: Sphinx) -> dict[str, Any]:
    """Come after numpydoc, whose priority is 500."""
    app.connect("autodoc-process-docstring", process, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
