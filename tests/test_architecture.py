"""The rooms of the package, and who may import whom: read from the source, not from memory.

The walk sees every import of ``src``, those inside functions and behind ``TYPE_CHECKING`` too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"

#: A room imports only from rooms before it. The last one is a building of its own: no room of the library imports it.
ROOMS = (
    "exceptions",
    "native",
    "_utils",
    "geometry",
    "layout",
    "scale",
    "descriptors",
    "divergences",
    "lasso",
    "base",
    "kernels",
    "clustering",
    "coding",
    "channels",
    "dictionary",
    "domains",
    "classification",
    "regression",
    "interop",
    "storage",
    "plotting",
    "datasets",
    "cli",
    "paper",
)
#: Rooms that are still to be built.
PLANNED: set[str] = set()
#: It serves every room, in spite of its underscore.
SERVANTS = ("_utils",)
MOST_ROOT_MODULES = 8


@dataclass(frozen=True)
class Import:
    """A name (or a module as a whole) that a module imports from another one of the package."""

    importer: str
    module: str
    name: str | None
    line: int

    def __str__(self) -> str:
        what = f"{self.name} of {self.module}" if self.name else self.module
        return f"{self.importer}, line {self.line}, imports {what}"


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    return {module_name(path): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}


def imports_of(importer: str, tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "spdatoms":
                    yield Import(importer, alias.name, None, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{importer}, line {node.lineno}: relative import"
            if (node.module or "").split(".")[0] != "spdatoms":
                continue
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                if submodule in modules():
                    yield Import(importer, submodule, None, node.lineno)
                else:
                    yield Import(importer, str(node.module), alias.name, node.lineno)


@cache
def imports() -> tuple[Import, ...]:
    return tuple(i for name, tree in modules().items() for i in imports_of(name, tree))


def room(module: str) -> str:
    """Return the first part of the name behind the package's; the package itself is ''."""
    return module.split(".")[1] if "." in module else ""


def folder(module: str) -> str:
    """Return the package that a module lies in."""
    return module.rpartition(".")[0]


def listed(found: list[Import]) -> str:
    return "\n".join(map(str, found))


def test_every_module_is_in_a_room() -> None:
    rooms = {room(module) for module in modules()} - {"", "__main__"}
    assert rooms | PLANNED == set(ROOMS)


def test_few_modules_lie_at_the_root() -> None:
    assert len(list((SOURCE / "spdatoms").glob("*.py"))) <= MOST_ROOT_MODULES


def test_rooms_import_only_from_rooms_before_them() -> None:
    rank = {name: i for i, name in enumerate(ROOMS)} | {"": len(ROOMS), "__main__": len(ROOMS)}
    against = [
        i
        for i in imports()
        if room(i.importer) != room(i.module) and rank[room(i.module)] >= rank[room(i.importer)]
    ]
    assert not against, listed(against)


def test_private_modules_and_names_stay_in_their_folder() -> None:
    def is_private(i: Import) -> bool:
        if room(i.module) in SERVANTS:
            parts = [*i.module.split(".")[2:], i.name or ""]
        else:
            parts = [*i.module.split(".")[1:], i.name or ""]
        return any(part.startswith("_") and not part.startswith("__") for part in parts)

    def owner(i: Import) -> str:
        return folder(i.module) if i.name is None or "._" in i.module else i.module

    def at_home(i: Import) -> bool:
        home = owner(i)
        return i.importer == home or folder(i.importer) == home

    astray = [i for i in imports() if is_private(i) and not at_home(i)]
    assert not astray, listed(astray)


def test_nothing_imports_itself_round_a_corner() -> None:
    """No cycle among modules, late imports counted."""
    edges: dict[str, set[str]] = {name: set() for name in modules()}
    for i in imports():
        edges[i.importer].add(i.module)
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            cycle = (*path[path.index(module) :], module)
            pytest.fail(" → ".join(cycle))
        if module in done:
            return
        for other in sorted(edges[module]):
            visit(other, (*path, module))
        done.add(module)

    for module in modules():
        visit(module, ())


def test_floats_are_defined_once() -> None:
    definitions = [
        name
        for name, tree in modules().items()
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == "Floats"
    ]
    assert definitions == ["spdatoms._utils.typing"]


def test_no_native_loop_waits_for_a_comparison() -> None:
    """Comparisons with a NaN are false, and a loop in a kernel cannot be interrupted."""
    endless = [
        f"{path.name}, line {number}"
        for path in sorted((SOURCE / "spdatoms").rglob("*.[ch]pp"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if "while (" in line or "for (;;)" in line
    ]
    assert not endless, f"write a for loop with a bound: {endless}"
