"""Which channels decided: a matrix of connections, or a map of the scalp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.extras import import_extra
from spdatoms._utils.text import visible
from spdatoms.classification.relevance import ChannelRelevance
from spdatoms.plotting.display import AXES, Display

#: Up to this number of channels their names are written.
_NAMED = 32
#: Negative entries beyond this share of the greatest have a mark.
_MARKED = 0.1
_INFO = allow.NONE | allow.Allowed(
    ("an mne.Info",), lambda value: isinstance(value, Mapping) and "chs" in value
)


class ChannelRelevanceDisplay(Display):
    """What channels, and pairs of channels, contributed to a decision.

    Red speaks for the prediction, blue (and a minus sign) for the runner-up. Without ``info`` it is the matrix of all
    pairs, with it a map of the scalp with the contribution of each channel.

    Parameters
    ----------
    relevance : ChannelRelevance
        ``explain(X)[i].channels`` of a classifier. Of several decisions the mean is drawn.
    names : sequence of str, default=None
        The names of the channels.
    info : mne.Info, default=None
        Where the channels are on the head (needs MNE).

    Attributes
    ----------
    image_ : matplotlib AxesImage
        The picture.
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseClassifier
    >>> from spdatoms.plotting import ChannelRelevanceDisplay
    >>> X = np.eye(2) * np.array([1.0, 2.0, 10.0, 20.0])[:, None, None]
    >>> classifier = SPDSparseClassifier(alpha=0.1).fit(X, ["a", "a", "b", "b"])
    >>> display = ChannelRelevanceDisplay.from_estimator(classifier, 1.5 * X[:1], names=["Fz", "Cz"])
    >>> display.ax_.get_title()
    'contribution to the margin'
    """

    @allow.checks(
        relevance=allow.Allowed(
            ("a ChannelRelevance",), lambda value: isinstance(value, ChannelRelevance)
        ),
        names=allow.NONE | allow.ARRAY,
        info=_INFO,
    )
    def __init__(
        self,
        relevance: ChannelRelevance,
        *,
        names: Sequence[str] | None = None,
        info: Any = None,
    ) -> None:
        n = relevance.pairs.shape[-1]
        for what, given in (("names", names), ("info", None if info is None else info["chs"])):
            if given is not None and len(given) != n:
                raise ValueError(f"{what} must have {n} channels, got {len(given)}.")
        self.relevance = relevance
        self.names = names
        self.info = info

    @classmethod
    @allow.checks(estimator=allow.estimator("explain"), ax=AXES)
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        info: Any = None,
        ax: Any | None = None,
        **kwargs: Any,
    ) -> ChannelRelevanceDisplay:
        """Draw which channels a classifier's decisions about matrices are due to.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier with a method ``explain``, such as `spdatoms.SPDEnsembleClassifier`.
        X : array-like of shape (m, n, n)
            SPD matrices. Of several the mean is drawn.
        names : sequence of str, default=None
            The names of the channels.
        info : mne.Info, default=None
            Where the channels are on the head.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **kwargs : dict
            Passed to matplotlib's ``imshow``, or to MNE's ``plot_topomap``.

        Returns
        -------
        ChannelRelevanceDisplay
        """
        found = estimator.explain(X).channels
        return cls(found, names=names, info=info).plot(ax, **kwargs)

    def _size(self) -> tuple[float, float]:
        return 5.6, 4.6

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        pairs = self.relevance.pairs
        pairs = pairs.reshape(-1, *pairs.shape[-2:]).mean(axis=0)
        if self.info is None:
            self._draw_pairs(ax, pairs, **kwargs)
        else:
            topomap = import_extra("mne.viz", extra="eeg").plot_topomap
            values = pairs.sum(axis=1)
            limit = float(np.abs(values).max()) or 1.0
            style = {"cmap": "RdBu_r", "vlim": (-limit, limit), "show": False, "axes": ax}
            self.image_, _ = topomap(values, self.info, **style | kwargs)
        ax.set_title("contribution to the margin", fontsize=10)
        ax.figure.colorbar(self.image_, ax=ax, shrink=0.8)

    def _draw_pairs(self, ax: Any, pairs: Any, **kwargs: Any) -> None:
        limit = float(np.abs(pairs).max()) or 1.0
        style = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
        self.image_ = ax.imshow(pairs, **style | kwargs)
        # Minus signs, so that it can be read in grey.
        for a, b in np.argwhere(pairs < -_MARKED * limit) if len(pairs) <= _NAMED else ():
            ax.text(b, a, "−", ha="center", va="center", fontsize=8)
        names = self.names
        if names is not None and len(names) <= _NAMED:
            labels = [visible(str(name)) for name in names]
            ax.set_xticks(range(len(labels)), labels, rotation=90, fontsize=8)
            ax.set_yticks(range(len(labels)), labels, fontsize=8)
        else:
            ax.set_xlabel("channel")
            ax.set_ylabel("channel")
