// T A Tᵀ and T A Uᵀ for eight matrices A at a time, with triangular T and U: one matrix per lane.
//
// The products are stored as V[g, k, i]: entry k of the matrix in lane i of group g.
#pragma once

#include "panel.hpp"
#include "small_matrices.hpp"

namespace spdatoms {

INLINE Int groups_of(Int count) { return (count + 7) / 8; }

// Rows and columns of a tile of products; matrices that are smaller have tiles of one entry.
constexpr int EDGE = PARTS == 1 ? 4 : 2;

// Write stack[g, a, b, i] = D_j[a, b] / factors[j] with j = chosen[8g + i], zeros in what is left of the last group.
inline void gather_stack(const double *atoms, Int n, const double *factors, const Int *chosen, Int count,
                         double *stack) {
    for (Int first = 0; first < count; first += 8, stack += n * n * 8) {
        const double *matrices[8];
        double weights[8];
        for (Int i = 0; i < 8; ++i) {
            const bool inside = first + i < count;
            const Int j = inside ? chosen[first + i] : 0;
            matrices[i] = atoms + j * n * n;
            weights[i] = inside ? 1.0 / factors[j] : 0.0;
        }
        const Eight weight = load_eight(weights);
        for (Int k = 0; k < n * n; ++k) store(stack + k * 8, weight * gathered([&](int i) { return matrices[i][k]; }));
    }
}

// Store Σ_k F_rk · A_ck over 0 ≤ k < count at out + r·down + c·across for r, c < E; F has scalars, A vectors, both rows
// of length n.
template <int E>
INLINE void write_tile(const double *factors, const double *vectors, Int n, Int count, double *out, Int down,
                       Int across) {
    Eight sums[E][E];
    UNROLL for (int r = 0; r < E; ++r)
        UNROLL for (int c = 0; c < E; ++c) sums[r][c] = every(0.0);
    for (Int k = 0; k < count; ++k) {
        Eight columns[E];
        UNROLL for (int c = 0; c < E; ++c) columns[c] = load_eight(vectors + (c * n + k) * 8);
        UNROLL for (int r = 0; r < E; ++r) {
            const double factor = factors[r * n + k];
            UNROLL for (int c = 0; c < E; ++c) sums[r][c] = sums[r][c] + factor * columns[c];
        }
    }
    UNROLL for (int r = 0; r < E; ++r)
        UNROLL for (int c = 0; c < E; ++c) store(out + r * down + c * across, sums[r][c]);
}

// The last tile of a row or column begins so early that it fits, and does some entries again.

// Write (TA)_rj to rows[r − i, j] for j < columns and a tile's rows from i on; A is symmetric.
template <int E>
INLINE void write_rows(const double *T, Int n, Int i, const double *matrices, Int columns, double *rows) {
    for (Int start = 0; start < columns; start += E) {
        const Int j = smaller(start, n - E);
        // Row j of A is its column j.
        write_tile<E>(T + i * n, matrices + j * n * 8, n, i + E, rows + j * 8, n * 8, 8);
    }
}

template <int E>
void transform_halves_by(const double *T, Int n, const double *stack, Int groups, double *rows, double *V, Int length) {
    double *const products = rows + E * n * 8;
    for (Int g = 0; g < groups; ++g)
        for (Int first = 0; first < n; first += E) {
            const Int i = smaller(first, n - E);
            write_rows<E>(T, n, i, stack + g * n * n * 8, i + E, rows);
            for (Int start = 0; start < i + E; start += E) {
                const Int j = smaller(start, n - E);
                write_tile<E>(T + j * n, rows, n, j + E, products + j * 8, 8, n * 8);
            }
            for (Int r = i; r < i + E; ++r) {
                double *const half = V + (g * length + r * (r + 1) / 2) * 8;
                const double *const product = products + (r - i) * n * 8;
                for (Int j = 0; j < r; ++j) store(half + j * 8, ROOT_TWO * load_eight(product + j * 8));
                store(half + r * 8, load_eight(product + r * 8));
            }
        }
}

template <int E>
void transform_fully_by(const double *T, Int n, const double *stack, Int groups, const double *U, double *rows,
                        double *V, Int length) {
    for (Int g = 0; g < groups; ++g)
        for (Int first = 0; first < n; first += E) {
            const Int i = smaller(first, n - E);
            write_rows<E>(T, n, i, stack + g * n * n * 8, n, rows);
            for (Int start = 0; start < n; start += E) {
                const Int j = smaller(start, n - E);
                double *const out = V + (g * length + i * n + j) * 8;
                write_tile<E>(U + j * (n + 1), rows + j * 8, n, n - j, out, 8, n * 8);
            }
        }
}

// Numbers that the transformations need to work with.
INLINE Int transform_scratch(Int n) { return 2 * EDGE * n * 8; }

// Write the half-vectors of T A Tᵀ to V[g, :, i], where T is lower triangular, A symmetric; `length` is that of V[g].
inline void transform_halves(const double *T, Int n, const double *stack, Int groups, double *scratch, double *V,
                             Int length) {
    (n < EDGE ? transform_halves_by<1> : transform_halves_by<EDGE>)(T, n, stack, groups, scratch, V, length);
}

// Write the entries of T A Uᵀ to V[g, :, i], T lower and U upper triangular, A symmetric.
inline void transform_fully(const double *T, Int n, const double *stack, Int groups, const double *U, double *scratch,
                            double *V, Int length) {
    (n < EDGE ? transform_fully_by<1> : transform_fully_by<EDGE>)(T, n, stack, groups, U, scratch, V, length);
}

// Write H_ij = Σ_k V[·, k, i] V[·, k, j] over the matrices in the lanes of all groups.
inline void gram_of(const double *V, Int groups, Int length, double *H) {
    constexpr int ROWS = 2 * EDGE;
    constexpr Int SLICE = 256;  // of all vectors stays in the cache
    const Int size = 8 * groups;
    set_zero(H, size * size);
    for (Int start = 0; start < length; start += SLICE)
        for (Int g = 0; g < groups; ++g)
            for (Int h = 0; h <= g; ++h)
                for (Int r = 0; r < 8; r += ROWS) {
                    const double *const first = V + (g * length + start) * 8 + r;
                    const double *const second = V + (h * length + start) * 8;
                    const double *left[ROWS];
                    Eight sums[ROWS];
                    UNROLL for (int q = 0; q < ROWS; ++q) left[q] = first + q;
                    sum_products<ROWS>(left, 8, second, 0, smaller(SLICE, length - start), sums);
                    UNROLL for (int q = 0; q < ROWS; ++q) {
                        double *const out = H + (g * 8 + r + q) * size + h * 8;
                        store(out, load_eight(out) + sums[q]);
                    }
                }
    for (Int i = 0; i < size; ++i)
        for (Int j = i + 1; j < size; ++j) H[i * size + j] = H[j * size + i];
}

}  // namespace spdatoms
