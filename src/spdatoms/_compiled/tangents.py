"""log(W_i D_j W_iᵀ) and its derivatives, for a list of pairs (i, j) of small matrices, one pair per lane.

With X = L Lᵀ and W = L⁻¹ it is the tangent vector from X to D, in the frame where X is the identity. Results are
the lower triangles of symmetric matrices, row by row, with the weight √2 off the diagonal.
"""

from __future__ import annotations

import numpy as np
from numba import types

from spdatoms._compiled.interleave import aligned_empty, collect, flat, lanes_of, scatter
from spdatoms._compiled.jacobi import Square, emit_rotations
from spdatoms._compiled.lanes import ARTANH_SERIES, emitted, lane_count
from spdatoms._compiled.translate import address, translated

#: Up to this size rotations in lanes are faster than LAPACK.
SMALL_SIZE = 16
#: |a − b| / (a + b) up to which `ARTANH_SERIES` holds.
_NEAR = 0.17
#: The least λ_max, and one over the greatest.
_LEAST = 1e-100


def _dot(v, n, left, right, r, c):
    """Entry (r, c) of a product."""
    total = v.variable(v.constant(0.0))
    for k in v.steps(n):
        v.set(total, v.fma(v.load(left.at(r, k)), v.load(right.at(k, c)), v.get(total)))
    return v.get(total)


def _multiply(v, n, left, right, product):
    for r in v.steps(n):
        for c in v.steps(n):
            v.store(_dot(v, n, left, right, r, c), product.at(r, c))


def _lower_triangle(v, n, left, right):
    """Iterate over the entries on and below the diagonal of a product."""
    for r in v.steps(n):
        for c in v.steps(r + 1):
            yield r, c, _dot(v, n, left, right, r, c)


def _store_lower_triangle(v, n, left, right, out):
    """Write the lower triangle of a product row by row."""
    first = v.integer(0)
    for r, c, entry in _lower_triangle(v, n, left, right):
        v.store(entry, out.at(first, (r * (r + 1)).halved() + c))


def _logarithm(v, x):
    return v.log_of_split(*v.split(x))


@emitted
def _spectra(v, size, n, W, D, A, U, ratio):
    """W D Wᵀ = U λ Uᵀ with λ on the diagonal of A; and λ_min/λ_max, NaN if λ is too large or too small."""
    W, D, A, U = (Square(v, n, base) for base in (W, D, A, U))
    _multiply(v, n, W, D, U)
    for r, c, entry in _lower_triangle(v, n, U, W.turned):
        v.store(entry, A.at(r, c))
    emit_rotations(v, n, A, U)
    least, greatest = (v.variable(v.load(A.base)) for _ in range(2))
    for k in v.steps(n):
        eigenvalue = v.load(A.at(k, k))
        v.set(least, v.least(eigenvalue, v.get(least)))
        v.set(greatest, v.greatest(eigenvalue, v.get(greatest)))
    # Rotations know when to end by products of two entries, which must be normal numbers.
    within = v.least(v.get(greatest), v.reciprocal(v.get(greatest)))
    moderate = v.greater(within, v.constant(_LEAST))
    quotient = v.div(v.get(least), v.get(greatest))
    v.store(v.select(moderate, quotient, v.constant(float("nan"))), ratio)


@emitted
def _logarithms(v, size, n, A, U, scaled):
    """Write the lower triangle of U log(λ) Uᵀ to the beginning of A."""
    A, U, scaled = (Square(v, n, base) for base in (A, U, scaled))
    for k in v.steps(n):
        logarithm = _logarithm(v, v.load(A.at(k, k)))
        for r in v.steps(n):
            v.store(v.mul(logarithm, v.load(U.at(r, k))), scaled.at(r, k))
    _store_lower_triangle(v, n, scaled, U.turned, A)


@emitted
def _derivatives(v, size, n, W, V, A, U, space):
    """Write the lower triangle of P (F ∘ Uᵀ V U) Pᵀ with P = Wᵀ U, F as in `_divided_logarithm`, to A."""
    W, V, A, U, space = (Square(v, n, base) for base in (W, V, A, U, space))
    _multiply(v, n, V, U, space)
    for a, b, entry in _lower_triangle(v, n, U.turned, space):
        F = _divided_logarithm(v, v.load(A.at(a, a)), v.load(A.at(b, b)))
        v.store(v.mul(F, entry), V.at(a, b))
        v.store(v.mul(F, entry), V.at(b, a))
    _multiply(v, n, W.turned, U, space)
    _multiply(v, n, space, V, U)
    _store_lower_triangle(v, n, U, space.turned, A)


