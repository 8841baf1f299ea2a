"""`SPDSparseClassifier`: the class whose atoms represent a query best.

The training matrices (or fewer atoms made of them) are labelled atoms. A query is coded over all of
them at once, and each class is judged by the part of the code that falls on its atoms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.threads import map_in_threads
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.weights import CLASS_WEIGHT, Weighted, part_of
from spdatoms.base import check_labels, check_streamable, checked_fit
from spdatoms.channels import BrokenChannels
from spdatoms.classification._atom_choice import (
    Remembered,
    chosen_rows,
    kept_atoms,
    spread_over_classes,
)
from spdatoms.classification.coded import CodedClassifier
from spdatoms.classification.scores import RULES
from spdatoms.divergences import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import SYMMETRIC_METRIC, symmetric_divergence
from spdatoms.geometry.channels import Mask, cut
from spdatoms.geometry.hermitian import as_double, dimension
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels import DivergenceKernel, Kernel
from spdatoms.kernels.correction import CORRECTION
from spdatoms.kernels.landmarks import SHARE, LandmarkKernel, LandmarkSpace, choose_landmarks
from spdatoms.kernels.whitening import (
    ClassicalScaling,
    Scatter,
    WhitenedKernel,
    Whitening,
    cross_fitted_median,
)
from spdatoms.lasso.alpha import choose_alpha
from spdatoms.layout import Part, holds
from spdatoms.scale.parts import Span, part_slices

#: How matrices vary within classes is found from this many per landmark at most.
_WHITENED_PER_LANDMARK = 10
#: More training matrices than this are not whitened without landmarks.
MOST_WHITENED = 4000


@allow.with_parameters
class SPDSparseClassifier(Threaded, CodedClassifier):
    """Classification of SPD matrices by how labelled matrices represent them.

    A query X gets the sparse code y that minimises 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁ + ρ‖y‖² over the labelled
    atoms, and the class that does best by `rule`. ``SPDSparseClassifier()`` is the paper's RSR-S,
    ``SPDSparseClassifier("jeffrey")`` its RSR-J.

    Parameters
    ----------
    beta : float or "auto", default="auto"
        The β of the kernel exp(−β·d). ``"auto"`` is the reciprocal of the median divergence between
        two atoms, or two landmarks; `SPDSparseClassifierCV` chooses it by cross-validation.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.01, or 0.05 if the Gram matrix was
        indefinite and had to be corrected, or is indefinite for the landmarks.
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
    robust : bool, default=False
        Look for broken channels in queries, by `BrokenChannels` fitted to the training matrices, and leave them out
        as if they were missing.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness when atoms are learned.

    Attributes
    ----------
    classes_
    atoms_ : ndarray of shape (N, n, n) or None
        The labelled atoms. None if they were read from a Dask array or a long memory map, with
        landmarks: they are then kept as vectors only, ``kernel_.features_``.
    atom_labels_, atom_weights_
    kernel_ : Kernel
        The kernel over the atoms: a `DivergenceKernel`, or one of whitened divergences, or one in the
        span of landmarks, with ``features_`` of shape (N, r).
    alpha_
    detector_ : BrokenChannels
        What looks for broken channels, if ``robust``.
    n_features_in_

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
    _seen: ClassVar[str] = "atoms_"
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
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative; only their ratios count. A matrix of weight 0 is
            left out, as if it were not there. The others are atoms with the penalties α|y_j|/√w_j and
            ρy_j²/w_j, where w has the mean 1: the greater the weight, the more an atom is used. With α = 0
            a weight of 2 is a matrix that occurs twice. Class means, whitening and calibration are
            weighted, too; β is not. Atoms are learned with the weights, and then have the mean weight of
            their class.
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
        self.atoms_, self._atom_classes = self._labelled_atoms(X, labels, sample_weight=weights)
        self._label_atoms(labels, weights)
        self.kernel_ = self._labelled_kernel(X, labels, weights, last)
        self.alpha_ = choose_alpha(self.alpha, self.kernel_.corrected_)
        self._fit_detector(X)
        return self

    def _fit_detector(self, X: Any) -> None:
        if not self.robust:
            return
        kept_atoms(self, "robust=True needs")
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
        space = self._landmark_space(matrices, labels, rows, weights, divergence)
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

    def _landmark_space(
        self,
        X: Any,
        labels: Indices,
        rows: Indices | slice,
        weights: Floats | None,
        divergence: Divergence,
    ) -> LandmarkSpace:
        """Return the span of given landmarks, or of as many of these rows of X.

        With a shrinkage their divergence is whitened, by how some of the matrices, with their weights, vary within
        their classes.
        """
        own, beta = np.arange(len(labels))[rows], self.beta
        if np.ndim(self.landmarks) == 0:
            Z = as_double(X[own[spread_over_classes(labels[own], int(self.landmarks))]])
        else:
            Z, _ = choose_landmarks(X, self.landmarks, 0, divergence, None, None)
        if self.whitening is None:
            return LandmarkSpace.of(divergence, Z, beta, SHARE)
        some = spread_over_classes(labels[own], _WHITENED_PER_LANDMARK * len(Z))
        samples = divergence.prepare(as_double(X[own[some]]))
        prepared = divergence.prepare(Z)
        to_landmarks = divergence.pairwise(samples, prepared)
        scaling = ClassicalScaling(divergence.pairwise(prepared))
        coordinates, _ = scaling.place(to_landmarks)
        scatter = Scatter.within(coordinates, labels[own[some]], part_of(weights, some))
        whitening = Whitening(scaling, scatter, dimension(Z), self.whitening)
        if isinstance(beta, str):
            beta = 1.0 / cross_fitted_median([whitening.to_references(to_landmarks)])
        return LandmarkSpace.of(divergence, Z, beta, SHARE, whitening)

    def _kernel(self) -> Kernel:
        return DivergenceKernel(self.metric, self.beta, self.correction, self.n_jobs)

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

    def _cut(self, known: Mask) -> Self:
        atoms = kept_atoms(self, "Queries that lack channels need")
        landmarks = self.landmarks
        if np.ndim(landmarks):
            landmarks = cut(np.asarray(landmarks), known)
        data = cut(atoms, known), self.atom_labels_, self.atom_weights_
        return self._fitted_anew(
            *data,
            landmarks=landmarks,
            n_atoms_per_class=None,
            max_atoms=None,
            class_weight=None,
            robust=False,
        )


def features_of(X: Any, space: LandmarkSpace, n_jobs: int | None) -> Floats:
    """Return φ of matrices in memory or in a stream, which is read once, part by part."""
    parts = part_slices(len(X), X.shape[-1], len(space.landmarks))
    if isinstance(X, np.ndarray):
        found = map_in_threads(lambda i: space.features(X[parts[i]]), len(parts), n_jobs)
        return np.concatenate(found)
    return np.concatenate(X.total(parts, _features, space))


def _features(matrices: FloatArray, span: Span, state: None, space: LandmarkSpace) -> list[Floats]:
    """Return φ of a span, in a list: the sum of lists is all of them in order."""
    return [space.features(X) for X in span.split(matrices)]
