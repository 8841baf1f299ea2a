"""What the kernel Lasso accepts: its checked input, and checks of arrays, each with one clear error."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.arrays import in_order
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Array, Floats
from spdatoms.lasso.units import Exponents, atom_scales, in_units, unit_exponent
from spdatoms.native import kernel
from spdatoms.native.feature_sign import AtomScales

# The factorisation that shows K to be positive semidefinite costs N³/3. For more atoms than this it
# costs more than coding, and a principal block of this size is looked at instead.
LARGEST_DEFINITENESS_CHECK = 1024
#: The asymmetry of K that is allowed, in rounding errors.
_ASYMMETRY = 100
#: Starting codes beyond this, in units of the problem, are not those of any problem like it.
_LARGEST_START = 1e100

_row_sizes = kernel("row_sizes", "DqqD")


class CodingProblem:
    """Checked input that all values of α share; ValueError if something is wrong with it.

    Parameters
    ----------
    gram, cross, ridge, query_norm, positive, tol, max_rounds, check_gram
        As in `sparse_code`.
    first : int, default=0
        The index of the first query, where they are a block of more queries. Messages count from it.

    Attributes
    ----------
    gram : ndarray of shape (n_atoms, n_atoms)
        K + ρI, in units of 2^unit.
    unit : int
        The exponent of that unit.
    scales : AtomScales
        The scales of the atoms.
    ridge : float
        ρ, in units of 2^unit.
    cross : ndarray of shape (n_queries, n_atoms)
        k, one row per query, in its own type and strides; values are checked block by block.
    query_norm : ndarray of shape (n_queries,)
        k(X,X).
    dtype : type
        The type of the codes.
    positive : bool
        Whether y ≥ 0 is asked for.
    tol : float
        The violation of the optimality conditions that is allowed, as a fraction of max|k|, both in the
        scale of each atom.
    max_rounds : int
        Rounds after which a query is given up.
    rounding : float
        The relative error of the entries of K and k.
    """

    def __init__(
        self,
        gram: ArrayLike,
        cross: ArrayLike,
        *,
        ridge: float = 0.0,
        query_norm: ArrayLike = 1.0,
        positive: bool = False,
        tol: float = 1e-8,
        max_rounds: int = 500,
        check_gram: bool = False,
        first: int = 0,
    ) -> None:
        gram = real_array("gram", gram, ndim=2)
        matrix, self.unit = checked_gram(gram, thoroughly=check_gram, ridge=ridge)
        self.cross = checked_cross(cross, n_atoms=len(matrix))
        self.query_norm = per_query("query_norm", query_norm, len(self.cross))
        self.ridge = float(np.ldexp(ridge, -self.unit))
        self.gram = with_ridge(matrix, self.ridge)
        self.rounding = precision(gram, self.cross)
        surely_definite = check_gram and len(matrix) <= LARGEST_DEFINITENESS_CHECK
        self.scales = atom_scales(self.gram.diagonal().copy(), self.rounding, surely_definite)
        single = gram.dtype == self.cross.dtype == np.float32
        self.dtype: type[np.floating[Any]] = np.float32 if single else np.float64
        self.tol = max(float(tol), 10 * self.rounding)
        self.positive, self.max_rounds, self.first = bool(positive), int(max_rounds), first

    def trusted(self, query: int) -> AtomScales:
        """Return scales with which no block of K is taken for indefinite; ValueError unless K is semidefinite.

        Where the rank of K is exhausted, pivots are rounding errors, and those of later atoms may be negative far
        beyond their own. So a block that looks indefinite at a query is no proof; a factorisation of K + εI is.
        """
        largest_entries("gram", self.gram)
        _check_symmetric(self.gram, _ASYMMETRY * self.rounding)
        if not self._is_semidefinite:
            raise ValueError(indefinite_message(f", met at query {query}"))
        return atom_scales(self.gram.diagonal(), self.rounding, surely_definite=True)

    @cached_property
    def _is_semidefinite(self) -> bool:
        # N³/3 operations: once, however many queries ask.
        return _is_definite(self.gram, _uncertainty(self.gram, self.rounding))


def real_array(name: str, values: ArrayLike, ndim: int) -> Array:
    """Return ``values`` as a real array with ``ndim`` dimensions, not copied if possible."""
    try:
        array = in_order(values)
        if array.dtype.kind not in "fiub":
            array = array.astype(np.float64, casting="safe")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers.") from error
    if array.ndim != ndim:
        advice = (
            ": these look like matrices; kernel = DivergenceKernel().fit(atoms) makes kernel.gram_ and "
            "kernel.cross(queries) of them"
            if array.ndim == 3 and name in ("gram", "cross")
            else ""
        )
        raise ValueError(
            f"{name} must have {ndim} dimensions, but its shape is {array.shape}{advice}."
        )
    return array


def precision(*arrays: Array) -> float:
    """Return the relative rounding error of the coarsest type among the arrays."""
    types = [a.dtype for a in arrays if a.dtype.kind == "f"] or [np.dtype(np.float64)]
    return max(float(np.finfo(t).eps) for t in types)


def as_double(array: Array) -> Floats:
    """Return a C-contiguous float64 array, itself if it is one already."""
    return np.ascontiguousarray(array, dtype=np.float64)


def checked_gram(gram: Array, thoroughly: bool, ridge: float) -> tuple[Floats, int]:
    """Return K in units of 2^unit, and the unit, in which K and ρ are not large.

    ValueError if K is not square and finite, or ``thoroughly`` if it is not a Gram matrix.
    """
    n_rows, n_columns = gram.shape
    if n_rows != n_columns or n_rows == 0:
        raise ValueError(
            f"gram must be a square matrix of kernel values between the atoms, got {gram.shape}."
        )
    matrix = as_double(gram)
    # Unchecked, only the diagonal is read here: the solver notices what else is not finite, if it matters.
    diagonal = matrix.diagonal().copy()
    largest = float(diagonal.max())
    size = max(largest, -float(diagonal.min()))
    if thoroughly or not math.isfinite(size):
        largest_entries("gram", matrix)
    unit = unit_exponent(max(size, float(ridge)))
    if unit:
        matrix = as_double(in_units(matrix, unit))
    if thoroughly:
        _check_symmetric(matrix, _ASYMMETRY * precision(gram))
        _check_definite(matrix, _uncertainty(matrix, precision(gram)))
    if largest <= 0:
        raise ValueError("gram must have a positive diagonal entry: k(D, D) > 0 for some atom D.")
    return matrix, unit


def with_ridge(gram: Floats, ridge: float) -> Floats:
    """Return K + ρI, which is K itself for ρ = 0."""
    if ridge == 0:
        return gram
    sum_ = gram.copy()
    sum_.flat[:: len(gram) + 1] += ridge
    return as_double(sum_)


def _check_symmetric(gram: Floats, tolerance: float) -> None:
    asymmetry, size = 0.0, 0.0
    for rows in block_slices(len(gram), 128):  # so that the transposed reads stay in the cache
        asymmetry += float(np.abs(gram[rows] - gram[:, rows].T).sum())
        size += float(np.abs(gram[rows]).sum())
    if asymmetry > tolerance * size:
        raise ValueError(
            f"gram must be symmetric, but |gram - gram.T| is {asymmetry / size:.3g} of |gram|. "
            "If that is rounding error, pass (gram + gram.T) / 2."
        )


def _check_definite(gram: Floats, uncertainty: float) -> None:
    n_atoms = gram.shape[0]
    if n_atoms > LARGEST_DEFINITENESS_CHECK:
        some = np.linspace(0, n_atoms - 1, LARGEST_DEFINITENESS_CHECK).astype(np.intp)
        gram = gram[np.ix_(some, some)]
    if not _is_definite(gram, uncertainty):
        least = scipy.linalg.eigvalsh(gram, subset_by_index=[0, 0], check_finite=False)[0]
        raise ValueError(indefinite_message(f" (its least eigenvalue is {least:.3g})"))


def _is_definite(gram: Floats, uncertainty: float) -> bool:
    # K + uncertainty·I has a Cholesky factor if and only if no eigenvalue is below −uncertainty,
    # which is what rounding makes of a zero eigenvalue.
    shifted = gram.copy()
    shifted.flat[:: len(shifted) + 1] += max(uncertainty, float(np.finfo(np.float64).tiny))
    try:
        scipy.linalg.cholesky(shifted, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return False
    return True


def _uncertainty(gram: Floats, rounding: float) -> float:
    """Return how far rounding may take a zero eigenvalue of K."""
    return 10 * rounding * float(np.abs(gram.diagonal()).sum())


def indefinite_message(detail: str) -> str:
    """Return what to say of an indefinite Gram matrix: what it means, and what to do."""
    return (
        f"gram is not positive semidefinite{detail}, so the coding problem is not convex and may "
        "have no minimum. Correct the kernel first: DivergenceKernel with correction 'clip', 'flip' "
        "or 'shift' gives a Gram matrix and the cross values that go with it."
    )


def checked_cross(cross: ArrayLike, n_atoms: int) -> Array:
    """Return k, one row per query, still in its own type and strides. Values are checked by block."""
    array = real_array("cross", cross, ndim=2)
    if array.shape[1] != n_atoms:
        raise ValueError(
            f"cross must have one row per query and one column per atom: gram has {n_atoms} atoms, "
            f"but cross has the shape {array.shape}."
        )
    return array


def largest_entries(name: str, block: Floats, first: int = 0) -> Floats:
    """Return max |k_j| of every row; ValueError with the first row, of those from ``first`` on, not finite."""
    sizes = np.empty(len(block))
    if _row_sizes(block, *block.shape, sizes):
        return sizes
    sizes = np.maximum(block.max(axis=1), -block.min(axis=1))
    if not np.isfinite(sizes).all():
        row = first + int(np.isfinite(sizes).argmin())
        raise ValueError(f"{name} contains NaN or infinity, first in row {row}.")
    return np.asarray(sizes)


def per_query(name: str, values: ArrayLike, n_queries: int) -> Floats:
    """Return one finite, non-negative number per query from a scalar or a vector."""
    single: Any = values
    if isinstance(single, float) and 0.0 <= single < math.inf:  # the rule, and quicker
        return np.full(n_queries, single)
    array = np.asarray(values)
    array = real_array(name, array, ndim=min(array.ndim, 1)).astype(np.float64)
    if array.ndim == 1 and len(array) != n_queries:
        raise ValueError(
            f"{name} must be a number or have one entry per query: there are {n_queries} queries, "
            f"but {len(array)} entries."
        )
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name} must be finite and not negative.")
    return np.array(np.broadcast_to(array, n_queries))


def checked_init(init: Any, shape: tuple[int, int]) -> Any:
    """Return starting codes, dense or CSR, of the given shape."""
    sparse = scipy.sparse.issparse(init)
    codes: Any = scipy.sparse.csr_array(init) if sparse else real_array("init", init, ndim=2)
    if codes.shape != shape:
        raise ValueError(f"init must have the shape of the codes, {shape}, got {codes.shape}.")
    return codes


def init_block(init: Any, part: slice, units: Exponents | int) -> Floats:
    """Return the rows ``part`` of starting codes in their units, dense; ValueError if they are not finite."""
    rows = init[part]
    block: Array = rows.toarray() if isinstance(rows, scipy.sparse.csr_array) else rows
    if not np.isfinite(block).all():
        raise ValueError("init contains NaN or infinity.")
    start = in_units(block.astype(np.float64, copy=False), units)
    return np.where(np.abs(start) < _LARGEST_START, start, 0.0)


def excluded_atoms(exclude: ArrayLike | None, n_queries: int, n_atoms: int) -> NDArray[np.int64]:
    """Return for each query the atom it must not use, −1 for none."""
    if exclude is None:
        return np.full(n_queries, -1)
    atoms = np.asarray(exclude)
    if atoms.shape != (n_queries,) or atoms.dtype.kind not in "iu":
        raise ValueError(f"exclude must hold one integer for each of the {n_queries} queries.")
    if n_queries and not -1 <= atoms.min() <= atoms.max() < n_atoms:
        raise ValueError(f"exclude must hold atoms between 0 and {n_atoms - 1}, or -1.")
    return atoms.astype(np.int64)


def representable(codes: Floats, dtype: type[np.floating[Any]], first: int) -> NDArray[Any]:
    """Return the codes of queries from ``first`` on in their type; ValueError if that has no such numbers."""
    with np.errstate(over="ignore"):
        if dtype == np.float64 and np.isfinite(codes.sum()):
            return codes
        converted = codes.astype(dtype, copy=False)
    bad = ~np.isfinite(converted).all(axis=1)
    if bad.any():
        raise ValueError(
            f"The code of query {first + int(bad.argmax())} is too large for {np.dtype(dtype).name}: "
            "multiply gram by a large number, or cross and alpha by a small one."
        )
    return converted
