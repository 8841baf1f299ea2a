// G V = U σ for a batch of matrices G, one per lane: columns are turned, two at a time, until all are orthogonal.
//
// With a Cholesky factor, or L⁻¹M of two, as G these are the eigenvalues σ² and eigenvectors U of G Gᵀ, with a small relative
// error of every σ, however small it is (Drmač and Veselić). The σ are in no order. Matrices are stored column after column.
#pragma once

#include "interleave.hpp"

namespace spdatoms::jacobi {

using V = Vector<double>;
constexpr Int L = LANES<double>;
constexpr int SWEEPS = 40;  // after which the iteration is given up; seven are usual

struct Columns {
    double *base;
    Int n;
    INLINE double *at(Int r, Int c) const { return base + (c * n + r) * L; }
    INLINE V operator()(Int r, Int c) const { return load(at(r, c)); }
};

// Replace A, of which the lower triangle is read, by its lower triangular factor; NaN if it is not positive definite.
NOINLINE inline void factorise(Columns A) {
    for (Int c = 0; c < A.n; ++c) {
        for (Int r = 0; r < c; ++r) store(A.at(r, c), V{});
        for (Int k = 0; k < c; ++k) {
            const V factor = A(c, k);
            for (Int r = c; r < A.n; ++r) store(A.at(r, c), A(r, c) - factor * A(r, k));
        }
        const V pivot = A(c, c), inverse = reciprocal(sqrt(pivot > 0.0 ? pivot : fill(NOT_A_NUMBER<double>)));
        for (Int r = c; r < A.n; ++r) store(A.at(r, c), A(r, c) * inverse);
    }
}

// G ← F⁻¹G for a lower triangular F; G is triangular, too, or not.
NOINLINE inline void solve(Columns F, Columns G, bool triangular) {
    for (Int k = 0; k < G.n; ++k) {
        const V inverse = reciprocal(F(k, k));
        for (Int c = 0; c < (triangular ? k + 1 : G.n); ++c) {
            const V solved = G(k, c) * inverse;
            store(G.at(k, c), solved);
            for (Int r = k + 1; r < G.n; ++r) store(G.at(r, c), G(r, c) - solved * F(r, k));
        }
    }
}

// C = A B, where A may be lower triangular, or A Bᵀ, which is symmetric: by tiles, whose sums stay in registers.
class Product {
    const Columns A, B, C;
    const bool transposed, triangular;

    template <int ROWS, int COLUMNS> INLINE void tile(Int r, Int c) const {
        const Int last = triangular ? r + ROWS : A.n;
        V sums[ROWS][COLUMNS] = {};
        for (Int k = 0; k < last; ++k) {
            V rows[ROWS];
            UNROLL for (int i = 0; i < ROWS; ++i) rows[i] = A(r + i, k);
            UNROLL for (int j = 0; j < COLUMNS; ++j) {
                const V factor = transposed ? B(c + j, k) : B(k, c + j);
                UNROLL for (int i = 0; i < ROWS; ++i) sums[i][j] += rows[i] * factor;
            }
        }
        UNROLL for (int j = 0; j < COLUMNS; ++j)
            UNROLL for (int i = 0; i < ROWS; ++i) store(C.at(r + i, c + j), sums[i][j]);
    }

    template <int ROWS, int COLUMNS> INLINE void rows_from(Int r, Int c) const {
        for (; r + ROWS <= A.n; r += ROWS) tile<ROWS, COLUMNS>(r, c);
        if constexpr (ROWS > 1) rows_from<ROWS / 2, COLUMNS>(r, c);
    }

  public:
    Product(Columns A, Columns B, bool transposed, bool triangular, Columns C)
        : A(A), B(B), C(C), transposed(transposed), triangular(triangular) {}

    template <int COLUMNS> INLINE void columns_from(Int c) const {
        for (; c + COLUMNS <= A.n; c += COLUMNS) rows_from<TILE, COLUMNS>(transposed ? c : 0, c);
        if constexpr (COLUMNS > 1) columns_from<COLUMNS / 2>(c);
    }
};

NOINLINE inline void multiply(Columns A, Columns B, bool transposed, bool triangular, Columns C) {
    Product(A, B, transposed, triangular, C).columns_from<TILE>(0);
    for (Int c = 0; transposed && c < A.n; ++c)
        for (Int r = c; r < A.n; ++r) store(C.at(c, r), C(r, c));
}

INLINE void transpose(Columns A, Columns transposed) {
    for (Int c = 0; c < A.n; ++c)
        for (Int r = 0; r <= c; ++r) {
            const V above = A(r, c), below = A(c, r);
            store(transposed.at(r, c), below);
            store(transposed.at(c, r), above);
        }
}

INLINE V dot(Columns G, Int p, Int q) {
    V even = {}, odd = {};
    for (Int r = 0; r + 2 <= G.n; r += 2) {
        even += G(r, p) * G(r, q);
        odd += G(r + 1, p) * G(r + 1, q);
    }
    if (G.n % 2) even += G(G.n - 1, p) * G(G.n - 1, q);
    return even + odd;
}

// Make columns p and q orthogonal, unless they are in all lanes; return whether they were not in one.
INLINE bool turn(Columns G, double *squares, Int p, Int q) {
    constexpr double EPS = std::numeric_limits<double>::epsilon();
    const V a = load(squares + p * L), b = load(squares + q * L), c = dot(G, p, q), one = fill(1.0);
    const auto large = c * c > 4.0 * double(G.n) * EPS * EPS * (a * b);  // a sum of n products has such an error
    if (!anywhere(large)) return false;
    const V ratio = 0.5 * (b - a) / (large ? c : one);
    V tangent = copysign(reciprocal(absolute(ratio) + sqrt(ratio * ratio + 1.0)), ratio);
    tangent = large ? tangent : V{};
    const V cosine = reciprocal(sqrt(tangent * tangent + 1.0)), sine = tangent * cosine;
    for (Int r = 0; r < G.n; ++r) {
        const V x = G(r, p), y = G(r, q);
        store(G.at(r, p), cosine * x - sine * y);
        store(G.at(r, q), cosine * y + sine * x);
    }
    store(squares + p * L, a - tangent * c);
    store(squares + q * L, b + tangent * c);
    return true;
}

// Make all columns orthogonal, and write σ²; NaN if the iteration does not end.
NOINLINE inline void orthogonalise(Columns G, double *squares) {
    // As in a tournament: pairs that follow each other have no column in common, so that their operations overlap.
    const Int rounds = G.n - 1 + G.n % 2;
    bool turned = true;
    for (int sweep = 0; sweep < SWEEPS && turned; ++sweep) {
        turned = false;
        for (Int k = 0; k < G.n; ++k) store(squares + k * L, dot(G, k, k));
        for (Int k = 0; k < rounds; ++k) {
            if (rounds < G.n) turned |= turn(G, squares, k, rounds);
            for (Int i = 1; i <= rounds / 2; ++i) turned |= turn(G, squares, (k + i) % rounds, (k - i + rounds) % rounds);
        }
    }
    for (Int k = 0; k < G.n; ++k) store(squares + k * L, turned ? fill(NOT_A_NUMBER<double>) : dot(G, k, k));
}

INLINE V logarithm(V x) {
    V mantissa, exponent;
    split(x, mantissa, exponent);
    return log_of_split(mantissa, exponent) + x * 0.0;  // a NaN stays one
}

}  // namespace spdatoms::jacobi
