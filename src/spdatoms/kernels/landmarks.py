"""φ(X) = Λ₊^-½ U₊ᵀ κ(X): SPD matrices as vectors, by their kernel values κ(X) with landmarks.

κ(X)_l = k(Z_l, X) for landmarks Z_1 … Z_L, and U Λ Uᵀ is their Gram matrix. Only eigenvalues above a
share of the greatest are kept (Λ₊, U₊). Then k̃(X, Y) = φ(X)ᵀφ(Y) is positive definite on the whole
cone, whatever k is. On the landmarks it is the clip correction of their Gram matrix, and it continues
that to every other matrix; for a positive definite k it is the Nyström approximation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.products import row_products
from spdatoms._utils.sampling import evenly_spaced, generator
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.base import SPDEstimator, check_streamable, checked_fit, per_matrix
from spdatoms.divergences import Divergence, PreparedSet
from spdatoms.divergences.hermitian import beside, over
from spdatoms.divergences.registry import SYMMETRIC_METRIC, symmetric_divergence
from spdatoms.divergences.seeds import SEEDS, Sample
from spdatoms.geometry.hermitian import as_double, is_complex, real_type
from spdatoms.geometry.semidefinite import eigenvalue_tolerance
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels.bandwidth import choose_beta, kernel_values
from spdatoms.kernels.base import Kernel
from spdatoms.kernels.whitening import Whitening, centred_gram
from spdatoms.layout import FEATURE, POSITIVE, Matrices, Maybe, Numbers, Part, holds, part

#: Landmarks are drawn from this many matrices per landmark at most, evenly taken.
_SAMPLES_PER_LANDMARK = 20
#: Directions up to this share of the greatest eigenvalue are left out by default.
SHARE = 1e-3
#: Up to this many atoms (128 MiB) coding with their Gram matrix is faster than with their features.
LARGEST_GRAM = 4096
#: Landmarks that a condensed map keeps.
_LANDMARKS_PER_DIRECTION = 1.5
#: Bytes of kernel values, or of matrices, from which vectors are computed at a time.
_BLOCK_BYTES = 4 << 20
#: The ridge of a least squares fit, relative to its mean square.
_LEAST_SQUARES_RIDGE = 1e-6


@dataclass(frozen=True)
class LandmarkSpace:
    """The map φ, fixed by its landmarks.

    Attributes
    ----------
    divergence : Divergence
        The d of the kernel exp(−β·d).
    beta : float
        Its β.
    landmarks : ndarray of shape (L, n, n)
        Z, in double precision.
    roots : ndarray of shape (L, r)
        R = U₊ Λ₊^-½, so that φ(X) = Rᵀ κ(X).
    eigenvalues : ndarray of shape (r,)
        Λ₊, the greatest first.
    discarded : ndarray of shape (L − r,)
        The other eigenvalues, the greatest first: those that are negative show how far the kernel is
        from being positive definite.
    whitening : Whitening or None
        What makes d the divergence d_w of the kernel, with the landmarks as its references.
    """

    divergence: Annotated[Divergence, Part(Divergence)]
    beta: Annotated[float, POSITIVE]
    landmarks: Annotated[Floats, Matrices("L", double=True)]
    roots: Annotated[Floats, Numbers("L r", most=FEATURE)]
    eigenvalues: Annotated[Floats, Numbers("r")]
    discarded: Annotated[Floats, Numbers("discarded")]
    whitening: Annotated[Whitening | None, Maybe(Part(Whitening))] = None
    prepared: PreparedSet = field(init=False, repr=False, compare=False)
    _stored = part()

    def __post_init__(self) -> None:
        object.__setattr__(self, "divergence", over(self.divergence, self.landmarks))
        object.__setattr__(self, "prepared", self.divergence.prepare(self.landmarks))

    @classmethod
    def of(
        cls,
        divergence: Divergence,
        landmarks: Floats,
        beta: float | str,
        tol: float,
        whitening: Whitening | None = None,
        centred: bool = False,
    ) -> LandmarkSpace:
        """Keep the directions whose eigenvalues exceed ``tol`` times the greatest, or that of the centred Gram matrix.

        The greatest eigenvalue is that of the nearly constant direction, which all matrices share: the smaller β is,
        the less is left beside it, and the more of that ``tol`` would leave out. The centred Gram matrix is without it.
        """
        if whitening is None:
            divergences = divergence.pairwise(divergence.prepare(landmarks))
        else:
            divergences = whitening.among_references()
        beta = choose_beta(beta, divergences)
        gram = kernel_values(divergences, beta)
        eigenvalues, U = np.linalg.eigh(gram)
        eigenvalues, U = eigenvalues[::-1], U[:, ::-1]
        rounding = eigenvalue_tolerance(gram) * eigenvalues[0]
        scale = np.linalg.eigvalsh(centred_gram(gram))[-1] if centred else eigenvalues[0]
        kept = eigenvalues > max(tol * scale, rounding if centred else 0.0)
        roots = np.ascontiguousarray(U[:, kept] / np.sqrt(eigenvalues[kept]))
        spectrum = eigenvalues[kept], eigenvalues[~kept]
        return cls(divergence, beta, landmarks, roots, *spectrum, whitening)

    def condensed(self) -> LandmarkSpace:
        """Return nearly the same map with fewer landmarks: 3/2 times as many as there are directions.

        Kept are the landmarks whose kernel values span those of all others best, and R is fitted by
        least squares, so that φ of *all* landmarks stays what it is. φ(X)ᵀφ(Y) is positive definite
        for every R. Divergences are what φ costs, and often r is far below L. Where the kernel is
        indefinite on the landmarks, all are kept: there fewer do not span the others.
        """
        count = _LANDMARKS_PER_DIRECTION * self.size
        if count >= len(self.landmarks) or self.indefinite:
            return self
        values = self.kernel(self.landmarks)
        _, order = scipy.linalg.qr(values, mode="r", pivoting=True)
        kept = np.sort(order[: int(count)])
        some = values[:, kept]
        squares = some.T @ some
        squares.flat[:: len(kept) + 1] += _LEAST_SQUARES_RIDGE * squares.trace() / len(kept)
        roots = scipy.linalg.solve(squares, some.T @ values @ self.roots, assume_a="pos")
        return replace(self, landmarks=self.landmarks[kept], roots=np.ascontiguousarray(roots))

    @property
    def size(self) -> int:
        """The length r of a vector φ(X)."""
        return int(self.roots.shape[1])

    @property
    def indefinite(self) -> bool:
        """Whether exp(−β·d) is indefinite on the landmarks, by more than rounding."""
        # The roots have as many rows as the Gram matrix, and it is by these that rounding grows.
        rounding = eigenvalue_tolerance(self.roots) * self.eigenvalues[0]
        return bool(self.discarded.min(initial=0.0) < -rounding)

    def kernel(self, X: FloatArray, n_jobs: int | None = None) -> Floats:
        """Return κ(X_i) for matrices X (m, n, n), shape (m, L)."""
        divergence, queries, own = beside(self.divergence, X, self.prepared)
        divergences = divergence.pairwise(queries, own, n_jobs=n_jobs)
        if self.whitening is not None:
            divergences = self.whitening.to_references(divergences)
        return kernel_values(divergences, self.beta)

    def features(
        self, X: FloatArray, n_jobs: int | None = None, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """Return φ(X_i) for matrices X (m, n, n), shape (m, r), of this type."""
        out = np.empty((len(X), self.roots.shape[1]), dtype)
        each = 8 * max(len(self.roots), X.shape[-1] ** 2)
        for rows in block_slices(len(X), max(1, _BLOCK_BYTES // each)):
            out[rows] = row_products(self.kernel(X[rows], n_jobs), self.roots)
        return out

    def vjp(self, X: FloatArray, weights: Floats, n_jobs: int | None = None) -> Floats:
        """Return the gradients in X_i of w_i · φ(X_i), for weights (m, r)."""
        divergence, queries, own = beside(self.divergence, X, self.prepared)
        d = np.asarray(divergence.pairwise(queries, own, n_jobs=n_jobs), np.float64)
        in_values = weights @ self.roots.T

        def slopes(d: Floats) -> Floats:
            return np.asarray(-self.beta * kernel_values(d, self.beta) * in_values)

        in_d = slopes(d) if self.whitening is None else self.whitening.vjp(d, slopes)
        G, _ = divergence.vjp(queries, own, in_d, both=False, n_jobs=n_jobs)
        return G if is_complex(X) else np.asarray(G.real)


def _without_gram(values: Mapping[str, Any]) -> str:
    """Name the Gram matrix if there are too many atoms for it."""
    return "gram_" if np.shape(values.get("features_", ()))[:1] > (LARGEST_GRAM,) else ""


class LandmarkKernel(Kernel):
    """k̃(X, Y) = φ(X)ᵀφ(Y) over a dictionary.

    Parameters
    ----------
    space : LandmarkSpace
        The map φ.
    n_jobs : int, default=None
        The number of threads.

    Attributes
    ----------
    features_ : ndarray of shape (N, r)
        φ of the atoms.
    gram_ : ndarray of shape (N, N)
        φ(D_i)ᵀφ(D_j); `fit_features` leaves it out if there are too many atoms.
    beta_ : float
        The β of the kernel that k̃ approximates.
    """

    _stored = part(
        "beta_ gram_",
        spare=_without_gram,
        space=Part(LandmarkSpace),
        features_=Numbers("N r", most=FEATURE),
    )
    _parameters = allow.declare(
        space=allow.Allowed(("a LandmarkSpace",), lambda value: isinstance(value, LandmarkSpace)),
        n_jobs=allow.N_JOBS,
    )

    def __init__(self, space: LandmarkSpace, n_jobs: int | None = None) -> None:
        self.space = space
        self.n_jobs = n_jobs

    def fit_checked(self, D: FloatArray) -> Self:
        """Compute φ of atoms that `check_spd` has seen already."""
        return self.fit_features(self.space.features(D, self.n_jobs), always=True)

    def fit_features(self, features: Floats, always: bool = False) -> Self:
        """Take φ of the atoms, and compute their Gram matrix if there are few of them, or ``always``."""
        self.features_ = features
        if always or len(features) <= LARGEST_GRAM:
            self.gram_ = landmark_gram(features)
        self.beta_, self.corrected_ = self.space.beta, False
        self.n_features_in_ = self.space.landmarks.shape[-1]
        return self

    def cross_checked(self, X: FloatArray) -> FloatArray:
        """Return k̃(X_i, D_j) for matrices that `check_spd` has seen already."""
        return self.cross_and_norms(X)[0]

    def vjp(self, X: FloatArray, weights: Floats) -> Floats:
        """Return Σ_j w_ij ∂k̃(X_i, D_j)/∂X_i; see `Kernel.vjp`."""
        return self.space.vjp(X, weights @ self.features_, self.n_jobs)

    def cross_and_norms(self, X: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return k̃(X_i, D_j), and k̃(X_i, X_i)."""
        features = self.space.features(X, self.n_jobs)
        return row_products(features, self.features_.T), np.einsum("ij,ij->i", features, features)


