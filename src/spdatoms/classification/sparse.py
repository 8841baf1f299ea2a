"""`SPDSparseClassifier`: the class whose atoms represent a query best.

The training matrices (or fewer atoms made of them) are labelled atoms. A query is coded over all of
them at once, and each class is judged by the part of the code that falls on its atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.extmath import softmax

from spdatoms._utils import parameters as allow
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.weights import CLASS_WEIGHT, Weighted
from spdatoms.base import check_labels, check_streamable, checked_fit
from spdatoms.channels import BrokenChannels
from spdatoms.classification._landmarks import chosen_rows, features_of, landmark_space
from spdatoms.classification._margins import CodedMargins, two_best
from spdatoms.classification._memory import Remembered
from spdatoms.classification.classifier import ExplainedClassifier
from spdatoms.classification.explanation import (
    Explanation,
    Explanations,
    check_explained,
    taken_apart,
)
from spdatoms.classification.relevance import Margins
from spdatoms.classification.scores import (
    RULES,
    class_contributions,
    feature_contributions,
    nearest_atom_contributions,
    prior_answers,
    scores_of_codes,
    scores_of_feature_codes,
    warn_of_zero_codes,
)
from spdatoms.coding.blocks import CodedBlock, coded_feature_blocks, for_coded_blocks
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import SYMMETRIC_METRIC, symmetric_divergence
from spdatoms.geometry.channels import Mask, cut
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels import DivergenceKernel, Kernel
from spdatoms.kernels.correction import CORRECTION
from spdatoms.kernels.landmarks import LandmarkKernel
from spdatoms.kernels.whitening import WhitenedKernel
from spdatoms.lasso.alpha import choose_alpha
from spdatoms.layout import Part, holds

#: More training matrices than this are not whitened without landmarks.
MOST_WHITENED = 4000
#: What scores of one kernel, shares of a squared norm, are multiplied by before their softmax.
_SHARPNESS = 10.0
#: What returns the contributions (m, N) of atoms to class scores, if somebody wants to know.
Contributions: TypeAlias = Callable[[], Floats]
UseScores: TypeAlias = Callable[[slice, Floats, NDArray[np.bool_], Contributions], None]


@allow.with_parameters
class SPDSparseClassifier(ExplainedClassifier):
    """Classification of SPD matrices by how labelled matrices represent them.

    A query X gets the sparse code y that minimises 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁ + ρ‖y‖² over the labelled
    atoms, and the class that does best by `rule`. ``SPDSparseClassifier()`` is the paper's RSR-S,
    ``SPDSparseClassifier("jeffrey")`` its RSR-J.

    Parameters
    ----------
    metric : str or Divergence, default="stein"
        The divergence d of the kernel: ``"stein"``, ``"jeffrey"``, ``"logeuclid"``, ``"riemann"`` or
        ``"euclid"``.
    beta : float or "auto", default="auto"
        The β of the kernel exp(−β·d). ``"auto"`` is the reciprocal of the median divergence between
        two atoms, or two landmarks; `SPDSparseClassifierCV` chooses it by cross-validation.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.01, or 0.05 if the Gram matrix was
        indefinite and had to be corrected, or is indefinite for the landmarks.
    ridge : float, default=0.0
        The penalty ρ of ‖y‖². With ``alpha=0`` it makes collaborative representation, which
        needs no search and is fast.
    whitening : float, default=None
        The shrinkage δ, above 0 and up to 1, of within-class whitening: directions in which training
        matrices of one class differ count less, the more so the smaller δ is. 0.1 to 0.5 are good
        values. The kernel is then positive definite with every divergence. It takes N³ operations, so
        more than 4000 training matrices need landmarks. None does not whiten.
    landmarks : int or array-like of shape (L, n, n), default=None
        For many training matrices, from several thousand on: compute with the kernel φ(X)ᵀφ(Y) of
        `SPDNystroem`, for which a query is compared with the landmarks only, and each atom is a
        vector of at most L numbers. A number takes that many training matrices, evenly from each
        class. There are too few if the vectors, ``kernel_.features_``, are about as long as L. None
        computes with exp(−β·d) itself.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        What to do with an indefinite Gram matrix, see `DivergenceKernel`. With landmarks the kernel is
        positive definite, and nothing is corrected.
    rule : {"residual", "sum", "max"}, default="residual"
        Judge a class by how much of the query its part of the code explains (the paper's choice), or
        by the sum or the maximum of that part.
    n_atoms_per_class : int, default=None
        Learn this number of atoms for every class. None uses all training matrices as atoms; fewer
        atoms make prediction cheap on large training sets. A class with fewer matrices keeps them all.
    max_atoms : int, default=None
        At most this number of training matrices are atoms, and at least one of each class. `fit` takes them evenly
        from the classes, `partial_fit` forgets the oldest. None is no limit.
    class_weight : "balanced", dict or None, default=None
        A weight for each class, which the weights of its matrices are multiplied with, see `fit`. A class
        that a dict does not name has the weight 1. ``"balanced"`` gives all classes the same sum of weights.
    robust : bool, default=False
        Look for broken channels in queries, by `BrokenChannels` fitted to the training matrices, and leave them out
        as if they were missing.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness when atoms are learned.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    atoms_ : ndarray of shape (N, n, n) or None
        The labelled atoms. None if they were read from a Dask array or a long memory map, with
        landmarks: they are then kept as vectors only, ``kernel_.features_``.
    atom_labels_ : ndarray of shape (N,)
        Their labels.
    atom_weights_ : ndarray of shape (N,) or None
        Their weights, relative to their mean. None if they are all the same.
    kernel_ : Kernel
        The kernel over the atoms: a `DivergenceKernel`, or one of whitened divergences, or one in the
        span of landmarks, with ``features_`` of shape (N, r).
    alpha_ : float
        The α in use.
    detector_ : BrokenChannels
        What looks for broken channels, if ``robust``.
    n_features_in_ : int
        The size n of the matrices.

    See Also
    --------
    SPDSparseClassifierCV : The same with divergence, β, penalties, whitening and rule chosen by cross-validation.
    SPDEnsembleClassifier : An average of a few such classifiers and class means, calibrated.

    Notes
    -----
    On ten data sets the ensemble is about two points more accurate in the mean. It is not where training and test
    matrices differ in kind: on faces in other poses this classifier is level with it.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseClassifier
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.standard_normal((40, 3, 20))
    >>> samples[20:, 2] *= 3.0
    >>> X = samples @ samples.swapaxes(1, 2) / 20
    >>> y = np.repeat(["round", "long"], 20)
    >>> SPDSparseClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    hermitian: ClassVar[bool] = True
    _stored = holds(
        "classes_ atoms_ atom_labels_ _atom_classes alpha_",
        kernel_=Part(Kernel),
        detector_=Part(BrokenChannels, N="judged"),
        spare=lambda values: "detector_",  # only with ``robust``
    )
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    _: KW_ONLY
    ridge: float = allow.parameter(allow.real(0), default=0.0)
    whitening: float | None = allow.parameter(
        allow.NONE | allow.real(most=1, above=0), default=None
    )
    landmarks: Any = allow.parameter(allow.NONE | allow.integer(1) | allow.MATRICES, default=None)
    correction: str = allow.parameter(CORRECTION, default="clip")
    rule: str = allow.parameter(allow.choice(*RULES), default="residual")
    n_atoms_per_class: int | None = allow.parameter(allow.NONE | allow.integer(1), default=None)
    max_atoms: int | None = allow.parameter(allow.NONE | allow.integer(1), default=None)
    class_weight: str | Mapping[Any, float] | None = allow.parameter(CLASS_WEIGHT, default=None)
    robust: bool = allow.parameter(allow.BOOLEAN, default=False)
    random_state: Any = allow.parameter(allow.RANDOM_STATE, default=None)
    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SPDSparseClassifier:
        """Make labelled atoms of labelled matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. A Dask array or a long memory map is read into memory, but with landmarks and
            without ``n_atoms_per_class`` it is read part by part: once to check it, and once more.
        y : array-like of shape (m,)
            Their labels.
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative; only their ratios count. A matrix of weight 0 is
            left out, as if it were not there. The others are atoms with the penalties α|y_j|/√w_j and
            ρy_j²/w_j, where w has the mean 1: the greater the weight, the more an atom is used. With α = 0
            a weight of 2 is a matrix that occurs twice. Class means, whitening and calibration are
            weighted, too; β is not. Atoms are learned with the weights, and then have the mean weight of
            their class.

        Returns
        -------
        SPDSparseClassifier
            The estimator itself.
        """
        if self.landmarks is not None:
            return self._fit_landmarks(X, y, sample_weight)
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        rows, weights = self._rows(labels, sample_weight)
        return self._fit_labelled(X[rows], labels[rows], weights)

    @checked_fit
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> SPDSparseClassifier:
        """Add labelled matrices to the atoms, and forget the oldest if there are more than ``max_atoms``.

        The oldest of the class that has most are forgotten first. The classifier is then the one that `fit`
        makes of the matrices that are kept, in the order in which they came: to the last bit for Stein's divergence,
        up to rounding for others. Without whitening, landmarks and ``robust`` only the divergences of the new
        matrices are computed. New classes may come at any time. If anything is wrong with the matrices or their
        labels, the classifier stays as it was.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.
        y : array-like of shape (m,)
            Their labels.

        Returns
        -------
        SPDSparseClassifier
            The estimator itself.
        """
        kept = Remembered.of(self, X, y, self.max_atoms)
        if self.landmarks is not None:
            return self._fit_landmarks(kept.matrices, kept.classes[kept.labels], None)
        last = (self.kernel_, kept.old) if hasattr(self, "kernel_") else None
        self.n_features_in_ = kept.matrices.shape[-1]
        self.classes_ = kept.classes
        _, weights = self._rows(kept.labels)
        return self._fit_labelled(kept.matrices, kept.labels, weights, last)

    def _fit_labelled(
        self,
        X: FloatArray,
        labels: Indices,
        weights: Floats | None,
        last: tuple[Kernel, Indices] | None = None,
    ) -> SPDSparseClassifier:
        """Make atoms of checked matrices with the indices of their classes.

        ``last`` is the kernel so far, and which of its atoms the first matrices are.
        """
        self.atoms_: FloatArray | None
        self.atoms_, self._atom_classes = self._labelled_atoms(X, labels, sample_weight=weights)
        self._label_atoms(labels, weights)
        self.kernel_ = self._labelled_kernel(X, labels, weights, last)
        self.alpha_ = choose_alpha(self.alpha, self.kernel_.corrected_)
        self._fit_detector(X)
        return self

    def _fit_detector(self, X: Any) -> None:
        if not self.robust:
            return
        if self.atoms_ is None:
            raise ValueError(
                "robust=True needs the training matrices, which are not kept when they are read from a Dask array "
                "or a long memory map: fit to an array in memory."
            )
        self.detector_ = BrokenChannels(n_jobs=self.n_jobs).fit(X)

    def _heeded(self, X: Any) -> Any:
        return self.detector_.transform(X) if self.robust and hasattr(self, "detector_") else X

    def _rows(self, labels: Indices, sample_weight: ArrayLike | None = None) -> Weighted:
        """Return the rows that are used, and their weights."""
        return chosen_rows(labels, self.classes_, sample_weight, self.class_weight, self.max_atoms)

    def _label_atoms(self, labels: Indices, weights: Floats | None) -> None:
        """Set the labels and weights of the atoms, given those of the training matrices."""
        self.atom_labels_ = self.classes_[self._atom_classes]
        self.atom_weights_ = weights
        if weights is not None and self._atom_classes is not labels:
            means = np.bincount(labels, weights) / np.bincount(labels)
            self.atom_weights_ = means[self._atom_classes]

    def _labelled_kernel(
        self,
        X: FloatArray,
        labels: Indices,
        weights: Floats | None,
        last: tuple[Kernel, Indices] | None = None,
    ) -> Kernel:
        """Return the kernel over the atoms, whitened by the labelled matrices X if that is asked for."""
        assert self.atoms_ is not None
        if self.whitening is None:
            kernel = self._kernel()
            if last is not None and isinstance(kernel, DivergenceKernel):
                return kernel.fit_changed(*last, self.atoms_)
            return kernel.fit_checked(self.atoms_)
        if len(self.atoms_) > MOST_WHITENED:
            raise ValueError(
                f"Whitening over {len(self.atoms_)} matrices takes too long, its operations grow with the "
                f"third power: from {MOST_WHITENED} on give landmarks, such as landmarks=500, too."
            )
        kernel = WhitenedKernel(self.metric, self.beta, self.whitening, self.n_jobs)
        return kernel.fit_labelled(self.atoms_, X, labels, weights)

    def _fit_landmarks(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> SPDSparseClassifier:
        """Make labelled vectors of labelled matrices."""
        divergence = symmetric_divergence(self.metric)
        streamed = self.n_atoms_per_class is None
        matrices: Any = check_streamable(X, self.n_jobs) if streamed else check_spd(X)
        divergence = over(divergence, matrices)
        self.n_features_in_ = matrices.shape[-1]
        self.classes_, labels = check_labels(y, len(matrices))
        rows, weights = self._rows(labels, sample_weight)
        if isinstance(matrices, np.ndarray):  # a stream is read as a whole, and thinned out then
            matrices, labels, rows = matrices[rows], labels[rows], slice(None)
        space = landmark_space(
            matrices, labels, rows, weights, self.landmarks, divergence, self.beta, self.whitening
        )
        self.alpha_ = choose_alpha(self.alpha, space.indefinite)
        atoms, self._atom_classes = self._labelled_atoms(
            matrices,
            labels,
            beta=space.beta,
            alpha=self.alpha_,
            landmarks=space.landmarks,
            sample_weight=weights,
        )
        self.atoms_ = atoms if isinstance(atoms, np.ndarray) else None
        features = features_of(atoms, space, self.n_jobs)
        if self.atoms_ is None:
            features, self._atom_classes = features[rows], labels[rows]
            labels = self._atom_classes
        self._label_atoms(labels, weights)
        self.kernel_ = LandmarkKernel(space, self.n_jobs).fit_features(features)
        self._fit_detector(matrices)
        return self

    def _kernel(self) -> Kernel:
        return DivergenceKernel(self.metric, self.beta, self.correction, self.n_jobs)

    def _distance_scale(self) -> float:
        """Return what divergences are multiplied by before their softmax: that of the kernel."""
        if isinstance(self.kernel_, LandmarkKernel):
            return 0.5  # ‖φ(X) − φ(Y)‖² ≈ 2 − 2 exp(−β·d) ≈ 2β·d
        return float(getattr(self.kernel_, "beta_", 1.0))

    def _labelled_atoms(self, X: Any, labels: Indices, **learning: Any) -> tuple[Any, Indices]:
        """Return the atoms and their classes; ``learning`` is what to learn them with."""
        if self.n_atoms_per_class is None:
            return X, labels
        from spdatoms.dictionary.per_class import class_dictionary

        atoms, names = class_dictionary(
            X,
            self.classes_[labels],  # by name: a warning about them shall name them
            self.n_atoms_per_class,
            metric=self.metric,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            **({"beta": self.beta, "alpha": self.alpha} | learning),
        )
        return atoms, np.searchsorted(self.classes_, names)

    def _probabilities(self, X: FloatArray) -> Floats:
        return np.asarray(softmax(_SHARPNESS * self._scores(X)))

    def _margins(self, X: FloatArray, totals: Floats) -> Margins:
        return CodedMargins(
            self.kernel_,
            self.atoms_,
            self._atom_classes,
            self.atom_weights_,
            self.alpha_,
            self.ridge,
            self.rule,
            get_divergence(self.metric),
            self._distance_scale() / _SHARPNESS,
            X,
            two_best(totals),
        )

    def _explained(
        self, X: FloatArray, n_atoms: int | None, names: Sequence[str] | None
    ) -> Explanations:
        check_explained(n_atoms, names, len(self._atom_classes))
        found: dict[int, list[Explanation]] = {}

        def explain(rows: slice, scores: Floats, added: Contributions) -> None:
            own = taken_apart(scores, added(), self.classes_, self._atom_classes, n_atoms, names)
            found[rows.start] = list(own)

        self._for_scores(explain, X)
        return Explanations([one for start in sorted(found) for one in found[start]])

    def _cut(self, known: Mask) -> Self:
        if self.atoms_ is None:
            raise ValueError(
                "Queries that lack channels need the training matrices, which are not kept when they are read from a "
                "Dask array or a long memory map: fit to an array in memory."
            )
        landmarks = self.landmarks
        if np.ndim(landmarks):
            landmarks = cut(np.asarray(landmarks), known)
        data = cut(self.atoms_, known), self.atom_labels_, self.atom_weights_
        return self._fitted_anew(
            *data,
            landmarks=landmarks,
            n_atoms_per_class=None,
            max_atoms=None,
            class_weight=None,
            robust=False,
        )

    def _answers_to_nothing(self) -> dict[str, Array]:
        return prior_answers(self.classes_, self._atom_classes, self.atom_weights_, _SHARPNESS)

    def _coding(self) -> dict[str, Any]:
        """Return what `for_coded_blocks` wants to know besides the kernel and α."""
        return {"ridge": self.ridge, "weights": self.atom_weights_, "n_jobs": self.n_jobs}

    def _scores(self, X: FloatArray) -> Floats:
        """Return the scores of the classes."""
        found = np.empty((len(X), len(self.classes_)))

        def keep(rows: slice, scores: Floats, added: Contributions) -> None:
            found[rows] = scores

        self._for_scores(keep, X)
        return found

    def _for_scores(
        self, use: Callable[[slice, Floats, Contributions], None], X: FloatArray
    ) -> None:
        """Call ``use`` with rows, their class scores, and what returns the contributions of atoms to them.

        It is called block by block, maybe in several threads.
        """
        zeros = np.empty(len(X), np.bool_)

        def complete(
            rows: slice, scores: Floats, zero: NDArray[np.bool_], added: Contributions
        ) -> None:
            zeros[rows] = zero
            if not zero.any() and np.isfinite(scores).all():
                use(rows, scores, added)
                return
            # Distances to atoms take the place of scores there: their softmax is that of β·d.
            scale = np.where(zero, self._distance_scale() / _SHARPNESS, 1.0)[:, None]
            use(rows, _finite(scale, scores), lambda: _finite(scale, added()))

        if isinstance(self.kernel_, LandmarkKernel):
            self._score_features(complete, X, self.kernel_)
        else:
            self._score_codes(complete, X)
        warn_of_zero_codes(int(zeros.sum()), len(X))

    def _score_codes(self, use: UseScores, X: FloatArray) -> None:
        """Call ``use`` with rows, scores, which of their codes are all zero, and what returns contributions."""
        gram, classes = self.kernel_.gram_, self._atom_classes

        def score(block: CodedBlock) -> None:
            to_atoms = partial(self._divergences_to_atoms, X[block.rows])
            scores, zero = scores_of_codes(
                block.codes, gram, block.cross, classes, len(self.classes_), self.rule, to_atoms
            )

            def contributions() -> Floats:
                added = class_contributions(block.codes, gram, block.cross, classes, self.rule)
                if zero.any():
                    added[zero] = nearest_atom_contributions(to_atoms(zero), classes)
                return added

            use(block.rows, scores, zero, contributions)

        for_coded_blocks(score, X, self.kernel_, self.alpha_, losses=False, **self._coding())

    def _score_features(self, use: UseScores, X: FloatArray, kernel: LandmarkKernel) -> None:
        """Do what `_score_codes` does in the span of landmarks."""
        classes, atoms = self._atom_classes, kernel.features_
        for rows, features, codes in coded_feature_blocks(X, kernel, self.alpha_, **self._coding()):
            scores, zero = scores_of_feature_codes(
                codes, features, atoms, classes, len(self.classes_), self.rule
            )
            added = partial(feature_contributions, codes, features, atoms, classes, self.rule)
            use(rows, scores, zero, added)

    def _divergences_to_atoms(self, X: FloatArray, some: NDArray[np.bool_]) -> FloatArray:
        """Return the divergences of some of the matrices X to the atoms."""
        assert self.atoms_ is not None  # it is None with landmarks only
        dtype = np.result_type(X, self.atoms_, np.float64)
        divergence = over(get_divergence(self.metric), dtype)
        queries, atoms = (
            divergence.prepare(Z.astype(dtype, copy=False)) for Z in (X[some], self.atoms_)
        )
        return divergence.pairwise(queries, atoms, n_jobs=self.n_jobs)


def _finite(scale: Floats, values: Floats) -> Floats:
    """Return the product; one that overflows, because β is huge, is the largest number."""
    with np.errstate(over="ignore"):
        return np.asarray(np.nan_to_num(scale * values, copy=False))
