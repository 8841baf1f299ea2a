"""`SPDNovelty`: matrices that sparse codes represent worse than they represent left-out training matrices."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.sampling import generator
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator, checked_fit, per_matrix
from spdatoms.channels import BrokenChannels
from spdatoms.channels.broken import check_enough
from spdatoms.coding import SPDSparseCoder
from spdatoms.coding.blocks import residuals
from spdatoms.coding.coder import Coder
from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import SYMMETRIC_METRIC
from spdatoms.geometry.channels import Mask, cut
from spdatoms.lasso.solve import sparse_code
from spdatoms.layout import ANY, Matrices, Maybe, Numbers, Part, holds

#: Less training matrices cannot tell what is usual; to judge channels takes these numbers of channels and matrices.
_LEAST, _LEAST_CHANNELS, _LEAST_JUDGED = 2, 2, 4


@allow.with_parameters
class SPDNovelty(Threaded, OutlierMixin, SPDEstimator):
    """Find matrices that are not like those of training, and the channels that are to blame.

    ``s(X) = −‖φ(X) − Σ_j y_j φ(D_j)‖²``: minus the residual of the sparse code of X over the atoms.

    A matrix is novel if its score is below that of nearly all training matrices, each of which was left out when
    it was scored. So the rate of false alarms is known: for matrices like those of training it is at most the one asked
    for, as far as these are exchangeable.

    Parameters
    ----------
    n_atoms : int, default=None
        The number N of atoms that are learned of the training matrices, by `SPDDictionaryLearning`. None takes all
        training matrices as atoms, which is quick to fit, and right up to some thousands of them.
    beta : float or "auto", default="auto"
        The β of the kernel, as in `SPDSparseCoder` and `SPDDictionaryLearning`.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁, as in these.
    false_alarms : float, default=0.01
        The share of matrices like those of training that may be called novel. With m of these it is at least
        1/(m + 1).
    cv : int, default=5
        What is left out in turn when atoms are learned: this number of random folds. Without ``n_atoms`` single
        matrices are left out, which costs nothing.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness of folds and of the first atoms, if atoms are learned.

    Attributes
    ----------
    coder_ : SPDSparseCoder or SPDDictionaryLearning
        What codes matrices.
    left_out_scores_ : ndarray of shape (m,)
        The scores of the training matrices, each left out.
    offset_ : float
        The score below which a matrix is novel.
    channels_ : BrokenChannels or None
        What judges channels; None for 1×1 matrices, or less than four training matrices.
    n_features_in_

    See Also
    --------
    BrokenChannels : Single channels that do not fit the others, to be left out.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDNovelty
    >>> signals = np.random.default_rng(0).standard_normal((120, 4, 50))
    >>> X = signals @ signals.swapaxes(1, 2) / 50
    >>> detector = SPDNovelty().fit(X[:100])
    >>> X[110, 2] *= 3.0  # its gain
    >>> X[110, :, 2] *= 3.0
    >>> np.flatnonzero(detector.predict(X[100:]) < 0)
    array([10])
    >>> detector.score_channels(X[110:111]).argmax(axis=1)
    array([2])
    """

    hermitian: ClassVar[bool] = True
    _stored = holds(
        coder_=Part(Coder),
        channels_=Maybe(Part(BrokenChannels, N="judged")),
        left_out_scores_=Numbers("left"),
        _matrices=Maybe(Matrices("left")),
        offset_=ANY,
    )
    n_atoms: int | None = allow.parameter(allow.NONE | allow.integer(1), default=None)
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    _: KW_ONLY
    false_alarms: float = allow.parameter(allow.real(above=0, below=1), default=0.01)
    cv: int = allow.parameter(allow.integer(2), default=5)
    random_state: Any = allow.parameter(allow.RANDOM_STATE, default=None)

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> SPDNovelty:
        """Learn what is usual.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices, at least two, all of them usual. A Dask array is collected in memory.
        """
        X = self.check_training_matrices(X)
        check_enough(X, _LEAST)
        if self.n_atoms is None:
            coder = SPDSparseCoder(None, self.metric, self.beta, self.alpha, n_jobs=self.n_jobs)
            self.coder_: Any = coder.fit(X)
            self.left_out_scores_ = _leave_one_out(self.coder_)
            self._matrices = None
        else:
            rng = generator(self.random_state)
            self.left_out_scores_ = self._leave_folds_out(X, rng)
            self.coder_ = self._learner(rng).fit(X)
            self._matrices = X  # for queries that lack channels
        rank = int(self.false_alarms * (len(X) + 1))
        self.offset_ = float(np.sort(self.left_out_scores_)[max(rank, 1) - 1])
        judged = len(X) >= _LEAST_JUDGED and X.shape[-1] >= _LEAST_CHANNELS
        self.channels_ = BrokenChannels(n_jobs=self.n_jobs).fit(X) if judged else None
        return self

    @per_matrix
    def score_samples(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Floats:
        """Return minus the residual of the code of each matrix.

        Returns
        -------
        ndarray of shape (m,)
            The scores, at most 0; the lower, the less usual.
        """
        return self._scores(X)

    @per_matrix
    def decision_function(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Floats:
        """Return the scores minus ``offset_``.

        Returns
        -------
        ndarray of shape (m,)
            Negative for novel matrices.
        """
        return self._scores(X) - self.offset_

    @per_matrix
    def predict(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Indices:
        """Return which matrices are novel.

        Returns
        -------
        ndarray of int of shape (m,)
            −1 for novel matrices, 1 for others.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    @per_matrix
    def p_values(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Floats:
        """Return how probable a score as low as this is for a matrix like those of training.

        p = (1 + #{i : s_i ≤ s(X)}) / (m + 1), with the scores s_i of the m training matrices, each left out.

        Returns
        -------
        ndarray of shape (m,)
            The probabilities.
        """
        scores, usual = self._scores(X), np.sort(self.left_out_scores_)
        return np.asarray((1 + np.searchsorted(usual, scores, "right")) / (len(usual) + 1))

    @per_matrix
    def score_channels(self, X: ArrayLike) -> Floats:
        """Return how far each channel is from what the others, and similar matrices, say of it.

        Returns
        -------
        ndarray of shape (m, n)
            The scores of `BrokenChannels.score_channels`: one above 1 is a channel to blame by itself. If none is, the
            matrix differs by all of its channels.
        """
        X = self.check_queries(X)
        if self.channels_ is None:
            raise ValueError(
                "Channels are judged by others, and by at least four training matrices: there are too few."
            )
        return self.channels_.score_channels(X)

    def _scores(self, X: ArrayLike) -> Floats:
        X = self.check_queries(X)
        return np.asarray(self.coder_.score_samples(X))

    def _learner(self, rng: np.random.Generator) -> SPDDictionaryLearning:
        assert self.n_atoms is not None
        return SPDDictionaryLearning(
            self.n_atoms,
            self.metric,
            self.beta,
            self.alpha,
            random_state=int(rng.integers(2**31)),
            n_jobs=self.n_jobs,
        )

    def _leave_folds_out(self, X: FloatArray, rng: np.random.Generator) -> Floats:
        """Return the scores of matrices by dictionaries that are learned without their fold."""
        fold_of = rng.permutation(len(X)) % min(self.cv, len(X))
        scores = np.empty(len(X))
        for fold in range(fold_of.max() + 1):
            rows = fold_of == fold
            scores[rows] = self._learner(rng).fit(X[~rows]).score_samples(X[rows])
        return scores

    def _cut(self, known: Mask) -> Self:
        X = self.coder_.atoms_ if self._matrices is None else self._matrices
        return self._fitted_anew(cut(X, known))

    def _answers_to_nothing(self) -> dict[str, Array]:
        return {
            "predict": np.ones(1, np.intp),
            "decision_function": np.zeros(1),
            "score_samples": np.array([self.offset_]),
            "p_values": np.ones(1),
        }


def _leave_one_out(coder: SPDSparseCoder) -> Floats:
    """Return the scores of the atoms, each coded over the others."""
    gram = coder.kernel_.gram_
    codes = sparse_code(
        gram,
        gram,
        coder.alpha_,
        exclude=np.arange(len(gram)),
        check_gram=False,
        n_jobs=coder.n_jobs,
    )
    return -residuals(np.asarray(codes), gram, gram)