def landmark_gram(features: Floats) -> Floats:
    """Return φ(D_i)ᵀφ(D_j), with a diagonal that rounding cannot make it indefinite by."""
    gram = np.asarray(features @ features.T)
    gram.flat[:: len(gram) + 1] += eigenvalue_tolerance(gram) * gram.diagonal().max()
    return gram


@allow.with_parameters
class SPDNystroem(Threaded, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SPDEstimator):
    """SPD matrices as vectors, by their kernel values with a few landmarks.

    φ(X) = Λ₊^-½ U₊ᵀ κ(X), with ⟨φ(X), φ(Y)⟩ ≈ exp(−β·d(X, Y)): SPD matrices as vectors.

    κ(X) holds the kernel values of X with landmarks, U Λ Uᵀ is the Gram matrix of the landmarks, and
    small or negative eigenvalues are left out. The inner products of these vectors are a positive
    definite kernel on the cone, whatever the divergence is, and approximate its own kernel. So a
    linear classifier behind this transformer is a kernel machine on SPD matrices.

    Parameters
    ----------
    beta : float or "auto", default="auto"
        The β of the kernel. ``"auto"`` is the reciprocal of the median divergence between two landmarks.
    n_landmarks : int, default=300
        The number of landmarks; no more than there are training matrices.
    landmarks : {"k-means++", "random"} or array-like of shape (L, n, n), default="k-means++"
        Training matrices that are far apart from each other (greedy k-means++), or drawn at random;
        or given matrices, whose number takes the place of ``n_landmarks``.
    tol : float, default=1e-3
        Directions with eigenvalues up to this share of the greatest are left out.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness for the landmarks.

    Attributes
    ----------
    landmarks_ : ndarray of shape (L, n, n)
        The landmarks.
    landmark_indices_ : ndarray of shape (L,) or None
        Which training matrices they are; None if they were given.
    beta_
    eigenvalues_ : ndarray of shape (r,)
        The eigenvalues of the directions that are kept, the greatest first.
    discarded_ : ndarray of shape (L − r,)
        The other eigenvalues, the greatest first. Negative ones show how far the kernel is from
        being positive definite.
    n_features_in_

    See Also
    --------
    DivergenceKernel : The kernel itself, over all atoms of a dictionary.

    References
    ----------
    .. [1] C. Williams and M. Seeger, Using the Nyström method to speed up kernel machines, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from spdatoms import SPDNystroem
    >>> G = np.random.default_rng(0).standard_normal((80, 3, 20))
    >>> G[40:, 2] *= 3.0
    >>> X, y = G @ G.swapaxes(1, 2) / 20, np.repeat(["round", "long"], 40)
    >>> machine = make_pipeline(SPDNystroem("jeffrey", n_landmarks=20, random_state=0), LinearSVC())
    >>> machine.fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    n_landmarks: int = allow.parameter(allow.integer(1), default=300)
    _: KW_ONLY
    landmarks: str | ArrayLike = allow.parameter(
        allow.choice(*SEEDS) | allow.MATRICES, default="k-means++"
    )
    tol: float = allow.parameter(allow.real(0, below=1), default=1e-3)
    random_state: Any = allow.parameter(allow.RANDOM_STATE, default=None)

    hermitian: ClassVar[bool] = True
    _stored = holds("eigenvalues_ _dtype", _space=Part(LandmarkSpace))

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Choose the landmarks, and decompose their Gram matrix.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, of which only some matrices are kept.
        """
        divergence = symmetric_divergence(self.metric)
        matrices: Any = check_streamable(X, self.n_jobs)
        divergence = over(divergence, matrices)
        Z, chosen = choose_landmarks(
            matrices, self.landmarks, self.n_landmarks, divergence, self.random_state, self.n_jobs
        )
        self.n_features_in_ = matrices.shape[-1]
        self.landmark_indices_ = chosen
        self._space = LandmarkSpace.of(divergence, Z, self.beta, self.tol)
        self._dtype = np.dtype(matrices.dtype)
        self.landmarks_: FloatArray = Z.astype(matrices.dtype)
        self.beta_ = self._space.beta
        self.eigenvalues_, self.discarded_ = self._space.eigenvalues, self._space.discarded
        return self

    @per_matrix
    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the vectors φ(X_i).

        Returns
        -------
        ndarray of shape (m, r)
            In single precision if both the training matrices and X are.
        """
        X = self.check_queries(X)
        return self._space.features(X, self.n_jobs, real_type(X.dtype, self._dtype))

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)


def choose_landmarks(
    X: Any,
    landmarks: str | ArrayLike,
    n_landmarks: int,
    divergence: Divergence,
    random_state: Any,
    n_jobs: int | None,
) -> tuple[Floats, Indices | None]:
    """Return the landmarks in double precision, and which of the matrices X they are.

    X is an array or a `Stream`, of which some matrices, evenly taken, are looked at.
    """
    if not isinstance(landmarks, str):
        Z = check_size(check_spd(landmarks, name="landmarks"), X.shape[-1], name="landmarks")
        return as_double(Z), None
    rows = np.arange(len(X))[evenly_spaced(len(X), _SAMPLES_PER_LANDMARK * n_landmarks)]
    matrices = as_double(X[rows] if len(rows) < len(X) else X[:])
    sample = Sample(divergence, matrices, np.ones(len(rows)), n_jobs)
    drawn = SEEDS[landmarks](sample, min(n_landmarks, len(rows)), generator(random_state))
    drawn = np.sort(drawn)
    return matrices[drawn], rows[drawn]
