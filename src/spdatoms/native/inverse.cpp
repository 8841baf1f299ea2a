// (X + Y_j)⁻¹ for a batch of Y, one matrix per lane, by block Gauss–Jordan sweeps.
//
// Sweeping the pivot block K of a symmetric matrix A,
//
//     A_IJ ← A_IJ − A_IK A_KK⁻¹ A_KJ,   A_IK ← A_IK A_KK⁻¹,   A_KK ← −A_KK⁻¹     (I, J ≠ K),
//
// for every block in turn leaves −A⁻¹ in its place. It takes n³ flops, works in the lower triangle alone, and every
// step is a product of tiles. A pivot that is not positive makes the whole inverse NaN.
//
// The products with A_KK⁻¹ go through its factors, A_KK = L D Lᵀ, as in a Cholesky factorisation: with the inverse itself
// the error of A_IJ would grow with the condition of A_KK, and that of the whole with the square of A's condition.
#include "interleave.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
constexpr Int L = LANES<double>;
constexpr int KNOWN = 8;        // up to this size the program has a size that is known when it is compiled
constexpr Int ODD_BLOCK = -1;  // the block before block 0

// A tile that is stored by columns, or by rows if it is transposed.
template <int H, int W> INLINE void read(V (&A)[H][W], const double *source, bool transposed) {
    UNROLL for (int c = 0; c < W; ++c)
        UNROLL for (int r = 0; r < H; ++r) A[r][c] = load(source + (transposed ? r * W + c : c * H + r) * L);
}
template <int H, int W> INLINE void write(const V (&A)[H][W], double *target, bool transposed) {
    UNROLL for (int c = 0; c < W; ++c)
        UNROLL for (int r = 0; r < H; ++r) store(target + (transposed ? r * W + c : c * H + r) * L, A[r][c]);
}

// The inverse of a tile, by sweeping one column at a time, and its factors L and D⁻¹; reads and writes the lower triangle.
template <int N> INLINE void invert_tile(V (&A)[N][N], V (&factors)[N][N], V (&inverse_pivots)[N]) {
    UNROLL for (int k = 0; k < N; ++k) {
        const V p = A[k][k] > 0.0 ? reciprocal(A[k][k]) : fill(NOT_A_NUMBER<double>);
        V row[N], column[N];
        UNROLL for (int j = 0; j < N; ++j) {
            column[j] = j > k ? A[j][k] : A[k][j];
            row[j] = column[j] * p;
            factors[j][k] = row[j];
        }
        inverse_pivots[k] = p;
        UNROLL for (int i = 0; i < N; ++i) UNROLL for (int j = 0; j <= i; ++j)
            if (i != k && j != k) A[i][j] -= row[i] * column[j];
        UNROLL for (int j = 0; j < N; ++j) (j > k ? A[j][k] : A[k][j]) = row[j];
        A[k][k] = -p;
    }
}

