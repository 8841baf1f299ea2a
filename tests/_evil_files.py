"""Files that try to run code when they are read, and how they are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from _commands import run
from spdatoms.cli.formats.labels import read_labels


class Payload:
    """An object whose pickle makes a file when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.marker), "w")


def refused(path: Path, payload: Payload | None = None) -> str:
    """Return the message that a file of matrices is refused with; as labels it is refused, too, and runs no code."""
    said = run("inspect", path, code=1)
    assert said.startswith(f"error: {path}: ")
    with pytest.raises(ValueError, match=path.name):
        read_labels(path, None, 3)
    if payload is not None:
        assert not payload.marker.exists()
    return said
