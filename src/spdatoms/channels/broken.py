"""`BrokenChannels`: channels of a matrix that do not fit the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.warning import warn_user
from spdatoms.base import SPDEstimator, checked_fit, per_matrix
from spdatoms.channels._statistics import Statistics, robust_size
from spdatoms.geometry.channels import Mask, cut, find_unfit_channels, known_channels, patterns
from spdatoms.geometry.hermitian import as_double
from spdatoms.geometry.validation import as_float, check_stack
from spdatoms.layout import POSITIVE, Numbers, holds

#: Fewer training matrices cannot tell what is usual, nor can fewer queries tell what is usual among them.
_LEAST, _FEW, _LEAST_QUERIES = 4, 20, 30
#: Training matrices beyond this number, evenly spaced ones of which are kept, tell little more.
_MOST = 2000
#: Statistics for other sets of channels are kept up to some such bytes.
_KEPT_BYTES = 1 << 28


@dataclass(frozen=True)
class BrokenChannel:
    """A channel that was found to be broken.

    Attributes
    ----------
    matrix, channel : int
        Which one.
    reason : str
        What does not fit.
    score : float
        The score relative to its threshold: more than 1.
    p_value : float
        The probability that the greatest score of a clean matrix, like those of training, is as large as this.
    """

    matrix: int
    channel: int
    reason: str
    score: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"matrix {self.matrix}, channel {self.channel}: {self.reason} ({self.score:.3g} times the threshold, "
            f"p = {self.p_value:.2g})"
        )


@allow.with_parameters
class BrokenChannels(Threaded, TransformerMixin, SPDEstimator):
    """Find the channels of matrices that do not fit the others, and leave them out.

    ``T_k = zᵀC⁻¹z``: channel k is broken if T_k is the largest of all channels and exceeds what max_k T_k of left-out
    training matrices exceeds with a probability of ``false_alarms``; it is cut from all matrices, and so on.

    The entries of z, in units of their left-out deviations, with C their correlation, say how far off are: the
    variance of k from what the other channels predict; its conditional variance, which they do not explain; and what k
    adds to the Stein divergence to the nearest training matrices, if that is too much.

    Parameters
    ----------
    false_alarms : float, default=0.01
        The share of clean matrices, like those of training, in which a channel may be found.
    max_share : float, default=1/3
        At most this share of the channels of a matrix is found, but one may be.

    Attributes
    ----------
    threshold_ : float
        The threshold of T for matrices with all channels.
    shift_ : ndarray of shape (2, 3)
        What `recalibrate` has found: location and size of z among other matrices; zeros and ones before.
    n_features_in_

    See Also
    --------
    SPDRange : For channels that others determine.

    Notes
    -----
    The threshold is the quantile of a Gumbel distribution with mean and variance of log max_k T_k over up to
    300 left-out training matrices. Where the tails of residuals are light, alarms are fewer than asked for. It holds
    for queries like those of training. Where they come from another session or pose, there are more alarms: see
    `recalibrate`. Swapped channels, and noise no larger than the signal, are found less often. A channel that is
    missing already (a row and a column of NaN) stays missing, a flat one (of zeros) is always found.

    Training matrices with broken channels raise the threshold; y is not used.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import BrokenChannels
    >>> signals = np.random.default_rng(0).standard_normal((60, 4, 100))
    >>> signals = np.linalg.cholesky(0.2 * np.eye(4) + 0.8) @ signals
    >>> X = signals @ signals.swapaxes(1, 2) / 100
    >>> detector = BrokenChannels().fit(X[:50])
    >>> X[55, 2] *= 4.0  # its gain
    >>> X[55, :, 2] *= 4.0
    >>> np.argwhere(detector.predict(X[50:]))
    array([[5, 2]])
    >>> detector.report(X[50:])[0].reason
    'its variance is 16 times what the other channels predict'
    """

    hermitian: ClassVar[bool] = True
    _stored = holds("_matrices", shift_=Numbers("two three"), threshold_=POSITIVE)
    false_alarms: float = allow.parameter(allow.real(above=0, below=1), default=0.01)
    _: KW_ONLY
    max_share: float = allow.parameter(allow.real(above=0, most=1), default=1 / 3)

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> BrokenChannels:
        """Learn what is usual among matrices without broken channels.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices, at least four; with fewer than 20 there is a warning, because clean queries then get
            more alarms than ``false_alarms``. A Dask array is collected in memory.
        """
        X = self.check_training_matrices(X)
        check_enough(X, _LEAST)
        if len(X) < _FEW:
            warn_user(
                f"{len(X)} training matrices say little of what is usual: clean queries may get many more alarms "
                f"than false_alarms={self.false_alarms:g}. Fit to {_FEW} or more."
            )
        if X.shape[-1] == 1:
            raise ValueError(
                "X holds 1×1 matrices (n_features = 1): a channel is judged by others."
            )
        self._matrices = X[evenly_spaced(len(X), _MOST)]
        self.shift_ = np.array([[0.0] * 3, [1.0] * 3])
        usual = self._statistics(np.ones(X.shape[-1], np.bool_))
        self.threshold_ = float(np.exp(usual.threshold(self.false_alarms)))
        return self

    def recalibrate(self, X: ArrayLike) -> BrokenChannels:
        """Adapt to matrices of another session: what is usual there counts if it is more than in training.

        Location and size of the three statistics are those over all channels of X, by medians. If less than half of all
        channels are broken, and the shift is much the same for all channels, then a channel is found in about
        ``false_alarms`` of clean matrices again. A broken channel must differ by more to be found.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            Unlabelled matrices, at least 30; with fewer there is a warning, and nothing changes.

        Returns
        -------
        BrokenChannels
            The estimator itself.
        """
        X, known, flat = self._opened(X)
        complete = X[(known | flat).all(axis=1)]
        if len(complete) < _LEAST_QUERIES:
            warn_user(
                f"{len(complete)} complete matrices do not tell what is usual among them, "
                f"{_LEAST_QUERIES} would: the thresholds of training stay."
            )
            return self
        usual = self._statistics(np.ones(X.shape[-1], np.bool_))
        location, size = robust_size(usual.residuals(as_double(complete), self.n_jobs))
        self.shift_ = np.stack(
            [location - usual.robust[0], np.maximum(size / usual.robust[1], 1.0)]
        )
        return self

    @per_matrix
    def predict(self, X: ArrayLike) -> Mask:
        """Return which channels are broken.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. Rows and columns of NaN are missing channels; those of zeros are broken.

        Returns
        -------
        ndarray of bool of shape (m, n)
            True where a channel is broken.
        """
        X, known, broken = self._opened(X)
        for rows, channels, _, _ in self._search(X, known):
            broken[rows, channels] = True
        return broken

    @per_matrix
    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the matrices with rows and columns of NaN for broken channels.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            As in `predict`.

        Returns
        -------
        ndarray of shape (m, n, n)
            The matrices, as estimators take them whose queries may lack channels.
        """
        broken = self.predict(X)
        found = np.array(as_float(X, "X"))
        found[broken] = np.nan
        found.swapaxes(1, 2)[broken] = np.nan
        return found

    @per_matrix
    def score_channels(self, X: ArrayLike) -> Floats:
        """Return T_k relative to the threshold.

        Returns
        -------
        ndarray of shape (m, n)
            The scores: the channel with the largest, if that is above 1, is broken, and then others
            are judged without it. NaN for missing channels, infinity for flat ones.
        """
        X, known, flat = self._opened(X)
        scores = np.where(flat, np.inf, np.nan)
        for mask, rows in patterns(known):
            if mask.sum() > 1:
                usual = self._statistics(mask)
                _, T = self._judged(usual, cut(X[rows], mask))
                scores[rows[:, None], np.flatnonzero(mask)] = np.exp(T)
        return scores

    def report(self, X: ArrayLike) -> list[BrokenChannel]:
        """Return the broken channels of X, as in `predict`, why they are, and how sure that is.

        Returns
        -------
        list of BrokenChannel
            By matrix; those of a matrix in the order in which they were found.
        """
        X, known, flat = self._opened(X)
        found = [
            BrokenChannel(int(i), int(k), "it has no variance", np.inf, 0.0)
            for i, k in np.argwhere(flat)
        ]
        for rows, channels, Z, judged in self._search(X, known):
            for i, k, reason, (score, p_value) in zip(rows, channels, Z, judged, strict=True):
                found.append(
                    BrokenChannel(int(i), int(k), _reason(reason), float(score), float(p_value))
                )
        return sorted(found, key=lambda one: one.matrix)

    def _opened(self, X: ArrayLike) -> tuple[FloatArray, Mask, Mask]:
        """Return queries and the masks (m, n) of channels to judge, and of flat ones, for which no query is refused."""
        check_is_fitted(self)
        X = as_float(X, "X")
        check_stack(X, "X")
        X = self._of_its_type(check_size(X, self.n_features_in_))
        known, varying = known_channels(X), (X != 0).any(axis=2)
        find_unfit_channels(X, known & varying).raise_if_any("X", X.shape[:1])
        return X, known & varying, known & ~varying

    def _search(
        self, X: FloatArray, known: Mask
    ) -> Iterator[tuple[Indices, Indices, Floats, Floats]]:
        """Yield matrices with the channels that are cut from them, one each at a time: (e, z), score and p-value."""
        known = known.copy()
        active = np.arange(len(X))
        for _ in range(max(1, int(self.max_share * X.shape[-1]))):
            again = []
            for mask, some in patterns(known[active]):
                rows, at = active[some], np.flatnonzero(mask)
                if len(at) < 2:
                    continue
                usual = self._statistics(mask)
                Z, T = self._judged(usual, cut(X[rows], mask))
                worst = T.argmax(axis=1)
                bad = T.max(axis=1) > 0.0
                rows, worst, T, Z = rows[bad], worst[bad], T[bad].max(axis=1), Z[bad]
                known[rows, at[worst]] = False
                z = Z[np.arange(len(rows)), worst]
                e = z * self.shift_[1] * usual.deviations[worst]
                p = usual.p_value(T + usual.threshold(self.false_alarms))
                yield rows, at[worst], np.stack([e, z], axis=1), np.stack([np.exp(T), p], axis=1)
                again.append(rows)
            active = np.sort(np.concatenate([*again, np.arange(0)]))
            if not len(active):
                return

    def _judged(self, usual: Statistics, X: FloatArray) -> tuple[Floats, Floats]:
        """Return z, (m, n, 3), and log T relative to its threshold, (m, n)."""
        Z = (usual.residuals(as_double(X), self.n_jobs) - self.shift_[0]) / self.shift_[1]
        return Z, usual.log_scores(Z) - usual.threshold(self.false_alarms)

    def _statistics(self, mask: Mask) -> Statistics:
        """Return what is usual among the training matrices with these channels, which may have been kept."""
        matrices, kept = _STATISTICS.get(self, (None, {}))
        if matrices is not self._matrices:
            kept = {}
            _STATISTICS[self] = self._matrices, kept
        key = mask.tobytes()
        if key not in kept:
            while len(kept) > _KEPT_BYTES // self._matrices.nbytes:
                kept.pop(next(iter(kept)), None)
            kept[key] = Statistics.fit(as_double(cut(self._matrices, mask)), self.n_jobs)
        return kept[key]


#: By estimator, with the training matrices that they are of. They are no attributes: copies and files have none.
_STATISTICS: WeakKeyDictionary[BrokenChannels, tuple[FloatArray, dict[bytes, Statistics]]]
_STATISTICS = WeakKeyDictionary()


def check_enough(X: FloatArray, least: int) -> None:
    """Refuse training matrices that are too few to tell what is usual."""
    if len(X) < least:
        raise ValueError(
            f"X holds {len(X)} matrices (n_samples={len(X)}): what is usual takes at least {least}."
        )


def _reason(values: Floats) -> str:
    """Return the words for residuals e and their z."""
    (e, z) = values
    times = np.exp(np.clip(e, -700, 700))
    kind = int(np.argmax([abs(z[0]), abs(z[1]), z[2]]))
    return (
        f"its variance is {times[0]:.2g} times what the other channels predict",
        f"the variance that other channels do not explain is {times[1]:.2g} times what they predict",
        f"it adds {times[2]:.2g} times the usual to the divergence from similar matrices",
    )[kind]
