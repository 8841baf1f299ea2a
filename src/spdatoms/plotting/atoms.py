"""Atoms, or any SPD matrices: covariance ellipses where n is 2 or 3, otherwise heat maps."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils import parameters as allow
from spdatoms._utils.text import visible
from spdatoms._utils.typing import Floats
from spdatoms.geometry.hermitian import is_complex
from spdatoms.geometry.validation import check_spd
from spdatoms.plotting.display import INK, PALE, FittedDisplay, fitted_attribute

#: Line styles of the coordinate planes (1, 2), (1, 3) and (2, 3).
_LINE_STYLES = ("-", "--", ":")
#: The fraction of a cell that an ellipse may fill.
_FILL = 0.44
#: The distance of two rows, in widths of a cell, with room for the titles.
_PITCH = 1.2
#: Points on an ellipse.
_POINTS = 80


class AtomsDisplay(FittedDisplay):
    """Atoms as ellipses, or as heat maps if they are larger than 3×3.

    {x : xᵀ A⁻¹ x = 1} for atoms A of size 2 or 3, and A / max|a_ij| as a heat map for larger ones.

    ``from_estimator`` draws the ``atoms_`` of a dictionary or the ``cluster_centers_`` of k-means.

    An ellipsoid (n = 3) is shown by its outlines as seen along the three axes, which are the ellipses of
    the 2×2 blocks of A. All ellipses have the same scale, unless ``common_scale`` is false.

    Parameters
    ----------
    atoms : array-like of shape (N, n, n)
        SPD matrices.
    titles : sequence of str, default=None
        The text under the atoms; their indices if not given.
    common_scale : bool, default=True
        Draw all ellipses at the same scale, so that large atoms look large. Otherwise each fills its
        cell.
    n_columns : int, default=None
        The number of atoms per row; without it the picture is a wide rectangle.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.plotting import AtomsDisplay
    >>> display = AtomsDisplay(np.array([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 3.0]]])).plot()
    >>> len(display.ax_.lines)
    2
    """

    _of_matrices = False

    @allow.checks(
        titles=allow.NONE | allow.ARRAY,
        common_scale=allow.BOOLEAN,
        n_columns=allow.NONE | allow.integer(1, 10_000),
    )
    def __init__(
        self,
        atoms: ArrayLike,
        *,
        titles: list[str] | None = None,
        common_scale: bool = True,
        n_columns: int | None = None,
    ) -> None:
        self.atoms = check_spd(atoms, name="atoms")
        if is_complex(self.atoms):
            raise TypeError("Complex atoms cannot be drawn: pass atoms.real, or abs(atoms).")
        if titles is not None and len(titles) != len(self.atoms):
            raise ValueError(f"There are {len(self.atoms)} atoms, but {len(titles)} titles.")
        self.titles = None if titles is None else [str(title) for title in titles]
        self.common_scale = common_scale
        self.n_columns = n_columns

    @classmethod
    def _of(cls, estimator: Any, X: None, **own: Any) -> Self:
        return cls(fitted_attribute(estimator, "atoms_", "cluster_centers_"), **own)

    @property
    def _size(self) -> tuple[float, float]:
        # 1.1 inches per cell, or less to fit on a page.
        rows, columns = self._grid()
        cell = min(1.1, 10.0 / columns, 12.0 / (_PITCH * rows))
        return max(3.2, columns * cell + 0.8), max(2.0, _PITCH * rows * cell + 0.4)

    def _grid(self) -> tuple[int, int]:
        """Return how many rows and columns of atoms there are."""
        columns = self.n_columns or int(np.ceil(np.sqrt(1.6 * len(self.atoms))))
        columns = min(columns, len(self.atoms))
        return -(-len(self.atoms) // columns), columns

    def _draw(self, ax: Any) -> None:  # type: ignore[override]  # it has no options
        rows, columns = self._grid()
        row, column = np.divmod(np.arange(len(self.atoms)), columns)
        cells = np.stack([column, _PITCH * row], axis=1)
        if self.atoms.shape[-1] in (2, 3):
            self._draw_ellipses(ax, cells)
        else:
            self._draw_heat_maps(ax, cells)
        titles = self.titles or map(str, range(len(self.atoms)))
        for title, (x, y) in zip(titles, cells, strict=True):
            ax.text(x, y + 0.46, visible(title), ha="center", va="top", fontsize=8, color="0.25")
        ax.set(xlim=(-0.55, columns - 0.45), ylim=(_PITCH * rows - 0.5, -0.5), aspect="equal")
        ax.set_axis_off()

    def _draw_ellipses(self, ax: Any, cells: Floats) -> None:
        reach = np.sqrt(self.atoms.diagonal(axis1=1, axis2=2).max(axis=1))
        scales = _FILL / (np.full(len(reach), reach.max()) if self.common_scale else reach)
        planes = list(combinations(range(self.atoms.shape[-1]), 2))
        for plane, style in zip(planes, _LINE_STYLES, strict=False):
            for atom, cell, scale in zip(self.atoms, cells, scales, strict=True):
                x, y = scale * ellipse(atom[np.ix_(plane, plane)])
                # The vertical axis of the picture points down, that of the ellipse up.
                ax.plot(cell[0] + x, cell[1] - y, style, color=INK, linewidth=1.3)
                if len(planes) == 1:
                    ax.fill(cell[0] + x, cell[1] - y, color=PALE, alpha=0.35, linewidth=0)
        if len(planes) > 1:
            names = [f"axes {a + 1}, {b + 1}" for a, b in planes]
            place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": len(planes)}
            ax.legend(ax.lines[:: len(self.atoms)], names, frameon=False, fontsize=9, **place)

    def _draw_heat_maps(self, ax: Any, cells: Floats) -> None:
        half = 0.42
        style: dict[str, Any] = {"cmap": "cividis", "vmin": -1.0, "vmax": 1.0}
        for atom, (x, y) in zip(self.atoms, cells, strict=True):
            extent = (x - half, x + half, y + half, y - half)
            image = ax.imshow(atom / np.abs(atom).max(), extent=extent, **style)
        self.figure_.colorbar(image, ax=ax, label="entry / largest entry", shrink=0.8)


def ellipse(A: NDArray[np.floating]) -> Floats:
    """Return points L (cos φ, sin φ) with A = L Lᵀ, which satisfy xᵀ A⁻¹ x = 1, shape (2, points)."""
    angle = np.linspace(0.0, 2.0 * np.pi, _POINTS)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    points: Floats = np.linalg.cholesky(A.astype(np.float64)) @ circle
    return points
