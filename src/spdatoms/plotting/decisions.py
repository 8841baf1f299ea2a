"""Why a query has its class or number: training matrices, and channels, that decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.extras import import_extra
from spdatoms._utils.text import visible
from spdatoms.classification.named_atoms import NamedAtoms
from spdatoms.classification.relevance import ChannelRelevance
from spdatoms.geometry.validation import check_spd
from spdatoms.plotting.display import AXES, INK, PALE, Display, FittedDisplay, without_frame


def _is_picture(value: Any) -> bool:
    try:
        picture = np.asarray(value)
    except ValueError:  # rows of different lengths
        return False
    drawable = picture.ndim == 2 or (picture.ndim == 3 and picture.shape[-1] in (3, 4))
    return drawable and picture.size > 0 and picture.dtype.kind in "fiub"


_PICTURE = allow.Allowed(("an image (height, width)", "one with 3 or 4 channels"), _is_picture)


class ExplanationDisplay(Display):
    """What training matrices contribute to a decision or to a number; what matters most comes first.

    Bars are dark for matrices that speak for the prediction, and pale for others. Those speak for it that have the
    predicted label, or that move a number away from the mean.

    Parameters
    ----------
    explanation : Explanation or TargetExplanation
        What ``explain`` of a classifier or a regressor returns for one matrix. Of several targets,
        ``explanation.of_target(index)`` is one.
    images : sequence of array-like, default=None
        A picture of each atom, to be shown beside its bar: the images that the training matrices were
        made of, for example.
    max_atoms : int, default=8
        The greatest number of atoms to show.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The bars, from top to bottom.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseClassifier
    >>> from spdatoms.plotting import ExplanationDisplay
    >>> X = np.eye(2) * np.array([1.0, 2.0, 10.0, 20.0])[:, None, None]
    >>> classifier = SPDSparseClassifier(alpha=0.1).fit(X, ["a", "a", "b", "b"])
    >>> display = ExplanationDisplay.from_estimator(classifier, 1.5 * X[0])
    >>> display.ax_.get_title()
    'a (0.994) before b (0)'
    """

    @allow.checks(
        explanation=allow.Allowed(
            ("an Explanation", "a TargetExplanation"),
            lambda value: isinstance(value, NamedAtoms),
        ),
        images=allow.NONE | allow.ARRAY,
        max_atoms=allow.integer(1),
    )
    def __init__(
        self,
        explanation: Any,
        *,
        images: Sequence[ArrayLike] | None = None,
        max_atoms: int = 8,
    ) -> None:
        self.explanation = explanation
        if explanation.contributions.ndim > 1:
            raise ValueError(
                f"explanation is of {explanation.contributions.shape[1]} targets: give that of one of them, such as "
                "explanation.of_target(0)."
            )
        if images is not None and len(images) <= max(explanation.atoms, default=-1):
            raise ValueError(
                f"images must hold a picture of every atom, got {len(images)}, but there is an atom "
                f"{max(explanation.atoms)}."
            )
        if images is not None:
            for atom in explanation.atoms[:max_atoms]:
                _PICTURE.check(f"images[{atom}]", images[int(atom)])
        self.images = images
        self.max_atoms = max_atoms

    @classmethod
    @allow.checks(estimator=allow.estimator("explain"), ax=AXES)
    def from_estimator(
        cls, estimator: Any, x: ArrayLike, *, ax: Any | None = None, **options: Any
    ) -> Self:
        """Draw why a classifier gives one matrix its class, or a regressor its number.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier or regressor with a method ``explain``, such as `spdatoms.SPDEnsembleClassifier`.
        x : array-like of shape (n, n)
            The SPD matrix to explain.
        ax : matplotlib Axes, default=None
            Where to draw; without it a new figure is made.
        **options : dict
            Parameters of the class; all others are passed to matplotlib's ``barh``.

        Returns
        -------
        ExplanationDisplay
        """
        query = np.asarray(x)
        if query.ndim != 2:
            one = ": use x[0], or another of them" if query.ndim == 3 else ""
            raise ValueError(f"x must be a single matrix of shape (n, n), got {query.shape}{one}.")
        query = check_spd(query[None], name="x")
        check_is_fitted(estimator)
        check_size(query, estimator.n_features_in_, "x")
        [explanation] = estimator.explain(query)
        own = cls._own(options)
        return cls(explanation, **own).plot(ax, **options)

    @property
    def _size(self) -> tuple[float, float]:
        return 6.4, max(1.6, 0.45 * self._count() + 1.0)

    def _count(self) -> int:
        return min(len(self.explanation.atoms), self.max_atoms)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        found, count = self.explanation, self._count()
        values, rows = found.contributions[:count], np.arange(count)
        style = {"color": np.where(found.agreeing[:count], INK, PALE), "height": 0.7}
        self.bars_ = ax.barh(rows, values, **style | kwargs)
        ax.bar_label(self.bars_, [f"{value:.2g}" for value in values], padding=3, fontsize=9)
        ax.set_yticks(rows, [visible(name) for name, _ in found.named()][:count])
        ax.set_ylim(max(count, 1) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0, pad=3 if self.images is None else 34)
        ax.margins(x=0.12)
        ax.axvline(0.0, color="0.4", linewidth=0.8)
        ax.set_title(visible(found.headline), fontsize=10)
        shown = f", {count} of {found.n_used} shown" if count < found.n_used else ""
        ax.set_xlabel(f"contribution to {found.contributed_to}{shown}")
        without_frame(ax)
        self._show_images(ax, found.atoms[:count])

    def _show_images(self, ax: Any, atoms: Any) -> None:
        """Put the picture of each atom between its name and its bar."""
        if self.images is None:
            return
        offsets = import_extra("matplotlib.offsetbox", extra="plot")
        for row, atom in enumerate(atoms):
            picture = np.asarray(self.images[int(atom)])
            small = offsets.OffsetImage(picture, zoom=24.0 / max(picture.shape[:2]), cmap="gray")
            place = {"xybox": (-17.0, 0.0), "boxcoords": "offset points", "frameon": False}
            across = ax.get_yaxis_transform()
            ax.add_artist(offsets.AnnotationBbox(small, (0.0, row), xycoords=across, **place))


#: Up to this number of channels their names are written.
_NAMED = 32
#: Negative entries beyond this share of the greatest have a mark.
_MARKED = 0.1
_INFO = allow.NONE | allow.Allowed(
    ("an mne.Info",), lambda value: isinstance(value, Mapping) and "chs" in value
)


class ChannelRelevanceDisplay(FittedDisplay):
    """What channels, and pairs of channels, contributed to a decision.

    Red speaks for the prediction, blue (and a minus sign) for the runner-up. Without ``info`` it is the matrix of all
    pairs, with it a map of the scalp with the contribution of each channel. ``from_estimator`` draws which channels a
    classifier's decisions about matrices are due to, of several the mean.

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

    _methods = ("explain",)

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
    def _of(cls, estimator: Any, X: ArrayLike, **own: Any) -> Self:
        return cls(estimator.explain(X).channels, **own)

    _size = 5.6, 4.6

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        pairs = self.relevance.pairs
        pairs = pairs.reshape(-1, *pairs.shape[-2:]).mean(axis=0)
        shown = pairs if self.info is None else pairs.sum(axis=1)
        limit = float(np.abs(shown).max()) or 1.0
        if self.info is None:
            style: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
            self.image_ = ax.imshow(shown, **style | kwargs)
            self._name_channels(ax, shown < -_MARKED * limit)
        else:
            topomap = import_extra("mne.viz", extra="eeg").plot_topomap
            style = {"cmap": "RdBu_r", "vlim": (-limit, limit), "show": False, "axes": ax}
            self.image_, _ = topomap(shown, self.info, **style | kwargs)
        ax.set_title("contribution to the margin", fontsize=10)
        ax.figure.colorbar(self.image_, ax=ax, shrink=0.8)

    def _name_channels(self, ax: Any, negative: Any) -> None:
        # Minus signs, so that it can be read in grey.
        for a, b in np.argwhere(negative) if len(negative) <= _NAMED else ():
            ax.text(b, a, "−", ha="center", va="center", fontsize=8)
        names = self.names
        if names is not None and len(names) <= _NAMED:
            labels = [visible(str(name)) for name in names]
            ax.set_xticks(range(len(labels)), labels, rotation=90, fontsize=8)
            ax.set_yticks(range(len(labels)), labels, fontsize=8)
        else:
            ax.set(xlabel="channel", ylabel="channel")
