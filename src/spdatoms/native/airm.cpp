// Σ log² λ(X_i⁻¹ Y_j) for all pairs, one pair per lane.
//
// The λ are the eigenvalues of W = B Bᵀ (whitening.hpp), computed with errors of a few eps·λ_max: good where
// κ = λ_max/λ_min is moderate. Where it is not, the 1/λ are found in the same way, as eigenvalues of (Bᵀ B)⁻¹, with errors
// of a few eps/λ_min. With the upper half of the λ taken from W and the lower half from there, every one has the relative
// error eps·√κ: that of the singular values of B.
//
// The halves overlap, because an eigenvalue between them must not be counted twice or never: around the middle
// t = √(λ_max λ_min) weights φ and 1 − φ, φ(λ) = log(λ/t) + ½ cut off at 0 and 1, are given to the two.
#include "eigenvalues.hpp"
#include "whitening.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
constexpr Int L = LANES<double>;
constexpr Int SMALL = 6;                          // up to this size matrices are kept in registers
constexpr double MODERATE = 1e4, EXTREME = 1e24;  // the greatest κ for which W suffices, and W with its inverse

// Where the work on a group of pairs is done.
struct Space {
    double *b, *w, *panel, *upper, *lower;
    explicit Space(Int n, double *memory) {
        const Int slots = whitening::slot_count(n) * L;
        b = memory, w = b + slots, panel = w + slots, upper = panel + 4 * n * L, lower = upper + 2 * n * GROUP * L;
    }
    static Int size(Int n) { return (2 * whitening::slot_count(n) + (4 + 4 * GROUP) * n) * L; }
};

// T of W, or of the inverse; N is the size, or 0 for any.
template <bool PAIRED, int N>
NOINLINE void tridiagonalise(Int n, bool inverted, const double *x, const double *y, const Space space, const Tridiagonal T) {
    if constexpr (N > 0) {
        V W[N][N];
        whitening::gram_in_registers<N, PAIRED>(inverted, x, y, W);
        tridiagonal::reduce_in_registers<N>(W, T);
    } else {
        const Int tiles = whitening::tile_count(n);
        whitening::product<PAIRED>(tiles, x, y, space.b);
        if (inverted) whitening::invert(tiles, space.b);
        whitening::gram(tiles, space.b, space.w);
        tridiagonal::reduce(n, space.w, space.panel, T);
    }
}

using Program = void (*)(Int, bool, const double *, const double *, Space, Tridiagonal);
template <bool PAIRED>
constexpr Program PROGRAMS[] = {
    tridiagonalise<PAIRED, 0>, tridiagonalise<PAIRED, 1>, tridiagonalise<PAIRED, 2>, tridiagonalise<PAIRED, 3>,
    tridiagonalise<PAIRED, 4>, tridiagonalise<PAIRED, 5>, tridiagonalise<PAIRED, 6>};

// The batches of a group that hold pairs.
struct Batches {
    Int from, to;
    bool include(Int g) const { return from <= g && g < to; }
};

// The eigenvalues of a group of W, or of their inverses. Batches without pairs repeat one that has some.
template <bool PAIRED>
Tridiagonal spectrum(Int n, bool inverted, const double *x, const double *y, const Space &space, Batches batches) {
    double *target = inverted ? space.lower : space.upper;
    for (Int g = batches.from; g < batches.to; ++g) {
        const Int batch = g * whitening::slot_count(n) * L;
        PROGRAMS<PAIRED>[n <= SMALL ? n : 0](n, inverted, PAIRED ? x + batch : x, y + batch, space,
                                             {target + g * L, GROUP * L});
    }
    for (Int g = 0; g < GROUP; ++g)
        for (Int i = 0; i < 2 * n && !batches.include(g); ++i)
            store(target + (i * GROUP + g) * L, load(target + (i * GROUP + batches.from) * L));
    eigenvalues::diagonalise(n, {target, GROUP * L});
    return {target, GROUP * L};
}

// log x + log 2·shift
INLINE V logarithm(V x, V shift) {
    V mantissa, exponent;
    split(x, mantissa, exponent);
    return log_of_split(mantissa, exponent + shift);
}

// The greatest eigenvalue, NaN if any is not finite.
V greatest_eigenvalue(Int n, const Tridiagonal T) {
    V best = load(T.d(0)), check = {};
    for (Int i = 0; i < n; ++i) {
        const V eigenvalue = load(T.d(i));
        best = greatest(eigenvalue, best);
        check += eigenvalue * 0.0;
    }
    return best + check;
}

// Σ (log λ + log 2·shift)², NaN where κ is not moderate.
V sum_of_squares(Int n, const Tridiagonal T, V shift) {
    V total = {}, smallest = load(T.d(0));
    for (Int i = 0; i < n; ++i) {
        const V eigenvalue = load(T.d(i)), log = logarithm(eigenvalue, shift);
        smallest = least(eigenvalue, smallest);
        total += log * log;
    }
    return smallest * MODERATE > greatest_eigenvalue(n, T) ? total : fill(NOT_A_NUMBER<double>);
}

// Σ φ (log λ + log 2·shift)², with φ = log λ − middle + ½ cut off at 0 and 1.
V half_sum(Int n, const Tridiagonal T, V top, V middle, V shift) {
    V total = {};
    for (Int i = 0; i < n; ++i) {
        // Far below the middle there is only rounding, of either sign.
        const V eigenvalue = greatest(load(T.d(i)), top * 1e-18), log = logarithm(eigenvalue, shift);
        const V weight = logarithm(eigenvalue, V{}) + (0.5 - middle);
        total += least(greatest(weight, V{}), fill(1.0)) * (log * log);
    }
    return total;
}

