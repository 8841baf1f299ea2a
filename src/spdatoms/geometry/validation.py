"""Check stacks of SPD matrices: an error says which matrix is wrong, why, and what to do.

Every judgement is made on the unit-diagonal matrix ``C = a_ij / √(a_ii a_jj)``, the correlation
matrix of a covariance. The units of the variables therefore do not matter: ``diag(1e-20, 1)`` is as
good as the identity, while a covariance estimated from too few samples is refused at any scale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.arrays import as_numpy, in_order, same_kind
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.geometry.hermitian import is_complex, real_form
from spdatoms.geometry.recognition import object_advice, shape_advice, stack_advice
from spdatoms.native import kernel, lane_count

#: Write what validation.cpp finds about matrices, as bits of a number: X, m, n, tolerance, least eigenvalue, findings.
_inspect = kernel("inspect", "DqqddI")
#: Write which matrices are not Hermitian beyond doubt: X, m, n, 2 if complex, tolerance, least variance, findings.
_hermitian = kernel("hermitian", "DqqqddI")
_CHECK_SYMMETRY, _CHECK_EIGENVALUE, _NOT_POSITIVE = 1, 2, 4

# Blocks stay in the second-level cache while they are converted and inspected.
_BLOCK_BYTES = 1 << 20
_REPAIR = (
    "spdatoms.nearest_spd projects it, spdatoms.geometry.regularise or shrink makes it definite"
)
#: Singular matrices are most often covariances of treated signals.
_SINGULAR = (
    "if all have the same range (average reference, ICA, interpolation), make_pipeline(spdatoms.SPDRange(), "
    "estimator).fit(X, y) works on it, else estimate it with shrinkage (sklearn.covariance.oas), or "
    "spdatoms.geometry.regularise or shrink makes it definite"
)
_LEAVE_OUT = "spdatoms.geometry.is_spd gives the mask that leaves it out"
_INCOMPLETE = "nearly all estimators take such matrices as queries, and spdatoms.SPDImputer fills them in for others"


def check_spd(X: ArrayLike, *, name: str = "X") -> FloatArray:
    """Check that matrices are symmetric positive definite, and return them as a float array.

    That is, ``X_i = X_iᵀ`` and ``X_i ≻ 0`` for every i.
    Complex matrices are checked to be Hermitian positive definite, ``X_i = X_iᴴ ≻ 0``.

    Parameters
    ----------
    X : array-like of shape (m, n, n)
        The matrices. float32, float64, complex64 and complex128 arrays in C order, memory maps and
        read-only ones included, are returned without a copy; other orders and strides become C order,
        so that they change no bit of a result. float16 becomes float32, everything else that is real
        float64.
    name : str, default="X"
        What to call X in an error.

    Returns
    -------
    ndarray of shape (m, n, n), float32, float64, complex64 or complex128
        X itself where possible; it is never modified.

    Raises
    ------
    TypeError
        For anything that is not a number.
    ValueError
        For a wrong shape, and for a matrix that is one of

        - not finite;
        - asymmetric: ``|a_ij − a_ji| > √eps · √(a_ii a_jj)`` somewhere, eps being that of X's type
          (what is below is rounding and is accepted);
        - not positive definite: a pivot of ``A = L D Lᵀ`` is not positive;
        - singular to working precision: the least eigenvalue of its unit-diagonal scaling is at
          most ``n · eps``, so that rounding alone may have made it positive.

        The message names the first such matrix and counts the others.

    Notes
    -----
    Without a copy the extra memory is about a megabyte, also for a memory map that does not fit in memory. The array
    is NumPy's, whichever library X is of.

    Within ``sklearn.config_context(assume_finite=True)``, or after `sklearn.set_config`, this function and all others
    that take matrices into memory trust their values: types, shapes and parameters are still checked, but not whether
    matrices are finite, symmetric and definite. With matrices that are not, results may be wrong without a
    word or NaN, or a later step may raise an error. Check data once before, with this function outside of the setting,
    which is that of a thread, as scikit-learn's: what other threads read is checked, and so is what ``fit`` reads part
    by part of Dask arrays and memory maps.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import check_spd
    >>> check_spd([[[2, 1], [1, 2]]]).dtype
    dtype('float64')
    >>> check_spd([[[1.0, 2.0], [2.0, 1.0]]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: X[0] is not positive definite: ... is -1; ...
    """
    X = as_float(X, name)
    check_stack(X, name)
    raise_unless_spd(X, name, batch=X.shape[:1])
    return X


def values_are_trusted() -> bool:
    """Return whether this thread has told scikit-learn to assume that values are fit, as `check_spd` describes."""
    if "sklearn" not in sys.modules:  # then nobody has told it anything
        return False
    from sklearn import get_config

    return bool(get_config()["assume_finite"])


def as_float(X: ArrayLike, name: str) -> FloatArray:
    """Return X `in_order` and of a type that `float_type` gives, without a copy where it is so already."""
    array = X if type(X) is np.ndarray else _as_array(X, name)
    if array.dtype == object and array.ndim:  # NumPy would make a NaN of None
        array = _numbers_of(array, name)
    return in_order(array, float_type(array.dtype, name))


def _as_array(X: ArrayLike, name: str) -> NDArray[Any]:
    """Return as NumPy's what holds matrices, or say why it is none."""
    sparse = sys.modules.get("scipy.sparse")  # there already, if X is one of its arrays
    if sparse is not None and sparse.issparse(X):
        raise TypeError(
            f"{name} must be a dense array of matrices, but sparse data was passed: {name}.toarray() makes it dense."
        )
    if not isinstance(X, np.ndarray) and (advice := object_advice(X, name)):
        raise TypeError(advice)
    try:
        return np.asarray(as_numpy(X))
    except ValueError as error:  # NumPy's word for it is "inhomogeneous shape"
        raise ValueError(
            f"{name} cannot be made an array of shape (m, n, n): its matrices differ in size{_sizes(X, name)}."
        ) from error


def _sizes(X: Any, name: str) -> str:
    """Return which matrices differ in size, and what to do if they are square."""
    with suppress(StopIteration, TypeError, ValueError):  # if X is no sequence of matrices
        sizes = [np.shape(A) for A in X]
        i = next(i for i, size in enumerate(sizes) if size != sizes[0])
        (m, n), (p, q) = sizes[0], sizes[i]
        found = f": {name}[0] is {m}×{n}, {name}[{i}] is {p}×{q}"
        advice = f"cut them to common channels, or fill missing ones with NaN ({_INCOMPLETE})"
        return f"{found}; {advice}" if m == n and p == q else found
    return ""


def _numbers_of(objects: NDArray[Any], name: str) -> NDArray[Any]:
    """Return an array of objects as one of numbers."""
    is_complex = any(isinstance(entry, complex | np.complexfloating) for entry in objects.flat)
    try:
        return objects.astype(np.complex128 if is_complex else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} must hold numbers, got objects ({error}): convert it to a float or complex array first "
            "(np.stack makes one of a sequence of matrices)."
        ) from error


def float_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """Return the type for numbers of another type: float32, float64, complex64 or complex128."""
    if dtype.kind == "c":
        return np.dtype(np.complex64 if dtype.itemsize <= 8 else np.complex128)
    if dtype.kind not in "fiub":
        raise TypeError(
            f"{name} must hold numbers, got the dtype {dtype}: convert it to a float or complex "
            "array first (np.stack makes one of a sequence of matrices)."
        )
    single = dtype.kind == "f" and dtype.itemsize <= 4
    return np.dtype(np.float32 if single else np.float64)


def common_shape(*shapes: tuple[int, ...], names: str = "") -> tuple[int, ...]:
    """Return the shape that arrays of matrices have when they are broadcast against each other."""
    if len(set(shapes)) == 1:
        return shapes[0]  # NumPy takes longer to find this out than a small matrix takes
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise ValueError(
            f"The shapes {' and '.join(map(str, shapes))}{names and f' of {names}'} do not go together: matrices must "
            "have the same size, and leading dimensions that are equal or 1."
        ) from error


def check_stack(X: Any, name: str) -> None:
    """Refuse anything that does not have the shape (m, n, n) of at least one matrix."""
    if X.ndim != 3 or X.shape[1] != X.shape[2]:
        raise ValueError(
            f"{name} must be a stack of square matrices of shape (m, n, n), got the shape {X.shape}"
            f"{shape_advice(X, name)}."
        )
    check_square(X, name)
    if X.shape[0] == 0:
        raise ValueError(f"{name} is empty: it holds no matrix (its shape is {X.shape}).")


def check_square(X: Any, name: str) -> None:
    """Refuse an array whose last two axes are not those of n×n matrices, n ≥ 1."""
    if X.ndim < 2 or X.shape[-1] != X.shape[-2]:
        raise ValueError(f"The matrices of {name} must be square, got the shape {X.shape}.")
    if X.shape[-1] == 0:
        raise ValueError(f"{name} is empty: its matrices are 0×0 (its shape is {X.shape}).")


def raise_unless_spd(X: FloatArray, name: str, batch: tuple[int, ...]) -> None:
    """Raise the error that `check_spd` describes; X has shape (m, n, n) and m is prod(batch)."""
    if values_are_trusted():
        return
    find_unfit(X).raise_if_any(name, batch)


def check_semidefinite(X: ArrayLike, *, name: str = "X") -> FloatArray:
    """Return matrices (m, n, n) as `check_spd` does, but they may be singular."""
    X = as_float(X, name)
    check_stack(X, name)
    raise_unless_semidefinite(X, name, batch=X.shape[:1])
    return X


def raise_unless_semidefinite(X: FloatArray, name: str, batch: tuple[int, ...]) -> None:
    """Refuse a stack (m, n, n) with a matrix that has an eigenvalue below ``−n·eps·λ_max``."""
    if values_are_trusted():
        return
    doubtful = np.flatnonzero(~is_spd(X))
    if not len(doubtful):
        return
    raise_unless_symmetric(X, name, batch)
    rounding = X.shape[-1] * float(np.finfo(X.dtype).eps)
    for i in doubtful:
        values = np.linalg.eigvalsh(X[i].astype(np.result_type(X.dtype, np.float64)))
        if values[0] < -rounding * values[-1]:
            raise ValueError(
                f"{matrix_name(name, int(i), batch)} is not positive semidefinite: its least eigenvalue is "
                f"{values[0]:.3g}, its greatest {values[-1]:.3g}; spdatoms.nearest_spd projects it."
            )


@dataclass(frozen=True)
class Unfit:
    """The matrices of a stack that are not SPD: where the first is, what it has, how many, and what all look like."""

    first: int = 0
    complaint: str = ""
    count: int = 0
    likeness: str = ""

    @property
    def singular(self) -> bool:
        """Whether a low rank is what is wrong with the first."""
        return _SINGULAR in self.complaint

    def moved(self, offset: int) -> Unfit:
        """Return the findings on a stack that begins at the offset."""
        return replace(self, first=self.first + offset)

    def __add__(self, later: Unfit) -> Unfit:
        return replace(self, count=self.count + later.count) if self.count else later

    def raise_if_any(self, name: str, batch: tuple[int, ...], stack: str = "") -> None:
        """Raise the error that `check_spd` describes; ``stack`` says which matrices they are, if not all."""
        if not self.count:
            return
        first = matrix_name(name, self.first, batch)
        stack = stack or f"the {int(np.prod(batch))} matrices"
        others = f" ({self.count - 1} more of {stack} are unfit)" if self.count > 1 else ""
        likeness = f" {self.likeness}." if self.likeness else ""
        error = ValueError(f"{first} {self.complaint}{others}.{likeness}")
        vars(error)["unfit"] = self  # so that an error about a block can become one about the whole
        raise error


def find_unfit(X: FloatArray, channels: NDArray[np.intp] | None = None) -> Unfit:
    """Return which of the matrices X (m, n, n) are not SPD; complaints name entries by their ``channels``."""
    eps = float(np.finfo(X.dtype).eps)
    first, complaint, unfit = 0, "", 0
    for part, block, findings in _inspected(X):
        for i in np.flatnonzero(findings):
            if unfit and findings[i] & _NOT_POSITIVE:
                unfit += 1  # certain, and only the first is described
                continue
            problem = _problem(block[i], int(findings[i]), eps, X[part.start + i], channels)
            if problem and not unfit:
                first, complaint = part.start + int(i), problem
            unfit += bool(problem)
    likeness = stack_advice(X) if 2 * unfit > len(X) else ""
    return Unfit(first, complaint, unfit, likeness)


@same_kind
def is_spd(X: ArrayLike) -> NDArray[np.bool_]:
    """Return which matrices are symmetric positive definite.

    That is, ``X_i = X_iᵀ`` and ``X_i ≻ 0``, for every matrix of an array of any shape.

    It is the mask of the matrices that `check_spd` accepts: ``X[is_spd(X)]`` leaves out the zero
    matrices in the background of a tensor volume, matrices with NaN, and singular ones.

    Parameters
    ----------
    X : array-like of shape (..., n, n)
        Real square matrices, for example a volume of diffusion tensors of shape (a, b, c, 3, 3).

    Returns
    -------
    ndarray of bool of shape (...)
        True where a matrix is finite, symmetric and positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.geometry import is_spd
    >>> volume = np.zeros((2, 2, 3, 3))
    >>> volume[0] = np.eye(3)
    >>> is_spd(volume)
    array([[ True,  True],
           [False, False]])
    >>> volume[is_spd(volume)].shape
    (2, 3, 3)
    """
    X = as_float(X, "X")
    check_square(X, "X")
    stack = X.reshape(-1, *X.shape[-2:])
    eps = float(np.finfo(X.dtype).eps)
    spd = np.empty(len(stack), dtype=bool)
    for part, block, findings in _inspected(stack):
        spd[part] = findings == 0
        for i in np.flatnonzero((findings != 0) & ((findings & _NOT_POSITIVE) == 0)):  # in doubt
            spd[part.start + i] = not _problem(
                block[i], int(findings[i]), eps, stack[part.start + i]
            )
    return spd.reshape(X.shape[:-2])


def raise_unless_finite(X: FloatArray, name: str, batch: tuple[int, ...]) -> None:
    """Refuse a stack (m, n, n) with an entry that is NaN or infinite."""
    for part in _blocks(X):
        finite = np.isfinite(X[part])
        if not finite.all():
            index, i, j = np.argwhere(~finite)[0]
            raise ValueError(
                f"{matrix_name(name, part.start + index, batch)} is not finite: its entry "
                f"({i}, {j}) is {_shown(X[part.start + index, i, j])}."
            )


def raise_unless_symmetric(
    X: FloatArray, name: str, batch: tuple[int, ...], units: FloatArray | None = None
) -> None:
    """Refuse a stack with a matrix that is not finite or has ``|x_ij − x_ji| > √eps · max|x|``.

    Here the largest entry sets the scale: a symmetric matrix may well have zeros on its diagonal. With
    ``units`` (m, n) it is that of ``x_ij/(u_i u_j)``, and at least one: a tangent vector near zero is
    judged relative to its base point.
    """
    if values_are_trusted():
        return
    if X.dtype == np.float64 and X.flags.c_contiguous:
        found = np.empty(len(X), np.int64)
        if _hermitian(X, *X.shape[:2], 1, 0.0, -np.inf, found):
            return
    raise_unless_finite(X, name, batch)
    tolerance = np.sqrt(np.finfo(X.dtype).eps)
    for part in _blocks(X):
        mirrored = X[part].conj().swapaxes(-1, -2)
        if (X[part] == mirrored).all():
            continue
        asymmetry, size = abs(X[part] - mirrored), abs(X[part])
        if units is not None:
            with np.errstate(over="ignore"):
                unit = units[part, :, None] * units[part, None, :]
                asymmetry, size = asymmetry / unit, np.maximum(size / unit, 1.0)
        asymmetric = asymmetry.max(axis=(-1, -2)) > tolerance * size.max(axis=(-1, -2))
        if asymmetric.any():
            first = part.start + int(np.argmax(asymmetric))
            difference = abs(X[first] - X[first].conj().T).max()
            kind, other = ("Hermitian", "adjoint") if is_complex(X) else ("symmetric", "transpose")
            raise ValueError(
                f"{matrix_name(name, first, batch)} is not {kind}: it differs from its {other} by "
                f"{difference:.3g}."
            )


def _shown(entry: Any) -> str:
    """Return an entry that is not finite as it is written in texts: NaN, inf."""
    return "NaN" if np.isnan(entry) else str(entry)


def matrix_name(name: str, index: int, batch: tuple[int, ...]) -> str:
    """Return ``X``, ``X[3]`` or ``X[3, 1]``: how to write the matrix of that flat index."""
    if not batch:
        return name
    return f"{name}[{', '.join(str(int(i)) for i in np.unravel_index(index, batch))}]"


def _blocks(X: FloatArray) -> Iterator[slice]:
    lanes = lane_count(np.float64)  # a block fills them
    return block_slices(len(X), max(1, _BLOCK_BYTES // (8 * X.shape[1] ** 2 * lanes)) * lanes)


def _inspected(X: FloatArray) -> Iterator[tuple[slice, Floats, NDArray[np.int64]]]:
    """Yield blocks of X (m, n, n) with what is in doubt about their matrices."""
    eps = float(np.finfo(X.dtype).eps)
    for part in _blocks(X):
        # One type serves all: anything else is copied block by block.
        block = in_order(real_form(X[part]), np.dtype(np.float64))
        findings = np.empty(len(block), np.int64)
        _inspect(block, *block.shape[:2], eps**0.5, X.shape[-1] * eps, findings)
        yield part, block, findings


def _least_eigenvalue(A: Floats) -> float:
    """Return λ_min of the unit-diagonal scaling of A."""
    scale = 1.0 / np.sqrt(A.diagonal())
    # Row scale first, then column scale: the product of both may overflow where this does not.
    C = (A * scale[:, None]) * scale
    return float(np.linalg.eigvalsh(0.5 * (C + C.T))[0])


def _problem(
    R: Floats, findings: int, eps: float, A: FloatArray, channels: NDArray[np.intp] | None = None
) -> str:
    """Say what is wrong with the matrix A and what to do, or nothing if it is only in doubt.

    R is the real form of A: A itself, if it is real.
    """
    n = len(A)
    named = np.arange(n) if channels is None else channels
    if not np.isfinite(A).all():
        i, j = np.argwhere(~np.isfinite(A))[0]
        entry = f"is not finite: its entry ({named[i]}, {named[j]}) is {_shown(A[i, j])}"
        return f"{entry}; {_missing(A) or f'{_LEAVE_OUT}, or estimate it anew'}"
    if not A.any():
        return f"is zero, as the background of an image or a flat signal is; {_LEAVE_OUT}"
    i = int(np.argmin(A.diagonal().real))
    if A[i, i].real <= 0.0:
        at, repair = named[i], _REPAIR if A[i].any() else _SINGULAR
        return f"is not positive definite: its entry ({at}, {at}) is {A[i, i]:.3g}; {repair}"
    if findings & _CHECK_SYMMETRY:
        root = np.sqrt(R.diagonal())
        asymmetry = abs(R - R.T) / root / root[:, None]
        imaginary = asymmetry.diagonal(n)  # of the diagonal of A; of a real A it is empty
        if (imaginary > np.sqrt(eps)).any():
            i = int(np.argmax(imaginary))
            return (
                f"is not Hermitian: its diagonal entry ({named[i]}, {named[i]}) is {A[i, i]:.9g}, which is not real; "
                "the covariance of complex signals S needs the conjugate, S @ S.conj().swapaxes(-1, -2)"
            )
        i, j = divmod(int(np.argmax(asymmetry)), len(R))
        if asymmetry[i, j] > np.sqrt(eps):
            return _asymmetry(A, i % n, j % n, named)
    if findings & (_CHECK_EIGENVALUE | _NOT_POSITIVE):
        least = _least_eigenvalue(R)
        reason = f"the least eigenvalue of its unit-diagonal scaling is {least:.3g}"
        if least < -n * eps:
            return f"is not positive definite: {reason}; {_REPAIR}"
        if least <= n * eps or findings & _NOT_POSITIVE:
            return f"is singular to working precision: {reason}; {_SINGULAR}"
    return ""


def _missing(A: FloatArray) -> str:
    """Say what to do about NaN in A, if nothing else is wrong with it: it is, or could be, a missing channel."""
    entries = np.isnan(A)
    if not entries.any() or entries.all() or np.isinf(A).any():
        return ""
    if (entries.all(axis=0) & entries.all(axis=1)).any():
        return f"a row and column of NaN is a missing channel: {_INCOMPLETE}"
    return (
        f"{_LEAVE_OUT}, or estimate it anew; if channels are missing, make all of their rows and columns NaN: "
        f"{_INCOMPLETE}"
    )


def _asymmetry(A: FloatArray, i: int, j: int, named: NDArray[np.intp]) -> str:
    """Say that two entries of A do not fit together."""
    kind, adjoint = ("symmetric", "X") if not is_complex(A) else ("Hermitian", "X.conj()")
    ij, ji = f"({named[i]}, {named[j]})", f"({named[j]}, {named[i]})"
    return (
        f"is not {kind}: its entries {ij} and {ji} are {A[i, j]:.9g} and "
        f"{A[j, i]:.9g}; symmetrise it by (X + {adjoint}.swapaxes(-1, -2)) / 2 if that is meant"
    )
