// L x = K_A,new for eight new atoms side by side, one per lane.
//
// A panel holds x of all eight: row q has their entries q. So an entry of L is loaded once for eight products, and no
// sum runs across lanes.
#pragma once

#include <cmath>

#include "eight.hpp"

namespace spdatoms {

constexpr Int PANEL = 8;  // atoms that are appended together

// Σ_q left[r][q·stride]·panel[q] for every r
template <int R>
INLINE void sum_products(const double *const (&left)[R], Int stride, const double *panel, Int begin, Int end,
                         Eight (&sums)[R]) {
    UNROLL for (int r = 0; r < R; ++r) sums[r] = every(0.0);
    for (Int q = begin; q < end; ++q) {
        const Eight x = load_eight(panel + q * PANEL);
        UNROLL for (int r = 0; r < R; ++r) sums[r] = sums[r] + left[r][q * stride] * x;
    }
}

// target[r] −= Σ_q left[r][q·stride]·panel[q]
template <int R>
INLINE void subtract_products(const double *const (&left)[R], Int stride, const double *panel, Int begin, Int end,
                              double *targets) {
    Eight sums[R];
    sum_products(left, stride, panel, begin, end, sums);
    UNROLL for (int r = 0; r < R; ++r) store(targets + r * PANEL, load_eight(targets + r * PANEL) - sums[r]);
}

// Solve for the rows first, first + 1, … of the panel, given these rows of L and what is before them.
template <int R>
INLINE void eliminate(const double *const (&left)[R], double *panel, Int first, const double *reciprocal) {
    Eight solved[R];
    sum_products(left, 1, panel, 0, first, solved);
    double *const target = panel + first * PANEL;
    UNROLL for (int r = 0; r < R; ++r) {
        Eight rest = load_eight(target + r * PANEL) - solved[r];
        UNROLL for (int s = 0; s < r; ++s) rest = rest - left[r][first + s] * solved[s];
        solved[r] = reciprocal[first + r] * rest;
        store(target + r * PANEL, solved[r]);
    }
}

// panel[q][lane] = rows[lane][indices[q]]
inline NOINLINE void fill_panel(const double *const *rows, const Int *indices, Int count, double *panel) {
    const double *const r0 = rows[0], *const r1 = rows[1], *const r2 = rows[2], *const r3 = rows[3];
    const double *const r4 = rows[4], *const r5 = rows[5], *const r6 = rows[6], *const r7 = rows[7];
    for (Int q = 0; q < count; ++q) {
        const Int j = indices[q];
        const double x[8] = {r0[j], r1[j], r2[j], r3[j], r4[j], r5[j], r6[j], r7[j]};
        store(panel + q * PANEL, gathered([&](int l) { return x[l]; }));
    }
}

// Write eight rows of a panel as columns: lane p to targets[p][begin], targets[p][begin + 1], …
INLINE void write_columns(const double *panel, double *const *targets, Int begin) {
    UNROLL for (int p = 0; p < 8; p += WIDTH)
        UNROLL for (int q = 0; q < 8; q += WIDTH) {
            Part rows[WIDTH];
            UNROLL for (int i = 0; i < WIDTH; ++i) rows[i] = load(panel + (q + i) * PANEL + p);
            transpose(rows);
            UNROLL for (int i = 0; i < WIDTH; ++i) store(targets[p + i] + begin + q, rows[i]);
        }
}

// The end of a panel: the Schur complement of its atoms.
struct Corner {
    double squares[PANEL * PANEL];
    double floors[PANEL];  // the least squared pivots of atoms that depend on no others
    double pivots[PANEL];  // squared
    double roots[PANEL];   // 1/√pivot
    double right[PANEL];   // one more column

    // Take off each row of the squares what the rows before it explain. The same is done with the column on the right,
    // which is then divided by √pivot: the factor's equations are solved for it. A row whose pivot is under its floor
    // explains nothing of the others.
    NOINLINE void factorise(Int count) {
        Eight rows[8], left = load_eight(right), found = every(1.0), solved = every(0.0);
        UNROLL for (int p = 0; p < 8; ++p) rows[p] = load_eight(squares + p * PANEL);
        UNROLL for (int p = 0; p < 8; ++p) {
            if (count <= p) break;
            const Eight pivot = every(lane(rows[p], p)), column = every(lane(left, p));
            set_lane(found, p, lane(rows[p], p));
            set_lane(solved, p, lane(left, p));
            const Part floor = fill(floors[p]), none = fill(INFINITE<double>);
            const Eight factors = rows[p] / each([&](int i) { return pivot.part[i] < floor ? none : pivot.part[i]; });
            UNROLL for (int q = p + 1; q < 8; ++q) rows[q] = rows[q] - lane(factors, q) * rows[p];
            left = left - column * factors;
            store(squares + p * PANEL, rows[p]);
        }
        store(pivots, found);
        for (int p = 0; p < 8; ++p) roots[p] = 1.0 / std::sqrt(pivots[p]);
        store(right, solved * load_eight(roots));
    }
};

}  // namespace spdatoms