// The sum of squares from the eigenvalues λ in T and 1/λ in R, NaN where κ is extreme.
V sum_of_both_halves(Int n, const Tridiagonal T, const Tridiagonal R, V shift) {
    const V top = greatest_eigenvalue(n, T), bottom = greatest_eigenvalue(n, R);
    const V middle = (logarithm(top, V{}) - logarithm(bottom, V{})) * 0.5;
    const V total = half_sum(n, T, top, middle, shift) + half_sum(n, R, bottom, -middle, -shift);
    return top * bottom < EXTREME ? total : fill(NOT_A_NUMBER<double>);
}

template <class T> struct SquaredDistances {
    Int n, rows;
    const double *X;  // the factors L⁻¹ as scalars (rows, slots), or as Y if matrices are paired
    const double *Y;  // the factors M as batches of lanes (batches, slots, LANES)
    const double *shifts_x, *shifts_y;  // for every row (or lane, if matrices are paired), and for every lane
    Int first;                          // row i is written from column first + i on, or from the beginning if first < 0
    T *out;
    Int columns;
};

// out[i, j] = Σ (log λ(X_i⁻¹ Y_j) + log 2·(shifts_y[j] − shifts_x[i]))², NaN where that failed.
template <bool PAIRED, class T> Int squared_distances(const SquaredDistances<T> g) {
    const Int slots = whitening::slot_count(g.n), width = GROUP * L;
    Buffer<double> memory(Space::size(g.n));
    if (!memory) return NO_MEMORY;
    const Space space(g.n, memory.data());
    for (Int i = 0; i < g.rows; ++i) {
        T *row = g.out + i * g.columns;
        const Int left = g.first >= 0 ? g.first + i : 0;
        if (left >= g.columns) break;
        for (Int group = left / width; group * width < g.columns; ++group) {
            const double *y = g.Y + group * width * slots, *x = PAIRED ? g.X + group * width * slots : g.X + i * slots;
            const Int begin = group * width > left ? group * width : left;
            const Int end = (group + 1) * width < g.columns ? (group + 1) * width : g.columns;
            const Batches batches = {(begin - group * width) / L, (end - group * width + L - 1) / L};
            double values[GROUP * L];
            V shifts[GROUP];
            const Tridiagonal upper = spectrum<PAIRED>(g.n, false, x, y, space, batches);
            for (Int k = batches.from; k < batches.to; ++k) {
                const Int lane = group * width + k * L;
                shifts[k] = load(g.shifts_y + lane) - (PAIRED ? load(g.shifts_x + lane) : fill(g.shifts_x[i]));
                store(values + k * L, sum_of_squares(g.n, {upper.base + k * L, upper.stride}, shifts[k]));
            }
            bool unanswered = false;
            for (Int j = begin; j < end; ++j) {
                row[j] = T(values[j - group * width]);
                unanswered |= row[j] != row[j];
            }
            if (!unanswered) continue;
            const Tridiagonal lower = spectrum<PAIRED>(g.n, true, x, y, space, batches);
            for (Int k = batches.from; k < batches.to; ++k)
                store(values + k * L, sum_of_both_halves(g.n, {upper.base + k * L, upper.stride},
                                                         {lower.base + k * L, lower.stride}, shifts[k]));
            for (Int j = begin; j < end; ++j)
                if (row[j] != row[j]) row[j] = T(values[j - group * width]);
        }
    }
    return DONE;
}

struct PackFactors {
    Int n, count, first;
    const double *factors;  // (count, n, n), lower triangular
    double *inverses;       // (first + count …, slots), by rows
    double *lanes;          // (batches, slots, LANES), by columns
};

// The lower triangle of L⁻¹, row after row, by forward substitution.
void invert_lower(Int n, const double *factor, double *inverse) {
    for (Int i = 0; i < n; ++i) {
        double *row = inverse + i * n;
        for (Int j = 0; j < i; ++j) row[j] = 0.0;
        row[i] = 1.0;
        for (Int k = 0; k < i; ++k)
            for (Int j = 0; j <= k; ++j) row[j] -= factor[i * n + k] * inverse[k * n + j];
        for (Int j = 0; j <= i; ++j) row[j] /= factor[i * n + i];
    }
}

}  // namespace

EXPORT Int squared_distances_f64(const SquaredDistances<double> *given) { return squared_distances<false>(*given); }
EXPORT Int squared_distances_f32(const SquaredDistances<float> *given) { return squared_distances<false>(*given); }
// The same of X_i and Y_i alone, in one row.
EXPORT Int paired_squared_distances(const SquaredDistances<double> *given) { return squared_distances<true>(*given); }

// The numbers that a triangular factor takes, with the zeros that fill up its tiles.
EXPORT Int airm_slots(const Int *n) { return whitening::slot_count(*n); }

// Write L⁻¹ and L of the matrices first, first + 1, … to their slots, by rows and by columns.
EXPORT Int pack_factors(const PackFactors *given) {
    const Int n = given->n, tiles = whitening::tile_count(n), slots = whitening::slot_count(n);
    Buffer<double> inverse(n * n);
    if (!inverse) return NO_MEMORY;
    for (Int a = 0; a < given->count; ++a) {
        const Int i = given->first + a;
        const double *factor = given->factors + a * n * n;
        double *scalars = given->inverses + i * slots, *lane = given->lanes + i / L * slots * L + i % L;
        invert_lower(n, factor, inverse.data());
        for (Int s = 0; s < slots; ++s) scalars[s] = lane[s * L] = 0.0;
        for (Int r = 0; r < n; ++r)
            for (Int c = 0; c <= r; ++c) {
                scalars[whitening::slot_by_rows(r, c)] = inverse.data()[r * n + c];
                lane[whitening::slot_by_columns(r, c, tiles) * L] = factor[r * n + c];
            }
    }
    return DONE;
}
