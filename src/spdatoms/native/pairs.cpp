// Divergences of pairs (A, B) that need no more than triangular factors, one pair per lane, with a verdict on both matrices.
//
// A = L D Lᵀ (batch.hpp), and det C = Π d_j/a_jj for the unit-diagonal C = a_ij / √(a_ii a_jj). The greatest n − 1
// eigenvalues of C add up to less than n, so λ_min(C) ≥ det C·((n−1)/n)^(n−1) ≥ det C/e: a determinant that is not tiny shows
// that a matrix is beyond doubt, and it needs no check of its own. Large matrices have tiny ones: of these the norms of
// M⁻¹ tell, where M has the diagonal of the factor of C and minus the absolute values of what is below, as
// 1/λ_min(C) ≤ ‖M⁻¹‖_1 ‖M⁻¹‖_∞. What both leave in doubt, validation.cpp tells.
//
// Sums of factors, which are means, have the same verdict.
#include <cmath>

#include "batch.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
constexpr Int L = LANES<double>;
// Variances within these limits, and their inverses, have squares that are numbers.
constexpr double LEAST = 1e-60, GREATEST = 1e60, EPS = std::numeric_limits<double>::epsilon();

// divergences/checked_pairs.py has the same.
enum Kind { STEIN, JEFFREY, BURG, CHOLESKY, LOG_CHOLESKY, EUCLIDEAN, COMPLEX_EUCLIDEAN };
constexpr Int DOUBTFUL = 1, OPEN = 2;

struct FactoredPairs {
    Int n, count, kind;
    double symmetry_tolerance, least_eigenvalue;  // an infinite tolerance: the matrices are trusted
    const double *A, *B;                          // (·, n, n)
    Int step_a, step_b;   // 1, or 0 if one matrix serves all
    double *out;
    Int *findings;  // DOUBTFUL if a matrix may be unfit, OPEN if the value may be wrong, 0 for most
};

INLINE V square(V x) { return x * x; }

// The logarithm of a product of many positive numbers.
struct LogProduct {
    V mantissa = fill(1.0), exponent = {};
    INLINE void include(V factor) {
        V taken;
        exponent += factor * 0.0;  // a NaN stays one
        split(mantissa * factor, mantissa, taken);
        exponent += taken;
    }
    INLINE V value() const { return log_of_split(mantissa, exponent); }
};

// tr(X Y⁻¹) = Σ d_c t_rc²/e_r with X = L D Lᵀ, Y = M E Mᵀ and T = M⁻¹L, column after column.
template <class B> INLINE V trace_of_ratio(const B &X, const B &Y, double *t) {
    V total = {};
    for (Int c = 0; c < X.size(); ++c) {
        V sum = Y.inverse(c);
        store(t + c * L, sum);
        for (Int r = c + 1; r < X.size(); ++r) {
            V entry = X.l(r, c);
            for (Int k = c; k < r; ++k) entry -= Y.u(r, k) * load(t + k * L);
            const V scaled = entry * Y.inverse(r);
            store(t + r * L, scaled);
            sum += entry * scaled;
        }
        total += sum / X.inverse(c);
    }
    return total;
}

// ‖L √D − M √E‖², or with log √d on the diagonal; 1/D is replaced by its root.
template <class B> INLINE V between_factors(const B &X, const B &Y, bool logarithms) {
    V total = {};
    for (Int k = 0; k < X.size(); ++k) {
        const V x = sqrt(X.inverse(k)), y = sqrt(Y.inverse(k));
        X.set_inverse(k, x);
        Y.set_inverse(k, y);
        LogProduct ratio;
        if (logarithms) ratio.include(y / x);
        total += square(logarithms ? ratio.value() : reciprocal(x) - reciprocal(y));
    }
    for (Int r = 1; r < X.size(); ++r)
        for (Int c = 0; c < r; ++c) total += square(X.u(r, c) * X.inverse(c) - Y.u(r, c) * Y.inverse(c));
    return total;
}

// What 1/det C may be, or the product of norms: 1/e of 1/λ_min.
INLINE double certain_below(Int n, double least_eigenvalue) {
    const double rounding = 2.0 * n * n * EPS, least = 2.0 * least_eigenvalue;
    return 0.367 / (least > rounding ? least : rounding);
}

