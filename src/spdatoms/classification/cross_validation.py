"""`SPDSparseClassifierCV`: the sparse classifier whose kernel, penalties and rule do best on left-out matrices.

The divergences between training matrices are computed once. For each cell of the grid only the whitening,
the exponential and the codes are computed anew, in every fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.extmath import softmax

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.folds import CV, LEAVE_ONE_OUT, given_folds, sides_of
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms._utils.weights import CLASS_WEIGHT, labelled_weights, part_of
from spdatoms.base import check_labels, checked_fit
from spdatoms.classification._atom_choice import spread_over_classes
from spdatoms.classification._left_out import CellClassifier
from spdatoms.classification.calibration import standardised
from spdatoms.classification.cells import Cell, in_order, ridge_of
from spdatoms.classification.explanation import Explanations
from spdatoms.classification.kernel_ensemble import Metrics, References, listed
from spdatoms.classification.named_atoms import Listing
from spdatoms.classification.scores import RULES
from spdatoms.classification.sparse import MOST_WHITENED, SPDSparseClassifier
from spdatoms.divergences.registry import SYMMETRIC_METRICS
from spdatoms.geometry.channels import Mask, cut
from spdatoms.kernels.correction import CORRECTION
from spdatoms.layout import Part, holds

#: The grid: multiples of the automatic β, penalties, shares of the ridge, and shrinkages (1 does not whiten).
FACTORS: tuple[float, ...] = (1.0, 3.0)
ALPHAS = (0.01, 0.1)
RIDGE_SHARES, SHRINKAGES = (0.1, 0.3), (0.1, 0.3, 1.0)
#: The shares of the ridge where there are several domains.
DOMAIN_RIDGE_SHARES = (0.1, 1.0, 10.0)
#: The grid is compared on this number of training matrices at most, evenly from each class.
MOST_COMPARED = 1500
#: Landmarks of a whitened classifier with many training matrices.
_LANDMARKS = 1000
_RULE = allow.choice(*RULES)


@allow.with_parameters
class SPDSparseClassifierCV(Threaded, CellClassifier):
    """`SPDSparseClassifier` with divergence, β, α, ridge, whitening and rule chosen by cross-validation.

    For every cell of a grid the class scores of left-out training matrices are calibrated. The cell with the least
    log-loss is fitted to all training matrices, and it alone predicts.

    Parameters
    ----------
    metrics : str, Divergence or sequence of them, default=("stein", "logeuclid")
        The divergences to try.
    betas : array-like of float, default=None
        The values of β to try. None stands for 1 and 3 times the automatic β.
    alphas : array-like of float, default=None
        The penalties of ‖y‖₁ to try. None stands for 0.01 and 0.1.
    ridges : array-like of float, default=None
        The penalties ρ of ‖y‖² to try. None stands for 0.1 and 0.3 times 1 − e^(−β·median), or for 0 with given
        ``betas`` or ``alphas``.
    whitenings : array-like of float, default=None
        The shrinkages δ of within-class whitening to try, above 0; 1 does not whiten. None stands for
        0.1, 0.3 and 1, and for 1 with given ``betas`` or ``"loo"``.
    rules : {"residual", "sum", "max"} or sequence of them, default="residual"
        The rules to try, see `SPDSparseClassifier`.
    cv : int, "loo" or scikit-learn splitter, default=5
        What is left out in turn. An integer is a number of stratified folds; fewer than 200 matrices are cut
        into folds several times, at most six. ``"loo"`` codes every training matrix over all the others; it
        does not go with whitening. Where training matrices overlap (epochs of one recording), give a splitter, and
        ``groups`` to `fit` if it wants them.

    Attributes
    ----------
    best_estimator_ : SPDSparseClassifier
        The chosen classifier, fitted to all training matrices: what predicts.
    best_params_ : dict
        Its parameters.
    best_index_ : int
        Its row in ``cv_results_``.
    best_score_ : float
        Its accuracy on left-out matrices.
    cv_results_ : dict of str to ndarray
        For every cell its parameters (``params``, ``param_metric`` and so on), the accuracy and the log-loss on
        left-out matrices (``mean_test_score``, ``mean_test_log_loss``), and its rank (``rank_test_log_loss``).
    domains_ : ndarray of shape (N,) or None
        The names of the domains of the training matrices (of those with a positive weight), if they were given.
    classes_, n_features_in_

    See Also
    --------
    SPDEnsembleClassifier : Averages cells instead of choosing one, which is more accurate.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((40, 3, 20))
    >>> samples[20:, 2] *= 2.0
    >>> X = samples @ samples.swapaxes(1, 2) / 20
    >>> y = np.repeat(["round", "long"], 20)
    >>> model = SPDSparseClassifierCV("stein", alphas=[0.01, 0.1]).fit(X, y)
    >>> sorted(model.best_params_)
    ['alpha', 'beta', 'metric', 'ridge', 'rule', 'whitening']
    """

    hermitian: ClassVar[bool] = True
    _stored = holds("classes_ _usual _sharpness", best_estimator_=Part(SPDSparseClassifier))
    metrics: Metrics = allow.parameter(SYMMETRIC_METRICS, default=("stein", "logeuclid"))
    betas: ArrayLike | None = allow.parameter(
        allow.NONE | allow.real(above=0) | allow.reals(above=0), default=None
    )
    alphas: ArrayLike | None = allow.parameter(
        allow.NONE | allow.real(0) | allow.reals(0), default=None
    )
    _: KW_ONLY
    ridges: ArrayLike | None = allow.parameter(
        allow.NONE | allow.real(0) | allow.reals(0), default=None
    )
    whitenings: ArrayLike | None = allow.parameter(
        allow.NONE | allow.real(above=0) | allow.reals(above=0), default=None
    )
    correction: str = allow.parameter(CORRECTION, default="clip")
    rules: str | Sequence[str] = allow.parameter(
        _RULE | allow.several(_RULE, "rules"), default="residual"
    )
    cv: Any = allow.parameter(allow.choice(LEAVE_ONE_OUT) | CV, default=5)
    class_weight: str | Mapping[Any, float] | None = allow.parameter(CLASS_WEIGHT, default=None)

    _factors = FACTORS

    @checked_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        domains: ArrayLike | None = None,
    ) -> SPDSparseClassifierCV:
        """Compare the cells of the grid, and fit the best one to all matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative, as in `SPDSparseClassifier`: atoms have the penalties
            α|y_j|/√w_j and ρy_j²/w_j. A matrix of weight 0 is left out. Left-out matrices count by their
            weights when cells are compared.
        domains : array-like of shape (m,), default=None
            The name of the domain of each matrix (subject, session, site), if queries will be of new domains. A ``cv``
            that is a number then leaves out whole domains, the automatic ``ridges`` are 0.1, 1 and 10 times
            1 − e^(−β·median), and `explain` names domains. Bring the matrices to a common centre first, by
            `SPDRecentre` or `SPDAlign`.
        """
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        rows, weights = labelled_weights(labels, self.classes_, sample_weight, self.class_weight)
        own = np.arange(len(labels))[rows]
        some = spread_over_classes(labels[own], max(MOST_COMPARED, len(self.classes_)))
        if isinstance(self.cv, str) and min(self._shrinkages()) < 1.0:
            raise ValueError(
                "cv='loo' does not go with whitening: give a number of folds, such as cv=5."
            )
        folds = self._folds(labels, groups, domains, own[some])
        self._sides = sides_of(folds, len(own), some)
        self.domains_ = None if self.domains_ is None else self.domains_[rows]
        references = References.as_they_are(X[own[some]], listed(self.metrics))
        left_out = self._compare(references, labels[own[some]], part_of(weights, some), folds)
        self.cv_results_ = left_out.results(listed(self.metrics))
        best = self.best_index_ = int(self.cv_results_["mean_test_log_loss"].argmin())
        self.best_params_: dict[str, Any] = self.cv_results_["params"][best]
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])
        self._usual: float | None = float(left_out.usual[best])
        self._sharpness: float | None = float(left_out.sharpness[best])
        whitened = self.best_params_["whitening"] is not None and len(own) > MOST_WHITENED
        self.best_estimator_ = SPDSparseClassifier(
            **self.best_params_,
            correction=self.correction,
            landmarks=_LANDMARKS if whitened else None,
            class_weight=self.class_weight,
            n_jobs=self.n_jobs,
        ).fit(X, y, sample_weight)
        return self

    def _cut(self, known: Mask) -> Self:
        # The chosen cell stays, with its multiple of the automatic β or the β that was given; calibration is new.
        best, chosen = self.best_estimator_, self.best_params_
        assert best.atoms_ is not None  # it was fitted to an array in memory
        model = clone(self).set_params(
            metrics=chosen["metric"],
            betas=None if self.betas is None else [chosen["beta"]],
            alphas=[chosen["alpha"]],
            ridges=[chosen["ridge"]],
            whitenings=[chosen["whitening"] or 1.0],
            rules=chosen["rule"],
            cv=given_folds(self.cv, self._sides),
            class_weight=None,
        )
        model._factors = (in_order(self._cells())[self.best_index_].factor,)
        data = cut(best.atoms_, known), best.atom_labels_
        fitted: Self = model.fit(*data, sample_weight=best.atom_weights_, domains=self.domains_)
        return fitted

    def _answers_to_nothing(self) -> dict[str, Array]:
        return self.best_estimator_._answers_to_nothing()

    def _cells(self) -> Iterator[Cell]:
        """Yield the cells of the grid."""
        metrics = range(len(listed(self.metrics)))
        for rule, metric, delta in product(listed(self.rules), metrics, self._shrinkages()):
            for factor, beta in self._betas():
                for alpha, ridge in self._penalties(factor):
                    yield Cell(metric, delta, factor, alpha, ridge, rule, beta, self.correction)

    def _shrinkages(self) -> Sequence[float]:
        if self.whitenings is not None:
            return [min(1.0, float(delta)) for delta in np.ravel(self.whitenings)]
        leaves_one_out = isinstance(self.cv, str)
        return (1.0,) if leaves_one_out or self.betas is not None else SHRINKAGES

    def _betas(self) -> list[tuple[float, float | None]]:
        """Return multiples of the automatic β, or β itself."""
        if self.betas is not None:
            return [(1.0, float(beta)) for beta in np.ravel(self.betas)]
        return [(factor, None) for factor in self._factors]

    def _penalties(self, factor: float) -> list[tuple[float, float]]:
        """Return the pairs (α, ρ)."""
        shares = RIDGE_SHARES if self.domains_ is None else DOMAIN_RIDGE_SHARES
        alphas = ALPHAS if self.alphas is None else np.ravel(self.alphas).tolist()
        if self.ridges is not None:
            ridges = np.ravel(self.ridges).tolist()
        elif self.alphas is None and self.betas is None:
            ridges = [ridge_of(factor, share) for share in shares]
        else:
            ridges = [0.0]
        return list(product(alphas, ridges))

    def _probabilities(self, X: FloatArray) -> Floats:
        if self._sharpness is None or self._usual is None:  # a model of an earlier version
            return self.best_estimator_.predict_proba(X)
        scores = standardised(self._scores(X), self._usual)
        return np.asarray(softmax(self._sharpness * scores))

    def _scores(self, X: FloatArray) -> Floats:
        scores = self.best_estimator_.decision_function(X)
        return scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1) / 2.0

    def _explained(self, X: FloatArray, listing: Listing) -> Explanations:
        found = self.best_estimator_.explain(X, listing.n_atoms, names=listing.names)
        if self.domains_ is None:
            return found
        domains = [tuple(self.domains_[one.atoms].tolist()) for one in found]
        return Explanations(
            [replace(one, domains=own) for one, own in zip(found, domains, strict=True)]
        )
