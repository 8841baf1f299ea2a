"""How the code of a query changes with its penalty α."""

from __future__ import annotations

from itertools import cycle
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.text import visible
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms.geometry.validation import check_spd
from spdatoms.lasso.solve import sparse_code_path
from spdatoms.plotting.display import INK, PALE, FittedDisplay, without_frame

#: Line styles of the labelled atoms, or classes, in turn.
_LINE_STYLES = ("-", "--", ":", "-.")
#: The default values of α fall from the least one with a zero code to this fraction of it.
_LEAST_FRACTION = 1e-3


class RegularisationPathDisplay(FittedDisplay):
    """The code of one query as the penalty α falls.

    y(α) = argmin_y 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁, the code of one query X as α falls: one line per atom.

    ``from_estimator`` draws the path of one matrix over the atoms of a sparse coder, classifier or dictionary learner,
    whose ``alpha_`` is marked. Without ``alphas`` there they fall from the least one with a zero code to a thousandth
    of it, and without ``labels`` those of a classifier are used.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        The values of α, positive and decreasing.
    codes : array-like of shape (n_alphas, N)
        The code for each of them.
    labels : array-like of shape (N,), default=None
        Names of the atoms, or their classes: atoms with the same label have the same style.
    alpha : float, default=None
        A value of α to mark.
    n_labelled : int, default=6
        The number of atoms, those with the largest entries, that are dark and named; the others are
        pale.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One curve per atom, in the order of the atoms.
    named_ : ndarray
        The indices of the atoms that are named, the largest first.

    Examples
    --------
    >>> from spdatoms.plotting import RegularisationPathDisplay
    >>> display = RegularisationPathDisplay([1.0, 0.1], [[0.0, 0.0, 0.0], [0.6, -0.2, 0.0]]).plot()
    >>> display.named_
    array([0, 1])
    """

    _given = "codes", "alpha"

    @allow.checks(
        alphas=allow.NUMBERS,
        codes=allow.NUMBERS,
        alpha=allow.NONE | allow.real(0),
        n_labelled=allow.integer(0),
    )
    def __init__(
        self,
        alphas: ArrayLike,
        codes: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        alpha: float | None = None,
        n_labelled: int = 6,
    ) -> None:
        self.alphas = np.asarray(alphas, dtype=np.float64)
        self.codes = np.asarray(codes, dtype=np.float64)
        if (
            self.codes.ndim != 2
            or self.alphas.shape != self.codes.shape[:1]
            or not len(self.alphas)
        ):
            raise ValueError(
                "alphas and codes must have the shapes (n_alphas,) and (n_alphas, N), got "
                f"{self.alphas.shape} and {self.codes.shape}."
            )
        if not (self.alphas > 0).all() or (np.diff(self.alphas) >= 0).any():
            raise ValueError("alphas must be positive and decrease.")
        self.labels = None if labels is None else np.asarray(labels)
        if self.labels is not None and self.labels.shape != self.codes.shape[1:]:
            raise ValueError(
                f"labels must have the shape ({self.codes.shape[1]},), got {self.labels.shape}."
            )
        self.alpha = alpha
        self.n_labelled = n_labelled

    @classmethod
    def _of(cls, estimator: Any, X: ArrayLike, alphas: ArrayLike | None = None, **own: Any) -> Self:
        (allow.NONE | allow.reals(above=0)).check("alphas", alphas)
        query = np.asarray(X)
        query = check_spd(query[None] if query.ndim == 2 else query)
        if len(query) != 1:
            raise ValueError(f"X must be a single matrix, got {len(query)}: give X[i] for some i.")
        if hasattr(estimator, "average_"):
            raise ValueError(
                "This classifier averages over several kernels, each with a path of its own: fit one with a "
                "single kernel, such as SPDSparseClassifier()."
            )
        check_is_fitted(estimator)
        kernel: Any = getattr(estimator, "kernel_", None)
        if not hasattr(kernel, "gram_") or not hasattr(estimator, "alpha_"):
            raise TypeError(
                "The estimator must have atoms with a kernel and an alpha_, which "
                f"{type(estimator).__name__} has not."
            )
        gram, cross = np.asarray(kernel.gram_), kernel.cross(query)
        values = _default_alphas(cross) if alphas is None else np.asarray(alphas, np.float64)
        positive = getattr(estimator, "positive", False)
        path = sparse_code_path(gram, cross, values, positive=positive, check_gram=False)
        own.setdefault("labels", getattr(estimator, "atom_labels_", None))
        return cls(values, np.concatenate(path), alpha=getattr(estimator, "alpha_", None), **own)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.named_ = self._largest()
        names = {int(atom): self._name(atom) for atom in self.named_}
        styles = dict(zip(dict.fromkeys(names.values()), cycle(_LINE_STYLES), strict=False))
        self.lines_ = []
        named: dict[str, Any] = {}
        for atom, y in enumerate(self.codes.T):
            dark = atom in names
            style = {"color": INK if dark else PALE, "linewidth": 1.5 if dark else 0.8}
            style |= {"linestyle": styles[names[atom]] if dark else "-", "zorder": 3 if dark else 2}
            self.lines_ += ax.plot(self.alphas, y, **style | kwargs)
        for atom, name in names.items():
            named.setdefault(name, self.lines_[atom])
        if named:  # each label once, beside the axes
            place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
            ax.legend(list(named.values()), list(named), fontsize=9, handlelength=2.8, **place)
        if self.alpha is not None and self.alphas[-1] <= self.alpha <= self.alphas[0]:
            ax.axvline(self.alpha, color="0.4", linewidth=0.8)
            ax.annotate(f" α = {self.alpha:.3g}", (self.alpha, 1), (2, -2), va="top", fontsize=8,
                        xycoords=ax.get_xaxis_transform(), textcoords="offset points")  # fmt: skip
        ax.axhline(0.0, color="0.7", linewidth=0.6, zorder=1)
        ax.set_xscale("log")
        ax.set_xlim(self.alphas[0], self.alphas[-1])
        used = np.count_nonzero(self.codes[-1])
        ax.set_title(f"{used} of {self.codes.shape[1]} atoms at the least α", fontsize=10)
        ax.set(xlabel="α, falling", ylabel="entry of the code")
        without_frame(ax)

    def _largest(self) -> Indices:
        """Return the atoms to name: those with the largest entries anywhere on the path."""
        sizes = np.abs(self.codes).max(axis=0)
        order = np.argsort(-sizes, kind="stable")[: self.n_labelled]
        used: Indices = order[sizes[order] > 0]
        return used

    def _name(self, atom: np.intp) -> str:
        return f"atom {atom}" if self.labels is None else visible(self.labels[atom])


def _default_alphas(cross: Array) -> Floats:
    """Return 61 values from 2·max|k|, the least α with a zero code, to a thousandth of it."""
    greatest = 2.0 * float(np.abs(cross).max())
    if greatest <= 0:
        raise ValueError(
            "The query has no kernel value above zero with any atom: beta is too large."
        )
    return np.geomspace(greatest, _LEAST_FRACTION * greatest, 61)
