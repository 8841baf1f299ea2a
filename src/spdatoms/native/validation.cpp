// Which matrices of a block are SPD beyond doubt, and what is in doubt about the others; one matrix per lane.
//
// The factorisation is A = L D Lᵀ. Its steps never leave the range of the entries of A, so neither a scale of 1e-300
// nor one of 1e+300 needs care, and its pivots d_j relative to the diagonal a_jj are those of the unit-diagonal matrix
// C = a_ij / √(a_ii a_jj).
//
// If A − δ diag A has positive pivots, λ_min(C) > δ but for rounding. This shows for most matrices that they are beyond
// doubt; the others are factorised again as they are. No single pivot tells: all may be above 1/n where λ_min is about
// 4^-n, and a determinant is tiny for all large matrices. But tr(C⁻¹) brackets λ_min from both sides,
// 1/tr(C⁻¹) ≤ λ_min ≤ n/tr(C⁻¹).
#include <cmath>

#include "interleave.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
using Mask = decltype(V{} < V{});
constexpr Int L = LANES<double>;
constexpr double LEAST_SHIFT = 1e-8, EPS = std::numeric_limits<double>::epsilon();

// Of a batch that is not full, so many matrices are tested one by one.
constexpr Int ALONE = L / 4;

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

// Matrices side by side, in rows of blocks·TILE vectors, filled up by those of the identity.
class Batch {
    const Int n, blocks, padded;
    const Buffer<double> memory;
    const Buffer<Int> places;
    double *const work, *const inverse_pivots, *const columns;

    INLINE double *at(Int row, Int column) const { return work + (row * padded + column) * L; }

  public:
    explicit Batch(Int n)
        : n(n), blocks((n + TILE - 1) / TILE), padded(blocks * TILE), memory((padded + 1 + TILE) * padded * L),
          places(n * n), work(memory.data()), inverse_pivots(work + padded * padded * L),
          columns(inverse_pivots + padded * L) {
        for (Int e = 0; places && e < n * n; ++e) places.data()[e] = e / n * padded + e % n;
    }
    explicit operator bool() const { return memory && places; }

    void take(const double *X, const Int *chosen) const {
        scatter(X, n * n, chosen, places.data(), 1.0, work);
        for (Int row = n; row < padded; ++row) {
            for (Int column = 0; column < row; ++column) {
                store(at(row, column), V{});
                store(at(column, row), V{});
            }
            store(at(row, row), fill(1.0));
        }
    }

    // Factorise with the diagonal times this scale. The lower triangle becomes U = L D, the upper one Lᵀ; the diagonal
    // stays. `symmetric` is where Σ |a_ij − a_ji|, which is finite only if the entries off the diagonal are, is at most
    // this tolerance of the least diagonal entry; `positive` where all pivots are positive and finite.
    void factorise(double scale, double tolerance, Mask &symmetric, Mask &positive) const {
        V asymmetry = {}, least_diagonal = fill(INFINITE<double>), least_pivot = least_diagonal, finite = {};
        for (Int i = 0; i < padded; i += TILE) {
            for (Int j = 0; j < i; j += TILE) asymmetry += eliminate_left(i, j);
            V A[TILE][TILE];
            asymmetry += eliminate_diagonal(i, scale, A);
            UNROLL for (int c = 0; c < TILE; ++c) {
                if (i + c == n) break;  // the rest is the identity
                const V pivot = A[c][c], inverse = reciprocal(pivot);
                least_diagonal = least(load(at(i + c, i + c)), least_diagonal);
                least_pivot = least(pivot, least_pivot);
                finite += pivot * 0.0;  // NaN from here on if the pivot is not finite
                store(inverse_pivots + (i + c) * L, inverse);
                UNROLL for (int r = c + 1; r < TILE; ++r) {
                    const V factor = A[r][c] * inverse;
                    store(at(i + c, i + r), factor);
                    UNROLL for (int q = r; q < TILE; ++q) A[q][r] -= A[q][c] * factor;
                }
            }
        }
        symmetric = asymmetry <= least_diagonal * tolerance;
        positive = (least_pivot > 0.0) & (finite == 0.0);
    }

