"""Functions of symmetric matrices through their eigenvalues: the machinery, block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf

from spdatoms._utils.threads import blas_threads_for, block_slices, interruptibly
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.exceptions import OutOfRangeError
from spdatoms.geometry.graded import (
    descending,
    is_graded,
    jacobi_svd,
    reordered,
    rows_restored,
)
from spdatoms.geometry.hermitian import as_double, complex_form, is_complex, real_form
from spdatoms.geometry.validation import as_float, check_square, common_shape
from spdatoms.native import Lapack, kernel
from spdatoms.native.elementwise import mirror

_spectral_pairs = kernel("spectral_pairs", "qqqdDDqqDI")
_tridiagonal_eigenvectors = kernel("tridiagonal_eigenvectors", "qqDDD")
_dsytrd, _zhetrd, _dorgtr, _zungtr = map(Lapack, ("dsytrd", "zhetrd", "dorgtr", "zungtr"))
#: Functions that the kernel knows, by its numbers.
LOG, EXP, POWER, AIRM, THOMPSON, WASSERSTEIN, _CONGRUENCE = range(7)
#: Beyond this size LAPACK is as quick.
LARGEST_IN_LANES = 24
#: Beyond this size LAPACK's divide and conquer is quicker than rotations of all eigenvectors.
_LARGEST_BY_ROTATIONS = 256
#: Columns that LAPACK reduces together, and reflections that it accumulates together: it needs room for them.
_REDUCED_TOGETHER, _ACCUMULATED_TOGETHER = 16, 32
#: Rows of a product at a time, of which only what is right of the diagonal is computed.
_ROWS_OF_A_TRIANGLE = 24

_BLOCK_BYTES = 1 << 20
# From this size on a block is one matrix, and takes so long that Ctrl-C must not wait for it.
_LARGE = 500


def as_matrices(X: ArrayLike, name: str) -> FloatArray:
    """Return X as an array of floats, real or complex, whose last two axes are those of square matrices."""
    X = as_float(X, name)
    check_square(X, name)
    return X


def as_stack(X: FloatArray) -> FloatArray:
    """Return one matrix (n, n) as a stack of one, and a stack as it is."""
    return X[None] if X.ndim == 2 else X


def transpose(X: Floats) -> Floats:
    """Return Xᵀ for every matrix of a batch."""
    return X.swapaxes(-1, -2)


def adjoint(X: Floats) -> Floats:
    """Return Xᴴ, which is Xᵀ if X is real, for every matrix of a batch."""
    return transpose(X).conj()


def symmetric_part(X: Floats) -> Floats:
    """(X + Xᴴ)/2, halved first: the sum of two huge numbers overflows."""
    half: Floats = 0.5 * X
    return half + (adjoint(half) if half.dtype.kind == "c" else transpose(half))


def compose(U: Floats, eigenvalues: Floats) -> Floats:
    """U diag(λ) Uᵀ, exactly symmetric."""
    if _one_by_one(U):  # λ_max I − U (λ_max − λ) Uᵀ
        greatest = eigenvalues.max(axis=-1)
        out = gram(U * np.sqrt(greatest[:, None] - eigenvalues)[:, None, :])
        np.negative(out, out=out)
        np.einsum("mii->mi", out)[...] += greatest[:, None]
        return out
    return symmetric_part((U * eigenvalues[..., None, :]) @ transpose(U))


def gram(F: Floats) -> Floats:
    """F Fᵀ, exactly symmetric and, but for rounding, never indefinite."""
    if not _one_by_one(F):
        return symmetric_part(F @ transpose(F))
    out = np.empty(F.shape)
    for A, product in zip(F, out, strict=True):
        # Half of the work, in place; what it leaves is mirrored.
        own, trans = (A, 0) if A.flags.f_contiguous else (A.T, 1)
        dsyrk(1.0, own, c=product.T, trans=trans, lower=1, overwrite_c=1)
    mirror(out, 0, F.shape[-1])
    return out


def eigh(X: Array) -> tuple[Floats, Array]:
    """Return eigenvalues and eigenvectors of a stack of symmetric or Hermitian matrices."""
    least = (LARGEST_IN_LANES // 2 if is_complex(X) else LARGEST_IN_LANES) + 1
    if X.ndim != 3 or X.shape[-1] < least or X.dtype not in (np.float64, np.complex128):
        return np.linalg.eigh(X)
    values, rows = np.empty(X.shape[:2]), np.empty_like(X, order="C")
    decompose = _by_rotations if X.shape[-1] <= _LARGEST_BY_ROTATIONS else _divided
    for A, own, vectors in zip(X, values, rows, strict=True):
        decompose(A, own, vectors)
    return values, transpose(rows)


def _by_rotations(A: Array, values: Floats, rows: Array) -> None:
    """Write the eigenvalues of a matrix, and its eigenvectors as rows: A = Q T Qᴴ, and the real T by rotations.cpp."""
    n = len(A)
    reduce, accumulate = (_zhetrd, _zungtr) if is_complex(A) else (_dsytrd, _dorgtr)
    off_diagonal, factors = np.zeros(n), np.empty(n, A.dtype)
    work = np.empty(_ACCUMULATED_TOGETHER * n, A.dtype)
    rows[...] = A
    reduce(b"L", n, rows, n, values, off_diagonal, factors, work, _REDUCED_TOGETHER * n)
    accumulate(b"L", n, rows, n, factors, work, len(work))
    if is_complex(A):
        np.conjugate(rows, out=rows)  # LAPACK has seen Aᵀ, the conjugate of A
    numbers = rows.view(np.float64)
    if _tridiagonal_eigenvectors(*numbers.shape, values, off_diagonal, numbers):
        _divided(A, values, rows)  # which brings its numbers to a middle range


def _divided(A: Array, values: Floats, rows: Array) -> None:
    """Do the same by LAPACK's method for large matrices, divide and conquer."""
    values[...], U = np.linalg.eigh(A)  # SciPy's would stop other threads
    rows[...] = transpose(U)


