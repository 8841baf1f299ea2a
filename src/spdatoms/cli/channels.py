"""Channels by their names: those of queries are put where the training matrices have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spdatoms.cli.show import counted, say

if TYPE_CHECKING:
    from spdatoms.cli.formats.matrices import Matrices

#: The greatest number of names in a message.
_LISTED = 8
#: The attribute of a model that has the names, an array of strings.
_ATTRIBUTE = "channel_names_"


def in_places(read: Matrices, names: Sequence[str], path: Path, *, whole: bool) -> Matrices:
    """Return matrices whose channels have these names, in this order; rows and columns of absent ones are NaN.

    If one side has no names, nothing changes. If matrices must be ``whole``, absent channels are an error.
    """
    own = read.channels
    if not own or not names or tuple(own) == tuple(names):
        return read
    absent = [name for name in names if name not in own]
    foreign = [name for name in own if name not in names]
    if len(absent) == len(names):
        raise ValueError(
            f"{path} has no channel of the training matrices: its channels are {_listed(own)}, theirs {_listed(names)}."
        )
    if absent and whole:
        raise ValueError(
            f"{path} lacks {_listed(absent)}, but a common range of singular matrices needs all channels."
        )
    said = [f"lacks {_listed(absent)}"] if absent else []
    if foreign:
        said.append(f"has {_listed(foreign)}, which training lacks and which is left out")
    if [name for name in own if name in names] != [name for name in names if name in own]:
        said.append("has its channels in another order: they are matched by their names")
    say(f"note: {path} {'; it '.join(said)}")
    places = np.array([own.index(name) if name in own else -1 for name in names])
    X = read.X[:, places[:, None], places]
    X[:, places < 0] = X[:, :, places < 0] = np.nan
    return replace(read, X=X, channels=tuple(names))


def keep_names(model: Any, names: Sequence[str]) -> None:
    """Let a model keep the names of its channels, which then are in its file."""
    if names:
        setattr(model, _ATTRIBUTE, np.array(names))


def kept_names(model: Any, path: Path) -> tuple[str, ...]:
    """Return the names of channels that a model of a file has kept, as far as there are any."""
    names = vars(model).get(_ATTRIBUTE, np.array([], str))
    count = getattr(model, "n_features_in_", None)
    fits = isinstance(names, np.ndarray) and names.dtype.kind == "U" and names.ndim == 1
    if not fits or len(names) not in (0, count) or len(np.unique(names)) < len(names):
        raise ValueError(f"{path}: {_ATTRIBUTE} has not one name for each channel of the model.")
    return tuple(names.tolist())


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {counted(more, 'other')}" if more > 0 else "")
