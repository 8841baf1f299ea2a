"""What matrices were made of, which tells more than they do: photographs, or channels on a scalp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.cli.formats.folders import is_folder
from spdatoms.cli.formats.signals import EPOCHS_FILES, read_channels

_AXES = [f"∂{c}/∂{axis}" for c in "RGB" for axis in "xy"]
#: The features of `TextureCovariance` and of `PersonCovariance`, by their number.
_FEATURES = {
    5: ("I", "|∂I/∂x|", "|∂I/∂y|", "|∂²I/∂x²|", "|∂²I/∂y²|"),
    17: (*"xyRGB", *(f"|{a}|" for a in _AXES), *(f"|∂²{a[1]}/{a[-2:]}²|" for a in _AXES)),
}


@dataclass(frozen=True)
class Origin:
    """Where matrices come from, as far as it can be shown.

    Attributes
    ----------
    photographs : sequence of Path, default=()
        The photograph of every matrix.
    channels : sequence of str, default=()
        The names of the channels.
    places : ndarray of shape (n, 2) or None, default=None
        Where the channels are on a scalp that is seen from above, the nose at (0, 1).
    """

    photographs: Sequence[Path] = ()
    channels: Sequence[str] = ()
    places: Floats | None = None

    def photograph(self, row: int) -> Path | None:
        """Return the photograph of a matrix, if there is one."""
        return self.photographs[row] if self.photographs else None


@dataclass(frozen=True)
class Origins:
    """What queries and training matrices were made of.

    Attributes
    ----------
    queries, training : Origin
        Of each.
    left_out : bool, default=False
        The queries are training matrices that were left out: rows of both are the same.
    """

    queries: Origin = Origin()
    training: Origin = Origin()
    left_out: bool = False

    @property
    def photographed(self) -> bool:
        """Whether there are photographs of all matrices."""
        return bool(self.queries.photographs and self.training.photographs)

    def channels(self, n: int) -> tuple[Sequence[str], Floats | None]:
        """Return the names of n channels, and their places if they are known."""
        for one in (self.training, self.queries):
            if len(one.channels) == n:  # and not on the common range of fewer
                return one.channels, one.places
        if self.queries.photographs and n in _FEATURES:
            return _FEATURES[n], None
        return [f"channel {i}" for i in range(n)], None


def origin_of(path: Path | None, channels: Sequence[str] = ()) -> Origin:
    """Return what the matrices of a file or folder were made of; their channels may be in the order of these names."""
    if path is None:
        return Origin()
    if is_folder(path):
        from spdatoms.datasets.folders import folder_files, is_skeletons

        files, _ = folder_files(path)
        return Origin() if is_skeletons(files[0]) else Origin(files)
    if path.name.lower().endswith(EPOCHS_FILES):
        names, places = read_channels(path)
        if not set(channels) <= set(names):
            return Origin((), channels)
        order = [names.index(name) for name in channels or names]
        names, places = [names[i] for i in order], places[order]
        seen = np.isfinite(places).all() and (places != 0).any(axis=1).all()
        return Origin((), names, _from_above(places) if seen else None)
    return Origin()


def _from_above(places: Floats) -> Floats:
    """Return (m, 2) by the angle from the top, 1 at the height of the centre of the head (0, 0, 0)."""
    flat = np.hypot(places[:, 0], places[:, 1])
    angles = np.arctan2(flat, places[:, 2])
    lengths = 2.0 / np.pi * angles / np.maximum(flat, np.finfo(float).tiny)
    return np.asarray(lengths[:, None] * places[:, :2])
