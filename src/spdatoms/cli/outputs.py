"""Where a command may write: never over what it reads, and over other files only with --force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from spdatoms._utils.writing import check_target, errors_about, try_place


def check_outputs(
    reads: Iterable[Path | None], writes: Iterable[Path | None], *, force: bool
) -> None:
    """Refuse results that could not be written, or would replace something, before anything is computed."""
    inputs = [path for path in reads if path is not None]
    outputs: list[Path] = []
    for path in writes:
        if path is None:
            continue
        check_place(path)
        if any(_same(path, other) for other in inputs):
            raise typer.BadParameter(
                f"{path} is read by this command: give its result another name"
            )
        if any(_same(path, other) for other in outputs):
            raise typer.BadParameter(f"{path} is given for two results: give one another name")
        if path.exists() and not force:
            raise typer.BadParameter(f"{path} exists: give another name, or --force to replace it")
        with _refusing(path):
            check_target(path)
        outputs.append(path)


def check_place(path: Path) -> None:
    """Refuse a path at which no file can be made: tried, because permissions do not tell the whole story."""
    with _refusing(path):
        if path.is_dir():
            raise typer.BadParameter(f"{path} is a folder")
        if not path.parent.is_dir():
            raise typer.BadParameter(f"the folder {path.parent} does not exist")
        try_place(path)


def check_folder(folder: Path, data: Path | None, own: str, *, force: bool) -> None:
    """Refuse a folder for results that is that of the data, cannot be written, or is of other files.

    ``own`` is a file that every folder of results has.
    """
    if data is not None and _same(folder, data):
        raise typer.BadParameter(f"{folder} has the data: give another folder for the results")
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    check_place(there / own)
    if there == folder and not (folder / own).exists() and any(folder.iterdir()) and not force:
        raise typer.BadParameter(
            f"{folder} has files of something else: give another folder, or --force to write there"
        )


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Let errors of the system about a path be errors of the command."""
    try:
        with errors_about(path):
            yield
    except OSError as error:
        raise typer.BadParameter(str(error)) from None


def _same(path: Path, other: Path) -> bool:
    """Return whether both names are of one file, also by way of links."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()
