// The eigenvalues of symmetric tridiagonal matrices, one matrix per lane, by the root-free QL iteration.
//
// It is that of Pal, Walker and Kahan, with Wilkinson's shift: the squares e² of the off-diagonal go to zero from the top.
// All lanes make the same sweeps: the iteration goes on to the next eigenvalue when every lane has found this one, and a
// lane that is ahead already shifts towards its next. A sweep is a chain of dependent divisions, so a GROUP of batches is
// swept together. An eigenvalue is wrong by a few eps·λ_max.
#pragma once

#include "tridiagonal.hpp"

namespace spdatoms {

constexpr int GROUP = 4;

namespace eigenvalues {

using V = Vector<double>;
constexpr Int L = LANES<double>;
constexpr Int SWEEPS = 30;  // QL sweeps per eigenvalue, on average, after which the iteration is given up
constexpr double EPSILON = 0x1p-52, SMALLEST_COSINE = 1e-200;

// The eigenvalue nearest to d[i] of the 2×2 matrix at i: the first row, or the next where that is done.
INLINE V shift_of(Int first, const Tridiagonal &T, int g) {
    const V d_0 = load(T.d(first) + g * L), d_1 = load(T.d(first + 1) + g * L), d_2 = load(T.d(first + 2) + g * L);
    const V e_0 = load(T.e2(first) + g * L), e_1 = load(T.e2(first + 1) + g * L);
    const V a = e_0 > 0.0 ? d_0 : d_1, b = e_0 > 0.0 ? d_1 : d_2, square = e_0 > 0.0 ? e_0 : e_1;
    const V half = (b - a) * 0.5, root = sqrt(half * half + square);
    return a - copysign(square / greatest(absolute(half) + root, fill(TINY_NUMBER)), half);
}

// One QL sweep, from the last row up to the first. It is the inner loop of LAPACK's sterf: c and s are squares of cosine
// and sine. Where c vanishes, γ²/c is replaced by its limit; γ² is kept from vanishing, so that c = 1 where e² = 0.
NOINLINE inline void sweep(Int n, Int first, const Tridiagonal T) {
    const V floor = fill(TINY_NUMBER);
    V shift[GROUP], cosine[GROUP], sine[GROUP], gamma[GROUP], p[GROUP];
    UNROLL for (int g = 0; g < GROUP; ++g) {
        shift[g] = shift_of(first, T, g);
        cosine[g] = fill(1.0), sine[g] = V{};
        gamma[g] = load(T.d(n - 1) + g * L) - shift[g];
        p[g] = greatest(gamma[g] * gamma[g], floor);
    }
    for (Int i = n - 2; i >= first; --i)
        UNROLL for (int g = 0; g < GROUP; ++g) {
            const V e2 = load(T.e2(i) + g * L), d = load(T.d(i) + g * L), r = p[g] + e2;
            store(T.e2(i + 1) + g * L, sine[g] * r);
            const V inverse = reciprocal(r), limit = cosine[g] * e2, ratio = r / p[g];
            const V c = p[g] * inverse, s = e2 * inverse, old = gamma[g];
            gamma[g] = c * (d - shift[g]) - s * old;
            store(T.d(i + 1) + g * L, old + (d - gamma[g]));
            p[g] = greatest(c > SMALLEST_COSINE ? gamma[g] * gamma[g] * ratio : limit, floor);
            cosine[g] = c, sine[g] = s;
        }
    UNROLL for (int g = 0; g < GROUP; ++g) {
        store(T.e2(first) + g * L, sine[g] * p[g]);
        store(T.d(first) + g * L, shift[g] + gamma[g]);
    }
}

// Set negligible e² of a row to zero; whether one is left.
INLINE bool unfinished(Int first, const Tridiagonal &T) {
    bool left = false;
    UNROLL for (int g = 0; g < GROUP; ++g) {
        const V e2 = load(T.e2(first) + g * L), d = load(T.d(first) + g * L), next = load(T.d(first + 1) + g * L);
        const auto large = e2 > absolute(d * next) * (EPSILON * EPSILON);
        store(T.e2(first) + g * L, large ? e2 : V{});
        left |= anywhere(large);
    }
    return left;
}

// Replace the last two d by the eigenvalues of their 2×2 matrix.
INLINE void last_two(Int n, const Tridiagonal &T) {
    UNROLL for (int g = 0; g < GROUP; ++g) {
        const V a = load(T.d(n - 2) + g * L), b = load(T.d(n - 1) + g * L), e2 = load(T.e2(n - 2) + g * L);
        const V difference = (a - b) * 0.5, greater = (a + b) * 0.5 + sqrt(difference * difference + e2);
        store(T.d(n - 2) + g * L, greater);
        store(T.d(n - 1) + g * L, (a * b - e2) / greater);
    }
}

// Replace d by the eigenvalues, the first by NaN in lanes where the iteration did not end.
inline void diagonalise(Int n, const Tridiagonal T) {
    if (n < 2) return;
    Int budget = n * SWEEPS;
    for (Int first = 0; first < n - 2; ++first)
        for (; unfinished(first, T) && budget > 0; --budget) sweep(n, first, T);
    last_two(n, T);
    UNROLL for (int g = 0; g < GROUP; ++g) {
        V residue = {};
        for (Int i = 0; i < n - 2; ++i) residue += load(T.e2(i) + g * L);
        store(T.d(0) + g * L, residue < TINY_NUMBER ? load(T.d(0) + g * L) : fill(NOT_A_NUMBER<double>));
    }
}

}  // namespace eigenvalues
}  // namespace spdatoms
