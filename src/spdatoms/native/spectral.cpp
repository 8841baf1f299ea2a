// Functions of SPD matrices and of pairs of them, one matrix or pair per lane.
//
// With A = L Lᵀ, B = M Mᵀ and L⁻¹M V = U σ (jacobi.hpp) it is L⁻¹ B L⁻ᵀ = U σ² Uᵀ, and with F = L U
//
//     log_A(B) = F log(σ²) Fᵀ,    A #_t B = F σ^2t Fᵀ.
//
// For a single matrix A is the identity. For exp_A(B) = F exp(λ) Fᵀ with the eigenvalues λ of the symmetric W = L⁻¹ B L⁻ᵀ
// an s is added to them that makes W + s I definite: then they are σ² − s.
#include <initializer_list>

#include "jacobi.hpp"

using namespace spdatoms;
using namespace spdatoms::jacobi;

namespace {

// geometry/spectral.py has the same.
enum Kind { LOG, EXP, POWER, AIRM, THOMPSON, WASSERSTEIN, CONGRUENCE };
constexpr Int FIRST_DISTANCE = AIRM;
// Variances within these limits, and their inverses, have squares that are numbers.
constexpr double LEAST = 1e-60, GREATEST = 1e60;
constexpr double GRADED = 1e4;  // geometry/graded.py has the same

struct SpectralPairs {
    Int n, count, kind;
    double exponent;
    const double *A, *B;  // (·, n, n); A is null for the identity
    Int step_a, step_b;   // 1, or 0 if one matrix serves all
    double *out;          // (count, n, n), or (count,) for distances
    Int *open;            // (count,): 1 where digits are lost, the range is left, or the B of a congruence is asymmetric
};

struct SpectralSum {
    Int n, count, kind;
    double exponent;
    const double *A, *B;                  // (n, n), (count, n, n)
    const double *weights;                // (count,)
    double least;                         // for weights w/max(√d, least), or NaN for w
    double *sum, *squared_distances;      // (n, n), of which the lower triangle, and (count,)
    Int *open;                            // 1 for matrices that are left out, because digits would be lost
};

struct Space {
    Columns A, B, G, C, D, E;
    double *squares;
    Space(Int n, double *memory) {
        for (Columns *matrix : {&A, &B, &G, &C, &D, &E}) *matrix = {memory, n}, memory += n * n * L;
        squares = memory;
    }
    static Int size(Int n) { return (6 * n * n + n) * L; }
};

// W = L⁻¹ B L⁻ᵀ, and W + s I in its place; returns s. It is no larger than needed, because errors are of its size.
V shifted(const Space &s, bool has_base) {
    const Int n = s.B.n;
    for (int side = 0; side < 2 && has_base; ++side) {
        solve(s.A, s.B, false);
        transpose(s.B, s.B);
    }
    V mean = {}, greatest_sum = {};
    for (Int r = 0; r < n; ++r) mean += s.B(r, r) / double(n);
    for (Int r = 0; r < n; ++r) store(s.B.at(r, r), s.B(r, r) - mean);
    for (Int c = 0; c < n; ++c) {
        V sum = {};
        for (Int r = 0; r < n; ++r) sum += absolute(s.B(r, c));
        greatest_sum = greatest(sum, greatest_sum);
    }
    const V shift = 2.0 * greatest_sum + 1.0;
    for (Int r = 0; r < n; ++r) store(s.B.at(r, r), s.B(r, r) + shift);
    return shift - mean;
}

// B ← U σ, with σ² in `squares`; returns the s of EXP.
V decompose(Int kind, const Space &s, bool has_base) {
    const V shift = kind == EXP ? shifted(s, has_base) : V{};
    factorise(s.B);
    if (has_base && kind != EXP) solve(s.A, s.B, true);
    orthogonalise(s.B, s.squares);
    return shift;
}

// D ← F f(σ²) Fᵀ for given F σ
void compose(Int kind, double exponent, V shift, Columns F, const Space &s) {
    for (Int k = 0; k < F.n; ++k) {
        const V square = load(s.squares + k * L), log = logarithm(square);
        const V value = kind == LOG ? log : exp(kind == EXP ? square - shift : exponent * log);
        const V weight = value / square;
        for (Int r = 0; r < F.n; ++r) store(s.C.at(r, k), weight * F(r, k));
    }
    multiply(s.C, F, true, false, s.D);
}

// D ← F f(σ²) Fᵀ, or A B Aᵀ
void function_of_pair(const SpectralPairs &g, const Space &s) {
    if (g.kind == CONGRUENCE) {
        multiply(s.A, s.B, false, false, s.C);
        multiply(s.C, s.A, true, false, s.D);
    } else {
        const V shift = decompose(g.kind, s, g.A);
        const Columns F = g.A ? s.G : s.B;
        if (g.A) multiply(s.A, s.B, false, true, F);
        compose(g.kind, g.exponent, shift, F, s);
    }
}

// Where variances are in the middle of the range, and all of one size relative to those of A.
INLINE auto well_scaled(Int kind, const double *variances_of_a, Columns B) {
    V low = fill(1.0), high = low, least_ratio = fill(INFINITE<double>), greatest_ratio = {};
    for (Int r = 0; r < B.n; ++r) {
        const V base = load(variances_of_a + r * L), own = kind == EXP ? base : B(r, r), ratio = own / base;
        low = least(base, least(own, low)), high = greatest(base, greatest(own, high));
        least_ratio = least(ratio, least_ratio), greatest_ratio = greatest(ratio, greatest_ratio);
    }
    return (low > LEAST) & (high < GREATEST) & (greatest_ratio <= GRADED * least_ratio);
}

// Where B is symmetric to the last bit, and finite off the diagonal.
INLINE auto symmetric(Columns B) {
    V asymmetry = {};
    for (Int c = 0; c < B.n; ++c)
        for (Int r = 0; r < c; ++r) asymmetry += absolute(B(r, c) - B(c, r));
    return asymmetry == 0.0;
}

// 0, or NaN where an entry of a symmetric matrix is not finite.
INLINE V zero_if_finite(Columns A) {
    V sum = {};
    for (Int c = 0; c < A.n; ++c)
        for (Int r = c; r < A.n; ++r) sum += A(r, c) * 0.0;
    return sum;
}

INLINE V square(V x) { return x * x; }

// Σ log² σ² or max log² σ².
V of_ratios(const Space &s, bool sum) {
    solve(s.A, s.B, true);
    orthogonalise(s.B, s.squares);
    V total = {}, most = {};
    for (Int k = 0; k < s.B.n; ++k) {
        const V log2 = square(logarithm(load(s.squares + k * L)));
        total += log2;
        most = greatest(log2, most);
    }
    return sum ? total : most + total * 0.0;  // NaN if one is
}

// min ‖L − M R‖² over orthogonal R, the polar factor of G = MᵀL: with G V = U σ it is U σ⁻¹ Uᵀ G.
V wasserstein(const Space &s) {
    const Int n = s.A.n;
    transpose(s.B, s.C);
    multiply(s.C, s.A, false, false, s.G);
    std::memcpy(s.C.base, s.G.base, n * n * L * sizeof(double));
    orthogonalise(s.G, s.squares);
    // G is U σ now, and C what it was.
    for (Int k = 0; k < n; ++k) {
        const V square = load(s.squares + k * L), weight = reciprocal(square * sqrt(square));
        for (Int r = 0; r < n; ++r) store(s.D.at(r, k), weight * s.G(r, k));
    }
    multiply(s.D, s.G, true, false, s.E);
    multiply(s.E, s.C, false, false, s.D);
    multiply(s.B, s.D, false, true, s.G);
    V distance = {};
    for (Int c = 0; c < n; ++c)
        for (Int r = 0; r < n; ++r) {
            const V rest = s.A(r, c) - s.G(r, c);
            distance += rest * rest;
        }
    return distance;
}

V distance(Int kind, const Space &s) {
    factorise(s.B);
    return kind == WASSERSTEIN ? wasserstein(s) : of_ratios(s, kind == AIRM);
}

}  // namespace