def _divided_logarithm(v, a, b):
    """(log a − log b)/(a − b), which for near numbers is 2 artanh(s)/(s·(a + b)) with s = (a − b)/(a + b)."""
    difference, total = v.sub(a, b), v.add(a, b)
    s = v.div(difference, total)
    z = v.mul(s, s)
    series = v.constant(ARTANH_SERIES[-1])
    for coefficient in (*ARTANH_SERIES[-2::-1], 2.0):
        series = v.fma(series, z, v.constant(coefficient))
    far = v.greater(v.absolute(s), v.constant(_NEAR))
    logarithms = v.sub(_logarithm(v, a), _logarithm(v, b))
    return v.div(v.select(far, logarithms, series), v.select(far, difference, total))


def _fill(tag, scalar, X, chosen, entries, ones, out):
    """Write the matrices that are chosen to a batch."""
    count, lanes = X.shape[1], out.shape[1]
    if count < lanes:
        for e in range(count):
            for lane in range(lanes):
                out[e, lane] = X[chosen[lane], e]
    else:
        scatter(
            tag, scalar, count, address(X), address(chosen), count * 8, address(entries), address(ones),
            address(out),
        )  # fmt: skip


def _deliver(tag, scalar, batch, entries, weights, out, first):
    """Write the lower triangles at the beginning of a batch to rows of the result."""
    count, lanes = weights.shape[0], batch.shape[1]
    if count < lanes:
        for p in range(count):
            for lane in range(lanes):
                out[first + lane, p] = batch[p, lane] * weights[p]
    else:
        collect(
            tag, scalar, count, address(batch), address(entries), address(weights), count * 8,
            address(out[first]),
        )  # fmt: skip


@translated(types.void)
def _all_pairs(
    tag, scalar, n, derivative, W, D, V, queries, atoms, entries, ones, weights, scratch, ratios, out
):  # fmt: skip
    w, d, a, u, space = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for first in range(0, queries.shape[0], scratch.shape[2]):
        _fill(tag, scalar, W, queries[first:], entries, ones, w)
        _fill(tag, scalar, D, atoms[first:], entries, ones, d)
        ratio = address(ratios[first:])
        _spectra(tag, scalar, n, address(w), address(d), address(a), address(u), ratio)
        if derivative:
            _fill(tag, scalar, V, queries[first:], entries, ones, d)
            _derivatives(
                tag, scalar, n, address(w), address(d), address(a), address(u), address(space)
            )
        else:
            _logarithms(tag, scalar, n, address(a), address(u), address(w))
        _deliver(tag, scalar, a, entries, weights, out, first)


def tangent_vectors(
    W: np.ndarray,
    D: np.ndarray,
    queries: np.ndarray,
    atoms: np.ndarray,
    V: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return log(W_i D_j W_iᵀ) of the pairs (i, j) as vectors (m, n(n+1)/2), and λ_min/λ_max of each W_i D_j W_iᵀ.

    With V it is the gradient of ⟨V_i, log(W_i D_j W_iᵀ)⟩ with respect to D_j instead. A λ_min/λ_max that is NaN, or
    not far above rounding errors, tells that the vector is wrong.
    """
    n, lanes = W.shape[1], lane_count(np.float64)
    rows, columns = np.tril_indices(n)
    weights = np.where(rows == columns, 1.0, np.sqrt(2.0))
    chosen = lanes_of(len(queries), lanes)
    out, ratios = np.empty((len(chosen), len(weights))), np.empty(len(chosen))
    _all_pairs(
        (), 0.0, n, V is not None, *(flat(Z) for Z in (W, D, W if V is None else V)),
        queries[chosen], atoms[chosen], np.arange(n * n), np.ones(n * n), weights,
        aligned_empty((5, n * n, lanes), np.float64), ratios, out,
    )  # fmt: skip
    return out[: len(queries)], ratios[: len(queries)]
