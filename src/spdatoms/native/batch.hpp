// A = L D Lᵀ for matrices side by side, one per lane, and what is seen on the way: symmetry, and the sign of the pivots.
//
// No step leaves the range of the entries of A, so neither a scale of 1e-300 nor one of 1e+300 needs care. The pivots d_j
// relative to the diagonal a_jj are those of the unit-diagonal matrix C = a_ij / √(a_ii a_jj).
#pragma once

#include "interleave.hpp"

namespace spdatoms {

// Up to this size the program has a size that is known when it is compiled, and works in registers.
constexpr int SMALL_BATCH = 8;

// N is the size, or 0 for any. The others are cut into tiles and filled up by the rows of an identity.
template <int N> class Batch {
    using V = Vector<double>;
    static constexpr Int L = LANES<double>;
    const Int given, padded, stride;  // from one row to the next, odd: powers of two would share sets of the cache
    const Buffer<double> memory;
    const Buffer<Int> places;
    double *const work, *const inverses;

  public:
    using Mask = decltype(V{} < V{});
    Mask symmetric, positive;
    V least_diagonal;

    explicit Batch(Int n)
        : given(n), padded(N ? N : (n + TILE - 1) / TILE * TILE), stride(N ? N : padded | 1),
          memory((stride + 1) * padded * L), places(n * n), work(memory.data()), inverses(work + stride * padded * L) {
        for (Int e = 0; places && e < n * n; ++e) places.data()[e] = e / n * stride + e % n;
    }
    explicit operator bool() const { return memory && places; }

    INLINE Int size() const { return N ? N : given; }
    INLINE double *at(Int row, Int column) const { return work + (row * (N ? N : stride) + column) * L; }
    INLINE V diagonal(Int k) const { return load(at(k, k)); }
    // After `factorise`: what is below the diagonal of L D, and 1/D.
    INLINE V u(Int row, Int column) const { return load(at(row, column)); }
    INLINE V l(Int row, Int column) const { return load(at(column, row)); }
    INLINE V inverse(Int k) const { return load(inverses + k * L); }
    INLINE void set_inverse(Int k, V x) const { store(inverses + k * L, x); }

    void take(const double *X, const Int *chosen) const {
        scatter(X, size() * size(), chosen, places.data(), 1.0, work);
        fill_up();
    }
    // (A + B)/2, halved first: the sum of two huge numbers overflows.
    void take_mean(const Batch &A, const Batch &B) const {
        for (Int k = 0; k < stride * padded * L; k += L) store(work + k, 0.5 * load(A.work + k) + 0.5 * load(B.work + k));
    }

    // Factorise with the diagonal times this scale. The lower triangle becomes U = L D, the upper one Lᵀ; the diagonal
    // stays. `symmetric` is where Σ |a_ij − a_ji|, which is finite only if the entries off the diagonal are, is at most
    // this tolerance of the least diagonal entry; `positive` where all pivots are positive and finite.
    void factorise(double scale, double tolerance) {
        V asymmetry = {}, least_pivot = fill(INFINITE<double>), finite = {};
        least_diagonal = least_pivot;
        const auto invert = [&](Int k, V pivot) {
            const V inverse = reciprocal(pivot);
            least_diagonal = least(diagonal(k), least_diagonal);
            least_pivot = least(pivot, least_pivot);
            finite += pivot * 0.0;  // NaN from here on if the pivot is not finite
            set_inverse(k, inverse);
            return inverse;
        };
        if constexpr (N > 0)
            asymmetry = in_registers(scale, invert);
        else
            for (Int i = 0; i < padded; i += TILE) {
                for (Int j = 0; j < i; j += TILE) asymmetry += eliminate_left(i, j);
                V A[TILE][TILE];
                asymmetry += eliminate_diagonal(i, scale, A);
                UNROLL for (int c = 0; c < TILE; ++c) {
                    if (i + c == given) break;  // the rest is the identity
                    const V inverse = invert(i + c, A[c][c]);
                    UNROLL for (int r = c + 1; r < TILE; ++r) {
                        const V factor = A[r][c] * inverse;
                        store(at(i + r, i + c), A[r][c]);
                        store(at(i + c, i + r), factor);
                        UNROLL for (int q = r; q < TILE; ++q) A[q][r] -= A[q][c] * factor;
                    }
                }
            }
        symmetric = asymmetry <= least_diagonal * tolerance;
        positive = (least_pivot > 0.0) & (finite == 0.0);
    }

  private:
    void fill_up() const {
        for (Int row = size(); row < padded; ++row) {
            for (Int column = 0; column < row; ++column) {
                store(at(row, column), V{});
                store(at(column, row), V{});
            }
            store(at(row, row), fill(1.0));
        }
    }

    template <class F> INLINE V in_registers(double scale, F invert) const {
        V A[N][N], asymmetry = {};
        UNROLL for (int r = 0; r < N; ++r) {
            UNROLL for (int c = 0; c < r; ++c) {
                A[r][c] = load(at(r, c));
                asymmetry += absolute(A[r][c] - load(at(c, r)));
            }
            A[r][r] = diagonal(r) * scale;
        }
        UNROLL for (int c = 0; c < N; ++c) {
            const V inverse = invert(c, A[c][c]);
            UNROLL for (int q = c + 1; q < N; ++q) {
                const V factor = A[q][c] * inverse;
                store(at(q, c), A[q][c]);
                store(at(c, q), factor);
                UNROLL for (int r = q; r < N; ++r) A[r][q] -= A[r][c] * factor;
            }
        }
        return asymmetry;
    }

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
            const V inverse = load(inverses + k * L);
            V u[TILE], l[TILE];
            UNROLL for (int r = 0; r < TILE; ++r) u[r] = load(at(i + r, k));
            UNROLL for (int r = 0; r < TILE; ++r) store(at(k, i + r), l[r] = u[r] * inverse);
            UNROLL for (int r = 0; r < TILE; ++r) UNROLL for (int c = 0; c <= r; ++c) A[r][c] -= u[r] * l[c];
        }
        return asymmetry;
    }
};

// What works for any size n, made for the sizes that are known: table[n], or table[0] for those beyond.
#define PROGRAMS_BY_SIZE(program) \
    {program<0>, program<1>, program<2>, program<3>, program<4>, program<5>, program<6>, program<7>, program<8>}

}  // namespace spdatoms
