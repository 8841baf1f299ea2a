// Qᵀ W Q = T: a batch of symmetric matrices made tridiagonal by reflections, one matrix per lane.
//
// Step k reflects row k of the leading matrix A onto its last entry, H = I − τ u uᵀ, and
//
//     H A H = A − u wᵀ − w uᵀ    with    p = τ A u,  w = p − (τ/2)(pᵀu) u.
//
// The update of one step and the product A u of the next are made in one pass over A: only the next row, which gives u,
// must be updated before. So every entry is loaded and stored once a step, for four multiply-adds. Rows go from the last
// to the first because the lower triangle is stored row after row: what is left to do is then always the beginning of
// the storage. What is wanted are the diagonal d and the squares e² of the off-diagonal; u and τ take the place of the rows.
#pragma once

#include "vector.hpp"

namespace spdatoms {

// A number whose reciprocal is finite.
constexpr double TINY_NUMBER = 1e-300;

// d[i], and e²[i] between i and i + 1, of matrices whose numbers lie `stride` apart.
struct Tridiagonal {
    double *base;
    Int stride;
    INLINE double *d(Int i) const { return base + 2 * i * stride; }
    INLINE double *e2(Int i) const { return base + (2 * i + 1) * stride; }
};

namespace tridiagonal {

using V = Vector<double>;
constexpr Int L = LANES<double>;

// The last entry of u, τ and ‖row‖², of a row with this last entry and Σ a² of the others.
struct Reflection {
    V u, tau, norm2;
    INLINE Reflection(V squares, V last) {
        norm2 = last * last + squares;
        const V norm = sqrt(norm2), half = absolute(last) * norm + norm2;  // ‖u‖²/2
        // A row of zeros needs no reflection: u = 0, and τ is any finite number.
        tau = reciprocal(greatest(half, fill(TINY_NUMBER)));
        u = last + copysign(norm, last);
    }
};

INLINE V half_square(V tau, V product) { return tau * 0.5 * (tau * product); }
INLINE V updated_diagonal(V a, V v, V w) { return a - (v + v) * w; }

// v and w (the pending update), u (the next reflection) and p = A u: entries of one index lie side by side.
struct Reflections {
    double *matrix, *panel;
    INLINE double *v(Int i) const { return panel + 4 * i * L; }
    INLINE double *w(Int i) const { return panel + (4 * i + 1) * L; }
    INLINE double *u(Int i) const { return panel + (4 * i + 2) * L; }
    INLINE double *p(Int i) const { return panel + (4 * i + 3) * L; }
    INLINE double *row(Int i) const { return matrix + i * (i + 1) / 2 * L; }

    // Update row k, find u and return τ; d[k] and e²[k − 1] are then known.
    INLINE V next_reflection(Int k, const Tridiagonal &out) const {
        const V v_k = load(v(k)), w_k = load(w(k));
        double *entries = row(k);
        const auto updated = [&](Int j) { return load(entries + j * L) - w_k * load(v(j)) - v_k * load(w(j)); };
        V squares = {};
        for (Int j = 0; j < k - 1; ++j) {
            const V entry = updated(j);
            store(u(j), entry);
            store(entries + j * L, entry);
            squares += entry * entry;
        }
        const Reflection found(squares, updated(k - 1));
        store(u(k - 1), found.u);
        store(entries + (k - 1) * L, found.u);
        store(out.e2(k - 1), found.norm2);
        store(out.d(k), updated_diagonal(load(entries + k * L), v_k, w_k));
        store(entries + k * L, found.tau);
        return found.tau;
    }

    // A ← A − v wᵀ − w vᵀ and p = A u in rows i and i + 1, and in what they add to the p before.
    INLINE void two_rows(Int i) const {
        double *upper = row(i), *lower = row(i + 1);
        const V v_0 = load(v(i)), w_0 = load(w(i)), u_0 = load(u(i));
        const V v_1 = load(v(i + 1)), w_1 = load(w(i + 1)), u_1 = load(u(i + 1));
        V p_0 = {}, p_1 = {};
        for (Int j = 0; j < i; ++j) {
            const V v_j = load(v(j)), w_j = load(w(j)), u_j = load(u(j));
            const V a_0 = load(upper + j * L) - w_0 * v_j - v_0 * w_j, a_1 = load(lower + j * L) - w_1 * v_j - v_1 * w_j;
            store(upper + j * L, a_0);
            store(lower + j * L, a_1);
            p_0 += a_0 * u_j;
            p_1 += a_1 * u_j;
            store(p(j), load(p(j)) + a_0 * u_0 + a_1 * u_1);
        }
        const V a_00 = updated_diagonal(load(upper + i * L), v_0, w_0);
        const V a_10 = load(lower + i * L) - w_1 * v_0 - v_1 * w_0;
        const V a_11 = updated_diagonal(load(lower + (i + 1) * L), v_1, w_1);
        store(upper + i * L, a_00);
        store(lower + i * L, a_10);
        store(lower + (i + 1) * L, a_11);
        store(p(i), p_0 + a_00 * u_0 + a_10 * u_1);
        store(p(i + 1), p_1 + a_10 * u_0 + a_11 * u_1);
    }

