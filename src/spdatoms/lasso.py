"""min_y  k(X,X) − 2 yᵀk + yᵀKy + λ‖y‖₁ : sparse codes over a Gram matrix, exact and certified.

K holds the kernel values between atoms, k those between a query and the atoms; nothing here knows
what the atoms are. With the gradient g = 2(Ky − k) of the smooth part, y is optimal if and only if
g_j = −λ sign(y_j) where y_j ≠ 0 and |g_j| ≤ λ where y_j = 0 (g_j ≥ −λ there if y ≥ 0 is asked for).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from spdatoms import _lasso_input as check
from spdatoms._blocks import effective_n_jobs, run_blocks
from spdatoms._compiled.feature_sign import SOLVED, code_block

Codes: TypeAlias = NDArray[np.floating[Any]] | scipy.sparse.csr_array

# Squared pivots under this fraction of the largest diagonal entry of K are rounding error.
_DEPENDENT = 1e-14


@dataclass(frozen=True)
class Certificate:
    """How good each code is; every field has one entry per query.

    Attributes
    ----------
    kkt_residual : ndarray of float
        Largest violation of the optimality conditions, in the units of the gradient 2(Ky − k).
    duality_gap : ndarray of float
        Upper bound of the objective's distance from its minimum, from the feasible dual point along
        the residual. It needs a true ``query_norm``, and says nothing when alpha is 0.
    objective : ndarray of float
        k(X,X) − 2 yᵀk + yᵀKy + λ‖y‖₁.
    n_nonzero : ndarray of int
        Size of the active set.
    rounds : ndarray of int
        Rounds of feature-sign search, each with one product with K.
    converged : ndarray of bool
        Whether ``kkt_residual`` is within the tolerance.
    """

    kkt_residual: NDArray[np.float64]
    duality_gap: NDArray[np.float64]
    objective: NDArray[np.float64]
    n_nonzero: NDArray[np.int64]
    rounds: NDArray[np.int64]
    converged: NDArray[np.bool_]


@dataclass(frozen=True)
class _Problem:
    """Checked input that all the values of alpha share."""

    gram: NDArray[np.float64]
    cross: NDArray[Any]
    query_norm: NDArray[np.float64]
    dtype: type[np.floating[Any]]
    limits: tuple[float, float]
    positive: bool
    tol: float
    max_rounds: int
    sparse: bool
    progress: bool
    n_jobs: int | None


def sparse_code(
    gram: ArrayLike,
    cross: ArrayLike,
    alpha: ArrayLike,
    *,
    query_norm: ArrayLike = 1.0,
    positive: bool = False,
    init: Any = None,
    tol: float = 1e-8,
    max_rounds: int = 500,
    return_certificate: bool = False,
    sparse: bool = False,
    check_gram: bool = True,
    progress: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """min_y k(X,X) − 2 yᵀk + yᵀKy + α‖y‖₁, for every query k, by feature-sign search.

    Parameters
    ----------
    gram : array-like of shape (n_atoms, n_atoms)
        K, the kernel between the atoms: symmetric, positive semidefinite (it may be singular).
    cross : array-like of shape (n_queries, n_atoms)
        k, the kernel between each query and the atoms.
    alpha : float or array-like of shape (n_queries,)
        λ, the price of ‖y‖₁, for all queries or for each. From 2·max|k| on the code is zero.
    query_norm : float or array-like of shape (n_queries,), default=1.0
        k(X,X). It moves the objective and the duality gap, not the code.
    positive : bool, default=False
        Ask for y ≥ 0.
    init : array-like or sparse matrix of shape (n_queries, n_atoms), default=None
        Codes to start from, such as those of a slightly different problem. With ``positive``,
        negative entries are ignored.
    tol : float, default=1e-8
        Violation of the optimality conditions that is allowed, in the units of the gradient, as a
        fraction of max|k| of the query (at most 1 for a kernel with k(X,X) = 1). So a code does
        not depend on the scale of the kernel.
    max_rounds : int, default=500
        Rounds after which a query is given up. The objective falls in every round, and a few tens
        are the rule.
    return_certificate : bool, default=False
        Return a :class:`Certificate` too.
    sparse : bool, default=False
        Return the codes as a CSR array.
    check_gram : bool, default=True
        Test that K is positive semidefinite (n_atoms³/3 operations; for more than 2048 atoms a
        principal block of that size is tested). Without the test an indefinite K is noticed only
        if the search meets a block of it that is. With ``positive`` and K ≥ 0 elementwise the
        objective is bounded below even for an indefinite K; untested, the answer is then a
        stationary point, not always the minimum, and its duality gap means nothing.
    progress : bool, default=False
        Show a progress bar (needs tqdm).
    n_jobs : int, default=None
        Threads over blocks of queries; None is 1, -1 all processors. The codes do not depend on it.

    Returns
    -------
    codes : ndarray or csr_array of shape (n_queries, n_atoms)
        One code per row; float32 if gram and cross both are (all computing is in float64).
    certificate : Certificate
        Only if ``return_certificate``.

    Warns
    -----
    ConvergenceWarning
        If some codes violate the optimality conditions by more than the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import sparse_code
    >>> gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> sparse_code(gram, [[0.9, 0.5]], alpha=0.2)
    array([[0.8, 0. ]])
    """
    problem = _problem(
        gram, cross, query_norm, positive, tol, max_rounds, sparse, check_gram, progress, n_jobs
    )
    if init is not None:
        init = check.checked_init(init, problem.cross.shape)
    codes, certificate = _solve(problem, alpha, init)
    return (codes, certificate) if return_certificate else codes


def sparse_code_path(
    gram: ArrayLike,
    cross: ArrayLike,
    alphas: Iterable[float],
    *,
    query_norm: ArrayLike = 1.0,
    positive: bool = False,
    tol: float = 1e-8,
    max_rounds: int = 500,
    return_certificate: bool = False,
    sparse: bool = False,
    check_gram: bool = True,
    progress: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """y(α) = argmin_y k(X,X) − 2 yᵀk + yᵀKy + α‖y‖₁ for decreasing α, each from the one before.

    Parameters
    ----------
    gram, cross, query_norm, positive, tol, max_rounds, sparse, check_gram, progress, n_jobs
        As in :func:`sparse_code`.
    alphas : iterable of float
        The values of α, decreasing.
    return_certificate : bool, default=False
        Return one :class:`Certificate` per α too.

    Returns
    -------
    codes : list of ndarray or csr_array of shape (n_queries, n_atoms)
        The codes for each α.
    certificates : list of Certificate
        Only if ``return_certificate``.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import sparse_code_path
    >>> gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> [code.round(6) for code in sparse_code_path(gram, [[0.9, 0.5]], [0.2, 0.0])]
    [array([[0.8, 0. ]]), array([[0.866667, 0.066667]])]
    """
    values = check.real_array("alphas", list(alphas), ndim=1)
    if (np.diff(values) > 0).any():
        raise ValueError("alphas must decrease: each solution is the start of the next.")
    problem = _problem(
        gram, cross, query_norm, positive, tol, max_rounds, sparse, check_gram, progress, n_jobs
    )
    path: list[Codes] = []
    certificates: list[Certificate] = []
    for alpha in values:
        codes, certificate = _solve(problem, alpha, path[-1] if path else None)
        path.append(codes)
        certificates.append(certificate)
    return (path, certificates) if return_certificate else path


def _problem(
    gram: ArrayLike,
    cross: ArrayLike,
    query_norm: ArrayLike,
    positive: bool,
    tol: float,
    max_rounds: int,
    sparse: bool,
    check_gram: bool,
    progress: bool,
    n_jobs: int | None,
) -> _Problem:
    matrix, uncertainty = check.checked_gram(gram, definite=check_gram)
    queries = check.checked_cross(cross, n_atoms=len(matrix))
    if not (np.isfinite(tol) and tol > 0):
        raise ValueError(f"tol must be positive and finite, got {tol}.")
    if max_rounds < 0:
        raise ValueError(f"max_rounds must not be negative, got {max_rounds}.")
    largest = float(matrix.diagonal().max())
    if largest <= 0:
        raise ValueError("gram must have a positive diagonal entry: k(D, D) > 0 for some atom D.")
    return _Problem(
        gram=matrix,
        cross=queries,
        query_norm=check.per_query("query_norm", query_norm, len(queries)),
        dtype=check.code_dtype(np.asarray(gram), queries),
        limits=(_DEPENDENT * largest, -max(uncertainty, _DEPENDENT * largest)),
        positive=bool(positive),
        tol=float(tol),
        max_rounds=int(max_rounds),
        sparse=sparse,
        progress=progress,
        n_jobs=n_jobs,
    )


def _solve(problem: _Problem, alpha: ArrayLike, init: Any) -> tuple[Codes, Certificate]:
    n_queries, n_atoms = problem.cross.shape
    half_alpha = 0.5 * check.per_query("alpha", alpha, n_queries)
    tolerance = np.zeros(n_queries)
    report = np.zeros((n_queries, 6))
    dense = np.zeros((0 if problem.sparse else n_queries, n_atoms), problem.dtype)
    rows: dict[int, scipy.sparse.csr_array] = {}

    def code_queries(part: slice) -> None:
        cross = check.finite_block("cross", problem.cross, part)
        codes = _starting_codes(init, part, cross.shape)
        # The tolerance is meant for the gradient, the compiled code works with half of it.
        tolerance[part] = 0.5 * problem.tol * np.abs(cross).max(axis=1)
        failed = code_block(
            problem.gram, cross, half_alpha[part], tolerance[part], problem.positive,
            problem.max_rounds, problem.limits, codes, report[part],
        )  # fmt: skip
        if failed != SOLVED:
            raise ValueError(check.indefinite_message(f", met at query {part.start + failed}"))
        if problem.sparse:
            rows[part.start] = scipy.sparse.csr_array(codes.astype(problem.dtype, copy=False))
        else:
            dense[part] = codes

    block = _block_length(n_queries, n_atoms, problem.n_jobs)
    run_blocks(code_queries, n_queries, block, problem.n_jobs, problem.progress, "sparse coding")
    if problem.sparse:
        parts = [rows[start] for start in sorted(rows)]
        codes = scipy.sparse.vstack(parts, "csr") if parts else scipy.sparse.csr_array(dense)
        n_nonzero = np.diff(codes.indptr)
    else:
        codes = dense
        n_nonzero = np.count_nonzero(dense, axis=1)
    certificate = _certify(problem, half_alpha, tolerance, report, n_nonzero)
    _warn_if_short(certificate, problem.max_rounds, tolerance)
    return codes, certificate


def _starting_codes(init: Any, part: slice, shape: tuple[int, ...]) -> NDArray[np.float64]:
    if init is None:
        return np.zeros(shape)
    block = init[part]
    dense = block.toarray() if isinstance(block, scipy.sparse.csr_array) else block
    if not np.isfinite(dense).all():
        raise ValueError("init contains NaN or infinity.")
    return np.array(dense, dtype=np.float64, order="C")


def _block_length(n_queries: int, n_atoms: int, n_jobs: int | None) -> int:
    """Blocks of a few megabytes at most, and some for every thread."""
    of_memory = max(16, 2**18 // n_atoms)
    return min(512, of_memory, -(-n_queries // (4 * effective_n_jobs(n_jobs))) or 1)


def _certify(
    problem: _Problem,
    half_alpha: NDArray[np.float64],
    tolerance: NDArray[np.float64],
    report: NDArray[np.float64],
    n_nonzero: NDArray[Any],
) -> Certificate:
    """Objective, and the duality gap of u = s·(x − Σ y_j φ_j), x and φ_j in the feature space.

    The dual is max ‖x‖² − ‖x − u‖² over |2⟨u, φ_j⟩| ≤ λ. The best feasible s is taken.
    """
    violation, linear, quadratic, norm, peak, rounds = report.T
    residual = problem.query_norm - 2 * linear + quadratic
    objective = residual + 2 * half_alpha * norm
    with np.errstate(divide="ignore", invalid="ignore"):
        feasible = np.where(peak > half_alpha, half_alpha / peak, np.inf)
        best = np.where(residual > 0, (problem.query_norm - linear) / residual, 1.0)
    s = np.clip(best, 0.0, feasible)
    distance = (1 - s) ** 2 * problem.query_norm + 2 * s * (1 - s) * linear + s**2 * quadratic
    return Certificate(
        kkt_residual=2 * violation,
        duality_gap=np.maximum(objective - (problem.query_norm - distance), 0.0),
        objective=objective,
        n_nonzero=n_nonzero.astype(np.int64),
        rounds=rounds.astype(np.int64),
        converged=violation <= tolerance,
    )


def _warn_if_short(
    certificate: Certificate, max_rounds: int, tolerance: NDArray[np.float64]
) -> None:
    short = np.flatnonzero(~certificate.converged)
    if len(short) == 0:
        return
    excess = certificate.kkt_residual[short] / np.maximum(2 * tolerance[short], 1e-300)
    worst = short[excess.argmax()]
    warnings.warn(
        f"{len(short)} of {len(tolerance)} codes violate the optimality conditions by more than "
        f"the tolerance, query {worst} the most: by {certificate.kkt_residual[worst]:.3g}, where "
        f"{2 * tolerance[worst]:.3g} is allowed. Either max_rounds={max_rounds} is too small, or "
        "the problem is too ill-conditioned for this tolerance, or it has no minimum because "
        "cross is not in the range of gram.",
        ConvergenceWarning,
        stacklevel=4,
    )
