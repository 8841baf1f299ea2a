// Dense algebra of one small matrix at a time: Cholesky factors, their inverses, products, half-vectors.
//
// For the sizes of SPD descriptors a call of LAPACK costs more than the arithmetic. Matrices are (n, n) and in C order; a
// Cholesky factor is the upper one, A = UᵀU, so that inner loops run along rows. Half-vectors have the weight √2 off the
// diagonal.
#pragma once

#include <cmath>

#include "eight.hpp"

namespace spdatoms {

constexpr double ROOT_TWO = 1.4142135623730951;

// Memory that is handed out piece by piece.
struct Room {
    double *next;
    INLINE double *take(Int count) {
        double *const first = next;
        next += count;
        return first;
    }
};

INLINE double dot(const double *x, const double *y, Int n) {
    Part sums = {}, others = {};
    Int k = 0;
    for (; k + 2 * WIDTH <= n; k += 2 * WIDTH) {
        sums += load(x + k) * load(y + k);
        others += load(x + k + WIDTH) * load(y + k + WIDTH);
    }
    for (; k + WIDTH <= n; k += WIDTH) sums += load(x + k) * load(y + k);
    sums += others;
    double result = 0.0;
    UNROLL for (int l = 0; l < WIDTH; ++l) result += sums[l];
    for (; k < n; ++k) result += x[k] * y[k];
    return result;
}

// y += factor·x
INLINE void add_multiple(double factor, const double *__restrict x, Int n, double *__restrict y) {
    for (Int k = 0; k < n; ++k) y[k] += factor * x[k];
}

INLINE void set_zero(double *x, Int n) { std::memset(x, 0, n * sizeof(double)); }

// Write the half-vector of a symmetric matrix, of which the lower half is read.
inline void pack(const double *A, Int n, double *half) {
    for (Int i = 0; i < n; ++i) {
        for (Int j = 0; j < i; ++j) *half++ = ROOT_TWO * A[i * n + j];
        *half++ = A[i * n + i];
    }
}

// Write the symmetric matrix of a half-vector.
inline void unpack(const double *half, Int n, double *A) {
    for (Int i = 0; i < n; ++i) {
        for (Int j = 0; j < i; ++j) A[i * n + j] = A[j * n + i] = *half++ / ROOT_TWO;
        A[i * n + i] = *half++;
    }
}

// Write the U of A + tB = UᵀU; whether that is positive definite.
inline bool factorise_sum(const double *A, double t, const double *B, Int n, double *U) {
    for (Int i = 0; i < n; ++i) {
        double *const row = U + i * n;
        for (Int j = 0; j < i; ++j) row[j] = 0.0;
        for (Int j = i; j < n; ++j) row[j] = A[i * n + j] + t * B[i * n + j];
        for (Int k = 0; k < i; ++k) add_multiple(-U[k * n + i], U + k * n + i, n - i, row + i);
        if (!(row[i] > 0.0)) return false;
        const double reciprocal = 1.0 / std::sqrt(row[i]);
        for (Int j = i; j < n; ++j) row[j] *= reciprocal;
    }
    return true;
}

inline bool factorise(const double *A, Int n, double *U) { return factorise_sum(A, 0.0, A, n, U); }

// Write T = U⁻ᵀ, row by row, and TᵀT, the inverse of UᵀU.
inline void invert(const double *U, Int n, double *T, double *inverse) {
    set_zero(T, n * n);
    set_zero(inverse, n * n);
    for (Int i = 0; i < n; ++i) {
        double *const row = T + i * n;
        const double reciprocal = 1.0 / U[i * n + i];
        for (Int k = 0; k < i; ++k) add_multiple(-U[k * n + i], T + k * n, k + 1, row);
        row[i] = 1.0;
        for (Int j = 0; j <= i; ++j) row[j] *= reciprocal;
        for (Int k = 0; k <= i; ++k) add_multiple(row[k], row, i + 1, inverse + k * n);
    }
}

// log det(UᵀU)
inline double log_determinant(const double *U, Int n) {
    double sum = 0.0;
    for (Int i = 0; i < n; ++i) sum += std::log(U[i * n + i]);
    return 2.0 * sum;
}

// tr(AᵀB)
INLINE double inner_product(const double *A, const double *B, Int n) { return dot(A, B, n * n); }

// C = A + tB
INLINE void add(const double *A, double t, const double *B, Int n, double *C) {
    for (Int k = 0; k < n * n; ++k) C[k] = A[k] + t * B[k];
}

inline void set_identity(Int n, double *A) {
    set_zero(A, n * n);
    for (Int i = 0; i < n; ++i) A[i * n + i] = 1.0;
}

// C = AB
inline void multiply(const double *A, const double *B, Int n, double *C) {
    set_zero(C, n * n);
    for (Int i = 0; i < n; ++i)
        for (Int k = 0; k < n; ++k) add_multiple(A[i * n + k], B + k * n, n, C + i * n);
}

// C = AᵀB
inline void multiply_transposed(const double *A, const double *B, Int n, double *C) {
    set_zero(C, n * n);
    for (Int k = 0; k < n; ++k)
        for (Int i = 0; i < n; ++i) add_multiple(A[k * n + i], B + k * n, n, C + i * n);
}

// D = ½(ABC + CBA) for symmetric A, B and C.
inline void multiply_symmetric(const double *A, const double *B, const double *C, Int n, double *D, double *work) {
    multiply(A, B, n, D);
    multiply(D, C, n, work);
    for (Int i = 0; i < n; ++i)
        for (Int j = 0; j < n; ++j) D[i * n + j] = 0.5 * (work[i * n + j] + work[j * n + i]);
}

}  // namespace spdatoms
