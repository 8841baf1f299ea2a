"""`SPDEnsembleRegressor`: linear, smooth and sparse predictions under several kernels, weighted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.folds import CV, LEAVE_ONE_OUT, folds_of, left_out_rows
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.sampling import spread_evenly
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms._utils.weights import part_of, relative_weights, shares_of
from spdatoms.base import check_streamable, check_targets, checked_fit, per_matrix
from spdatoms.classification.kernel_ensemble import KernelEnsemble, Metrics, References, listed
from spdatoms.classification.named_atoms import Listing
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import SYMMETRIC_METRICS, symmetric_divergence
from spdatoms.geometry.channels import Mask
from spdatoms.kernels.bandwidth import choose_beta
from spdatoms.layout import Part, holds
from spdatoms.regression._left_out import half_widths
from spdatoms.regression.average import (
    LINEAR,
    RIDGE,
    SPARSE,
    TargetAverage,
    TargetCell,
    fitted_average,
)
from spdatoms.regression.regressor import (
    SPDRegressor,
    TargetExplanation,
    TargetExplanations,
    targets_taken_apart,
)

#: The multiples of the automatic β. Of the smaller ones only kernels that are positive definite for sure have a cell.
FACTORS: tuple[float, ...] = (0.3, 1.0, 3.0)
SMALL_FACTORS: tuple[float, ...] = (0.03, 0.1)
_COVERAGE = allow.real(above=0, below=1)


@allow.with_parameters
class SPDEnsembleRegressor(Threaded, SPDRegressor, KernelEnsemble):
    """Regression on SPD matrices by ridge regression and sparse codes under several kernels, weighted.

    t̂ = t̄ + Σ_j c_j (t_j − t̄): the targets t_j of the training matrices with the coefficients c of a query, a
    weighted sum of those of a few cells. There is nothing to choose. For accuracy this is what to take first.

    Parameters
    ----------
    cv : "loo", int or scikit-learn splitter, default="loo"
        What is left out in turn to find ridges, weights and intervals: single matrices, or folds, which are
        predicted from all other matrices. Where training matrices overlap (epochs of one recording), give a
        splitter, and ``groups`` to `fit` if it wants them.
    max_atoms : int, default=1500
        At most this number of training matrices are atoms, taken evenly. So time and memory of a large training
        set stay bounded.

    Attributes
    ----------
    atoms_ : ndarray of shape (N, n, n)
        The training matrices that are atoms.
    targets_, atom_indices_, atom_weights_
    cv_results_ : dict of str to ndarray
        For every cell its parameters (``param_metric`` and so on), the mean square error on left-out matrices
        (``mean_test_squared_error``) and its ``weight``; with a column for each of several targets.
    left_out_errors_ : ndarray of shape (m,) or (m, q)
        Target minus prediction for matrices that were left out, each with ridges and weights that do not follow
        from it. Intervals are made of them.
    left_out_rows_ : ndarray of shape (m,)
        Which of the atoms these are.
    average_, n_features_in_

    See Also
    --------
    SPDSparseRegressor : One kernel and one sparse code: predictions of a few training matrices.

    Notes
    -----
    For each divergence there are ridge regressions with the kernel exp(−β·d), β being 0.3, 1 and 3 times the
    automatic one, and a cell of sparse codes. Divergences whose kernel is positive definite for every β, such as
    the log-Euclidean one, also have 0.03 and 0.1, and ridge regression with −d/2: a linear model of tangent
    vectors. Ridges are those with the least squared error on left-out matrices, which is known without fitting
    again. Weights are not negative, sum to 1, and make the squared error of the sum least.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDEnsembleRegressor
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((60, 3, 50)) * np.exp(rng.standard_normal((60, 3, 1)))
    >>> X = samples @ samples.swapaxes(1, 2) / 50
    >>> t = np.linalg.slogdet(X)[1]
    >>> model = SPDEnsembleRegressor().fit(X[::2], t[::2])
    >>> model.score(X[1::2], t[1::2]) > 0.99
    True
    >>> model.predict_interval(X[1:3]).shape
    (2, 2)
    """

    _stored = holds(
        "atoms_ targets_ atom_indices_ atom_weights_ left_out_rows_ left_out_errors_",
        average_=Part(TargetAverage, q="targets"),
        _references=Part(References),
    )
    metrics: Metrics = allow.parameter(SYMMETRIC_METRICS, default=("stein", "logeuclid"))
    _: KW_ONLY
    cv: Any = allow.parameter(allow.choice(LEAVE_ONE_OUT) | CV, default="loo")
    max_atoms: int = allow.parameter(allow.integer(2), default=1500)

    @checked_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> SPDEnsembleRegressor:
        """Fit all cells to matrices with targets, and learn from left-out ones how much they say.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. Of a Dask array or a long memory map only the atoms are kept.
        y : array-like of shape (m,) or (m, q)
            Their targets: a number for each, or q numbers, which have ridges and weights of their own.
        sample_weight : array-like of shape (m,), default=None
            Weights of the matrices, not negative; only their ratios count. A matrix of weight 0 is left out,
            as if it were not there. The others count by their weights in the squared errors.
        """
        matrices = check_streamable(X, self.n_jobs)
        self.n_features_in_ = matrices.shape[-1]
        targets = check_targets(y, len(matrices))
        rows, weights = relative_weights(sample_weight, len(matrices))
        own = np.arange(len(targets))[rows]
        some = spread_evenly(len(own), self.max_atoms)
        nothing = np.zeros(len(targets), np.intp)  # folds need not be stratified
        folds = list(folds_of(self.cv, nothing, groups, own[some]))
        if not folds:
            raise ValueError(
                f"cv must leave out some matrices and keep others, got n_samples={len(own)}."
            )
        references = self._take_atoms(matrices, own[some], part_of(weights, some), folds)
        self.targets_ = targets[self.atom_indices_]
        divergences = references.among(self.n_jobs)
        cells = tuple(self._cells(divergences))
        columns = self.targets_.reshape(len(self.targets_), -1)
        with progress_bar(len(cells), "cross-validation") as advance:
            self.average_: TargetAverage
            self.average_, errors, squares = fitted_average(
                divergences, columns, self.atom_weights_, cells, folds, advance
            )
        shape = self.targets_.shape[1:]
        self.left_out_rows_ = left_out_rows(folds)
        self.left_out_errors_ = errors.reshape(-1, *shape)
        self.cv_results_ = {
            "param_metric": np.array([str(listed(self.metrics)[c.metric]) for c in cells]),
            "param_kind": np.array([cell.kind for cell in cells]),
            "param_beta": np.array([cell.beta for cell in cells]),
            "param_ridge": self.average_.ridges.reshape(-1, *shape),
            "mean_test_squared_error": squares.reshape(-1, *shape),
            "weight": self.average_.shares.reshape(-1, *shape),
        }
        return self

    def _cells(self, divergences: Sequence[Floats]) -> Iterator[TargetCell]:
        n = self.n_features_in_
        for i, (metric, among) in enumerate(zip(listed(self.metrics), divergences, strict=True)):
            beta = choose_beta("auto", among)
            divergence = over(symmetric_divergence(metric), self.atoms_)
            factors = FACTORS
            if all(divergence.kernel_is_guaranteed(f * beta, n) for f in SMALL_FACTORS):
                yield TargetCell(i, LINEAR, 1.0, beta)
                factors = SMALL_FACTORS + FACTORS
            yield from (TargetCell(i, RIDGE, factor, factor * beta) for factor in factors)
            yield TargetCell(i, SPARSE, 1.0, beta)

    @per_matrix
    def predict_interval(
        self, X: ArrayLike, coverage: float = 0.9, *, channels: ArrayLike | None = None
    ) -> Floats:
        """Return intervals that hold the targets of new matrices with this probability.

        They are as wide as the errors for left-out training matrices ask for, and of the same width for all
        queries. New matrices have to be of the same kind as the training matrices.

        Parameters
        ----------
        coverage : float, default=0.9
            The probability, between 0 and 1. Intervals are infinite if there are fewer than
            coverage / (1 − coverage) left-out matrices.

        Returns
        -------
        ndarray of shape (m, 2) or (m, q, 2)
            The ends of the intervals.
        """
        _COVERAGE.check("coverage", coverage)
        predicted = self._predicted(self.check_queries(X))
        errors = self.left_out_errors_.reshape(len(self.left_out_errors_), -1)
        shares = shares_of(part_of(self.atom_weights_, self.left_out_rows_), len(errors))
        widths = half_widths(errors, shares, coverage).reshape(self.targets_.shape[1:])
        return np.stack([predicted - widths, predicted + widths], axis=-1)

    def _explained(self, X: FloatArray, listing: Listing) -> TargetExplanations:
        listing.check(len(self.targets_))
        average, listing = self.average_, replace(listing, indices=self.atom_indices_)
        average.prepare(explaining=True)

        def explain(divergences: Sequence[Floats]) -> list[TargetExplanation]:
            added = average.contributions(divergences)
            return [*targets_taken_apart(added, average.mean, self.targets_, listing)]

        found = self._references.of_blocks(explain, X, self.n_jobs)
        return TargetExplanations([*chain.from_iterable(found)])

    def _cut(self, known: Mask) -> Self:
        return self._cut_to(known, self.targets_)

    def _answers_to_nothing(self) -> dict[str, Array]:
        return {"predict": self.average_.mean.reshape(1, *self.targets_.shape[1:])}

    def _predicted(self, X: FloatArray) -> Floats:
        self.average_.prepare()  # before several threads ask for it
        found = self._references.of_blocks(self.average_.predict, X, self.n_jobs)
        return np.concatenate(found).reshape(-1, *self.targets_.shape[1:])
