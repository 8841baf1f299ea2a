// W = B Bᵀ with B = L⁻¹ M: the matrix Y = M Mᵀ seen from X = L Lᵀ, for a batch of Y, one per lane.
//
// All factors are lower triangular, so B and W cost n³/3 operations each: half of L⁻¹ Y L⁻ᵀ. With B⁻¹ in place of B the
// eigenvalues of W become their reciprocals.
//
// Rows and columns are cut into blocks of TILE, the last of them filled up with zeros. L⁻¹ is stored by blocks of rows and M
// by blocks of columns, in the order in which tiles of B read them; B is stored as L⁻¹ is, and W row after row, its lower
// triangle only.
#pragma once

#include "vector.hpp"

namespace spdatoms::whitening {

using V = Vector<double>;
constexpr Int L = LANES<double>, SQUARE = TILE * TILE;

constexpr Int tile_count(Int n) { return (n + TILE - 1) / TILE; }
// The first slot of a block of rows, which ends with its diagonal tile.
constexpr Int row_block_start(Int block) { return block * (block + 1) / 2 * SQUARE; }
// The first slot of a block of columns, which begins with its diagonal tile.
constexpr Int column_block_start(Int block, Int tiles) { return block * (2 * tiles + 1 - block) / 2 * SQUARE; }
constexpr Int slot_count(Int n) { return row_block_start(tile_count(n)); }
// The first slot of a row of a lower triangle that is stored row after row.
constexpr Int triangle_start(Int row) { return row * (row + 1) / 2; }

// The slots of entry (r, c) of a factor by blocks of rows, and of one by blocks of columns.
constexpr Int slot_by_rows(Int r, Int c) { return row_block_start(r / TILE) + c * TILE + r % TILE; }
constexpr Int slot_by_columns(Int r, Int c, Int tiles) {
    return column_block_start(c / TILE, tiles) + (r - c / TILE * TILE) * TILE + c % TILE;
}

// ---- Tiles.
INLINE void clear(V (&tile)[TILE][TILE]) {
    UNROLL for (int r = 0; r < TILE; ++r) UNROLL for (int c = 0; c < TILE; ++c) tile[r][c] = V{};
}

// What is at a slot of L⁻¹: a scalar for all lanes, or their own numbers if matrices are PAIRED.
template <bool PAIRED> INLINE const double *slot_at(const double *x, Int slot) { return x + slot * (PAIRED ? L : 1); }
template <bool PAIRED> INLINE auto entry(const double *x, Int slot) {
    if constexpr (PAIRED)
        return load(slot_at<true>(x, slot));
    else
        return x[slot];
}

// B = L⁻¹ M, from L⁻¹ at x and M at y: B[r, c] = Σ_k L⁻¹[r, k]·M[k, c], k from the columns of a tile to its rows.
template <bool PAIRED> inline void product(Int tiles, const double *x, const double *y, double *b) {
    for (Int block = 0; block < tiles; ++block)
        for (Int left = 0; left <= block; ++left) {
            const Int start = row_block_start(block) + left * SQUARE;
            const double *xs = slot_at<PAIRED>(x, start), *ys = y + column_block_start(left, tiles) * L;
            V tile[TILE][TILE];
            clear(tile);
            for (Int slot = 0; slot < (block + 1 - left) * SQUARE; slot += TILE) {
                V m[TILE];
                UNROLL for (int c = 0; c < TILE; ++c) m[c] = load(ys + (slot + c) * L);
                UNROLL for (int r = 0; r < TILE; ++r)
                    UNROLL for (int c = 0; c < TILE; ++c) tile[r][c] += entry<PAIRED>(xs, slot + r) * m[c];
            }
            UNROLL for (int c = 0; c < TILE; ++c)
                UNROLL for (int r = 0; r < TILE; ++r) store(b + (start + c * TILE + r) * L, tile[r][c]);
        }
}

// The lower triangle of A Cᵀ, row after row. A block of rows of A or C lies at rows(block) or columns(block), entries of one
// column side by side; the product goes over slots(left) entries.
template <class R, class C, class S> INLINE void lower_triangle(Int tiles, R rows, C columns, S slots, double *w) {
    for (Int block = 0; block < tiles; ++block)
        for (Int left = 0; left <= block; ++left) {
            const double *a = rows(block), *b = columns(left);
            V tile[TILE][TILE];
            clear(tile);
            for (Int slot = 0; slot < slots(left); slot += TILE) {
                V m[TILE];
                UNROLL for (int c = 0; c < TILE; ++c) m[c] = load(b + (slot + c) * L);
                UNROLL for (int r = 0; r < TILE; ++r) {
                    const V factor = load(a + (slot + r) * L);
                    UNROLL for (int c = 0; c < TILE; ++c) tile[r][c] += factor * m[c];
                }
            }
            UNROLL for (int r = 0; r < TILE; ++r) {
                double *target = w + (triangle_start(block * TILE + r) + left * TILE) * L;
                UNROLL for (int c = 0; c < TILE; ++c)
                    if (left < block || c <= r) store(target + c * L, tile[r][c]);
            }
        }
}

// The lower triangle of W = B Bᵀ: W[r, c] = Σ_k B[r, k]·B[c, k], k up to the columns of a tile.
inline void gram(Int tiles, const double *b, double *w) {
    const auto rows = [&](Int block) { return b + row_block_start(block) * L; };
    lower_triangle(tiles, rows, rows, [](Int left) { return (left + 1) * SQUARE; }, w);
}

// R = B⁻¹ of a small lower triangle, column after column.
template <int N> INLINE void invert_triangle(V (&B)[N][N]) {
    UNROLL for (int r = 0; r < N; ++r) {
        const V inverse = reciprocal(B[r][r]);
        UNROLL for (int c = 0; c < r; ++c) {  // B[r, c] is not read again for the columns right of it
            V known = B[r][c] * B[c][c];
            UNROLL for (int k = c + 1; k < r; ++k) known += B[r][k] * B[k][c];
            B[r][c] = -(inverse * known);
        }
        B[r][r] = inverse;
    }
}

// Replace B by R = B⁻¹: R_II = B_II⁻¹, then R_IJ = −R_II Σ_{J ≤ K < I} B_IK R_KJ, by tiles. A block of rows of B is read for
// the same rows of R only, from left to right: R takes its place.
inline void invert(Int tiles, double *b) {
    for (Int block = 0; block < tiles; ++block) {
        double *rows = b + row_block_start(block) * L, *diagonal = rows + block * SQUARE * L;
        V corner[TILE][TILE];
        UNROLL for (int c = 0; c < TILE; ++c)
            UNROLL for (int r = c; r < TILE; ++r) corner[r][c] = load(diagonal + (c * TILE + r) * L);
        invert_triangle(corner);
        UNROLL for (int c = 0; c < TILE; ++c)
            UNROLL for (int r = c; r < TILE; ++r) store(diagonal + (c * TILE + r) * L, corner[r][c]);
        for (Int left = 0; left < block; ++left) {
            V tile[TILE][TILE];
            clear(tile);
            for (Int K = left; K < block; ++K) {
                const double *factors = rows + K * SQUARE * L, *known = b + (row_block_start(K) + left * SQUARE) * L;
                UNROLL for (int k = 0; k < TILE; ++k) {
                    V m[TILE];
                    UNROLL for (int c = 0; c < TILE; ++c) m[c] = load(known + (c * TILE + k) * L);
                    UNROLL for (int r = 0; r < TILE; ++r) {
                        const V factor = load(factors + (k * TILE + r) * L);
                        UNROLL for (int c = 0; c < TILE; ++c) tile[r][c] += factor * m[c];
                    }
                }
            }
            UNROLL for (int c = 0; c < TILE; ++c)
                UNROLL for (int r = 0; r < TILE; ++r) {
                    V value = corner[r][0] * tile[0][c];
                    UNROLL for (int k = 1; k <= r; ++k) value += corner[r][k] * tile[k][c];
                    store(rows + (left * SQUARE + c * TILE + r) * L, -value);
                }
        }
    }
}

// ---- The lower triangle of W in registers, for matrices so small that loops do not pay.
template <int N, bool PAIRED> INLINE void gram_in_registers(bool inverted, const double *x, const double *y, V (&W)[N][N]) {
    constexpr Int tiles = tile_count(N);
    V B[N][N];
    UNROLL for (int r = 0; r < N; ++r)
        UNROLL for (int c = 0; c <= r; ++c) {
            V total = entry<PAIRED>(x, slot_by_rows(r, c)) * load(y + slot_by_columns(c, c, tiles) * L);
            UNROLL for (int k = c + 1; k <= r; ++k)
                total += entry<PAIRED>(x, slot_by_rows(r, k)) * load(y + slot_by_columns(k, c, tiles) * L);
            B[r][c] = total;
        }
    if (inverted) invert_triangle(B);
    UNROLL for (int r = 0; r < N; ++r)
        UNROLL for (int c = 0; c <= r; ++c) {
            W[r][c] = B[r][0] * B[c][0];
            UNROLL for (int k = 1; k <= c; ++k) W[r][c] += B[r][k] * B[c][k];
        }
}

}  // namespace spdatoms::whitening
