"""`SPDSparseClassifierCV`: β and α chosen by cross-validation on the training matrices.

The divergences between training matrices are computed once. For each cell (β, α) of the
grid only the exponential and the codes are computed anew, and the codes start from those of the last α.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator, check_labels, per_matrix
from spdatoms.classification.explanation import Explanation
from spdatoms.classification.scores import RULES, scores_of_codes
from spdatoms.classification.sparse import SPDSparseClassifier
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import SYMMETRIC_METRIC, symmetric_divergence
from spdatoms.kernels.bandwidth import choose_beta
from spdatoms.kernels.correction import CORRECTION, correct_gram
from spdatoms.kernels.kernel import kernel_values
from spdatoms.lasso.alpha import automatic_alpha
from spdatoms.lasso.solve import sparse_code

#: The default grid: β as multiples of the automatic one, and α.
BETA_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ALPHAS = (0.3, 0.1, 0.05, 0.03, 0.01, 0.003)
_SPLITTER = allow.Allowed(
    ("a splitter of scikit-learn", "a list of splits"),
    lambda value: (
        not isinstance(value, str) and (hasattr(value, "split") or hasattr(value, "__iter__"))
    ),
)


class _Fold:
    """Training and test matrices of one split; in leave-one-out both are all matrices."""

    def __init__(
        self,
        divergences: FloatArray,
        labels: Indices,
        train: Indices,
        test: Indices,
        leave_one_out: bool,
    ) -> None:
        self.among_atoms = divergences[np.ix_(train, train)]
        self.to_atoms = divergences[np.ix_(test, train)]
        self.atom_classes, self.truth = labels[train], labels[test]
        self.exclude = test if leave_one_out else None

    def hits(
        self, beta: float, alphas: Floats, model: SPDSparseClassifierCV
    ) -> tuple[list[float], bool]:
        """Return how many test matrices each of the decreasing α gets right, and whether K is indefinite.

        Of the default grid an α below the automatic one is not tried on a corrected Gram matrix,
        whose entries are not true to that detail; it counts as NaN.
        """
        corrected = correct_gram(kernel_values(self.among_atoms, beta), model.correction)
        cross = corrected.transform(kernel_values(self.to_atoms, beta))
        least = automatic_alpha(True) if corrected.indefinite else 0.0
        codes, hits = None, []
        for alpha in alphas:
            if model.alphas is None and alpha < least:
                hits.append(np.nan)
                continue
            codes = sparse_code(
                corrected.gram,
                cross,
                alpha,
                init=codes,
                exclude=self.exclude,
                check_gram=False,
            )
            scores, _ = scores_of_codes(
                codes,
                corrected.gram,
                cross,
                self.atom_classes,
                len(model.classes_),
                model.rule,
                self._divergences_to_atoms,
            )
            hits.append(float(np.count_nonzero(scores.argmax(axis=1) == self.truth)))
        return hits, corrected.indefinite

    def _divergences_to_atoms(self, some: NDArray[np.bool_]) -> FloatArray:
        """Return the divergences of some test matrices to the atoms, infinite to themselves."""
        divergences: FloatArray = self.to_atoms[some]
        if self.exclude is not None:
            divergences[np.arange(len(divergences)), self.exclude[some]] = np.inf
        return divergences


class SPDSparseClassifierCV(ClassifierMixin, SPDEstimator):
    """`SPDSparseClassifier` with β and α chosen by cross-validation on the training matrices.

    Parameters
    ----------
    metric : str or Divergence, default="stein"
        As in `SPDSparseClassifier`.
    betas : array-like of float, default=None
        The values of β to try. None stands for six multiples, from 0.1 to 30, of the automatic β.
    alphas : array-like of float, default=None
        The values of α to try. None stands for six values from 0.003 to 0.3, of which those below
        0.05 are left out where the Gram matrix is indefinite.
    cv : "loo", int or scikit-learn splitter, default="loo"
        ``"loo"`` codes every training matrix over all the others. It leaks where training matrices
        overlap (epochs of one recording): then give a splitter, and ``groups`` to `fit` if it wants
        them. An integer is a number of stratified folds.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        As in `SPDSparseClassifier`.
    rule : {"residual", "sum", "max"}, default="residual"
        As in `SPDSparseClassifier`.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.

    Attributes
    ----------
    beta_, alpha_ : float
        The choice: the cell with the most hits (of equals the one nearest to the defaults), if it
        beats the defaults by more than one standard error, else the cell nearest to the defaults.
    best_score_ : float
        Its accuracy in the cross-validation.
    cv_scores_ : ndarray of shape (n_betas, n_alphas)
        The accuracy of every cell, NaN where it was not tried.
    betas_, alphas_ : ndarray
        The grid, alphas decreasing.
    classifier_ : SPDSparseClassifier
        The classifier, fitted to all the training matrices with that choice.
    classes_ : ndarray of shape (n_classes,)
        The labels.
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
    >>> model.cv_scores_.shape
    (6, 6)
    """

    _parameters = allow.declare(
        metric=SYMMETRIC_METRIC,
        betas=allow.NONE | allow.real(above=0) | allow.reals(above=0),
        alphas=allow.NONE | allow.real(0) | allow.reals(0),
        cv=allow.choice("loo") | allow.integer(2) | _SPLITTER,
        correction=CORRECTION,
        rule=allow.choice(*RULES),
        n_jobs=allow.N_JOBS,
    )

    def __init__(
        self,
        metric: str | Divergence = "stein",
        betas: ArrayLike | None = None,
        alphas: ArrayLike | None = None,
        cv: Any = "loo",
        correction: str = "clip",
        rule: str = "residual",
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.betas = betas
        self.alphas = alphas
        self.cv = cv
        self.correction = correction
        self.rule = rule
        self.n_jobs = n_jobs

    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> SPDSparseClassifierCV:
        """Choose β and α, and fit a classifier with them to all the matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array is collected in memory.
        y : array-like of shape (m,)
            Their labels.
        groups : array-like of shape (m,), default=None
            For the splitter: matrices of one group stay on one side of a split.

        Returns
        -------
        SPDSparseClassifierCV
            The estimator itself.
        """
        divergence = symmetric_divergence(self.metric)
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        divergences = divergence.pairwise(
            divergence.prepare(X.astype(np.float64, copy=False)), n_jobs=self.n_jobs
        )
        automatic = choose_beta("auto", divergences)
        default_betas = automatic * np.array(BETA_FACTORS)
        self.betas_ = _grid(self.betas, default_betas)
        self.alphas_ = np.sort(_grid(self.alphas, np.array(ALPHAS)))[::-1]
        folds = [
            _Fold(divergences, labels, train, test, loo)
            for train, test, loo in self._splits(labels, groups)
        ]
        self.cv_scores_, indefinite = self._search(folds)
        beta, alpha = self._best_cell(automatic, indefinite, len(X))
        self.beta_, self.alpha_ = float(self.betas_[beta]), float(self.alphas_[alpha])
        self.best_score_ = float(self.cv_scores_[beta, alpha])
        self.classifier_ = SPDSparseClassifier(
            self.metric, self.beta_, self.alpha_, self.correction, self.rule, n_jobs=self.n_jobs
        ).fit(X, y)
        return self

    def _splits(
        self, labels: Indices, groups: ArrayLike | None
    ) -> Iterator[tuple[Indices, Indices, bool]]:
        everything = np.arange(len(labels))
        if isinstance(self.cv, str):
            if len(labels) < 2:
                raise ValueError("Leave-one-out needs at least two matrices.")
            yield everything, everything, True
            return
        splitter = check_cv(self.cv, labels, classifier=True)
        for train, test in splitter.split(everything, labels, groups):
            yield train, test, False

    def _search(self, folds: list[_Fold]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the accuracy of every cell, and at which β the Gram matrix is indefinite."""
        hits = np.zeros((len(self.betas_), len(self.alphas_)))
        indefinite = np.zeros(len(self.betas_), dtype=bool)

        def try_betas(part: slice) -> None:
            for b in range(part.start, part.stop):
                for fold in folds:
                    counts, corrected = fold.hits(float(self.betas_[b]), self.alphas_, self)
                    hits[b] += counts
                    indefinite[b] |= corrected

        run_blocks(try_betas, len(self.betas_), 1, self.n_jobs)
        return hits / sum(len(fold.truth) for fold in folds), indefinite

    def _best_cell(
        self, automatic_beta: float, indefinite: NDArray[np.bool_], count: int
    ) -> tuple[int, int]:
        """Return the default cell, unless another is better by more than one standard error."""
        scores = np.nan_to_num(self.cv_scores_, nan=-1.0)
        betas = np.log(self.betas_ / automatic_beta) ** 2
        alpha = automatic_alpha(bool(indefinite[betas.argmin()]))
        alphas = np.log(np.maximum(self.alphas_, 1e-12) / alpha) ** 2
        best = scores.max()
        if best <= scores[betas.argmin(), alphas.argmin()] + np.sqrt(best * (1.0 - best) / count):
            return int(betas.argmin()), int(alphas.argmin())
        distance = np.where(scores >= best - 1e-12, np.add.outer(betas, alphas), np.inf)
        chosen = np.unravel_index(distance.argmin(), distance.shape)
        return int(chosen[0]), int(chosen[1])

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
        return self._fitted().predict(X)

    @per_matrix
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return each class's share of the positive scores, as `SPDSparseClassifier` does.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            The shares, one row per matrix.
        """
        return self._fitted().predict_proba(X)

    @per_matrix
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return how well each class represents each matrix, as `SPDSparseClassifier` does.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n_classes), or (m,) for two classes
            The scores of the classes; of two classes the second score minus the first.
        """
        return self._fitted().decision_function(X)

    def explain(self, X: ArrayLike) -> list[Explanation]:
        """Return which training matrices explain each matrix, as `SPDSparseClassifier` does.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        list of Explanation
            For each matrix the training matrices of its code, with their shares.
        """
        return self._fitted().explain(X)

    def _fitted(self) -> SPDSparseClassifier:
        check_is_fitted(self)
        return self.classifier_


def _grid(given: ArrayLike | None, default: Floats) -> Floats:
    return default if given is None else np.atleast_1d(np.asarray(given, dtype=np.float64))
