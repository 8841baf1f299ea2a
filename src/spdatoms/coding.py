"""`SPDSparseCoder`: SPD matrices in, sparse codes over a dictionary of SPD matrices out. And the same on logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.products import row_products
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.threads import block_slices, effective_n_jobs, one_blas_thread, run_blocks
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.base import (
    SPDEstimator,
    by_channels,
    checked_fit,
    estimator_call,
    per_matrix,
    warn_of_no_channel,
)
from spdatoms.divergences import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.incomplete import between, completed
from spdatoms.divergences.means import mean
from spdatoms.divergences.registry import SYMMETRIC_METRIC, symmetric_divergence
from spdatoms.geometry.channels import Mask, cut, find_unfit_channels
from spdatoms.geometry.hermitian import as_double, real_type
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels import DivergenceKernel, Kernel
from spdatoms.kernels.bandwidth import automatic_beta, coding_beta, subsample_divergences
from spdatoms.kernels.correction import CORRECTION
from spdatoms.kernels.landmarks import LandmarkKernel
from spdatoms.kernels.log_cosine import WithLogCosineKernel
from spdatoms.kernels.preimages import preimages
from spdatoms.lasso.alpha import coding_alpha, kernel_spread
from spdatoms.lasso.certificate import ShortCodes
from spdatoms.lasso.gram_coder import GramCoder
from spdatoms.lasso.solve import solve_queries
from spdatoms.lasso.working_sets import code_features
from spdatoms.layout import Part, holds

__all__ = ["LogEuclideanSparseCoder", "SPDSparseCoder"]

#: Bytes of matrices, and of their codes, that are computed at a time, so that all on the way stays small and warm.
_BLOCK_BYTES = 8 << 20
#: Work in a block that is worth a thread's while, a millisecond, where that on a query is n³ + this per atom.
_LEAST_BLOCK_WORK, _ATOM_WORK = 1e8, 4500
#: The automatic α is found from the kernel between this many atoms, and the codes of this many matrices, at most.
_SUBSAMPLE, _CODED = 500, 200


@dataclass(frozen=True)
class CodedBlock:
    """Consecutive queries with what coding finds out about them.

    Attributes
    ----------
    rows : slice
        Which of the queries they are.
    cross : ndarray of shape (m, N)
        Their kernel values with the atoms.
    codes : ndarray of shape (m, N)
        Their codes.
    losses : ndarray of shape (m,) or None
        k(X, X) − 2 yᵀk + yᵀKy + α‖y‖₁ + ρ‖y‖² of every code y, if they are wanted.
    """

    rows: slice
    cross: FloatArray
    codes: FloatArray
    losses: Floats | None


@dataclass(frozen=True)
class AtomLengths:
    """Atoms with weights w are √w_j φ(D_j): the code z over them is y_j = √w_j z_j over the φ(D_j).

    So its penalties α‖z‖₁ + ρ‖z‖² are α|y_j|/√w_j and ρy_j²/w_j. With α = 0 an integer weight is that many
    copies of an atom.
    """

    weights: Floats | None

    def lengthened(self, columns: Any) -> Any:
        """Return an array, dense or CSR, with one column per atom: each multiplied by √w_j."""
        if self.weights is None:
            return columns
        lengths = np.sqrt(self.weights)
        if scipy.sparse.issparse(columns):
            return columns.multiply(lengths).tocsr()
        return np.ascontiguousarray(columns * lengths)

    def lengthened_gram(self, gram: FloatArray) -> FloatArray:
        """Return √w_i K_ij √w_j for K (…, N, N), K itself without weights."""
        if self.weights is None:
            return gram
        lengths = np.sqrt(self.weights)
        return np.ascontiguousarray(lengths[:, None] * (gram * lengths))


def for_coded_blocks(
    use: Callable[[CodedBlock], None],
    X: FloatArray,
    kernel: Kernel,
    alpha: float,
    *,
    ridge: float = 0.0,
    positive: bool = False,
    weights: Floats | None = None,
    losses: bool = True,
    n_jobs: int | None = None,
) -> None:
    """Call ``use`` with the codes of checked matrices X over the atoms of a fitted kernel, block by block.

    Several threads call it at the same time, and for blocks in any order. For atoms with weights w the
    penalties are Σ_j α|y_j|/√w_j and Σ_j ρy_j²/w_j.
    """
    atoms = AtomLengths(weights)
    gram = atoms.lengthened_gram(kernel.gram_)
    jobs, short = effective_n_jobs(n_jobs), ShortCodes()
    coder = None if losses or positive or jobs > 1 else GramCoder(gram, alpha, ridge)

    def code(rows: slice) -> None:
        cross, norms = kernel.cross_and_norms(X[rows])
        quick = None if coder is None else coder.quickly(atoms.lengthened(cross))
        if quick is not None:
            use(CodedBlock(rows, cross, atoms.lengthened(quick), None))
            return
        codes, certificate = solve_queries(
            gram,
            atoms.lengthened(cross),
            alpha,
            first=rows.start,
            short=short,
            ridge=ridge,
            query_norm=norms,
            positive=positive,
            n_jobs=n_jobs,
        )
        use(CodedBlock(rows, cross, atoms.lengthened(codes), certificate.objective))

    # Threads share whole blocks: divergences, exponentials, codes and what they are used for.
    run_blocks(code, len(X), _shared_block(X, len(gram), jobs), jobs, uses_blas=jobs > 1)
    short.warn()


def coded_feature_blocks(
    X: FloatArray,
    kernel: LandmarkKernel,
    alpha: float,
    *,
    ridge: float = 0.0,
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Iterator[tuple[slice, Floats, scipy.sparse.csr_array]]:
    """Yield rows, features (m, r) and codes (m, N) of checked matrices X, block by block.

    The codes are found with the Gram matrix of the atoms, or by working sets if the kernel has none.
    Weights of the atoms do what they do in `for_coded_blocks`.
    """
    atoms = AtomLengths(weights)
    vectors = atoms.lengthened(kernel.features_.T).T
    gram = atoms.lengthened_gram(kernel.gram_) if hasattr(kernel, "gram_") else None
    short = ShortCodes()
    for rows in _query_blocks(X, len(vectors)):
        features = kernel.space.features(X[rows], n_jobs)
        block: Any = {"ridge": ridge, "n_jobs": n_jobs, "first": rows.start, "short": short}
        if gram is None:
            codes, _ = code_features(vectors, features, alpha, **block)
        else:
            codes, _ = solve_queries(
                gram,
                row_products(features, vectors.T),
                alpha,
                query_norm=np.einsum("ij,ij->i", features, features),
                sparse=True,
                **block,
            )
        yield rows, features, atoms.lengthened(codes)
    short.warn()


def _query_blocks(X: FloatArray, n_atoms: int) -> Iterator[slice]:
    return block_slices(len(X), _block(X, n_atoms))


def _block(X: FloatArray, n_atoms: int) -> int:
    """Return how many queries to code at a time."""
    each: int = max(X.itemsize * X.shape[-1] ** 2, 8 * n_atoms)
    return max(1, _BLOCK_BYTES // each)


def _shared_block(X: FloatArray, n_atoms: int, jobs: int) -> int:
    """Return the number of queries in a block, so that threads have some blocks each."""
    block = _block(X, n_atoms)
    least = int(_LEAST_BLOCK_WORK / (n_atoms * (_ATOM_WORK + X.shape[-1] ** 3)))
    if jobs == 1 or len(X) < max(4 * jobs, 2 * least):
        return block  # of few queries threads share the work on each
    return min(block, max(-(-len(X) // (4 * jobs)), least))


def code_matrices(
    X: FloatArray,
    kernel: Kernel,
    alpha: float,
    *,
    ridge: float = 0.0,
    positive: bool = False,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the codes of checked matrices X over the atoms of a fitted kernel, one per row."""
    codes = np.empty((len(X), len(kernel.gram_)))

    def keep(block: CodedBlock) -> None:
        nonlocal codes
        if len(block.codes) == len(X):
            codes = block.codes
        else:
            codes[block.rows] = block.codes

    for_coded_blocks(
        keep, X, kernel, alpha, ridge=ridge, positive=positive, losses=False, n_jobs=n_jobs
    )
    return codes


