"""min_y  k(X,X) − 2 yᵀk + yᵀKy + α‖y‖₁ + ρ‖y‖² : sparse codes over a Gram matrix, exact and certified.

K holds the kernel values between atoms, k those between a query and the atoms; nothing here knows
what the atoms are. With the gradient g = 2(Ky + ρy − k) of the smooth part, y is optimal if and only if
g_j = −α sign(y_j) where y_j ≠ 0 and |g_j| ≤ α where y_j = 0 (g_j ≥ −α there if y ≥ 0 is asked for).
The ridge ρ makes K + ρI of K, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms.lasso._coding import Codes, QueryCoding
from spdatoms.lasso._input import CodingProblem, checked_init, real_array
from spdatoms.lasso.certificate import Certificate, ShortCodes, note_short

#: What the options of both functions may be; arrays are checked in `CodingProblem`.
_OPTIONS = allow.declare(
    ridge=allow.real(0),
    positive=allow.BOOLEAN,
    tol=allow.real(above=0),
    max_rounds=allow.integer(0, 2**31 - 1),
    return_certificate=allow.BOOLEAN,
    sparse=allow.BOOLEAN,
    check_gram=allow.BOOLEAN,
    progress=allow.BOOLEAN,
    n_jobs=allow.N_JOBS,
)


@same_kind
@allow.checks(**_OPTIONS)
def sparse_code(
    gram: ArrayLike,
    cross: ArrayLike,
    alpha: ArrayLike,
    *,
    ridge: float = 0.0,
    query_norm: ArrayLike = 1.0,
    positive: bool = False,
    init: Any = None,
    exclude: ArrayLike | None = None,
    tol: float = 1e-8,
    max_rounds: int = 500,
    return_certificate: bool = False,
    sparse: bool = False,
    check_gram: bool = True,
    progress: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Return the sparse codes of queries, given their kernel values.

    min_y k(X,X) − 2 yᵀk + yᵀKy + α‖y‖₁ + ρ‖y‖², for every query k, by feature-sign search.

    Parameters
    ----------
    gram : array-like of shape (n_atoms, n_atoms)
        K, the kernel between the atoms: symmetric, positive semidefinite (it may be singular).
    cross : array-like of shape (n_queries, n_atoms)
        k, the kernel between each query and the atoms.
    alpha : float or array-like of shape (n_queries,)
        The penalty of ‖y‖₁, for all queries or for each. From 2·max|k| on the code is zero.
    ridge : float, default=0.0
        The penalty ρ of ‖y‖² (elastic net). With alpha 0 it is collaborative representation: the
        code (K + ρI)⁻¹k has no zeros, and one factorisation serves all queries.
    query_norm : float or array-like of shape (n_queries,), default=1.0
        k(X,X). It moves the objective and the duality gap, not the code.
    positive : bool, default=False
        Ask for y ≥ 0.
    init : array-like or sparse matrix of shape (n_queries, n_atoms), default=None
        Codes to start from, such as those of a slightly different problem. With ``positive``,
        negative entries are ignored.
    exclude : array-like of int of shape (n_queries,), default=None
        For each query an atom that it must not use, or −1. Where the queries are the atoms
        themselves, ``exclude=range(n_atoms)`` codes each over all the others (leave-one-out).
    tol : float, default=1e-8
        Violation of the optimality conditions that is allowed, in the units of the gradient, as a
        fraction of max|k| of the query (at most 1 for a kernel with k(X,X) = 1), both divided by
        the length √K_jj of the atom. So a code does not depend on the scale of the kernel. For
        float32 input 1.2e-6 is the least.
    max_rounds : int, default=500
        Rounds after which a query is given up. The objective falls in every round, and a few tens
        are the rule.
    return_certificate : bool, default=False
        Return a :class:`Certificate` too.
    sparse : bool, default=False
        Return the codes as a CSR array.
    check_gram : bool, default=True
        Test that K is symmetric and positive semidefinite (n_atoms³/3 operations; of more than 1024
        atoms a principal block of that size is tested). Without the test an indefinite K is noticed
        only if the search meets a block of it that clearly is. With ``positive`` and K ≥ 0
        elementwise the objective is bounded below even for an indefinite K, but not convex: such a
        K is refused too, and passes untested only. The code is then a stationary point, not always
        the minimum, and its duality gap means nothing.
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
    codes, certificate = solve_queries(
        gram,
        cross,
        alpha,
        ridge=ridge,
        query_norm=query_norm,
        positive=positive,
        init=init,
        exclude=exclude,
        tol=tol,
        max_rounds=max_rounds,
        sparse=sparse,
        check_gram=check_gram,
        progress=progress,
        n_jobs=n_jobs,
    )
    return (codes, certificate) if return_certificate else codes


@same_kind
@allow.checks(**_OPTIONS, alphas=allow.ITERABLE)
def sparse_code_path(
    gram: ArrayLike,
    cross: ArrayLike,
    alphas: Iterable[float],
    *,
    ridge: float = 0.0,
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
    """Return the sparse codes of queries for a decreasing sequence of penalties α.

    y(α) = argmin_y k(X,X) − 2 yᵀk + yᵀKy + α‖y‖₁ + ρ‖y‖² for decreasing α, each from the one before.

    Parameters
    ----------
    gram, cross, ridge, query_norm, positive, tol, max_rounds, sparse, check_gram, progress, n_jobs
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
    values = real_array("alphas", list(alphas), ndim=1)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("alphas must be finite and not negative.")
    if (np.diff(values) > 0).any():
        raise ValueError("alphas must decrease: each solution is the start of the next.")
    problem = CodingProblem(
        gram,
        cross,
        ridge=ridge,
        query_norm=query_norm,
        positive=positive,
        tol=tol,
        max_rounds=max_rounds,
        check_gram=check_gram,
    )
    path: list[Codes] = []
    certificates: list[Certificate] = []
    for alpha in values:
        start = path[-1] if path else None
        codes, certificate = QueryCoding(problem, alpha, start, sparse=sparse).run(progress, n_jobs)
        note_short(certificate, max_rounds)
        path.append(codes)
        certificates.append(certificate)
    return (path, certificates) if return_certificate else path


def solve_queries(
    gram: ArrayLike,
    cross: ArrayLike,
    alpha: ArrayLike,
    *,
    init: Any = None,
    exclude: ArrayLike | None = None,
    sparse: bool = False,
    progress: bool = False,
    n_jobs: int | None = None,
    short: ShortCodes | None = None,
    **options: Any,
) -> tuple[Any, Certificate]:
    """Return codes and certificate as `sparse_code` does, for options that have been checked.

    The other options are those of `CodingProblem`.

    The queries may be a block of more: errors count them from ``first``, and instead of a warning for each block,
    codes that are not optimal to the tolerance are added to ``short``, which the caller lets warn after the last one.
    """
    problem = CodingProblem(gram, cross, **options)
    if init is not None:
        init = checked_init(init, problem.cross.shape)
    coding = QueryCoding(problem, alpha, init, exclude, sparse=sparse)
    codes, certificate = coding.run(progress, n_jobs)
    note_short(certificate, problem.max_rounds, problem.first, short)
    return codes, certificate
