"""What is wrong with a file, said after its name; and the choice of one array among several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from spdatoms._utils.typing import Array


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Put the name of the file before what is wrong with it, and a full stop after that."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    try:
        yield
    except (ValueError, ImportError) as error:
        kind = ImportError if isinstance(error, ImportError) else ValueError
        raise kind(f"{path}: {str(error).rstrip('.')}.") from error


def chosen(
    arrays: Mapping[str, Array],
    key: str | None,
    may_be: Callable[[Array], bool],
    what: str,
    option: str,
) -> Array:
    """Return the array of this key, or the only one that may be what is wanted."""
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
    if key is not None:
        if key not in arrays:
            raise ValueError(f"there is no array {key!r}; it holds {shapes}")
        return arrays[key]
    candidates = [name for name, array in arrays.items() if may_be(array)]
    if len(candidates) != 1:
        problem = "no array can be" if not candidates else "several arrays can be"
        raise ValueError(f"{problem} the {what}; it holds {shapes}. Choose one by {option}")
    return arrays[candidates[0]]
