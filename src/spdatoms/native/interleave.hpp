// Storage for the lane kernels: the lower triangle in tile order, matrices side by side.
//
// The rows of an n×n matrix are cut into a first block of n mod TILE rows and further blocks of TILE rows. A block holds, for
// every column up to its last diagonal one, its entries of that column:
//
//     for block: for column k in 0 … last column of the block: for row r of the block: A[r, k]
//
// A factorisation by tiles then reads every operand front to back. The odd block comes first because its tiles have no
// inner product to wait for: the work it wastes is negligible. A *batch* is LANES matrices, entry by entry side by side.
#pragma once

#include "vector.hpp"

namespace spdatoms {

// The first slot of tile row number `block`; 0 is the first one of full height.
constexpr Int row_block_start(Int block, Int odd) {
    return odd * odd + block * TILE * odd + block * (block + 1) / 2 * TILE * TILE;
}
constexpr Int slot_count(Int n) { return row_block_start(n / TILE, n % TILE); }

// Slot s of lane l becomes factor·X[chosen[l]][entries[s]], where the matrices X have `size` entries each.
template <class T>
inline void gather(const T *X, Int size, const Int *chosen, const Int *entries, Int slots, double factor, T *batch) {
    for (Int s = 0; s < slots; ++s, batch += LANES<T>)
        UNROLL for (int l = 0; l < LANES<T>; ++l) batch[l] = T(X[chosen[l] * size + entries[s]] * factor);
}

// Where blocks of LANES entries begin; the last may overlap the one before.
template <class T, class F> INLINE void for_blocks(Int count, F f) {
    for (Int first = 0; first + LANES<T> <= count; first += LANES<T>) f(first);
    if (count % LANES<T>) f(count - LANES<T>);
}

// Entry e of factor·X[chosen[l]] goes to lane l of vector places[e], for all of `size` entries e.
template <class T> inline void scatter(const T *X, Int size, const Int *chosen, const Int *places, T factor, T *batch) {
    const T *rows[LANES<T>];
    UNROLL for (int l = 0; l < LANES<T>; ++l) rows[l] = X + chosen[l] * size;
    if (size < LANES<T>)
        for (Int e = 0; e < size; ++e)
            UNROLL for (int l = 0; l < LANES<T>; ++l) batch[places[e] * LANES<T> + l] = rows[l][e] * factor;
    else
        for_blocks<T>(size, [&](Int first) __attribute__((always_inline)) {
            Vector<T> block[LANES<T>];
            UNROLL for (int l = 0; l < LANES<T>; ++l) block[l] = load(rows[l] + first);
            transpose(block);
            UNROLL for (int e = 0; e < LANES<T>; ++e) store(batch + places[first + e] * LANES<T>, block[e] * factor);
        });
}

// Entry p of row l, rows that are `stride` numbers apart, becomes scales[p] times lane l of vector places[p], for all
// of `count` entries p.
template <class T>
inline void collect(const T *batch, const Int *places, const T *scales, Int count, T *rows, Int stride) {
    if (count < LANES<T>)
        for (Int p = 0; p < count; ++p)
            UNROLL for (int l = 0; l < LANES<T>; ++l)
                rows[l * stride + p] = batch[places[p] * LANES<T> + l] * scales[p];
    else
        for_blocks<T>(count, [&](Int first) __attribute__((always_inline)) {
            Vector<T> block[LANES<T>];
            UNROLL for (int p = 0; p < LANES<T>; ++p)
                block[p] = load(batch + places[first + p] * LANES<T>) * scales[first + p];
            transpose(block);
            UNROLL for (int l = 0; l < LANES<T>; ++l) store(rows + l * stride + first, block[l]);
        });
}

}  // namespace spdatoms