    // tr(C⁻¹) = Σ_i a_ii (A⁻¹)_ii with A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹ after factorise(1), some columns of L⁻¹ at a time.
    V trace_of_scaled_inverse() const {
        V trace = {};
        for (Int first = 0; first < n; first += TILE) {
            V diagonal[TILE] = {};
            for (Int k = first; k < n; ++k) {
                V entries[TILE];
                UNROLL for (int c = 0; c < TILE; ++c) entries[c] = fill(k == first + c ? 1.0 : 0.0);
                for (Int q = first; q < k; ++q) {
                    const V factor = load(at(q, k));
                    UNROLL for (int c = 0; c < TILE; ++c) entries[c] -= factor * load(columns + (q * TILE + c) * L);
                }
                const V inverse = load(inverse_pivots + k * L);
                UNROLL for (int c = 0; c < TILE; ++c) {
                    store(columns + (k * TILE + c) * L, entries[c]);
                    diagonal[c] += entries[c] * entries[c] * inverse;
                }
            }
            UNROLL for (int c = 0; c < TILE; ++c) trace += load(at(first + c, first + c)) * diagonal[c];
        }
        return trace;
    }

  private:
    // The tile of U at (i, j), left of the diagonal; returns its share of Σ |a_ij − a_ji|.
    INLINE V eliminate_left(Int i, Int j) const {
        V A[TILE][TILE], asymmetry = {};
        UNROLL for (int r = 0; r < TILE; ++r) UNROLL for (int c = 0; c < TILE; ++c) {
            A[r][c] = load(at(i + r, j + c));
            asymmetry += absolute(A[r][c] - load(at(j + c, i + r)));
        }
        for (Int k = 0; k < j; ++k) {
            V l[TILE];
            UNROLL for (int c = 0; c < TILE; ++c) l[c] = load(at(k, j + c));
            UNROLL for (int r = 0; r < TILE; ++r) {
                const V u = load(at(i + r, k));
                UNROLL for (int c = 0; c < TILE; ++c) A[r][c] -= u * l[c];
            }
        }
        UNROLL for (int c = 0; c < TILE; ++c) {
            UNROLL for (int q = 0; q < c; ++q) {
                const V factor = load(at(j + q, j + c));
                UNROLL for (int r = 0; r < TILE; ++r) A[r][c] -= A[r][q] * factor;
            }
            UNROLL for (int r = 0; r < TILE; ++r) store(at(i + r, j + c), A[r][c]);
        }
        return asymmetry;
    }

    // The lower triangle of the tile at (i, i) less what the columns before it contribute, which become those of L.
    INLINE V eliminate_diagonal(Int i, double scale, V (&A)[TILE][TILE]) const {
        V asymmetry = {};
        UNROLL for (int r = 0; r < TILE; ++r) {
            UNROLL for (int c = 0; c < r; ++c) {
                A[r][c] = load(at(i + r, i + c));
                asymmetry += absolute(A[r][c] - load(at(i + c, i + r)));
            }
            A[r][r] = load(at(i + r, i + r)) * scale;
        }
        for (Int k = 0; k < i; ++k) {
            const V inverse = load(inverse_pivots + k * L);
            V u[TILE], l[TILE];
            UNROLL for (int r = 0; r < TILE; ++r) u[r] = load(at(i + r, k));
            UNROLL for (int r = 0; r < TILE; ++r) store(at(k, i + r), l[r] = u[r] * inverse);
            UNROLL for (int r = 0; r < TILE; ++r) UNROLL for (int c = 0; c <= r; ++c) A[r][c] -= u[r] * l[c];
        }
        return asymmetry;
    }
};

// One matrix, with vectors along its rows; whether it is symmetric and A − δ diag A has positive pivots.
class Single {
    const Int n, padded;
    const Buffer<double> memory;

    static bool is_positive(double pivot) { return pivot > 0.0 && pivot < INFINITE<double>; }