def _one_by_one(F: Floats, least: int = 128) -> bool:
    """Return whether a stack has matrices so large that a call of BLAS or LAPACK for each pays."""
    return F.ndim == 3 and F.shape[-1] >= least and F.dtype == np.float64


def cholesky(A: Floats) -> Floats:
    """Return the lower triangular L of ``A = L Lᴴ``."""
    if A.ndim == 2 and A.dtype == np.float64:  # NumPy's way there takes longer than a small matrix
        L, info = dpotrf(A, lower=1)
        if info == 0:
            return np.ascontiguousarray(L)
    try:
        return as_double(np.linalg.cholesky(A))
    except (
        np.linalg.LinAlgError
    ):  # check_spd has passed what was given, so the range was not enough
        raise ValueError(
            "A matrix on the way to the result is singular to working precision: bring the variables to "
            "common units, or make the matrices better conditioned by spdatoms.geometry.regularise or shrink."
        ) from None


def inverse_cholesky(A: Floats) -> Floats:
    """Return L⁻¹ of ``A = L Lᵀ``, which whitens A: ``L⁻¹ A L⁻ᵀ = I``."""
    return inverse_lower(cholesky(A))


def solve_lower(L: Floats, B: Floats) -> Floats:
    """L⁻¹ B by forward substitution, one row of all the matrices at a time.

    NumPy solves stacks by LU only, whose row exchanges mix rows of very different scale.
    """
    if L.ndim == B.ndim == 2 and L.dtype == B.dtype == np.float64:
        return np.ascontiguousarray(dtrsm(1.0, L.T, B.T, side=1).T)
    if _one_by_one(B, LARGEST_IN_LANES + 1) and L.ndim == 3 and L.dtype == np.float64:
        # Bᵀ = Zᵀ Lᵀ, in Fortran's order: no copies.
        solved = np.empty(B.shape)
        for i, C in enumerate(B):
            solved[i] = dtrsm(1.0, L[i if len(L) > 1 else 0].T, C.T, side=1).T
        return solved
    # The layout of a broadcast B depends on the size of the stack, and the order of sums on the layout.
    Z = np.empty(B.shape, B.dtype)
    for i in range(L.shape[-1]):
        known = (L[..., i, None, :i] @ Z[..., :i, :])[..., 0, :]
        Z[..., i, :] = (B[..., i, :] - known) / L[..., i, i, None]
    return Z


def inverse_lower(L: Floats) -> Floats:
    """Return L⁻¹ of lower triangular matrices."""
    return solve_lower(L, np.broadcast_to(np.eye(L.shape[-1], dtype=L.dtype), L.shape))


def congruence(L: Floats, A: Floats) -> Floats:
    """Lᴴ A L, exactly symmetric or Hermitian."""
    return symmetric_part(adjoint(L) @ A @ L)


