"""Hermitian matrices as real ones: ``A + iB`` as ``[[A, −B], [B, A]]``.

The map keeps sums, products, inverses and functions of matrices, doubles every eigenvalue, and takes Hermitian
positive definite matrices to symmetric positive definite ones. So what is known of real matrices need not
be written again for complex ones: it is computed with the real form and taken apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, FloatArray


def is_complex(X: Array) -> bool:
    """Return whether an array holds complex numbers."""
    return X.dtype.kind == "c"


def as_double(X: Array) -> Array:
    """Return X in double precision: float64, or complex128 if it is complex."""
    return np.asarray(X, np.result_type(X.dtype, np.float64))


def in_precision_of(X: Array, Z: Array) -> Array:
    """Return results Z in the precision of X, complex if either is."""
    kind = np.complex64 if is_complex(Z) else np.float32
    return Z.astype(np.result_type(X.dtype, kind), copy=False)


def dimension(X: Array) -> int:
    """Return the n(n+1)/2 dimensions of the space of symmetric matrices, or the n² of Hermitian ones."""
    n = int(X.shape[-1])
    return n * n if is_complex(X) else n * (n + 1) // 2


def real_type(*types: Any) -> np.dtype[Any]:
    """Return the type of real numbers in the common precision: float32 or float64."""
    return np.finfo(np.result_type(*types)).dtype


def real_form(X: Array) -> FloatArray:
    """Return ``[[A, −B], [B, A]]``, shape (..., 2n, 2n), of complex matrices A + iB; real ones as they are."""
    if not is_complex(X):
        return X
    n = X.shape[-1]
    out = np.empty((*X.shape[:-2], 2 * n, 2 * n), X.real.dtype)
    out[..., :n, :n] = out[..., n:, n:] = X.real
    out[..., n:, :n] = X.imag
    out[..., :n, n:] = -X.imag  # np.negative to a strided array is wrong for some strides of X
    return out


def interleaved_real_form(X: Array) -> FloatArray:
    """Return the real form with the two rows and columns of every variable side by side, (..., 2n, 2n).

    Its Cholesky factor is the real form of that of X.
    """
    n = X.shape[-1]
    out = np.empty((*X.shape[:-2], n, 2, n), np.result_type(X, np.complex64))
    np.conjugate(
        X, out=out[..., 0, :]
    )  # real and imaginary parts are neighbours: (a, −b), and then (b, a)
    np.multiply(out[..., 0, :], 1j, out=out[..., 1, :])
    return out.view(out.real.dtype).reshape(*X.shape[:-2], 2 * n, 2 * n)


def complex_form(R: FloatArray) -> Array:
    """Return the A + iB, shape (..., n, n), whose real form is nearest to R: its blocks are averaged."""
    n = R.shape[-1] // 2
    out = np.empty((*R.shape[:-2], n, n), np.result_type(R.dtype, np.complex64))
    out.real = 0.5 * R[..., :n, :n] + 0.5 * R[..., n:, n:]
    out.imag = 0.5 * R[..., n:, :n] - 0.5 * R[..., :n, n:]
    return out