// Which of the factorised matrices are beyond doubt; `t` is a column of memory.
template <class B> INLINE typename B::Mask are_certain(const B &A, double limit, double *t) {
    V ratio = fill(1.0), down = {}, across = {};
    for (Int k = 0; k < A.size(); ++k) ratio *= A.diagonal(k) * A.inverse(k);
    const auto fit = A.symmetric & A.positive, certain = fit & (ratio < limit);
    if (!anywhere(!certain)) return certain;
    for (Int r = 0; r < A.size(); ++r) {
        V sum = sqrt(A.diagonal(r));
        for (Int c = 0; c < r; ++c) sum += absolute(A.u(r, c)) * load(t + c * L);
        store(t + r * L, sum * A.inverse(r));
        down = greatest(down, sum * sqrt(A.inverse(r)));
    }
    for (Int c = A.size() - 1; c >= 0; --c) {
        V sum = sqrt(reciprocal(A.inverse(c)));
        for (Int r = c + 1; r < A.size(); ++r) sum += absolute(A.u(r, c)) * load(t + r * L);
        store(t + c * L, sum * A.inverse(c));
        across = greatest(across, sum * A.inverse(c) * sqrt(A.diagonal(c)));
    }
    return certain | (fit & (down * across < limit));
}

template <int N> Int divergences(const FactoredPairs &g) {
    Batch<N> X(g.n), Y(g.n), mean(g.n);
    Buffer<double> column(g.n * L);
    if (!X || !Y || !mean || !column) return NO_MEMORY;
    const double limit = certain_below(g.n, g.least_eigenvalue);
    Int all = 0;
    for (Int first = 0; first < g.count; first += L) {
        Int chosen_a[L], chosen_b[L];
        for (Int l = 0; l < L; ++l) {
            const Int pair = first + l < g.count ? first + l : g.count - 1;
            chosen_a[l] = pair * g.step_a, chosen_b[l] = pair * g.step_b;
        }
        X.take(g.A, chosen_a);
        Y.take(g.B, chosen_b);
        if (g.kind == STEIN) mean.take_mean(X, Y);
        X.factorise(1.0, g.symmetry_tolerance);
        Y.factorise(1.0, g.symmetry_tolerance);
        if (g.kind == STEIN) mean.factorise(1.0, g.symmetry_tolerance);
        const auto certain = are_certain(X, limit, column.data()) & are_certain(Y, limit, column.data());
        V value, greatest_diagonal = {};
        LogProduct ratio;  // of determinants
        for (Int k = 0; k < X.size(); ++k) {
            greatest_diagonal = greatest(X.diagonal(k), greatest(Y.diagonal(k), greatest_diagonal));
            if (g.kind == STEIN) ratio.include(X.inverse(k) * Y.inverse(k) / square(mean.inverse(k)));
            if (g.kind == BURG) ratio.include(X.inverse(k) / Y.inverse(k));
        }
        switch (g.kind) {
        case STEIN: value = 0.5 * ratio.value(); break;  // log det((A + B)/2) − ½ log det A − ½ log det B
        case BURG: value = trace_of_ratio(X, Y, column.data()) + ratio.value() - double(g.n); break;
        case JEFFREY:
            value = 0.5 * (trace_of_ratio(X, Y, column.data()) + trace_of_ratio(Y, X, column.data())) - double(g.n);
            break;
        default: value = between_factors(X, Y, g.kind == LOG_CHOLESKY);
        }
        const auto answered = (X.least_diagonal > LEAST) & (Y.least_diagonal > LEAST) & (greatest_diagonal < GREATEST) & (value < INFINITE<double>);
        value = greatest(value, V{} + value * 0.0);
        for (Int l = 0; l < L && first + l < g.count; ++l) {
            g.out[first + l] = value[l];
            all |= g.findings[first + l] = (certain[l] ? 0 : DOUBTFUL) + (answered[l] ? 0 : OPEN);
        }
    }
    return all;
}

template <int PART> struct EverySecond {
    constexpr int operator()(int l) const { return 2 * l + PART; }
};

// The real or imaginary part of a square block at (i, j), row after row; PARTS is 2 for complex numbers.
template <int PARTS, int PART> INLINE void load_block(const double *A, Int n, Int i, Int j, V *rows) {
    UNROLL for (int r = 0; r < L; ++r) {
        const double *first = A + ((i + r) * n + j) * PARTS;
        if constexpr (PARTS == 1)
            rows[r] = load(first);
        else
            rows[r] = shuffle(load(first), load(first + L), EverySecond<PART>{});
    }
}