// One matrix per lane, in tile order, with room for U = A_IK L⁻ᵀ and V = U D⁻¹, where A_KK = L D Lᵀ.
template <int ODD> struct Sweeps {
    Int blocks;
    double *work, *columns, *products;

    INLINE double *tile(Int row, Int column) const {
        if (row == ODD_BLOCK) return work;
        return work + (row_block_start(row, ODD) + (column == ODD_BLOCK ? 0 : ODD + column * TILE) * TILE) * L;
    }
    static INLINE double *panel(double *base, Int block) {
        return base + (block == ODD_BLOCK ? 0 : ODD + block * TILE) * TILE * L;
    }

    // A_IK ← A_IK A_KK⁻¹, with U and V for the other tiles.
    template <int H, int W>
    INLINE void solve(Int I, Int K, bool below, const V (&factors)[W][W], const V (&inverse_pivots)[W]) const {
        V A[H][W], U[H][W];
        double *at = below ? tile(I, K) : tile(K, I);
        read(U, at, !below);
        UNROLL for (int r = 0; r < H; ++r)
            UNROLL for (int c = 0; c < W; ++c) {
                UNROLL for (int k = 0; k < c; ++k) U[r][c] -= U[r][k] * factors[c][k];
                A[r][c] = U[r][c] * inverse_pivots[c];
            }
        write(U, panel(columns, I), false);
        write(A, panel(products, I), false);
        UNROLL for (int r = 0; r < H; ++r)
            UNROLL for (int c = W - 1; c >= 0; --c)
                UNROLL for (int k = c + 1; k < W; ++k) A[r][c] -= A[r][k] * factors[k][c];
        write(A, at, !below);
    }

    // A_IJ ← A_IJ − V_I U_Jᵀ
    template <int H, int W, int COLUMNS> INLINE void update(Int I, Int J, const V (&left)[H][W]) const {
        const double *U = panel(columns, J);
        double *target = tile(I, J);
        UNROLL for (int c = 0; c < COLUMNS; ++c) {
            V factors[W];
            UNROLL for (int k = 0; k < W; ++k) factors[k] = load(U + (k * COLUMNS + c) * L);
            UNROLL for (int r = 0; r < H; ++r) {
                V entry = load(target + (c * H + r) * L);
                UNROLL for (int k = 0; k < W; ++k) entry -= left[r][k] * factors[k];
                store(target + (c * H + r) * L, entry);
            }
        }
    }

    // The same for all J ≤ I but the pivot's block.
    template <int H, int W> INLINE void update_row(Int I, Int K) const {
        V left[H][W];
        read(left, panel(products, I), false);
        if constexpr (ODD > 0)
            if (K != ODD_BLOCK) update<H, W, ODD>(I, ODD_BLOCK, left);
        if (H != TILE) return;
        const Int before = K != ODD_BLOCK && K < I ? K : 0;
        for (Int J = 0; J < before; ++J) update<H, W, TILE>(I, J, left);
        for (Int J = K != ODD_BLOCK && K < I ? K + 1 : 0; J <= I; ++J) update<H, W, TILE>(I, J, left);
    }

    template <int W> INLINE void sweep(Int K) const {
        V A[W][W], factors[W][W], inverse_pivots[W];
        double *pivot = tile(K, K);
        read(A, pivot, false);
        invert_tile(A, factors, inverse_pivots);
        UNROLL for (int r = 0; r < W; ++r) UNROLL for (int c = 0; c < r; ++c) A[c][r] = A[r][c];
        write(A, pivot, false);
        if constexpr (ODD > 0)
            if (K != ODD_BLOCK) solve<ODD, W>(ODD_BLOCK, K, false, factors, inverse_pivots);
        for (Int I = 0; I < blocks; ++I)
            if (I != K) solve<TILE, W>(I, K, I > K, factors, inverse_pivots);
        if constexpr (ODD > 0)
            if (K != ODD_BLOCK) update_row<ODD, W>(ODD_BLOCK, K);
        for (Int I = 0; I < blocks; ++I)
            if (I != K) update_row<TILE, W>(I, K);
    }
};

// N is the size, or 0 and ODD the size modulo a tile.
template <int N, int ODD> NOINLINE void negative_inverse(Int given, double *work, double *panels) {
    const Int n = N ? N : given;
    const Sweeps<ODD> sweeps{n / TILE, work, panels, panels + n * TILE * L};
    if constexpr (ODD > 0) sweeps.template sweep<ODD>(ODD_BLOCK);
    for (Int K = 0; K < n / TILE; ++K) sweeps.template sweep<TILE>(K);
}

using Program = void (*)(Int n, double *work, double *panels);

template <std::size_t... N> Program program_of(Int n, std::index_sequence<N...>) {
    static constexpr Program KNOWN_SIZES[] = {negative_inverse<int(N) + 1, (int(N) + 1) % TILE>...};
    static constexpr Program OTHERS[] = {negative_inverse<0, int(N) % TILE>...};
    return n <= KNOWN ? KNOWN_SIZES[n - 1] : OTHERS[n % TILE];
}
Program program_of(Int n) { return program_of(n, std::make_index_sequence<KNOWN>()); }

// Numbers of scratch that the sweeps of one batch need.
constexpr Int panels_size(Int n) { return 2 * n * TILE * L; }

struct Inverses {
    Int n, count;
    const double *X;                 // (count, n, n)
    const Int *places, *slots;       // the slot of every entry, and those that are written
    const double *weights;           // of these
    Int length, beside;              // their number, and whether the entries of X_i come first
    double *out;                     // (count, length), or (count, 2·length)
};
struct AddWeightedInverses {
    Int n, rows;
    const double *X, *factors;  // (rows, slots) factors[i]·X_i, and the factor of every row
    const double *Y;
    const Int *chosen, *entries, *begins, *ends;
    const double *weights;
    double *totals;  // (rows, slots)
};
struct SumPairInverses {
    Int n, rows, batches;
    const double *X, *Y;              // (rows, slots), (batches, slots, LANES)
    const double *weights;            // (rows, batches·LANES)
    double *totals_x, *totals_y;      // as X and Y
};

}  // namespace

