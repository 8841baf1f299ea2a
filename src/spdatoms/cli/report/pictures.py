"""Matrices as small pictures: correlations, and log variances on the diagonal, a byte per entry.

Of matrices with many channels, means of blocks of channels are shown. What they were made of tells more: photographs,
or channels on a scalp.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms._utils.images import read_colour
from spdatoms._utils.notebook import between_minus_one_and_one, block_means
from spdatoms._utils.typing import Array, Floats
from spdatoms.cli.formats.matrices import Matrices

#: All pictures of a page take at most this number of bytes, and one has at most this number of rows.
_BYTES, _LARGEST = 900_000, 24
#: What stands for −1 … 1, and for an entry that is missing.
_ZERO, _MISSING = 127, 255
#: Lengths of photographs in pixels, the first that all of them have room with; their quality, and what is beside them.
_TILES = (128, 96, 64, 48, 32, 24, 16)
_QUALITY, _MARGIN = 72, "#888"
#: What is said of them.
HINT = (
    "Pictures show correlations between channels, and log variances on the diagonal: blue is negative or small, orange "
    "positive or large."
)
_AXES = [f"∂{c}/∂{axis}" for c in "RGB" for axis in "xy"]
#: The features of `TextureCovariance` and of `PersonCovariance`, by their number.
_FEATURES = {
    5: ("I", "|∂I/∂x|", "|∂I/∂y|", "|∂²I/∂x²|", "|∂²I/∂y²|"),
    17: (*"xyRGB", *(f"|{a}|" for a in _AXES), *(f"|∂²{a[1]}/{a[-2:]}²|" for a in _AXES)),
}
_UNKNOWN = Matrices(np.empty((0, 0, 0)))


class Pictures:
    """Pictures of matrices of one size and photographs, each of which is there once however often it is shown.

    Parameters
    ----------
    places : ndarray of shape (n, 2) or None, default=None
        Where the channels are on a scalp: then log variances are also shown there.
    """

    def __init__(self, places: Floats | None = None) -> None:
        self._places = places
        self._matrices: dict[bytes, tuple[int, Array]] = {}
        self._photographs: dict[Path, int] = {}

    def add(self, matrix: Array, photograph: Path | None = None) -> int:
        """Return the number of the picture of a matrix (n, n); that of a photograph is −2, −3, …"""
        if photograph is not None:
            return self._photographs.setdefault(photograph, -2 - len(self._photographs))
        own = len(self._matrices), matrix
        return self._matrices.setdefault(matrix.tobytes(), own)[0]

    def encoded(self) -> dict[str, object]:
        """Return the number of rows of a picture, and upper triangles, scalps and photographs in base64."""
        return {**self._encoded_matrices(), **photographs_on_a_sheet(list(self._photographs))}

    def _encoded_matrices(self) -> dict[str, object]:
        if not self._matrices:
            return {"side": 0, "values": ""}
        matrices = [matrix for _, matrix in self._matrices.values()]
        shown = between_minus_one_and_one(np.real(np.array(matrices)))
        scalps: dict[str, object] = {}
        room = _BYTES
        if self._places is not None:
            scalps["places"] = np.round(self._places, 3).tolist()
            scalps["scalps"] = in_bytes(np.diagonal(shown, axis1=1, axis2=2))
            room = max(_BYTES - 4 * shown[:, 0].size // 3, _BYTES // 9)
        side = min(shown.shape[1], _LARGEST)
        while side > 1 and len(shown) * side * (side + 1) * 2 / 3 > room:
            side -= 1
        small = block_means(shown, side)[:, *np.triu_indices(side)]
        return {"side": side, "values": in_bytes(small), **scalps}


def in_bytes(values: Floats) -> str:
    """Return numbers between −1 and 1, or NaN, as bytes in base64."""
    found = np.where(np.isnan(values), _MISSING, np.round(_ZERO + _ZERO * values))
    return base64.b64encode(found.astype(np.uint8).tobytes()).decode()


def photographs_on_a_sheet(paths: Sequence[Path]) -> dict[str, object]:
    """Return one image in base64 with all photographs, and the size and the number per row of its tiles.

    A tile has the shape of the first photograph; others have margins.
    """
    if not paths:
        return {}
    images, operations = (
        import_extra(f"PIL.{name}", extra="vision") for name in ("Image", "ImageOps")
    )
    found = []
    for path in paths:
        photograph = images.fromarray(read_colour(path))
        photograph.thumbnail((_TILES[0], _TILES[0]))
        found.append(photograph)
    shape, columns = found[0].size, int(np.ceil(np.sqrt(len(found))))
    for side in _TILES:
        width, height = (max(round(side * length / max(shape)), 1) for length in shape)
        sheet = images.new("RGB", (columns * width, -(-len(found) // columns) * height))
        for k, photograph in enumerate(found):
            tile = operations.pad(photograph, (width, height), color=_MARGIN)
            sheet.paste(tile, (k % columns * width, k // columns * height))
        content = io.BytesIO()
        sheet.save(content, "JPEG", quality=_QUALITY)
        if 4 * len(content.getvalue()) <= 3 * _BYTES:
            break
    sheet_text = base64.b64encode(content.getvalue()).decode()
    return {"sheet": sheet_text, "tile": [width, height], "columns": columns}


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