def congruent(
    E: Floats, A: Floats, out: Floats | None = None, doubtful: Indices | None = None
) -> Floats:
    """E A Eᵀ of symmetric stacks A, exactly symmetric; a stack of one E serves all A.

    ``doubtful`` gets a 1 for every A of at most `LARGEST_IN_LANES` rows that is not exactly symmetric, or not finite.
    """
    out = np.empty(A.shape) if out is None else out
    if A.shape[-1] > LARGEST_IN_LANES:
        half, columns = E @ A, transpose(E)
        for part in block_slices(A.shape[-1], _ROWS_OF_A_TRIANGLE):
            np.matmul(half[:, part], columns[..., part.start :], out=out[:, part, part.start :])
        mirror(out, 0, A.shape[-1])
        return out
    stacks = np.ascontiguousarray(transpose(E)), np.ascontiguousarray(A)  # by columns
    _spectral_pairs(A.shape[-1], len(A), _CONGRUENCE, 0.0, *stacks, len(E) > 1, 1, out, doubtful)
    return out


def whitened(W: Floats, A: Floats) -> Floats:
    """W A Wᴴ, exactly symmetric: with ``W = L⁻¹`` of ``B = L Lᵀ``, A in the frame where B is the identity."""
    return congruence(adjoint(W), A)


def spd_roots(X: Floats) -> tuple[Floats, Floats]:
    """Return the roots √λ > 0 of the eigenvalues of SPD matrices, and their eigenvectors, the columns of U.

    A symmetric eigensolver is wrong by ``eps·λ_max`` about every eigenvalue, even about the sign of
    the small ones. Where that matters, the singular values √λ of the Cholesky factor have twice the
    digits; and all digits, if it is the units of the variables that make some of them small.
    """
    variances = np.einsum("mii->mi", X)
    graded = is_graded(variances)
    if not graded.any():
        return _roots(X)
    roots, U = np.empty_like(variances), np.empty_like(X)
    roots[~graded], U[~graded] = _roots(X[~graded])
    order = descending(variances[graded])
    ordered, roots[graded], _ = jacobi_svd(cholesky(reordered(X[graded], order)))
    U[graded] = rows_restored(ordered, order)
    return roots, U


def factored_roots(F: Floats, least: float = 1e-8) -> tuple[Floats, Floats]:
    """Return what `spd_roots` would of F Fᵀ, but with the digits that F has where λ_min/λ_max is below ``least``."""
    return _roots(F @ transpose(F), F, least)


def _roots(X: Floats, factors: Floats | None = None, least: float = 1e-8) -> tuple[Floats, Floats]:
    eigenvalues, U = eigh(X)
    # For which matrices this many digits of the least eigenvalue are lost, or more: half of them by default.
    ill = ~(eigenvalues[..., 0] > least * eigenvalues[..., -1])
    roots = np.sqrt(np.maximum(eigenvalues, 0.0))
    if ill.any():
        F = cholesky(X[ill]) if factors is None else factors[ill]
        U[ill], roots[ill], _ = np.linalg.svd(F, full_matrices=True)
    return roots, U


def in_lanes(
    kind: int,
    careful: Callable[..., Floats],
    B: Floats,
    A: Floats | None = None,
    exponent: float = 0.0,
) -> Floats:
    """Return functions of matrices B (m, n, n), or of the pairs (A_i, B_i), one per lane (spectral.cpp).

    A stack of one A serves all B.

    What is large, or at the end of the range, or has variances of very different size (relative to those of A), or is
    not answered, ``careful(B)`` or ``careful(A, B)`` answers.
    """
    operands = (B,) if A is None else (A, B)
    m, n = B.shape[:2]
    if n > LARGEST_IN_LANES:
        return careful(*operands)
    out = np.empty(B.shape if kind < AIRM else m)
    stacks = [None if Z is None else np.ascontiguousarray(Z, np.float64) for Z in (A, B)]
    one = A is not None and len(A) == 1
    found = np.empty(m, np.int64)
    if _spectral_pairs(n, m, kind, exponent, *stacks, not one, 1, out, found):
        open_ = found != 0
        out[open_] = careful(*(Z if one and Z is A else Z[open_] for Z in operands))
    return out


