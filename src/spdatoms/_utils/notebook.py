"""What notebooks show: tables, and matrices as small pictures, without any other package.

The picture of a matrix has X_ab/√(X_aa·X_bb), and on its diagonal how far log X_aa lies from its mean over all
pictures, in deviations, both between −1 and 1.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, Floats

#: Log variances are shown up to this number of deviations.
_DEVIATIONS = 2.5
#: The greatest numbers of matrices that are shown, and of pixels per row of each.
_SHOWN, _LARGEST = 48, 64
_LOW, _HIGH = (43, 108, 176), (194, 84, 27)
_FIGURE = "margin:0;font-size:80%;text-align:center"


class PicturedAtoms:
    """An estimator of scikit-learn that notebooks show with its ``atoms_`` or ``cluster_centers_`` as pictures."""

    def _repr_html_inner(self) -> str:
        shown: str = super()._repr_html_inner()  # type: ignore[misc]
        return shown + self._atoms_as_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._atoms_as_html()
        return bundle

    def _atoms_as_html(self) -> str:
        for name in ("atoms_", "cluster_centers_"):
            if name in vars(self):
                return matrices_as_html(vars(self)[name], name)
        return ""


def matrices_as_html(X: Array, name: str) -> str:
    """Return pictures of matrices (m, n, n) with their numbers; blue is negative, orange positive."""
    count, side = len(X), min(X.shape[-1], _LARGEST)
    shown = block_means(between_minus_one_and_one(np.real(X[:_SHOWN])), side)
    width = max(48, side)
    figures = [
        f'<figure style="{_FIGURE}"><img src="data:image/png;base64,{_png(one)}" width="{width}" height="{width}" '
        f'style="image-rendering:pixelated;border:1px solid #8886" alt="{name}[{i}]"><figcaption>{i}</figcaption>'
        "</figure>"
        for i, one in enumerate(shown)
    ]
    more = f"<span>… {count - _SHOWN} more</span>" if count > _SHOWN else ""
    title = f"<p>{name}: correlations, and log variances on the diagonal</p>"
    return (
        f'{title}<div style="display:flex;flex-wrap:wrap;gap:.5em">{"".join(figures)}{more}</div>'
    )


def table_as_html(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[object]], last: Iterable[str] = ()
) -> str:
    """Return a table of text; ``last`` is HTML for one more cell of each row."""
    lines = []
    markup = list(last)
    for i, row in enumerate(rows):
        cells = [escape(str(cell)) for cell in row] + markup[i : i + 1]
        lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def between_minus_one_and_one(X: Floats) -> Floats:
    """Return correlations, with log variances on the diagonal, of real matrices (m, n, n)."""
    variances = np.diagonal(X, axis1=1, axis2=2)
    deviations = np.sqrt(variances)
    shown = X / deviations[:, :, None] / deviations[:, None, :]
    logs = np.log(variances)
    logs = logs - np.nanmean(logs)
    spread = np.nanstd(logs) or 1.0
    rows = np.arange(X.shape[1])
    shown[:, rows, rows] = logs / (_DEVIATIONS * spread)
    return np.clip(shown, -1.0, 1.0)


def block_means(X: Floats, side: int) -> Floats:
    """Return the means of side × side blocks of each matrix; blocks without any entry are NaN."""
    starts = np.linspace(0, X.shape[1], side + 1).astype(int)[:-1]
    totals, counts = (
        np.add.reduceat(np.add.reduceat(Z, starts, axis=1), starts, axis=2)
        for Z in (np.nan_to_num(X), (~np.isnan(X)).astype(float))
    )
    return np.where(counts > 0, totals / np.maximum(counts, 1.0), np.nan)


def _png(values: Floats) -> str:
    """Return numbers between −1 and 1 as an image in base64: the greater, the less transparent, on light or dark."""
    side = len(values)
    pixels = np.empty((side, side, 4), np.uint8)
    pixels[..., :3] = np.where(values[..., None] < 0, _LOW, _HIGH)
    pixels[..., 3] = np.round(255 * np.abs(np.nan_to_num(values)))
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)  # each begins with its filter: none

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)  # 8 bits of red, green, blue, alpha
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
