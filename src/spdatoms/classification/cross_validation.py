"""`SPDSparseClassifierCV`: kernels, penalties and rules weighted by cross-validation on the training matrices.

The divergences between training matrices are computed once. For each cell of the grid only the whitening,
the exponential and the codes are computed anew, in every fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import softmax

from spdatoms._utils import parameters as allow
from spdatoms._utils.folds import Fold, class_folds
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms._utils.weights import CLASS_WEIGHT, labelled_weights
from spdatoms.base import SPDEstimator, check_labels, per_matrix
from spdatoms.classification._left_out import LeftOut, leave_out, soft_weights
from spdatoms.classification.average import (
    AVERAGED_METRICS,
    average,
    average_scores,
)
from spdatoms.classification.calibration import sharpness
from spdatoms.classification.cells import Cell, in_order, ridge_of
from spdatoms.classification.explanation import Explanation
from spdatoms.classification.references import References
from spdatoms.classification.scores import MEAN, RULES
from spdatoms.classification.sparse import SPDSparseClassifier
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import SYMMETRIC_METRICS
from spdatoms.geometry.hermitian import dimension
from spdatoms.kernels.correction import CORRECTION

#: The grid of codes: multiples of the automatic β, and shrinkages (1 does not whiten).
FACTORS, SHRINKAGES = (1.0, 3.0, 10.0), (0.1, 0.3, 1.0)
#: The grid of class means. Without whitening they are no good.
MEAN_FACTORS, MEAN_SHRINKAGES = (0.3, 1.0), (0.03, 0.1, 0.3)
#: How much of the weights follows the log-loss of left-out matrices; the rest is the same for all cells.
_TRUST = 0.7
#: Where there are few matrices, it is chance which are left out together. So they are cut into folds anew until this
#: number has been left out, at most six times.
_LEFT_OUT, _MOST_REPEATS = 200, 6
_SPLITTER = allow.Allowed(
    ("a splitter of scikit-learn", "a list of splits"),
    lambda value: (
        not isinstance(value, str) and (hasattr(value, "split") or hasattr(value, "__iter__"))
    ),
)
_RULE = allow.choice(*RULES, MEAN)


class SPDSparseClassifierCV(ClassifierMixin, SPDEstimator):
    """Sparse-representation classification with kernels, penalties and rules weighted by cross-validation.

    Every cell of a grid (a divergence, a shrinkage of whitening, a β, penalties α and ρ, a rule) is a
    classifier as `SPDSparseClassifier` with one kernel is. Its class scores for left-out matrices are calibrated. The
    cell with the least log-loss counts most, one that is worse by z standard errors exp(−z²/2) times as
    much, and all count a little: near-equal cells are averaged rather than chosen between.

    Parameters
    ----------
    metric : str, Divergence or list of them, default=("stein", "logeuclid")
        The divergences to try. Matrices are re-centred at their mean first, which changes nothing for
        those that are invariant under congruence.
    betas : array-like of float, default=None
        The values of β to try, for divergences that are not whitened. None stands for multiples of the
        automatic β: 1, 3 and 10 for codes, 0.3 and 1 for class means.
    alphas : array-like of float, default=None
        The penalties of ‖y‖₁ to try. None stands for 0.
    cv : int, "loo" or scikit-learn splitter, default=5
        An integer is a number of stratified folds; fewer than 200 matrices are cut into folds several
        times, at most six. ``"loo"`` codes every training matrix over all the
        others; it does not go with whitening or class means. Where training matrices overlap
        (epochs of one recording), give a splitter, and ``groups`` to `fit` if it wants them.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        What to do with an indefinite Gram matrix, see `DivergenceKernel`.
    rule : {"residual", "sum", "max", "mean"} or list of them, default=("sum", "mean")
        The rules to try, see `SPDSparseClassifier`. ``"mean"`` needs no codes: it compares the
        distances to the means of the classes in the space of the kernel, a linear discriminant if the
        kernel is whitened.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.
    ridges : array-like of float, default=None
        The penalties ρ of ‖y‖² to try. None stands for 0.3·(1 − e^(−β·median)), or for 0 if ``alphas`` are given.
    whitening : array-like of float, default=None
        The shrinkages δ of within-class whitening to try, above 0; 1 does not whiten. None stands for
        0.1, 0.3 and 1 for codes and 0.03, 0.1 and 0.3 for class means, and for 1 with given ``betas``
        or ``"loo"``.
    verbose : int, default=0
        Show a progress bar if positive (needs tqdm).
    class_weight : "balanced", dict or None, default=None
        A weight for each class, which the weights of its matrices are multiplied with, as in
        `SPDSparseClassifier`.

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        For every cell its parameters (``param_metric`` and so on), the accuracy and the log-loss on
        left-out matrices (``mean_test_score``, ``mean_test_log_loss``), its rank by log-loss
        (``rank_test_log_loss``) and its share of the weights (``weight``).
    best_index_ : int
        The cell with the least log-loss.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its accuracy on left-out matrices.
    beta_, alpha_ : float
        Its β and α.
    average_ : object
        The cells and their weights.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    atoms_ : ndarray of shape (N, n, n)
        The training matrices.
    atom_labels_ : ndarray of shape (N,)
        Their labels.
    atom_weights_ : ndarray of shape (N,) or None
        Their weights, relative to their mean. None if they are all the same.
    n_features_in_ : int
        The size n of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((40, 3, 20))
    >>> samples[20:, 2] *= 2.0
    >>> X = samples @ samples.swapaxes(1, 2) / 20
    >>> y = np.repeat(["round", "long"], 20)
    >>> model = SPDSparseClassifierCV().fit(X, y)
    >>> len(model.cv_results_["weight"])
    30
    """

    hermitian: ClassVar[bool] = True
    _parameters = allow.declare(
        metric=SYMMETRIC_METRICS,
        betas=allow.NONE | allow.real(above=0) | allow.reals(above=0),
        alphas=allow.NONE | allow.real(0) | allow.reals(0),
        cv=allow.choice("loo") | allow.integer(2) | _SPLITTER,
        correction=CORRECTION,
        rule=_RULE | allow.several(_RULE, "rules"),
        n_jobs=allow.N_JOBS,
        ridges=allow.NONE | allow.real(0) | allow.reals(0),
        whitening=allow.NONE | allow.real(above=0) | allow.reals(above=0),
        verbose=allow.VERBOSE,
        class_weight=CLASS_WEIGHT,
    )
    atom_weights_: Floats | None = None  # for models of earlier versions

    def __init__(
        self,
        metric: str | Divergence | Sequence[str | Divergence] = AVERAGED_METRICS,
        betas: ArrayLike | None = None,
        alphas: ArrayLike | None = None,
        cv: Any = 5,
        correction: str = "clip",
        rule: str | Sequence[str] = ("sum", "mean"),
        n_jobs: int | None = None,
        *,
        ridges: ArrayLike | None = None,
        whitening: ArrayLike | None = None,
        verbose: int = 0,
        class_weight: str | Mapping[Any, float] | None = None,
    ) -> None:
        self.metric = metric
        self.betas = betas
        self.alphas = alphas
        self.cv = cv
        self.correction = correction
        self.rule = rule
        self.n_jobs = n_jobs
        self.ridges = ridges
        self.whitening = whitening
        self.verbose = verbose
        self.class_weight = class_weight

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> SPDSparseClassifierCV:
        """Weight the cells of the grid, and fit all that count to all the matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.
        y : array-like of shape (m,)
            Their labels.
        groups : array-like of shape (m,), default=None
            For the splitter: matrices of one group stay on one side of a split.
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative, as in `SPDSparseClassifier`: atoms have the penalties
            α|y_j|/√w_j and ρy_j²/w_j. A matrix of weight 0 is left out. Left-out matrices count by their
            weights when cells are compared.

        Returns
        -------
        SPDSparseClassifierCV
            The estimator itself.
        """
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        rows, self.atom_weights_ = labelled_weights(
            labels, self.classes_, sample_weight, self.class_weight
        )
        folds = list(self._folds(labels, groups, rows))
        X, labels = X[rows], labels[rows]
        self.atoms_, self.atom_labels_ = X, self.classes_[labels]
        cells = in_order(self._cells())
        self._references = References.of(X, self._metrics(), self.atom_weights_)
        problem = (
            self._references.among(self.n_jobs),
            labels,
            self.atom_weights_,
            dimension(self._references.matrices),
            cells,
        )
        with progress_bar(len(cells), "cross-validation") as advance:
            left_out = leave_out(*problem, folds, self.n_jobs, advance)
        t = sharpness(left_out.scores, labels[left_out.rows], left_out.weights)
        weights, losses = soft_weights(left_out, labels, t)
        weights = _TRUST * weights / weights.sum() + (1.0 - _TRUST) / len(cells)
        self.average_ = average(*problem, left_out, weights * t)
        self._keep_results(cells, left_out, labels, weights, losses)
        return self

    def _metrics(self) -> tuple[str | Divergence, ...]:
        return _listed(self.metric)

    def _cells(self) -> Iterator[Cell]:
        """Yield the cells of the grid."""
        for rule in _listed(self.rule):
            if rule == MEAN and self._leaves_one_out() and len(_listed(self.rule)) > 1:
                continue
            metrics = range(len(self._metrics()))
            for metric, delta, (factor, beta) in product(
                metrics, self._shrinkages(rule), self._betas(rule)
            ):
                for alpha, ridge in self._penalties(rule, factor):
                    yield Cell(metric, delta, factor, alpha, ridge, rule, beta, self.correction)

    def _leaves_one_out(self) -> bool:
        return isinstance(self.cv, str)

    def _shrinkages(self, rule: str) -> Sequence[float]:
        if self.whitening is not None:
            return [min(1.0, float(delta)) for delta in np.ravel(self.whitening)]
        if self._leaves_one_out() or self.betas is not None:
            return (1.0,)
        return MEAN_SHRINKAGES if rule == MEAN else SHRINKAGES

    def _betas(self, rule: str) -> list[tuple[float, float | None]]:
        """Return multiples of the automatic β, or β itself."""
        if self.betas is not None:
            return [(1.0, float(beta)) for beta in np.ravel(self.betas)]
        return [(factor, None) for factor in (MEAN_FACTORS if rule == MEAN else FACTORS)]

    def _penalties(self, rule: str, factor: float) -> list[tuple[float, float]]:
        """Return the pairs (α, ρ)."""
        if rule == MEAN:
            return [(0.0, 0.0)]
        alphas = [0.0] if self.alphas is None else np.ravel(self.alphas).tolist()
        ridges = [ridge_of(factor) if self.alphas is None else 0.0]
        if self.ridges is not None:
            ridges = np.ravel(self.ridges).tolist()
        return list(product(alphas, ridges))

    def _folds(
        self, labels: Indices, groups: ArrayLike | None, rows: Indices | slice
    ) -> Iterator[Fold]:
        """Yield folds of these rows alone."""
        if not (hasattr(self.cv, "split") or isinstance(self.cv, str | int | np.integer)):
            yield from _given_folds(self.cv, len(labels), rows)
            return
        labels = labels[rows]
        groups = None if groups is None else np.asarray(groups)[rows]
        everything = np.arange(len(labels))
        if self._leaves_one_out():
            if len(labels) < 2:
                raise ValueError("Leave-one-out needs at least two matrices.")
            whitened = min(self._shrinkages(RULES[0])) < 1.0
            if whitened or _listed(self.rule) == (MEAN,):
                raise ValueError(
                    "cv='loo' does not go with whitening or the rule 'mean', which left-out matrices "
                    "must have no part in: give a number of folds, such as cv=5."
                )
            yield Fold(everything, everything, exclude=everything)
        elif isinstance(self.cv, int | np.integer):
            repeats = max(1, min(_MOST_REPEATS, ceil(_LEFT_OUT / max(1, len(labels)))))
            yield from class_folds(labels, int(self.cv), repeats)
        else:
            from sklearn.model_selection import check_cv  # late: it takes a tenth of a second

            splitter = check_cv(self.cv, labels, classifier=True)
            for train, test in splitter.split(everything, labels, groups):
                yield Fold(train, test)

    def _keep_results(
        self,
        cells: Sequence[Cell],
        left_out: LeftOut,
        labels: Indices,
        weights: Floats,
        losses: Floats,
    ) -> None:
        hits = left_out.scores.argmax(axis=2) == labels[left_out.rows]
        betas = [cell.beta_for(float(m)) for cell, m in zip(cells, left_out.medians, strict=True)]
        metrics = self._metrics()
        columns: dict[str, list[Any]] = {
            "metric": [metrics[cell.metric] for cell in cells],
            "whitening": [cell.shrinkage for cell in cells],
            "beta": betas,
            "alpha": [cell.alpha for cell in cells],
            "ridge": [cell.ridge for cell in cells],
            "rule": [cell.rule for cell in cells],
        }
        self.cv_results_: dict[str, Array] = {
            f"param_{name}": _column(values) for name, values in columns.items()
        }
        self.cv_results_ |= {
            "mean_test_score": np.average(hits, axis=1, weights=left_out.weights)
            if hits.size
            else np.zeros(len(cells)),
            "mean_test_log_loss": losses,
            "rank_test_log_loss": losses.argsort(kind="stable").argsort(kind="stable") + 1,
            "weight": weights,
        }
        self.best_index_ = int(losses.argmin())
        self.best_params_ = {name: values[self.best_index_] for name, values in columns.items()}
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.beta_, self.alpha_ = betas[self.best_index_], cells[self.best_index_].alpha

    @per_matrix
    def predict(self, X: ArrayLike) -> Array:
        """Return the label of each matrix.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m,)
            The labels.
        """
        best = self._logits(X).argmax(axis=1)
        labels: Array = self.classes_[best]
        return labels

    @per_matrix
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of the classes, calibrated on left-out training matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            The probabilities, one row per matrix.
        """
        logits = self._logits(X)
        if hasattr(self, "classifier_"):
            return np.asarray(self.classifier_.predict_proba(X))
        return np.asarray(softmax(logits))

    @per_matrix
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the logits of the classes, whose softmax `predict_proba` is.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n_classes), or (m,) for two classes
            The logits; of two classes the second minus the first.
        """
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def explain(self, X: ArrayLike) -> list[Explanation]:
        """Return which training matrices explain each matrix, by the sparse code over the best divergence's kernel.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        list of Explanation
            For each matrix the training matrices of its code, with their shares.
        """
        X = self.check_queries(X)
        if hasattr(self, "classifier_"):
            return list(self.classifier_.explain(X))
        plain = SPDSparseClassifier(self.best_params_["metric"], n_jobs=self.n_jobs)
        return plain.fit(self.atoms_, self.atom_labels_, self.atom_weights_).explain(X)

    def _logits(self, X: ArrayLike) -> Floats:
        X = self.check_queries(X)
        if hasattr(self, "classifier_"):  # a model of an earlier version
            scores = self.classifier_.decision_function(X)
            return scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1) / 2.0
        return average_scores(self.average_, self._references, X, self.n_jobs)


def _listed(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str | Divergence) else tuple(value)


def _column(values: list[Any]) -> Array:
    """Return numbers as numbers, and everything else as objects."""
    if all(isinstance(value, float) for value in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _given_folds(splits: Any, count: int, rows: Indices | slice) -> list[Fold]:
    """Return splits of all matrices as folds of these rows."""
    position = np.full(count, -1)
    position[rows] = np.arange(len(position[rows]))
    folds = []
    for sides in splits:
        try:
            train, test = (own[own >= 0] for own in (position[side] for side in sides))
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                "cv as a list must hold pairs of arrays, the indices of training matrices and of left-out "
                f"ones, each from 0 to {count - 1}."
            ) from error
        if len(train) and len(test):
            folds.append(Fold(train, test))
    if not folds:
        raise ValueError("cv as a list must hold a split with matrices on both sides.")
    return folds
