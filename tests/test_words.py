"""One word for one thing: those that the project has left behind do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: What not to write, and what to write instead.
INSTEAD = {
    r"[Ss]ay whether": "Return whether",
    r"\bso many\b": "as many as, this many",
    r"\bprices?\b": "penalty",
    r"\bone a (row|class|matrix|pair|query|atom)\b": "one per row",
    r"\bsweeps?\b": "pass",
    r"\bpieces\b": "parts, chunks, spans, blocks",
    r"\bsurveys?\b": "result of a pass",
    r"(with|in|or|and) a sentence\b": "a clear error",
    r"[Rr]eturn what codes\b": "Return the coder that",
}
FILES = [
    path
    for folder, pattern in (
        ("src", "*.py"),
        ("docs", "*.md"),
        ("docs", "*.rst"),
        ("examples", "*.py"),
    )
    for path in sorted((ROOT / folder).rglob(pattern))
    if "generated" not in path.parts
]


@pytest.mark.parametrize("word", INSTEAD)
def test_words(word: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(word, line)
    ]
    assert not found, f"write {INSTEAD[word]!r} in " + "\n".join(found)