// Write functions of pairs, or distances; return how many are open.
EXPORT Int spectral_pairs(const SpectralPairs *given) {
    const SpectralPairs g = *given;
    const bool matrices = g.kind < FIRST_DISTANCE || g.kind == CONGRUENCE;
    const Int size = g.n * g.n, length = matrices ? size : 1;
    Buffer<double> memory(Space::size(g.n)), last(length * L), ones(size), variances(g.n * L);
    Buffer<Int> places(size);
    if (!memory || !last || !ones || !variances || !places) return NO_MEMORY;
    const Space space(g.n, memory.data());
    for (Int e = 0; e < size; ++e) places.data()[e] = e, ones.data()[e] = 1.0;
    for (Int r = 0; r < g.n; ++r) store(variances.data() + r * L, fill(1.0));
    Int open = 0;
    for (Int first = 0; first < g.count; first += L) {
        Int chosen_a[L], chosen_b[L];
        for (Int l = 0; l < L; ++l) {
            const Int pair = first + l < g.count ? first + l : g.count - 1;
            chosen_a[l] = pair * g.step_a, chosen_b[l] = pair * g.step_b;
        }
        if (g.A && (first == 0 || g.step_a)) {
            scatter(g.A, size, chosen_a, places.data(), 1.0, space.A.base);
            for (Int r = 0; r < g.n; ++r) store(variances.data() + r * L, space.A(r, r));
            if (g.kind != CONGRUENCE) factorise(space.A);
        }
        scatter(g.B, size, chosen_b, places.data(), 1.0, space.B.base);
        const auto fit = g.kind == CONGRUENCE ? symmetric(space.B) : well_scaled(g.kind, variances.data(), space.B);
        V finite;
        const bool full = first + L <= g.count;
        double *const target = full ? g.out + first * length : last.data();
        if (matrices) {
            function_of_pair(g, space);
            collect(space.D.base, places.data(), ones.data(), size, target, size);
            finite = zero_if_finite(space.D);
        } else {
            const V value = distance(g.kind, space);
            store(target, value);
            finite = value * 0.0;
        }
        const auto answered = fit & (finite == 0.0);
        for (Int l = 0; g.open && l < L && first + l < g.count; ++l) open += g.open[first + l] = !answered[l];
        if (!full) std::memcpy(g.out + first * length, last.data(), (g.count - first) * length * sizeof(double));
    }
    return open;
}

