"""What matrices were made of, which tells more than they do: photographs, or channels on a scalp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.cli.formats.matrices import Matrices

_AXES = [f"∂{c}/∂{axis}" for c in "RGB" for axis in "xy"]
#: The features of `TextureCovariance` and of `PersonCovariance`, by their number.
_FEATURES = {
    5: ("I", "|∂I/∂x|", "|∂I/∂y|", "|∂²I/∂x²|", "|∂²I/∂y²|"),
    17: (*"xyRGB", *(f"|{a}|" for a in _AXES), *(f"|∂²{a[1]}/{a[-2:]}²|" for a in _AXES)),
}
_UNKNOWN = Matrices(np.empty((0, 0, 0)))


@dataclass(frozen=True)
class Origins:
    """What queries and training matrices were made of.

    Attributes
    ----------
    queries, training : Matrices
        As they were read.
    left_out : bool, default=False
        The queries are training matrices that were left out: rows of both are the same.
    """

    queries: Matrices = _UNKNOWN
    training: Matrices = _UNKNOWN
    left_out: bool = False

    @property
    def photographed(self) -> bool:
        """Whether there are photographs of all matrices."""
        return bool(self.queries.photographs and self.training.photographs)

    def channels(self, n: int) -> tuple[Sequence[str], Floats | None]:
        """Return the names of n channels, and where they are on a scalp, (n, 2), if that is known."""
        for one in (self.training, self.queries):
            if len(one.channels) == n:  # and not on the common range of fewer
                return one.channels, _from_above([one.places.get(c) for c in one.channels])
        if self.queries.photographs and n in _FEATURES:
            return _FEATURES[n], None
        return [f"channel {i}" for i in range(n)], None


def _from_above(known: Sequence[Floats | None]) -> Floats | None:
    """Return places on a scalp that is seen from above, the nose at (0, 1); None if one is not known.

    They go by the angle from the top, which is 1 at the height of the centre of the head (0, 0, 0).
    """
    if any(place is None or not np.isfinite(place).all() or not place.any() for place in known):
        return None
    places = np.array(known)
    flat = np.hypot(places[:, 0], places[:, 1])
    angles = np.arctan2(flat, places[:, 2])
    lengths = 2.0 / np.pi * angles / np.maximum(flat, np.finfo(float).tiny)
    return np.asarray(lengths[:, None] * places[:, :2])