// Σ |x_ij − x_ji|, or + for the imaginary part, of blocks that mirror each other.
template <int PARTS, int PART> INLINE V asymmetry_of_blocks(const double *A, Int n, Int i, Int j) {
    V left[L], right[L], even = {}, odd = {};
    load_block<PARTS, PART>(A, n, i, j, left);
    load_block<PARTS, PART>(A, n, j, i, right);
    transpose(right);
    UNROLL for (int r = 0; r < L; ++r) (r % 2 ? odd : even) += absolute(PART ? left[r] + right[r] : left[r] - right[r]);
    return even + odd;
}

// Whether all that is not Hermitian is at most this tolerance of the least variance, which is not below a limit. NaN and
// infinity are not.
template <int PARTS> INLINE bool is_hermitian(const double *A, Int n, double tolerance, double limit) {
    double least = INFINITE<double>;
    bool finite = true;
    for (Int i = 0; i < n; ++i) {
        const double variance = A[i * (n + 1) * PARTS];
        least = variance < least ? variance : least;
        finite &= variance - variance == 0.0;
    }
    V total = {};
    if (n < L) {
        double real = 0.0, imaginary = 0.0;
        for (Int i = 0; i < n; ++i)
            for (Int j = 0; j < (PARTS == 1 ? i : i + 1); ++j) {
                const double *x = A + (i * n + j) * PARTS, *y = A + (j * n + i) * PARTS;
                real += std::fabs(x[0] - y[0]);
                if constexpr (PARTS == 2) imaginary += std::fabs(x[1] + y[1]);
            }
        total[0] = real + imaginary;
    } else
        for_blocks<double>(n, [&](Int i) {
            for_blocks<double>(i + L, [&](Int j) {
                total += asymmetry_of_blocks<PARTS, 0>(A, n, i, j);
                if constexpr (PARTS == 2) total += asymmetry_of_blocks<PARTS, 1>(A, n, i, j);
            });
        });
    return !anywhere(!(total <= tolerance * least)) && least >= limit && finite;
}

template <int STEP> struct Across {
    constexpr int operator()(int l) const { return l ^ STEP; }
};
template <int STEP = L / 2> INLINE double sum_of(V x) {
    if constexpr (STEP == 0)
        return x[0];
    else
        return sum_of<STEP / 2>(x + shuffle(x, x, Across<STEP>{}));
}

// Σ |a_ij − b_ij|²
INLINE double squared_difference(const double *A, const double *B, Int size) {
    V even = {}, odd = {};
    Int k = 0;
    for (; k + 2 * L <= size; k += 2 * L) {
        even += square(load(A + k) - load(B + k));
        odd += square(load(A + k + L) - load(B + k + L));
    }
    for (; k + L <= size; k += L) even += square(load(A + k) - load(B + k));
    double total = sum_of(even + odd);
    for (; k < size; ++k) total += (A[k] - B[k]) * (A[k] - B[k]);
    return total;
}

template <int PARTS, int N> Int euclidean_pairs(const FactoredPairs &g) {
    const Int n = N ? N : g.n, size = n * n * PARTS;
    const bool trusted = g.symmetry_tolerance == INFINITE<double>;
    bool fit_a = trusted, fit_b = trusted;
    Int all = 0;
    for (Int i = 0; i < g.count; ++i) {
        const double *A = g.A + i * g.step_a * size, *B = g.B + i * g.step_b * size;
        if (!trusted && (i == 0 || g.step_a)) fit_a = is_hermitian<PARTS>(A, n, g.symmetry_tolerance, 0.0);
        if (!trusted && (i == 0 || g.step_b)) fit_b = is_hermitian<PARTS>(B, n, g.symmetry_tolerance, 0.0);
        const double value = g.out[i] = squared_difference(A, B, size);
        const bool answered = value > LEAST * LEAST && value < GREATEST * GREATEST;
        all |= g.findings[i] = (fit_a && fit_b ? 0 : DOUBTFUL) + (answered ? 0 : OPEN);
    }
    return all;
}
template <int N> Int real_euclidean(const FactoredPairs &g) { return euclidean_pairs<1, N>(g); }
template <int N> Int complex_euclidean(const FactoredPairs &g) { return euclidean_pairs<2, N>(g); }

