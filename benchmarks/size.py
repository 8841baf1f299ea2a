"""How large is the code, and how straight is the way through it?

    python benchmarks/size.py [--json FILE]

Per room: lines of code (without blank lines, comments and docstrings), files and classes, C++ included. For the
whole: small files with exactly one importer, pairs of places that repeat six lines, and hops: how often a call
passes from one file of the package to another, for two classifiers and for three iterations of a dictionary.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import spdatoms

PACKAGE = Path(spdatoms.__file__).parent
#: Tokens that are no code.
EMPTY = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
#: Lines that repeat make a pair from this number on; a run in more places than these is common, not copied.
RUN, PLACES = 6, 8


def code_lines(path: Path) -> dict[int, str]:
    """Return the lines of code of a file by their numbers."""
    text = path.read_text("utf-8")
    lines = text.splitlines()
    if path.suffix == ".py":
        numbers = _python_lines(text)
    else:
        numbers = {
            number
            for number, line in enumerate(lines, 1)
            if line.strip() and not line.strip().startswith(("//", "/*", "*"))
        }
    return {number: lines[number - 1].strip() for number in sorted(numbers)}


def _python_lines(text: str) -> set[int]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0] for token in tokens if token.type not in EMPTY} - docstrings


def room_of(path: Path) -> str:
    """Return the room of a file: the first folder, or the module at the root."""
    first, *rest = path.relative_to(PACKAGE).parts
    return first if rest else Path(first).stem


def classes_in(path: Path) -> int:
    """Return the number of classes that a Python file defines."""
    if path.suffix != ".py":
        return 0
    return sum(
        isinstance(node, ast.ClassDef) for node in ast.walk(ast.parse(path.read_text("utf-8")))
    )


def importers(paths: list[Path]) -> Counter[str]:
    """Return how many files of the package import each of its modules."""
    count: Counter[str] = Counter()
    for path in paths:
        if path.suffix != ".py":
            continue
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
        count.update(names)
    return count


def repeated(paths: list[Path]) -> int:
    """Return the number of pairs of places with the same six lines of code or more."""
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path in paths:
        lines = [
            line
            for line in code_lines(path).values()
            if len(line) > 2 and not line.startswith(("import ", "from "))
        ]
        for start in range(len(lines) - RUN + 1):
            places[tuple(lines[start : start + RUN])].append((path, start))
    runs: set[tuple[Path, Path, int]] = set()
    for found in places.values():
        if len(found) <= PLACES:
            runs |= {(a, b, j - i) for (a, i), (b, j) in combinations(found, 2) if (a, i) != (b, j)}
    return len(runs)


def hops(call: Callable[[], Any]) -> int:
    """Return how often a call passes from one file of the package to another."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        caller = frame.f_back
        if event == "call" and caller is not None:
            file, origin = frame.f_code.co_filename, caller.f_code.co_filename
            count += file != origin and file.startswith(str(PACKAGE))

    call()  # imports and caches do not count
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def ways() -> dict[str, Callable[[], Any]]:
    """Return the calls whose hops are counted."""
    samples = np.random.default_rng(0).standard_normal((60, 5, 40))
    samples[30:, :2] *= 2.0
    X, y = samples @ samples.swapaxes(1, 2) / 40, np.repeat([0, 1], 30)
    classifier = spdatoms.SPDSparseClassifier()
    ensemble = spdatoms.SPDEnsembleClassifier()
    learner = spdatoms.SPDDictionaryLearning(8, max_iter=3, tol=0.0, random_state=0)
    return {
        "SPDSparseClassifier().fit(X, y).predict(X)": lambda: classifier.fit(X, y).predict(X),
        "SPDEnsembleClassifier().fit(X, y).predict(X)": lambda: ensemble.fit(X, y).predict(X),
        "SPDDictionaryLearning(8, max_iter=3).fit(X)": lambda: learner.fit(X),
    }


def table(report: dict[str, Any]) -> Iterator[str]:
    """Give the report line by line."""
    yield f"{'room':<16}{'code':>8}{'files':>8}{'classes':>9}"
    for room, row in report["rooms"].items():
        yield f"{room:<16}{row['code']:>8,}{row['files']:>8}{row['classes']:>9}"
    for building, code in report["buildings"].items():
        yield f"{building:<16}{code:>8,}"
    yield f"files with one importer, under 60 lines: {report['single']}"
    yield f"pairs of places with the same {RUN} lines: {report['repeated']}"
    for name, count in report["hops"].items():
        yield f"hops of {name}: {count:,}"


def measured() -> dict[str, Any]:
    """Return all counts."""
    paths = sorted(p for p in PACKAGE.rglob("*") if p.suffix in {".py", ".cpp", ".hpp"})
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for path in paths:
        rooms[room_of(path)].update(code=len(code_lines(path)), files=1, classes=classes_in(path))
    code = {room: row["code"] for room, row in rooms.items()}
    count = importers(paths)
    names = {
        path: ".".join(("spdatoms", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in paths
    }
    native: Counter[bool] = Counter()
    for path in (p for p in paths if p.suffix != ".py"):
        native[room_of(path) == "paper"] += len(code_lines(path))
    return {
        "rooms": {room: dict(row) for room, row in sorted(rooms.items())},
        "buildings": {
            "library": sum(code.values()) - code.get("paper", 0),
            "of it C++": native[False],
            "paper": code.get("paper", 0),
            "of it, C++": native[True],
        },
        "single": sum(
            count[name] == 1 and len(code_lines(path)) < 60 for path, name in names.items()
        ),
        "repeated": repeated(paths),
        "hops": {name: hops(call) for name, call in ways().items()},
    }


def main() -> None:
    """Print the counts, and write them if a file is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    file = parser.parse_args().json
    report = measured()
    print("\n".join(table(report)))
    if file is not None:
        file.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