  public:
    explicit Single(Int n) : n(n), padded((n + L - 1) / L * L), memory(padded * n) {}
    explicit operator bool() const { return bool(memory); }

    bool is_certain(const double *A, double scale, double tolerance) const {
        double asymmetry = 0.0, least_diagonal = INFINITE<double>;
        for (Int i = 0; i < n; ++i) {
            double *row = memory.data() + i * padded, total = 0.0;
            std::memcpy(row, A + i * n, n * sizeof(double));
            for (Int j = 0; j < i; ++j) total += std::fabs(A[i * n + j] - A[j * n + i]);
            asymmetry += total;
            least_diagonal = row[i] < least_diagonal ? row[i] : least_diagonal;
            row[i] *= scale;
        }
        // Two rows of the upper triangle at a time. What whole registers add on the left of a row is not read again.
        for (Int k = 0; k < n; k += 2) {
            double *p = memory.data() + k * padded, *q = p + padded;
            if (!is_positive(p[k])) return false;
            if (k + 1 == n) break;
            const double inverse = 1.0 / p[k], factor = p[k + 1] * inverse;
            for (Int j = k / L * L; j < n; j += L) store(q + j, load(q + j) - load(p + j) * factor);
            if (!is_positive(q[k + 1])) return false;
            const double second_inverse = 1.0 / q[k + 1];
            for (Int i = k + 2; i < n; ++i) {
                double *row = memory.data() + i * padded;
                const double f = p[i] * inverse, g = q[i] * second_inverse;
                for (Int j = i / L * L; j < n; j += L)
                    store(row + j, load(row + j) - load(p + j) * f - load(q + j) * g);
            }
        }
        return asymmetry <= least_diagonal * tolerance;
    }
};

}  // namespace

// Write the findings on every matrix, 0 for one beyond doubt: all |a_ij − a_ji| together are at most the tolerance of
// the least diagonal entry, all pivots are positive, and λ_min(C) > least_eigenvalue.
EXPORT Int inspect(const Inspect *given) {
    const Int count = given->count, n = given->n;
    const double tolerance = given->symmetry_tolerance;
    Int *const findings = given->findings;
    const Batch batch(n);
    const Single single(n);
    if (!batch || !single) return NO_MEMORY;
    double shift = LEAST_SHIFT;  // well above what is asked for, and what rounding does to eigenvalues
    for (const double least : {2.0 * given->least_eigenvalue, 2.0 * n * n * EPS}) shift = least > shift ? least : shift;
    const Int together = count % L > ALONE ? count : count - count % L;
    for (Int i = together; i < count; ++i)
        findings[i] = !single.is_certain(given->X + i * n * n, 1.0 - shift, tolerance);
    Int chosen[L];
    Mask symmetric, positive;
    for (Int first = 0; first < together; first += L) {
        for (Int l = 0; l < L; ++l) chosen[l] = first + l < count ? first + l : count - 1;
        batch.take(given->X, chosen);
        batch.factorise(1.0 - shift, tolerance, symmetric, positive);
        for (Int l = 0; l < L && first + l < count; ++l) findings[first + l] = !(symmetric[l] && positive[l]);
    }
    for (Int next = 0; next < count;) {
        Int doubtful = 0;
        for (; next < count && doubtful < L; ++next)
            if (findings[next]) chosen[doubtful++] = next;
        if (!doubtful) break;
        for (Int l = doubtful; l < L; ++l) chosen[l] = chosen[0];
        batch.take(given->X, chosen);
        batch.factorise(1.0, tolerance, symmetric, positive);
        // If the trace overflows, to infinity or NaN, that is doubt.
        const Mask regular = batch.trace_of_scaled_inverse() * given->least_eigenvalue < 1.0;
        for (Int l = 0; l < doubtful; ++l)
            findings[chosen[l]] = (symmetric[l] ? 0 : CHECK_SYMMETRY) +
                                         (!positive[l] ? NOT_POSITIVE : !regular[l] ? CHECK_EIGENVALUE : 0);
    }
    return DONE;
}