    // The same for the leading k×k matrix.
    INLINE void update_and_multiply(Int k) const {
        if (k % 2) {
            const V a = updated_diagonal(load(matrix), load(v(0)), load(w(0)));
            store(matrix, a);
            store(p(0), a * load(u(0)));
        }
        for (Int i = k % 2; i < k; i += 2) two_rows(i);
    }

    // v ← u and w ← τ p − (τ²/2)(pᵀu) u.
    INLINE void pending_update(Int k, V tau) const {
        V product = {};
        for (Int j = 0; j < k; ++j) product += load(u(j)) * load(p(j));
        const V factor = half_square(tau, product);
        for (Int j = 0; j < k; ++j) {
            const V u_j = load(u(j));
            store(v(j), u_j);
            store(w(j), tau * load(p(j)) - factor * u_j);
        }
    }
};

// Reduce the n×n matrices at `matrix`, which has room for two rows and is overwritten: by u and, on its diagonal, τ of
// the reflection of every row. `panel` has room for 4n vectors, and for eight.
inline void reduce(Int n, double *matrix, double *panel, const Tridiagonal &out) {
    const Reflections work{matrix, panel};
    for (Int i = 0; i < 4 * (n > 2 ? n : 2); ++i) store(panel + i * L, V{});
    for (Int k = n - 1; k > 1; --k) {
        const V tau = work.next_reflection(k, out);
        work.update_and_multiply(k);
        work.pending_update(k, tau);
    }
    const V v_0 = load(work.v(0)), w_0 = load(work.w(0)), v_1 = load(work.v(1)), w_1 = load(work.w(1));
    const V e = load(matrix + L) - w_1 * v_0 - v_1 * w_0;
    store(out.d(0), updated_diagonal(load(matrix), v_0, w_0));
    store(out.d(1), updated_diagonal(load(matrix + 2 * L), v_1, w_1));
    store(out.e2(0), e * e);
    store(matrix + L, -e);
}

// −e[j] of T: the last entry of u has its sign.
INLINE V negative_e(const Tridiagonal &T, const double *reflections, Int j) {
    return copysign(sqrt(load(T.e2(j))), load(reflections + ((j + 1) * (j + 2) / 2 + j) * L));
}

// A ← Q A Qᵀ, given the lower triangle of A row after row, with the reflections that `reduce` left.
inline void transform_back(Int n, double *reflections, double *matrix, double *panel) {
    const Reflections work{matrix, panel}, source{reflections, panel};
    for (Int i = 0; i < 4 * n; ++i) store(panel + i * L, V{});
    for (Int k = 2; k < n; ++k) {
        const double *u = source.row(k);
        const V tau = load(u + k * L);
        for (Int j = 0; j < k; ++j) store(work.u(j), load(u + j * L));
        for (Int i = k; i < n; ++i) {
            V product = {};
            for (Int j = 0; j < k; ++j) product += load(work.row(i) + j * L) * load(u + j * L);
            product *= tau;
            for (Int j = 0; j < k; ++j) store(work.row(i) + j * L, load(work.row(i) + j * L) - product * load(u + j * L));
        }
        work.update_and_multiply(k);
        work.pending_update(k, tau);
    }
    if (n > 2) work.update_and_multiply(n - 1);
}

// The same for small matrices, given by their lower triangles, which are overwritten.
template <int N> INLINE void reduce_in_registers(V (&A)[N][N], const Tridiagonal &out) {
    UNROLL for (int k = N - 1; k > 1; --k) {
        V squares = {}, u[N], p[N], w[N], product = {};
        UNROLL for (int j = 0; j < k - 1; ++j) squares += A[k][j] * A[k][j], u[j] = A[k][j];
        const Reflection found(squares, A[k][k - 1]);
        u[k - 1] = found.u;
        store(out.d(k), A[k][k]);
        store(out.e2(k - 1), found.norm2);
        UNROLL for (int i = 0; i < k; ++i) {
            p[i] = V{};
            UNROLL for (int j = 0; j < k; ++j) p[i] += (i > j ? A[i][j] : A[j][i]) * u[j];
            product += u[i] * p[i];
        }
        const V factor = half_square(found.tau, product);
        UNROLL for (int j = 0; j < k; ++j) w[j] = found.tau * p[j] - factor * u[j];
        UNROLL for (int i = 0; i < k; ++i) UNROLL for (int j = 0; j <= i; ++j) A[i][j] = A[i][j] - w[i] * u[j] - u[i] * w[j];
    }
    UNROLL for (int i = 0; i < (N < 2 ? N : 2); ++i) store(out.d(i), A[i][i]);
    if constexpr (N > 1) store(out.e2(0), A[1][0] * A[1][0]);
}

}  // namespace tridiagonal
}  // namespace spdatoms
