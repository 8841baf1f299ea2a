// Which matrices of a block are SPD beyond doubt, and what is in doubt about the others; one matrix per lane.
//
// With C = a_ij / √(a_ii a_jj): if A − δ diag A has positive pivots (batch.hpp), λ_min(C) > δ but for rounding. This shows for most matrices that they are beyond
// doubt; the others are factorised again as they are. No single pivot tells: all may be above 1/n where λ_min is about
// 4^-n, and a determinant is tiny for all large matrices. But tr(C⁻¹) brackets λ_min from both sides,
// 1/tr(C⁻¹) ≤ λ_min ≤ n/tr(C⁻¹).
#include <cmath>

#include "batch.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
constexpr Int L = LANES<double>;
constexpr double LEAST_SHIFT = 1e-8, EPS = std::numeric_limits<double>::epsilon();

// Of a batch that is not full, so many matrices are tested one by one: large ones fill registers by themselves.
constexpr Int alone(Int n) { return n < 64 ? L / 4 : L / 2; }

// What is found, as bits of a number; geometry/validation.py has the same.
constexpr Int CHECK_SYMMETRY = 1;    // the entries a_ij and a_ji may differ by too much, or may not be finite
constexpr Int CHECK_EIGENVALUE = 2;  // C may be singular
constexpr Int NOT_POSITIVE = 4;      // a pivot is not a positive number

struct Inspect {
    const double *X;  // (count, n, n)
    Int count, n;
    double symmetry_tolerance, least_eigenvalue;
    Int *findings;
};

// tr(C⁻¹) = Σ_i a_ii (A⁻¹)_ii with A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹ of factorised matrices, some columns of L⁻¹ at a time.
V trace_of_scaled_inverse(const Batch<0> &A, double *columns) {
    const Int n = A.size();
    V trace = {};
    for (Int first = 0; first < n; first += TILE) {
        V diagonal[TILE] = {};
        for (Int k = first; k < n; ++k) {
            V entries[TILE];
            UNROLL for (int c = 0; c < TILE; ++c) entries[c] = fill(k == first + c ? 1.0 : 0.0);
            for (Int q = first; q < k; ++q) {
                const V factor = A.l(k, q);
                UNROLL for (int c = 0; c < TILE; ++c) entries[c] -= factor * load(columns + (q * TILE + c) * L);
            }
            UNROLL for (int c = 0; c < TILE; ++c) {
                store(columns + (k * TILE + c) * L, entries[c]);
                diagonal[c] += entries[c] * entries[c] * A.inverse(k);
            }
        }
        UNROLL for (int c = 0; c < TILE; ++c) trace += A.diagonal(first + c) * diagonal[c];
    }
    return trace;
}

// One matrix, with vectors along its rows; whether it is symmetric and A − δ diag A has positive pivots.
class Single {
    static constexpr int PIVOTS = 8;  // rows that are taken off the others together
    const Int n, padded;
    const Buffer<double> memory;

    static bool is_positive(double pivot) { return pivot > 0.0 && pivot < INFINITE<double>; }
    double *row_of(Int i) const { return memory.data() + i * padded; }

    // Take off row i, from its diagonal on, what these pivot rows explain of it.
    template <int COUNT> INLINE void subtract(Int i, Int first, const double *inverses) const {
        const double *pivots = row_of(first);
        double *row = row_of(i), factors[COUNT];
        UNROLL for (int k = 0; k < COUNT; ++k) factors[k] = pivots[k * padded + i] * inverses[k];
        for (Int j = i / L * L; j < n; j += L) {
            V rest = load(row + j);
            UNROLL for (int k = 0; k < COUNT; ++k) rest -= load(pivots + k * padded + j) * factors[k];
            store(row + j, rest);
        }
    }

  public:
    explicit Single(Int n) : n(n), padded(((n + L - 1) / L | 1) * L), memory(padded * n) {}
    explicit operator bool() const { return bool(memory); }