// Write d = Σ log² σ² and the sum of w U f(σ²) Uᵀ; return how many matrices are left out.
EXPORT Int spectral_sum(const SpectralSum *given) {
    const SpectralSum g = *given;
    const Int n = g.n, size = n * n;
    Buffer<double> memory(Space::size(n)), sums(size * L), variances(n * L);
    Buffer<Int> places(size);
    if (!memory || !sums || !variances || !places) return NO_MEMORY;
    const Space s(n, memory.data());
    for (Int e = 0; e < size; ++e) places.data()[e] = e, store(sums.data() + e * L, V{});
    Int left_out = 0, chosen[L] = {};
    scatter(g.A, size, chosen, places.data(), 1.0, s.A.base);
    for (Int r = 0; r < n; ++r) store(variances.data() + r * L, s.A(r, r));
    factorise(s.A);
    for (Int first = 0; first < g.count; first += L) {
        V weight = {};
        for (Int l = 0; l < L; ++l) {
            chosen[l] = first + l < g.count ? first + l : g.count - 1;
            if (first + l < g.count) weight[l] = g.weights[first + l];
        }
        scatter(g.B, size, chosen, places.data(), 1.0, s.B.base);
        const auto scaled = well_scaled(g.kind, variances.data(), s.B);
        V square = {};
        decompose(g.kind, s, true);
        compose(g.kind, g.exponent, V{}, s.B, s);
        for (Int k = 0; k < n; ++k) {
            const V log = logarithm(load(s.squares + k * L));
            square += log * log;
        }
        const auto fit = scaled & (square < INFINITE<double>);
        if (g.least == g.least) weight /= greatest(sqrt(square), fill(g.least));
        for (Int c = 0; c < n; ++c)
            for (Int r = c; r < n; ++r) {
                double *const entry = sums.data() + (c * n + r) * L;
                store(entry, load(entry) + (fit ? weight * s.D(r, c) : V{}));
            }
        for (Int l = 0; l < L && first + l < g.count; ++l) {
            g.squared_distances[first + l] = square[l];
            left_out += g.open[first + l] = !fit[l];
        }
    }
    for (Int c = 0; c < n; ++c)
        for (Int r = c; r < n; ++r) {
            double total = 0.0;
            for (Int l = 0; l < L; ++l) total += sums.data()[(c * n + r) * L + l];
            g.sum[r * n + c] = total;
        }
    return left_out;
}