struct FactorSum {
    Int n, count, kind;
    double symmetry_tolerance, least_eigenvalue;
    const double *X, *weights;  // (count, n, n), (count,)
    double *out;                // Σ w_i L_i, with logarithms of the diagonal or without, is added to it
};

template <int N> Int sum_of_factors(const FactorSum &g) {
    Batch<N> X(g.n);
    const Int n = X.size();
    Buffer<double> memory((n + n * (n + 1) / 2) * L);
    if (!X || !memory) return NO_MEMORY;
    double *const column = memory.data(), *const sums = column + n * L;
    std::memset(sums, 0, n * (n + 1) / 2 * sizeof(V));
    const double limit = certain_below(n, g.least_eigenvalue);
    for (Int first = 0; first < g.count; first += L) {
        Int chosen[L];
        V weight = {}, greatest_diagonal = {};
        for (Int l = 0; l < L; ++l) {
            chosen[l] = first + l < g.count ? first + l : g.count - 1;
            weight[l] = first + l < g.count ? g.weights[first + l] : 0.0;
        }
        X.take(g.X, chosen);
        X.factorise(1.0, g.symmetry_tolerance);
        const auto certain = are_certain(X, limit, column);
        for (Int k = 0; k < n; ++k) {
            greatest_diagonal = greatest(X.diagonal(k), greatest_diagonal);
            X.set_inverse(k, sqrt(X.inverse(k)));
        }
        if (anywhere(!(certain & (X.least_diagonal > LEAST) & (greatest_diagonal < GREATEST)))) return DOUBTFUL;
        double *sum = sums;
        for (Int r = 0; r < n; ++r) {
            for (Int c = 0; c < r; ++c, sum += L) store(sum, load(sum) + weight * (X.u(r, c) * X.inverse(c)));
            LogProduct entry;
            if (g.kind == LOG_CHOLESKY) entry.include(reciprocal(X.inverse(r)));
            store(sum, load(sum) + weight * (g.kind == LOG_CHOLESKY ? entry.value() : reciprocal(X.inverse(r))));
            sum += L;
        }
    }
    for (Int r = 0, k = 0; r < n; ++r)
        for (Int c = 0; c <= r; ++c, ++k) g.out[r * n + c] += sum_of(load(sums + k * L));
    return DONE;
}

struct Hermitian {
    const double *X;  // (count, n, n)
    Int count, n, parts;
    double tolerance, least_variance;
    Int *findings;
};

}  // namespace

// Write 0 for every matrix that `is_hermitian`; return whether all are.
EXPORT Int hermitian(const Hermitian *g) {
    Int doubtful = 0;
    for (Int i = 0; i < g->count; ++i) {
        const double *A = g->X + i * g->n * g->n * g->parts;
        const auto test = g->parts == 1 ? is_hermitian<1> : is_hermitian<2>;
        doubtful += g->findings[i] = !test(A, g->n, g->tolerance, g->least_variance);
    }
    return !doubtful;
}

// Add the weighted sum of Cholesky factors, unless a matrix may be unfit.
EXPORT Int factor_sum(const FactorSum *given) {
    constexpr Int (*FACTORS[])(const FactorSum &) = PROGRAMS_BY_SIZE(sum_of_factors);
    return FACTORS[given->n <= SMALL_BATCH ? given->n : 0](*given);
}

// Write the divergence of every pair, and what was found about it; return the findings of all together.
EXPORT Int factored_pairs(const FactoredPairs *given) {
    using Program = Int (*)(const FactoredPairs &);
    constexpr Program FACTORED[] = PROGRAMS_BY_SIZE(divergences), EUCLID[] = PROGRAMS_BY_SIZE(real_euclidean),
                      COMPLEX_EUCLID[] = PROGRAMS_BY_SIZE(complex_euclidean);
    const Int number = given->n <= SMALL_BATCH ? given->n : 0;
    return (given->kind == EUCLIDEAN           ? EUCLID
            : given->kind == COMPLEX_EUCLIDEAN ? COMPLEX_EUCLID
                                               : FACTORED)[number](*given);
}