    bool is_certain(const double *A, double scale, double tolerance) const {
        double asymmetry = 0.0, least_diagonal = INFINITE<double>;
        for (Int i = 0; i < n; ++i) {
            double *row = row_of(i), total = 0.0;
            std::memcpy(row, A + i * n, n * sizeof(double));
            for (Int j = 0; j < i; ++j) total += std::fabs(A[i * n + j] - A[j * n + i]);
            asymmetry += total;
            least_diagonal = row[i] < least_diagonal ? row[i] : least_diagonal;
            row[i] *= scale;
        }
        // Some rows of the upper triangle at a time. What whole registers add on the left of a row is not read again.
        double inverses[PIVOTS];
        for (Int first = 0; first < n; first += PIVOTS) {
            const Int count = first + PIVOTS < n ? PIVOTS : n - first;
            for (Int k = 0; k < count; ++k) {
                const double *pivot = row_of(first + k);
                if (!is_positive(pivot[first + k])) return false;
                inverses[k] = 1.0 / pivot[first + k];
                for (Int i = first + k + 1; i < first + count; ++i) subtract<1>(i, first + k, inverses + k);
            }
            for (Int i = first + PIVOTS; i < n; ++i) subtract<PIVOTS>(i, first, inverses);
        }
        return asymmetry <= least_diagonal * tolerance;
    }
};

// Test whole batches of matrices, so many of them; return how many are in doubt.
template <int N> Int test_batches(const Inspect &g, Int together, double scale) {
    Batch<N> batch(g.n);
    if (!batch) return NO_MEMORY;
    Int chosen[L], doubtful = 0;
    for (Int first = 0; first < together; first += L) {
        for (Int l = 0; l < L; ++l) chosen[l] = first + l < g.count ? first + l : g.count - 1;
        batch.take(g.X, chosen);
        batch.factorise(scale, g.symmetry_tolerance);
        for (Int l = 0; l < L && first + l < g.count; ++l)
            doubtful += g.findings[first + l] = !(batch.symmetric[l] && batch.positive[l]);
    }
    return doubtful;
}

// Find out what is in doubt about those that the first test has left.
Int look_again(const Inspect &g) {
    Batch<0> batch(g.n);
    Buffer<double> columns((g.n + TILE) * TILE * L);
    if (!batch || !columns) return NO_MEMORY;
    Int chosen[L];
    for (Int next = 0; next < g.count;) {
        Int doubtful = 0;
        for (; next < g.count && doubtful < L; ++next)
            if (g.findings[next]) chosen[doubtful++] = next;
        if (!doubtful) break;
        for (Int l = doubtful; l < L; ++l) chosen[l] = chosen[0];
        batch.take(g.X, chosen);
        batch.factorise(1.0, g.symmetry_tolerance);
        // If the trace overflows, to infinity or NaN, that is doubt.
        const auto regular = trace_of_scaled_inverse(batch, columns.data()) * g.least_eigenvalue < 1.0;
        for (Int l = 0; l < doubtful; ++l)
            g.findings[chosen[l]] = (batch.symmetric[l] ? 0 : CHECK_SYMMETRY) +
                                    (!batch.positive[l] ? NOT_POSITIVE : !regular[l] ? CHECK_EIGENVALUE : 0);
    }
    return DONE;
}

}  // namespace

// Write the findings on every matrix, 0 for one beyond doubt: all |a_ij − a_ji| together are at most the tolerance of
// the least diagonal entry, all pivots are positive, and λ_min(C) > least_eigenvalue.
EXPORT Int inspect(const Inspect *given) {
    constexpr Int (*TEST[])(const Inspect &, Int, double) = PROGRAMS_BY_SIZE(test_batches);
    const Int count = given->count, n = given->n;
    const double tolerance = given->symmetry_tolerance;
    Int *const findings = given->findings;
    const Single single(n);
    if (!single) return NO_MEMORY;
    double shift = LEAST_SHIFT;  // well above what is asked for, and what rounding does to eigenvalues
    for (const double least : {2.0 * given->least_eigenvalue, 2.0 * n * n * EPS}) shift = least > shift ? least : shift;
    const Int together = count % L > alone(n) ? count : count - count % L;
    for (Int i = together; i < count; ++i)
        findings[i] = !single.is_certain(given->X + i * n * n, 1.0 - shift, tolerance);
    Int doubtful = together ? TEST[n <= SMALL_BATCH ? n : 0](*given, together, 1.0 - shift) : 0;
    if (doubtful == NO_MEMORY) return NO_MEMORY;
    for (Int i = together; i < count; ++i) doubtful += findings[i];
    return doubtful ? look_again(*given) : DONE;
}
