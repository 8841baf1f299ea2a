"""`SPDSparseClassifier`: the class whose atoms represent a query best.

The training matrices (or fewer atoms made of them) are labelled atoms. A query is coded over all of
them at once, and each class is judged by the part of the code that falls on its atoms. By default this is
done with several kernels, whose judgements are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import softmax

from spdatoms._utils import parameters as allow
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms._utils.weights import CLASS_WEIGHT, Weighted, labelled_weights
from spdatoms.base import SPDEstimator, check_labels, check_streamable, per_matrix
from spdatoms.classification._landmarks import features_of, landmark_space
from spdatoms.classification.average import (
    AVERAGED_METRICS,
    DEFAULT_CELLS,
    KernelAverage,
    average_scores,
    averaged,
)
from spdatoms.classification.explanation import Explanation, explain_queries
from spdatoms.classification.references import References
from spdatoms.classification.scores import (
    RULES,
    scores_of_codes,
    scores_of_feature_codes,
    warn_of_zero_codes,
)
from spdatoms.coding import CodedBlock, coded_feature_blocks, for_coded_blocks
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import AUTOMATIC_METRIC, symmetric_divergence
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels import DivergenceKernel, Kernel
from spdatoms.kernels.correction import CORRECTION
from spdatoms.kernels.landmarks import LandmarkKernel
from spdatoms.kernels.whitening import WhitenedKernel
from spdatoms.lasso.alpha import choose_alpha

#: More training matrices than this are not averaged over several kernels, or not whitened without landmarks.
MOST_AVERAGED, MOST_WHITENED = 1500, 4000
#: What scores of one kernel, shares of a squared norm, are multiplied by before their softmax.
_SHARPNESS = 10.0
#: Queries whose averaged scores are in memory at a time.
_BLOCK = 4096


class SPDSparseClassifier(ClassifierMixin, SPDEstimator):
    """Classification of SPD matrices by how labelled matrices represent them.

    A query X gets the code y that minimises 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁ + ρ‖y‖² over the labelled
    atoms, and the class that does best by `rule`. ``SPDSparseClassifier("stein")`` is the paper's RSR-S,
    ``SPDSparseClassifier("jeffrey")`` its RSR-J. ``SPDSparseClassifier()`` averages over sixteen kernels and
    penalties, and there is nothing to choose.

    Parameters
    ----------
    metric : str or Divergence, default="auto"
        The divergence d of the kernel: ``"stein"``, ``"jeffrey"``, ``"logeuclid"``, ``"riemann"`` or
        ``"euclid"``. ``"auto"`` averages over kernels of the Stein and the log-Euclidean divergence,
        with and without whitening, see *Notes*. If another parameter asks for one kernel (`beta`, `alpha`,
        `rule`, `ridge`, `whitening`, `landmarks`, `n_atoms_per_class`), or if there are more than
        1500 training matrices, ``"auto"`` is ``"stein"``.
    beta : float or "auto", default="auto"
        The β of the kernel exp(−β·d). ``"auto"`` is the reciprocal of the median divergence between
        two atoms, or two landmarks; `SPDSparseClassifierCV` chooses it by cross-validation.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.01, or 0.05 if the Gram matrix was
        indefinite and had to be corrected, or is indefinite for the landmarks.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        What to do with an indefinite Gram matrix, see `DivergenceKernel`. With landmarks the kernel is
        positive definite, and nothing is corrected.
    rule : {"residual", "sum", "max"}, default="residual"
        Judge a class by how much of the query its part of the code explains (the paper's choice), or
        by the sum or the maximum of that part.
    n_atoms_per_class : int, default=None
        Learn this number of atoms for every class. None uses all training matrices as atoms; fewer
        atoms make prediction cheap on large training sets. A class with fewer matrices keeps them all.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness when atoms are learned.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.
    landmarks : int or array-like of shape (L, n, n), default=None
        For many training matrices, from several thousand on: compute with the kernel φ(X)ᵀφ(Y) of
        `SPDNystroem`, for which a query is compared with the landmarks only, and each atom is a
        vector of at most L numbers. A number takes that many training matrices, evenly from each
        class. There are too few if the vectors, ``kernel_.features_``, are about as long as L. None
        computes with exp(−β·d) itself.
    ridge : float, default=0.0
        The penalty ρ of ‖y‖². With ``alpha=0`` it makes collaborative representation, which
        needs no search and is fast.
    whitening : float, default=None
        The shrinkage δ, above 0 and up to 1, of within-class whitening: directions in which training
        matrices of one class differ count less, the more so the smaller δ is. 0.1 to 0.5 are good
        values. The kernel is then positive definite with every divergence. It takes N³ operations, so
        more than 4000 training matrices need landmarks. None does not whiten.
    class_weight : "balanced", dict or None, default=None
        A weight for each class, which the weights of its matrices are multiplied with, see `fit`. A class
        that a dict does not name has the weight 1. ``"balanced"`` gives all classes the same sum of weights.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    average_ : object
        The kernels and their weights, only if several are averaged. There are then no ``kernel_`` and
        no ``alpha_``.
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
    n_features_in_ : int
        The size n of the matrices.

    Notes
    -----
    The average has codes with α = 0, a ridge and the rule ``"sum"`` for both divergences, β of 1, 3 and 10
    times the automatic one, whitened with δ = 0.1 and not whitened; and distances to class means in four whitened
    kernels. Matrices are re-centred at their mean first. Five folds of the training matrices
    are left out in turn to learn how sharp each of the sixteen scores is, and how sharp their sum is, so that
    `predict_proba` is calibrated.

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
    _parameters = allow.declare(
        metric=AUTOMATIC_METRIC,
        beta=allow.BETA,
        alpha=allow.ALPHA,
        correction=CORRECTION,
        rule=allow.choice(*RULES),
        n_atoms_per_class=allow.NONE | allow.integer(1),
        random_state=allow.RANDOM_STATE,
        n_jobs=allow.N_JOBS,
        landmarks=allow.NONE | allow.integer(1) | allow.MATRICES,
        ridge=allow.real(0),
        whitening=allow.NONE | allow.real(most=1, above=0),
        class_weight=CLASS_WEIGHT,
        verbose=allow.VERBOSE,
    )
    class_weight: Any = None  # for subclasses without this parameter
    atom_weights_: Floats | None = None  # for models of earlier versions

    def __init__(
        self,
        metric: str | Divergence = "auto",
        beta: float | str = "auto",
        alpha: float | str = "auto",
        correction: str = "clip",
        rule: str = "residual",
        n_atoms_per_class: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        *,
        landmarks: int | ArrayLike | None = None,
        ridge: float = 0.0,
        whitening: float | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.beta = beta
        self.alpha = alpha
        self.correction = correction
        self.rule = rule
        self.n_atoms_per_class = n_atoms_per_class
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.landmarks = landmarks
        self.ridge = ridge
        self.whitening = whitening
        self.class_weight = class_weight
        self.verbose = verbose

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
        landmarks = self._landmarks()
        if landmarks is not None:
            return self._fit_landmarks(X, y, sample_weight, landmarks)
        X = self.check_training_matrices(X)
        self.classes_, labels = check_labels(y, len(X))
        rows, weights = self._weights(labels, sample_weight)
        X, labels = X[rows], labels[rows]
        self.atoms_: FloatArray | None
        self.atoms_, self._atom_classes = self._labelled_atoms(X, labels, sample_weight=weights)
        self._label_atoms(labels, weights)
        if self._averages(len(X)):
            self._references = References.of(X, AVERAGED_METRICS, weights)
            self.average_: KernelAverage = averaged(
                self._references, labels, weights, DEFAULT_CELLS, self.n_jobs
            )
            return self
        self.kernel_ = self._labelled_kernel(X, labels, weights)
        self.alpha_ = choose_alpha(self.alpha, self.kernel_.corrected_)
        return self

    def _weights(self, labels: Indices, sample_weight: ArrayLike | None) -> Weighted:
        return labelled_weights(labels, self.classes_, sample_weight, self.class_weight)

    def _label_atoms(self, labels: Indices, weights: Floats | None) -> None:
        """Set the labels and weights of the atoms, given those of the training matrices."""
        self.atom_labels_ = self.classes_[self._atom_classes]
        self.atom_weights_ = weights
        if weights is not None and self._atom_classes is not labels:
            means = np.bincount(labels, weights) / np.bincount(labels)
            self.atom_weights_ = means[self._atom_classes]

    def _averages(self, count: int) -> bool:
        """Return whether several kernels are averaged, since nothing asks for a single one."""
        return (
            isinstance(self.metric, str)
            and self.metric == "auto"
            and count <= MOST_AVERAGED
            and self.n_atoms_per_class is None
            and self.whitening is None
            and (self.beta, self.alpha, self.rule, self.ridge) == ("auto", "auto", RULES[0], 0.0)
        )

    def _one_metric(self) -> str | Divergence:
        """Return the divergence of a single kernel."""
        return "stein" if isinstance(self.metric, str) and self.metric == "auto" else self.metric

    def _labelled_kernel(self, X: FloatArray, labels: Indices, weights: Floats | None) -> Kernel:
        """Return the kernel over the atoms, whitened by the labelled matrices X if that is asked for."""
        assert self.atoms_ is not None
        whitening = self._whitening()
        if whitening is None:
            return self._kernel().fit_checked(self.atoms_)
        if len(self.atoms_) > MOST_WHITENED:
            raise ValueError(
                f"Whitening over {len(self.atoms_)} matrices takes too long, its operations grow with the "
                f"third power: from {MOST_WHITENED} on give landmarks, such as landmarks=500, too."
            )
        kernel = WhitenedKernel(self._one_metric(), self.beta, whitening, self.n_jobs)
        return kernel.fit_labelled(self.atoms_, X, labels, weights)

    def _fit_landmarks(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, landmarks: Any
    ) -> SPDSparseClassifier:
        """Make labelled vectors of labelled matrices."""
        divergence = symmetric_divergence(self._one_metric())
        streamed = self.n_atoms_per_class is None
        matrices: Any = check_streamable(X, self.n_jobs) if streamed else check_spd(X)
        divergence = over(divergence, matrices)
        self.n_features_in_ = matrices.shape[-1]
        self.classes_, labels = check_labels(y, len(matrices))
        rows, weights = self._weights(labels, sample_weight)
        if isinstance(matrices, np.ndarray):  # a stream is read as a whole, and thinned out then
            matrices, labels, rows = matrices[rows], labels[rows], slice(None)
        space = landmark_space(
            matrices, labels, rows, weights, landmarks, divergence, self.beta, self._whitening()
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
        return self

    def _landmarks(self) -> Any:
        return self.landmarks

    def _whitening(self) -> float | None:
        return self.whitening

    def _ridge(self) -> float:
        return float(self.ridge)

    def _kernel(self) -> Kernel:
        return DivergenceKernel(self._one_metric(), self.beta, self.correction, self.n_jobs)

    def _distance_scale(self) -> float:
        """Return what divergences are multiplied by before their softmax: that of the kernel."""
        if isinstance(self.kernel_, LandmarkKernel):
            return 0.5  # ‖φ(X) − φ(Y)‖² ≈ 2 − 2 exp(−β·d) ≈ 2β·d
        return float(self.kernel_.beta_)

    def _divergence(self) -> Divergence:
        """Return what finds the nearest atom where a code is zero."""
        return get_divergence(self._one_metric())

    def _labelled_atoms(self, X: Any, labels: Indices, **learning: Any) -> tuple[Any, Indices]:
        """Return the atoms and their classes; ``learning`` is what to learn them with."""
        if self.n_atoms_per_class is None:
            return X, labels
        from spdatoms.dictionary.per_class import class_dictionary

        atoms, names = class_dictionary(
            X,
            self.classes_[labels],  # by name: a warning about them shall name them
            self.n_atoms_per_class,
            metric=self._one_metric(),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            **({"beta": self.beta, "alpha": self.alpha} | learning),
        )
        return atoms, np.searchsorted(self.classes_, names)

    @per_matrix
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return how well each class represents each matrix, by `rule`.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n_classes), or (m,) for two classes
            The scores of the classes; of two classes the second score minus the first.
        """
        scores = self._scores(self.check_queries(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

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
        X = self.check_queries(X)
        best = np.empty(len(X), np.intp)

        def choose(rows: slice, scores: Floats) -> None:
            best[rows] = scores.argmax(axis=1)

        self._for_scores(choose, X)
        labels: Array = self.classes_[best]
        return labels

    @per_matrix
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of the classes, softmax(t·scores).

        They rank as `decision_function` does. If several kernels are averaged, the scores are logits, t is 1 and
        the probabilities are calibrated on left-out training matrices. With one kernel t is 10, and they
        are not calibrated: `SPDSparseClassifierCV` or scikit-learn's ``CalibratedClassifierCV`` do that.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.

        Returns
        -------
        ndarray of shape (m, n_classes)
            The probabilities, one row per matrix.
        """
        scores = self._scores(self.check_queries(X))
        sharpness = 1.0 if hasattr(self, "average_") else _SHARPNESS
        return np.asarray(softmax(sharpness * scores))

    def explain(self, X: ArrayLike) -> list[Explanation]:
        """Return which atoms explain each matrix, with their shares.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.

        Returns
        -------
        list of Explanation
            For each matrix the atoms of its code, which are training matrices unless
            ``n_atoms_per_class`` is set: their indices, labels, weights and shares.
        """
        X = self.check_queries(X)
        if hasattr(self, "average_"):
            # The codes that are averaged are not sparse: those of the paper's classifier are.
            assert self.atoms_ is not None
            plain = SPDSparseClassifier("stein", n_jobs=self.n_jobs)
            return plain.fit(self.atoms_, self.atom_labels_, self.atom_weights_).explain(X)
        return [*explain_queries(X, self.kernel_, self.alpha_, self.atom_labels_, **self._coding())]

    def _coding(self) -> dict[str, Any]:
        """Return what `for_coded_blocks` wants to know besides the kernel and α."""
        return {"ridge": self._ridge(), "weights": self.atom_weights_, "n_jobs": self.n_jobs}

    def _scores(self, X: FloatArray) -> Floats:
        """Return the scores of the classes."""
        scores = np.empty((len(X), len(self.classes_)))
        self._for_scores(scores.__setitem__, X)
        return scores

    def _for_scores(self, use: Callable[[slice, Floats], None], X: FloatArray) -> None:
        """Call ``use`` with rows and their scores of the classes, block by block, maybe in several threads."""
        if hasattr(self, "average_"):
            for rows in block_slices(len(X), _BLOCK):
                use(rows, average_scores(self.average_, self._references, X[rows], self.n_jobs))
            return
        zeros = np.empty(len(X), np.bool_)

        def complete(rows: slice, scores: Floats, zero: NDArray[np.bool_]) -> None:
            # Distances to atoms take the place of scores there: their softmax is that of β·d.
            scale = self._distance_scale() / _SHARPNESS
            least = np.finfo(np.float64).min / max(scale, 1.0)  # a β may be huge
            scores[zero] = scale * np.maximum(scores[zero], least)
            zeros[rows] = zero
            use(rows, scores)

        self._for_scored_blocks(complete, X)
        warn_of_zero_codes(int(zeros.sum()), len(X))

    def _for_scored_blocks(
        self, use: Callable[[slice, Floats, NDArray[np.bool_]], None], X: FloatArray
    ) -> None:
        """Call ``use`` with rows, scores, and which of their codes are all zero."""
        classes = self._atom_classes, len(self.classes_), self.rule
        kernel, alpha = self.kernel_, self.alpha_
        coding = self._coding()
        if isinstance(kernel, LandmarkKernel):
            for rows, features, codes in coded_feature_blocks(X, kernel, alpha, **coding):
                atoms = kernel.features_
                use(rows, *scores_of_feature_codes(codes, features, atoms, *classes))
            return

        def score(block: CodedBlock) -> None:
            to_atoms = partial(self._divergences_to_atoms, X[block.rows])
            use(
                block.rows,
                *scores_of_codes(block.codes, kernel.gram_, block.cross, *classes, to_atoms),
            )

        for_coded_blocks(score, X, kernel, alpha, **coding)

    def _divergences_to_atoms(self, X: FloatArray, some: NDArray[np.bool_]) -> FloatArray:
        """Return the divergences of some of the matrices X to the atoms."""
        assert self.atoms_ is not None  # it is None with landmarks only
        dtype = np.result_type(X, self.atoms_, np.float64)
        divergence = over(self._divergence(), dtype)
        queries, atoms = (
            divergence.prepare(Z.astype(dtype, copy=False)) for Z in (X[some], self.atoms_)
        )
        return divergence.pairwise(queries, atoms, n_jobs=self.n_jobs)