def of_norm_one(codes: FloatArray) -> FloatArray:
    """Return every code divided by its norm; zeros stay zeros."""
    norms = np.linalg.norm(codes, axis=1, keepdims=True)
    return np.asarray(codes / np.where(norms > 0, norms, 1.0))


class Completing(SPDEstimator):
    """Estimators that code matrices over atoms, and fill in channels by what codes describe."""

    metric: str | Divergence
    positive: bool
    n_jobs: int | None
    atoms_: FloatArray
    kernel_: Kernel
    alpha_: float

    @estimator_call
    def complete(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> FloatArray:
        """Fill in channels that matrices lack, by regression on the matrix that the code describes.

        X_mo = A X_oo and X_mm = A X_oo Aᵀ + R, with A = S_mo S_oo⁻¹ and R = S_mm − A S_om: what is missing (m) follows
        from what is known (o). S is the mean of two matrices, by Jeffrey's divergence: the C with φ(C) nearest to
        Σ_j y_j φ(D_j), y being the code of X_oo over the atoms cut to these channels, and the mean of all atoms, whose
        weight is the loss of the code. Known entries stay what they are, and the result is positive definite.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices.
        channels : array-like, default=None
            The channels that the matrices have: their indices, or a mask of shape (n,) or (m, n). None stands for all
            but those whose rows and columns are NaN.

        Returns
        -------
        ndarray of shape (m, n, n)
            The matrices, complete. One without channels is the mean of the atoms, and there is a warning.
        """
        found = self._with_channels(X, channels)
        if found is None:
            return self.check_queries(X)
        X, known = found
        find_unfit_channels(X, known).raise_if_any("X", X.shape[:1])
        if not hasattr(self, "atoms_"):
            return self._over_its_dictionary().complete(X, channels=known)
        if not hasattr(self.kernel_, "beta_"):
            raise ValueError("complete needs the kernel exp(−β·d) of a divergence.")
        warn_of_no_channel(known, "they are the mean of the atoms")
        atoms = as_double(self.atoms_)
        models = np.tile(mean(atoms, "jeffrey").astype(np.result_type(X, atoms)), (len(X), 1, 1))
        rows = np.flatnonzero(known.any(axis=1) & ~known.all(axis=1))
        if len(rows):
            codes, losses = self._coded(X[rows], channels=known[rows])
            some = codes.any(axis=1)
            rows, codes, losses = rows[some], codes[some], losses[some]
            divergence = over(symmetric_divergence(self.metric), atoms)
            with one_blas_thread():
                described = preimages(divergence, atoms, float(self.kernel_.beta_), codes)
            models[rows] = between(described, models[rows], np.clip(losses, 0, 1)[:, None, None])
        return completed(as_double(X), known, models).astype(X.dtype, copy=False)

    @by_channels
    def _coded(self, X: FloatArray, *, channels: Mask | None = None) -> tuple[Floats, Floats]:
        X = self.check_queries(X)
        codes, losses = np.empty((len(X), len(self.atoms_))), np.empty(len(X))

        def keep(block: CodedBlock) -> None:
            codes[block.rows], losses[block.rows] = block.codes, block.losses

        penalties: Any = {"ridge": getattr(self, "ridge", 0.0), "positive": self.positive}
        for_coded_blocks(keep, X, self.kernel_, self.alpha_, **penalties, n_jobs=self.n_jobs)
        return codes, losses

    def _over_its_dictionary(self) -> Self:
        """Return the coder fitted to its dictionary."""
        fitted: Self = clone(self).set_params(dictionary=None).fit(self.dictionary)
        return fitted


class SPDSparseCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Completing):
    """Sparse codes of SPD matrices over a dictionary.

    min_y 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁ + ρ‖y‖²: the sparse code of X over atoms D_1 … D_N.

    K holds the kernel values exp(−β·d) between atoms, k_X those between X and the atoms. The code is
    exact: see `sparse_code`.

    Parameters
    ----------
    dictionary : array-like of shape (N, n, n), default=None
        The atoms. Without them the matrices given to `fit` are the atoms. With them `transform` needs no
        `fit`; an automatic α is then that of the atoms, each coded over the others.
    metric : str or Divergence, default="stein"
        The divergence d: ``"stein"``, ``"jeffrey"``, ``"logeuclid"``, ``"riemann"``, ``"euclid"``.
    beta : float or "auto", default="auto"
        The β of the kernel. ``"auto"`` is 0.2 over the median divergence between two atoms; 0.5 or 1 over it where the
        Gram matrix of the atoms would be indefinite; 1 over it where the kernel is known to be positive definite for
        no β, as for Jeffrey's divergence.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.05·(1 − k̄), with the mean k̄ of the kernel between two
        atoms: a twentieth of the variance of the atoms in the feature space. If the codes of the matrices given to
        `fit` then use more than a fifth of the atoms (and more than five), it is as much greater as need be.
    ridge : float, default=0.0
        The penalty ρ of ‖y‖² (elastic net): similar atoms share a code instead of one taking it all.
        With ``alpha=0`` the codes are those of collaborative representation, (K + ρI)⁻¹k_X, which
        are quick and not sparse.
    positive : bool, default=False
        Ask for y ≥ 0.
    correction : {"clip", "flip", "shift", "none"}, default="clip"
        What to do with an indefinite Gram matrix, see `DivergenceKernel`.
    normalise : bool, default=False
        Divide every code by its norm; a code of zeros stays one. The angle between codes tells more than their
        distance, so that nearest neighbours, linear classifiers and k-means want codes of norm one.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    atoms_ : ndarray of shape (N, n, n)
        The dictionary.
    kernel_ : DivergenceKernel
        The kernel over it, with ``beta_`` and ``gram_``.
    alpha_ : float
        The α in use.
    n_features_in_ : int
        The size n of the matrices.

    Notes
    -----
    Over atoms that are the matrices given to `fit`, each of these is its own code, a unit vector: a classifier that
    learns from them meets codes of another kind in its queries. Give it codes over a learned dictionary, or
    leave-one-out codes: ``sparse_code(K, K, alpha, exclude=range(N))``.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseCoder
    >>> D = np.array([[[1.0, 0.0], [0.0, 1.0]], [[9.0, 0.0], [0.0, 1.0]]])
    >>> coder = SPDSparseCoder(dictionary=D, beta=1.0, alpha=0.1).fit(D)
    >>> coder.transform(2.0 * D).round(2)
    array([[ 0.68,  0.27],
           [-0.05,  0.87]])
    """

    hermitian: ClassVar[bool] = True

    # For subclasses without these parameters:
    dictionary: Any = None
    ridge: float = 0.0
    normalise: bool = False

    _stored = holds("atoms_ alpha_", kernel_=Part(Kernel))
    _parameters = allow.declare(
        dictionary=allow.NONE | allow.MATRICES,
        metric=SYMMETRIC_METRIC,
        beta=allow.BETA,
        alpha=allow.ALPHA,
        ridge=allow.real(0),
        positive=allow.BOOLEAN,
        correction=CORRECTION,
        normalise=allow.BOOLEAN,
        n_jobs=allow.N_JOBS,
        verbose=allow.VERBOSE,
    )

    def __init__(
        self,
        dictionary: ArrayLike | None = None,
        metric: str | Divergence = "stein",
        beta: float | str = "auto",
        alpha: float | str = "auto",
        *,
        ridge: float = 0.0,
        positive: bool = False,
        correction: str = "clip",
        normalise: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.dictionary = dictionary
        self.metric = metric
        self.beta = beta
        self.alpha = alpha
        self.ridge = ridge
        self.positive = positive
        self.correction = correction
        self.normalise = normalise
        self.n_jobs = n_jobs
        self.verbose = verbose

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> SPDSparseCoder:
        """Compute the Gram matrix of the dictionary.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices: the atoms, if no dictionary was given.
        y : object, default=None
            Ignored.

        Returns
        -------
        SPDSparseCoder
            The estimator itself.
        """
        X = self.check_training_matrices(X)
        if self.dictionary is None:
            self.atoms_ = X
        else:
            atoms = check_spd(self.dictionary, name="dictionary")
            self.atoms_ = check_size(atoms, self.n_features_in_, name="dictionary")
        self._use_atoms(X)
        return self

    def _use_atoms(self, X: FloatArray) -> None:
        """Set the kernel of the atoms, and α, for matrices X like those to be coded."""
        self.kernel_ = self._kernel().fit_checked(self.atoms_)
        self.alpha_ = self._coding_alpha(X) if isinstance(self.alpha, str) else float(self.alpha)

    def _coding_alpha(self, X: FloatArray) -> float:
        """Return the automatic α, of atoms as codes over the other atoms if X are the atoms."""
        gram = self.kernel_.gram_
        atoms, some = evenly_spaced(len(gram), _SUBSAMPLE), evenly_spaced(len(X), _CODED)
        own = X is self.atoms_
        return coding_alpha(
            kernel_spread(gram[atoms, atoms]),
            gram,
            gram[some] if own else self.kernel_.cross_checked(X[some]),
            ridge=self.ridge,
            positive=self.positive,
            exclude=np.arange(len(gram))[some] if own else None,
        )

    def _kernel(self) -> Kernel:
        """Return the kernel for the atoms."""
        beta = self.beta
        if isinstance(beta, str):
            divergence = over(symmetric_divergence(self.metric), self.atoms_)
            among = subsample_divergences(self.atoms_, divergence)
            beta = coding_beta(automatic_beta(among), among, divergence, self.n_features_in_)
        return DivergenceKernel(self.metric, beta, self.correction, self.n_jobs)

    @per_matrix
    def transform(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> FloatArray:
        """Code matrices.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.
        channels : array-like, default=None
            The channels that the matrices have: their indices, or a mask of shape (n,) or (m, n). None stands for all
            but those whose rows and columns are NaN.

        Returns
        -------
        ndarray of shape (m, N)
            The codes, one per row.
        """
        if self.dictionary is not None and not hasattr(self, "atoms_"):
            return np.asarray(self._over_its_dictionary().transform(X))
        X = self.check_queries(X)
        codes = code_matrices(
            X,
            self.kernel_,
            self.alpha_,
            ridge=self.ridge,
            positive=self.positive,
            n_jobs=self.n_jobs,
        )
        codes = of_norm_one(codes) if self.normalise else codes
        return codes.astype(real_type(X, self.atoms_), copy=False)

    def _cut(self, known: Mask) -> SPDSparseCoder:
        if not hasattr(self, "atoms_"):
            return self._over_its_dictionary()._cut(known)
        model = copy(self)
        model.n_features_in_, model.atoms_ = int(known.sum()), cut(self.atoms_, known)
        model._use_atoms(model.atoms_)
        if self.dictionary is not None:  # the matrices that its α is for are not kept
            model.alpha_ = self.alpha_
        return model

    @property
    def _n_channels(self) -> int:
        return self.n_features_in_ if hasattr(self, "atoms_") else np.shape(self.dictionary)[-1]

    def _answers_to_nothing(self) -> dict[str, Array]:
        return {"transform": np.zeros((1, self._n_features_out), np.float32)}

    def __sklearn_is_fitted__(self) -> bool:
        return self.dictionary is not None or hasattr(self, "atoms_")

    @property
    def _n_features_out(self) -> int:
        return len(self.atoms_ if hasattr(self, "atoms_") else self.dictionary)


class LogEuclideanSparseCoder(WithLogCosineKernel, SPDSparseCoder):
    """Sparse codes of the logarithms of SPD matrices.

    min_y ‖v − Σ_j y_j d_j‖² + α‖y‖₁: the sparse code of X over atoms D_1 … D_N, on logarithms.

    v is the half-vector of log(X/c), scaled to length one, and d_j that of log(D_j/c); c is the scale
    of the atoms, the geometric mean of all their eigenvalues. The code is exact: see `sparse_code`.

    Parameters
    ----------
    dictionary : array-like of shape (N, n, n), default=None
        The atoms. Without them the matrices given to `fit` are the atoms.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁, as in `SPDSparseCoder`, with d_iᵀd_j for the kernel.
    rescale : bool, default=True
        Divide by c, which makes codes independent of the unit of X. The published method [1]_ has
        c = 1, that is ``rescale=False``.
    positive : bool, default=False
        Ask for y ≥ 0.
    n_jobs : int, default=None
        The number of threads.
    verbose : int, default=0
        1 shows progress bars (needs tqdm).

    Attributes
    ----------
    atoms_ : ndarray of shape (N, n, n)
        The dictionary.
    kernel_ : LogCosineKernel
        The inner products of the atoms, ``gram_``, and of anything with them.
    alpha_ : float
        The α in use.
    n_features_in_ : int
        The size n of the matrices.

    References
    ----------
    .. [1] K. Guo, P. Ishwar, J. Konrad, Action recognition from video using feature covariance
       matrices, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import LogEuclideanSparseCoder
    >>> D = np.exp([[1.0, 0.0], [0.0, 1.0]])[:, :, None] * np.eye(2)
    >>> coder = LogEuclideanSparseCoder(dictionary=D, alpha=0.1, rescale=False).fit(D)
    >>> coder.transform(D**3).round(2)
    array([[0.95, 0.  ],
           [0.  , 0.95]])
    """

    _parameters = allow.declare(
        dictionary=allow.NONE | allow.MATRICES,
        alpha=allow.ALPHA,
        rescale=allow.BOOLEAN,
        positive=allow.BOOLEAN,
        n_jobs=allow.N_JOBS,
        verbose=allow.VERBOSE,
    )

    def __init__(
        self,
        dictionary: ArrayLike | None = None,
        alpha: float | str = "auto",
        rescale: bool = True,
        *,
        positive: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.dictionary = dictionary
        self.alpha = alpha
        self.rescale = rescale
        self.positive = positive
        self.n_jobs = n_jobs
        self.verbose = verbose
