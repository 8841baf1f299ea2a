"""The tests mirror the package: folders as there, short files, and none that imports another one."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "src" / "spdatoms"
FILES = sorted(TESTS.rglob("test_*.py"))
#: Folders about the whole package, and about it beside other libraries.
OTHERS = {"conformance", "fuzz", "interop"}
MOST_LINES, MOST_LINES_OF_HELPERS = 600, 300


def named(path: Path) -> str:
    return path.relative_to(TESTS).as_posix()


def test_folders_are_those_of_the_package() -> None:
    folders = {file.parent.relative_to(TESTS) for file in FILES}
    strange = {f.as_posix() for f in folders if not (PACKAGE / f).is_dir()}
    assert strange <= OTHERS


def test_files_are_short() -> None:
    too_long = {}
    for file in sorted(TESTS.rglob("*.py")):
        most = MOST_LINES if file in FILES else MOST_LINES_OF_HELPERS
        count = len(file.read_text("utf-8").splitlines())
        if count > most:
            too_long[named(file)] = count
    assert too_long == {}


def test_no_test_file_imports_another() -> None:
    """What tests share is in modules that are no tests, or in a conftest.py."""
    found = []
    for file in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            parts = {part for module in modules for part in module.split(".")[:2]}
            found += [f"{named(file)}: {part}" for part in parts if part.startswith("test_")]
    assert not found
