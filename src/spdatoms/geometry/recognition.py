"""What data probably are that are not SPD matrices (m, n, n), and how to make matrices of them.

Recognised by their type: names of files, objects of MNE and tables of pandas; by their shape: signals, volumes, bands,
raw diffusion images, half-vectors; and by their values: orders of half-vectors, tangent vectors, partial correlations,
tensors whose components are in another order. Only errors ask here, and look at some matrices only.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.parameters import shown
from spdatoms._utils.sampling import evenly_spaced
from spdatoms.geometry.triangles import matrix_size, symmetric, triangle

_Array = NDArray[Any]
#: The greatest number of matrices that are looked at.
_SOME = 200
#: The share of matrices that must be positive definite for a reading to be right.
NEARLY_ALL = 0.95
#: Rank-deficient matrices of single precision have eigenvalues of this size, relative to the largest.
_ROUNDING = 1e-6
#: Orders of half-vectors by the names of diffusion tools, and their names for any n.
TENSOR_ORDERS = {"fsl": "upper", "mrtrix": "diagonal", "dipy": "lower"}
_UNVECH = "spdatoms.geometry.unvech"
_COVARIANCES = 'pyriemann.estimation.Covariances("oas").transform'
#: What objects of MNE are, by the name of their class or of one that it is derived from, and what to do with them.
_MNE = {
    "BaseEpochs": (
        "epochs",
        f"pass the covariances of its signals, {_COVARIANCES}({{}}.get_data())",
    ),
    "Evoked": (
        "an average of trials",
        f"pass the covariances of the trials before they are averaged, {_COVARIANCES}(epochs.get_data())",
    ),
    "BaseRaw": (
        "a continuous recording",
        "cut it into epochs, mne.make_fixed_length_epochs({}, duration=2.0), and pass the covariances of their signals",
    ),
    "Covariance": ("one covariance", "pass {}.data[None]"),
}


def object_advice(data: Any, name: str) -> str:
    """Return an error message about None, the name of a file, or an object of MNE or pandas; about others nothing.

    Parameters
    ----------
    data : object
        What was given in place of an array.
    name : str
        What the user calls it.
    """
    if data is None:
        return f"{name} must be an array of matrices (m, n, n), but is None."
    if isinstance(data, str | PathLike):
        what = "a string" if isinstance(data, str) else "a path"
        return f"{name} must be an array of matrices (m, n, n), but is {what}, {shown(data)}: np.load the file first."
    for kind in type(data).__mro__:
        library = kind.__module__.partition(".")[0]
        if library == "mne" and kind.__name__ in _MNE:
            what, advice = _MNE[kind.__name__]
            return f"{name} must be an array of matrices (m, n, n), but is {what} of MNE: {advice.format(name)}."
        if library == "pandas" and kind.__name__ == "Series" and _holds_arrays(data):
            return f"{name} is a column of arrays of pandas: pass np.stack({name})."
        if library == "pandas" and kind.__name__ == "DataFrame":
            arrays = [column for column in data.columns if _holds_arrays(data[column])]
            if arrays:
                calls = " or ".join(f"np.stack({name}[{column!r}])" for column in arrays)
                return f"{name} is a table of pandas with a column of arrays: pass {calls}."
    return ""


def _holds_arrays(column: Any) -> bool:
    return len(column) > 0 and np.ndim(column.iloc[0]) > 0


def shape_advice(X: Any, name: str) -> str:
    """Return the end of an error message: how to make matrices of an array, or nothing if no way is known.

    Parameters
    ----------
    X : array of any shape
        The array. Its values decide where its shape does not, if they are in memory.
    name : str
        What the user calls the array.
    """
    shape = X.shape
    if not shape or 0 in shape:
        return ""
    if len(shape) == 1:
        return (
            f". Reshape your data: a single matrix that was flattened needs {name}.reshape(1, n, n)"
        )
    if len(shape) == 2:
        return _of_table(X, name)
    if len(shape) == 3:
        return _of_signals(shape, name)
    if shape[-1] == shape[-2]:
        return _of_volume(shape, name)
    if half_vector_size(shape[-1]) and not _may_be_images(X):
        return f": {_of_half_vectors(X, f'{name}.reshape(-1, {shape[-1]})')}"
    if len(shape) == 4:
        return (
            ": if these are raw diffusion-weighted images (x, y, z, directions), fit tensors first, for example "
            f"dipy.reconst.dti.TensorModel(gradients).fit({name}).quadratic_form"
        )
    return ""


def half_vector_size(length: int) -> int:
    """Return the n ≥ 2 for which n(n+1)/2 is the length, or 0 if there is none."""
    n = matrix_size(length)
    return n if n >= 2 else 0


def _of_table(X: Any, name: str) -> str:
    rows, columns = X.shape
    if rows == columns:
        return f": for a single matrix use {name}[None]"
    if half_vector_size(columns):
        return f": {_of_half_vectors(X, name)}"
    return (
        f": if it is a signal (channels, time), np.cov({name})[None] is its covariance; "
        "matrices that were flattened need reshape(-1, n, n)"
    )


def _of_volume(shape: tuple[int, ...], name: str) -> str:
    n, flat = shape[-1], f"{name}.reshape(-1, {shape[-1]}, {shape[-1]})"
    if len(shape) > 4:
        return f": use {flat}, or {name}[mask] if some of them are background"
    return (
        f": if its axes are (matrices, bands, {n}, {n}), use {name}[:, 0] for one band, or {flat} with the labels "
        f"np.repeat(y, {shape[1]}) for all; of a slice of tensors use {name}[mask]"
    )


def _of_signals(shape: tuple[int, ...], name: str) -> str:
    if shape[0] == shape[1]:
        return f": if the matrices lie along the last axis, use {name}.transpose(2, 0, 1)"
    return (
        f": if it holds signals (trials, channels, time), make covariances of them first, "
        f"for example np.stack([np.cov(trial) for trial in {name}])"
    )


def _of_half_vectors(X: Any, rows: str) -> str:
    """Say how to make matrices of rows of n(n+1)/2 numbers: all ways that give positive definite ones."""
    length = X.shape[-1]
    n = half_vector_size(length)
    means = f"if its rows are half-vectors, {length} numbers for a {n}×{n} matrix"
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "fiu":
        return f"{means}, use {' or '.join(_calls(rows, n).values())}"
    some = _some(X.reshape(-1, length))
    right = [way for way, share in readings(some).items() if share >= NEARLY_ALL]
    calls = _calls(rows, n)
    if set(right) & set(calls):
        return f"{means}, use {', or '.join(calls[way] for way in right if way in calls)}"
    without = f", or like correlations of {n + 1} channels without their diagonal (keep it there)"
    return (
        f"its rows of {length} numbers are no half-vectors of positive definite {n}×{n} matrices in any order. They "
        f"look like tangent vectors (TangentSpace of pyRiemann, kind='tangent' of nilearn){without if right else ''}: "
        "any classifier of scikit-learn takes those; here pass the covariances that they were made of"
    )


def _calls(rows: str, n: int) -> dict[str, str]:
    """Return how to make matrices of half-vectors, by the names of `readings`."""
    tools = {order: tool for tool, order in TENSOR_ORDERS.items()} if n == 3 else {}
    names = {order: tools.get(order, order) for order in TENSOR_ORDERS.values()}
    plain = {
        order: f'{_UNVECH}({rows}, order="{known}")' if order != "lower" else f"{_UNVECH}({rows})"
        for order, known in names.items()
    }
    return {
        **plain,
        "nilearn": f"np.sqrt(2) * {_UNVECH}({rows}, weighted=True) if they are of nilearn (vectorize=True), which "
        "divides the diagonal by √2",
    }


def readings(rows: _Array) -> dict[str, float]:
    """Return the share of half-vectors that are positive definite matrices, by how they are read.

    Parameters
    ----------
    rows : ndarray of shape (m, n(n+1)/2)
        The half-vectors.

    Returns
    -------
    dict of str to float
        By ``"upper"``, ``"diagonal"``, ``"lower"`` as in `unvech`, ``"nilearn"`` (lower triangle, diagonal over √2)
        and ``"no diagonal"`` (the strict lower triangle of (n+1)×(n+1) correlations). A reading that contradicts an
        exact diagonal of correlations has the share 0.
    """
    if not np.isfinite(rows).all():
        rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        return {}
    found = {order: _definite(_matrices(rows, order)) for order in TENSOR_ORDERS.values()}
    of_nilearn = np.sqrt(2) * _matrices(rows, "lower", weighted=True)
    found["nilearn"] = _definite(of_nilearn)
    if _has_unit_diagonal(of_nilearn):
        found = dict.fromkeys(found, 0.0) | {"nilearn": found["nilearn"]}
    elif _has_unit_diagonal(_matrices(rows, "lower")):
        found["nilearn"] = 0.0
    n = half_vector_size(rows.shape[1]) + 1
    below = np.tril_indices(n, -1)
    correlations = np.tile(np.eye(n), (len(rows), 1, 1))
    correlations[:, below[0], below[1]] = correlations[:, below[1], below[0]] = rows
    bounded = abs(rows).max() <= 1.0
    found["no diagonal"] = _definite(correlations) if bounded else 0.0
    return found


def _may_be_images(X: Any) -> bool:
    """Return whether all values are positive, as those of raw images are; some components of tensors are negative."""
    in_memory = isinstance(X, np.ndarray) and X.dtype.kind in "fiu"
    return in_memory and X.shape[-1] != 6 and bool((_some(X) >= 0).all())


def stack_advice(X: _Array) -> str:
    """Return a sentence on what matrices (m, n, n) look like of which most are not positive definite, or nothing.

    Parameters
    ----------
    X : ndarray of shape (m, n, n)
        The matrices.
    """
    some = _some(X)
    if some.dtype.kind == "c" or not np.isfinite(some).all() or len(some) < 2:
        return ""
    size = abs(some).max(axis=(1, 2))
    asymmetry = abs(some - some.swapaxes(1, 2)).max(axis=(1, 2))
    if np.mean(asymmetry > 0.1 * size) > 0.5:
        return (
            "They look like signals, or features, with as many times as channels: matrices of those are their "
            "covariances"
        )
    order = other_order(some) if X.shape[-1] == 3 else None
    if order is not None:
        read, right = order
        # Of these two either is the other with two entries exchanged.
        reverse = ", or the reverse" if "mrtrix" not in order else ""
        return (
            f"They look like tensors whose components were read in the order of {read}, but are in that of "
            f"{right}{reverse}: in the right order nearly all are positive definite"
        )
    n = X.shape[-1]
    if _has_unit_diagonal(some) and _definite(2 * np.eye(n) - some) >= NEARLY_ALL:
        return (
            "They look like partial correlations, which need not be positive definite: use correlations, or the "
            "scaled precision matrices 2*np.eye(n) - X"
        )
    diagonals = np.einsum("mii->mi", some)
    if np.mean((diagonals.min(axis=1) < 0) & (diagonals.max(axis=1) > 0)) > 0.5:
        return (
            "They look like tangent vectors or logarithms, whose diagonals have both signs: pass the covariances that "
            "they were made of, or use a linear classifier of scikit-learn"
        )
    return ""


def other_order(X: _Array) -> tuple[str, str] | None:
    """Return in which order the components of tensors were read, and in which they probably are.

    Parameters
    ----------
    X : ndarray of shape (m, 3, 3)
        Tensors that are mostly not positive definite.

    Returns
    -------
    tuple of str or None
        Two names of `TENSOR_ORDERS`; None if no other order makes nearly all definite.
    """
    shares: Mapping[tuple[str, str], float] = {
        (read, right): _definite(_matrices(_entries(X, read), right))
        for read, right in permutations(TENSOR_ORDERS, 2)
    }
    best = max(shares, key=lambda pair: shares[pair])
    return best if shares[best] >= NEARLY_ALL > _definite(X) else None


def _matrices(rows: _Array, order: str, *, weighted: bool = False) -> _Array:
    """Return `unvech` of rows, without its checks."""
    return symmetric(rows, *triangle(half_vector_size(rows.shape[-1]), order), weighted)


def _entries(X: _Array, order: str) -> _Array:
    """Return `vech` of matrices, without its checks."""
    rows, columns = triangle(X.shape[-1], order)
    return np.asarray(X[:, rows, columns])


def _some(X: _Array) -> _Array:
    """Return some items along the first axis, as double precision."""
    some = X[evenly_spaced(len(X), min(_SOME, len(X)))]
    return np.asarray(some, dtype=np.complex128 if X.dtype.kind == "c" else np.float64)


def _definite(X: _Array) -> float:
    """Return the share of matrices that are positive definite, or would be but for rounding."""
    eigenvalues = np.linalg.eigvalsh(X)
    return float(np.mean(eigenvalues[:, 0] >= -_ROUNDING * eigenvalues[:, -1]))


def _has_unit_diagonal(X: _Array) -> bool:
    return bool((abs(np.einsum("mii->mi", X) - 1.0) < 1e-4).all())