def log_derivative(roots: Floats, U: Floats, V: Floats) -> Floats:
    """Return the derivative of log along V at U λ Uᵀ, for stacks and the roots √λ.

    In the eigenvectors it multiplies entry (a, b) by (log a − log b)/(a − b), where a and b are the eigenvalues.
    """
    greater, _, t = _pairs_of_eigenvalues(roots)
    return _in_eigenvectors(U, V, t / -np.expm1(-t) / greater)


def power_derivative(roots: Floats, U: Floats, V: Floats, p: float) -> Floats:
    """Return the derivative of X^p along V at U λ Uᵀ, for stacks and the roots √λ.

    In the eigenvectors it multiplies entry (a, b) by (a^p − b^p)/(a − b).
    """
    greater, less, t = _pairs_of_eigenvalues(roots)
    power = greater ** (p - 1.0) if p > 0 else -(less**p) / greater
    return _in_eigenvectors(U, V, power * (np.expm1(-abs(p) * t) / np.expm1(-t)))


def _pairs_of_eigenvalues(roots: Floats) -> tuple[Floats, Floats, Floats]:
    """Return max(a, b), min(a, b) and t = |log a − log b| for all pairs of eigenvalues, (N, n, n).

    With 1 − e^-t = |a − b| / max(a, b) quotients of differences lose no digits, however near or far a and b
    are. Where a = b, so small a t stands for zero that the quotient is the derivative.
    """
    eigenvalues, logs = roots**2, 2.0 * np.log(roots)
    a, b = eigenvalues[:, :, None], eigenvalues[:, None, :]
    t = np.abs(
        logs[:, :, None] - logs[:, None, :]
    )  # whose rounding changes the quotients by as little
    return np.maximum(a, b), np.minimum(a, b), np.maximum(t, 1e-30)


def _in_eigenvectors(U: Floats, V: Floats, factors: Floats) -> Floats:
    return np.asarray(U @ (factors * (transpose(U) @ V @ U)) @ transpose(U))


def map_blocks(
    function: Callable[..., Floats],
    *operands: FloatArray,
    dtype: np.dtype[Any] | None = None,
    in_place: bool = False,
) -> FloatArray:
    """Apply a function of double precision stacks to operands (..., n, n), which are broadcast.

    The function gets blocks (b, n, n), so its temporaries stay small, and a stack of one of an operand before the last
    that is a single matrix; of Hermitian matrices it gets the real form. The result has the common precision of the
    operands, or the ``dtype``; one that leaves its range is an error rather than an infinity. A function that works
    ``in_place`` is also told where to write its result, ``out``, if that is in double precision.
    """
    dtype = np.result_type(*operands) if dtype is None else dtype
    if dtype.kind == "c":
        forms = (real_form(Z.astype(np.result_type(Z, np.complex64))) for Z in operands)
        real = np.finfo(dtype).dtype
        return complex_form(map_blocks(function, *forms, dtype=real, in_place=in_place))
    shape = common_shape(*(operand.shape for operand in operands))
    n, last = shape[-1], operands[-1]
    stacks = [
        Z.reshape(1, n, n)
        if Z.size == n * n and Z is not last
        else (Z if Z.shape == shape else np.broadcast_to(Z, shape)).reshape(-1, n, n)
        for Z in operands
    ]
    out = np.empty((len(stacks[-1]), n, n), dtype=dtype)

    def quietly(target: FloatArray, *block: Floats) -> Floats:
        with np.errstate(all="ignore"), blas_threads_for(n):
            if in_place and dtype == np.float64:
                return function(*block, out=target)
            return function(*block)

    for part in block_slices(len(out), max(1, _BLOCK_BYTES // (8 * shape[-1] ** 2))):
        own = (stack if len(stack) == 1 else stack[part] for stack in stacks)
        block = [out[part], *(stack.astype(np.float64, copy=False) for stack in own)]
        found = quietly(*block) if shape[-1] < _LARGE else interruptibly(quietly, *block)
        with np.errstate(over="ignore", invalid="ignore"):  # an error, below
            if found is not block[0]:
                out[part] = found
            # The sum of numbers may be infinite, too.
            finite = np.isfinite(out[part].sum()) or np.isfinite(out[part]).all()
        if not finite:
            raise OutOfRangeError(
                f"The result has entries beyond the range of {dtype}: bring the matrices to a scale "
                "nearer to one first, for example by X / np.trace(X, axis1=-2, axis2=-1).max()."
            )
    return out.reshape(shape)