// Write the entries at these slots, times their weights, of X_i⁻¹ as row i, after those of X_i or alone; return the first i
// whose X_i is not positive definite, or the count.
EXPORT Int inverses(const Inverses *given) {
    const Inverses g = *given;
    const Int n = g.n, slots = slot_count(n), first_inverse = g.beside ? g.length : 0, stride = first_inverse + g.length;
    Buffer<double> memory(slots * L + panels_size(n)), negative(g.length), last(g.count % L ? stride * L : 1);
    if (!memory || !negative || !last) return NO_MEMORY;
    for (Int p = 0; p < g.length; ++p) negative.data()[p] = -g.weights[p];
    double *work = memory.data(), *panels = work + slots * L;
    Int bad = g.count;
    for (Int first = 0; first < g.count; first += L) {
        const Int together = first + L <= g.count ? L : g.count - first;
        Int chosen[L];
        for (Int l = 0; l < L; ++l) chosen[l] = first + (l < together ? l : together - 1);
        double *rows = together == L ? g.out + first * stride : last.data();
        scatter(g.X, n * n, chosen, g.places, 1.0, work);
        if (g.beside) collect(work, g.slots, g.weights, g.length, rows, stride);
        program_of(n)(n, work, panels);
        collect(work, g.slots, negative.data(), g.length, rows + first_inverse, stride);
        if (rows == last.data()) std::memcpy(g.out + first * stride, rows, together * stride * sizeof(double));
        for (Int l = 0; l < together && bad == g.count; ++l)  // such a pivot makes the whole inverse NaN
            if (rows[l * stride + first_inverse] != rows[l * stride + first_inverse]) bad = first + l;
    }
    return bad;
}

// Add Σ_j w_j (factors[i]·(X_i + Y_j))⁻¹ to totals[i], in tile order, over the batches begins[i] … ends[i] − 1 of Y.
// Lane k of all batches holds the matrix Y[chosen[k]] and has the weight w_k.
EXPORT Int add_weighted_inverses(const AddWeightedInverses *given) {
    const Int n = given->n, slots = slot_count(n);
    Buffer<double> memory(slots * L + panels_size(n));
    if (!memory) return NO_MEMORY;
    double *work = memory.data(), *panels = work + slots * L;
    for (Int i = 0; i < given->rows; ++i)
        for (Int b = given->begins[i]; b < given->ends[i]; ++b) {
            const double *x = given->X + i * slots, *weights = given->weights + b * L;
            gather(given->Y, n * n, given->chosen + b * L, given->entries, slots, given->factors[i], work);
            for (Int s = 0; s < slots; ++s) store(work + s * L, load(work + s * L) + x[s]);
            program_of(n)(n, work, panels);
            for (Int s = 0; s < slots; ++s) {
                double total = given->totals[i * slots + s];
                for (int l = 0; l < L; ++l) total -= weights[l] * work[s * L + l];
                given->totals[i * slots + s] = total;
            }
        }
    return DONE;
}

// Add Σ_j w_ij (X_i + Y_j)⁻¹ to totals_x[i] and Σ_i w_ij (X_i + Y_j)⁻¹ to totals_y[j], in tile order.
EXPORT Int sum_pair_inverses(const SumPairInverses *given) {
    const Int n = given->n, slots = slot_count(n);
    Buffer<double> memory(2 * slots * L + panels_size(n));
    if (!memory) return NO_MEMORY;
    double *work = memory.data(), *sums = work + slots * L, *panels = sums + slots * L;
    for (Int i = 0; i < given->rows; ++i) {
        const double *x = given->X + i * slots;
        for (Int s = 0; s < slots; ++s) store(sums + s * L, V{});
        for (Int b = 0; b < given->batches; ++b) {
            const V weights = load(given->weights + (i * given->batches + b) * L);
            if (!anywhere(weights != 0.0)) continue;
            const double *y = given->Y + b * slots * L;
            double *totals = given->totals_y + b * slots * L;
            for (Int s = 0; s < slots; ++s) store(work + s * L, load(y + s * L) + x[s]);
            program_of(n)(n, work, panels);
            for (Int s = 0; s < slots; ++s) {
                const V term = weights * load(work + s * L);  // of the negative inverse
                store(sums + s * L, load(sums + s * L) - term);
                store(totals + s * L, load(totals + s * L) - term);
            }
        }
        double *totals = given->totals_x + i * slots;
        Int s = 0;
        for (; s + L <= slots; s += L) {
            V block[L], total = load(totals + s);
            UNROLL for (int l = 0; l < L; ++l) block[l] = load(sums + (s + l) * L);
            transpose(block);
            UNROLL for (int l = 0; l < L; ++l) total += block[l];
            store(totals + s, total);
        }
        for (; s < slots; ++s)
            for (int l = 0; l < L; ++l) totals[s] += sums[s * L + l];
    }
    return DONE;
}
