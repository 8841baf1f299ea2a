"""How many atoms a code uses, over β and α."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms.coding import SPDSparseCoder
from spdatoms.geometry.validation import check_spd
from spdatoms.plotting.display import AXES, Display

#: The default factors of the grid.
_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)


class BandwidthPenaltyDisplay(Display):
    """How many atoms a code uses, over a grid of β and α.

    The mean number of non-zeros of codes with the bandwidths f·β and the penalties g·α, where β and α are those of
    an estimator, which are marked.

    Parameters
    ----------
    beta_factors : array-like of shape (n_betas,)
        The factors f, positive and increasing.
    alpha_factors : array-like of shape (n_alphas,)
        The factors g, positive and increasing.
    nonzeros : array-like of shape (n_betas, n_alphas)
        The mean number of non-zeros for each pair.
    beta : float, default=None
        The β of the factor 1, for the title.
    alpha : float, default=None
        The α of the factor 1, for the title.

    Attributes
    ----------
    image_ : matplotlib AxesImage
        The grid.
    mark_ : matplotlib Line2D or None
        The mark of the factors 1 and 1; None if the grid is without them.
    ax_ : matplotlib Axes
        The axes with the grid.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from spdatoms.plotting import BandwidthPenaltyDisplay
    >>> display = BandwidthPenaltyDisplay([0.1, 1.0], [1.0, 10.0], [[9.0, 3.0], [5.0, 1.0]]).plot()
    >>> display.nonzeros.shape
    (2, 2)
    """

    @allow.checks(
        beta_factors=allow.reals(above=0),
        alpha_factors=allow.reals(above=0),
        nonzeros=allow.NUMBERS,
        beta=allow.NONE | allow.real(above=0),
        alpha=allow.NONE | allow.real(0),
    )
    def __init__(
        self,
        beta_factors: ArrayLike,
        alpha_factors: ArrayLike,
        nonzeros: ArrayLike,
        *,
        beta: float | None = None,
        alpha: float | None = None,
    ) -> None:
        self.beta_factors = np.asarray(beta_factors, np.float64)
        self.alpha_factors = np.asarray(alpha_factors, np.float64)
        self.nonzeros = np.asarray(nonzeros, np.float64)
        expected = len(self.beta_factors), len(self.alpha_factors)
        if self.nonzeros.shape != expected:
            raise ValueError(f"nonzeros must have the shape {expected}, got {self.nonzeros.shape}.")
        self.beta, self.alpha = beta, alpha

    @classmethod
    @allow.checks(
        estimator=allow.estimator(),
        beta_factors=allow.reals(above=0),
        alpha_factors=allow.reals(above=0),
        ax=AXES,
    )
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        beta_factors: ArrayLike = _FACTORS,
        alpha_factors: ArrayLike = _FACTORS,
        ax: Any | None = None,
        **kwargs: Any,
    ) -> BandwidthPenaltyDisplay:
        """Code matrices over the atoms of an estimator, for all pairs of factors.

        Parameters
        ----------
        estimator : estimator
            A fitted sparse coder or dictionary learner. Its atoms stay what they are.
        X : array-like of shape (m, n, n)
            SPD matrices to code; some tens tell enough.
        beta_factors : array-like of float, default=(0.1, 0.3, 1, 3, 10)
            Multiples of the β of the estimator.
        alpha_factors : array-like of float, default=(0.1, 0.3, 1, 3, 10)
            Multiples of its α.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        BandwidthPenaltyDisplay
        """
        check_is_fitted(estimator)
        beta = getattr(getattr(estimator, "kernel_", None), "beta_", None)
        if beta is None or not hasattr(estimator, "alpha_"):
            raise TypeError(
                f"The estimator must have atoms with a kernel and an alpha_, which {type(estimator).__name__} has not."
            )
        X = check_spd(X)
        coder = SPDSparseCoder(
            estimator.atoms_,
            estimator.metric,
            positive=getattr(estimator, "positive", False),
            n_jobs=estimator.n_jobs,
        )
        alphas = [float(factor) * estimator.alpha_ for factor in np.asarray(alpha_factors)]
        nonzeros = []
        for factor in np.asarray(beta_factors):
            fitted = clone(coder).set_params(beta=float(factor) * beta, alpha=alphas[0]).fit(X)
            nonzeros.append([_mean_nonzeros(fitted, alpha, X) for alpha in alphas])
        display = cls(beta_factors, alpha_factors, nonzeros, beta=beta, alpha=estimator.alpha_)
        return display.plot(ax, **kwargs)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.image_ = ax.imshow(
            self.nonzeros, **{"cmap": "Greys", "origin": "lower", "aspect": "auto"} | kwargs
        )
        middle = (self.nonzeros.max() + self.nonzeros.min()) / 2
        for (i, j), value in np.ndenumerate(self.nonzeros):
            ax.text(
                j,
                i,
                f"{value:.1f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if value > middle else "black",
            )
        own = np.argwhere(
            np.isclose(self.beta_factors[:, None], 1) & np.isclose(self.alpha_factors, 1)
        )
        self.mark_ = None
        if len(own):
            (i, j), *_ = own
            (self.mark_,) = ax.plot(
                [j], [i], "o", markersize=26, markerfacecolor="none", color="0.4"
            )
        ax.set_xticks(
            range(len(self.alpha_factors)), [f"{factor:g}" for factor in self.alpha_factors]
        )
        ax.set_yticks(
            range(len(self.beta_factors)), [f"{factor:g}" for factor in self.beta_factors]
        )
        known = [
            f"{name} = {value:.3g}"
            for name, value in (("β", self.beta), ("α", self.alpha))
            if value is not None
        ]
        ax.set_title(", ".join(["atoms per code", *known]), fontsize=10)
        ax.set(xlabel="multiple of α", ylabel="multiple of β")


def _mean_nonzeros(coder: SPDSparseCoder, alpha: float, X: Any) -> float:
    coder.alpha_ = alpha  # the Gram matrix is the same for every α
    return float(np.count_nonzero(coder.transform(X), axis=1).mean())
