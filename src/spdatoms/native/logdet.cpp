// log det(X_i + Y_j) for all pairs, by LDLᵀ factorisations of a batch of Y, one matrix per lane.
//
// With U = L·D the rows of the factor obey U[r, c] = A[r, c] − Σ_{k<c} U[r, k]·L[c, k] and L[c, k] = U[c, k]/D[k]: no
// square roots, one reciprocal per column. Pivots are multiplied, the exponent of the product is taken off every few of
// them, and one logarithm at the end serves the whole matrix. A pivot that is not positive gives NaN, never a number.
//
// Two programs, chosen by size: everything in registers (tiny), and tiles. Rows are taken two tile rows at a time: both
// read the same part of L, so it comes from the second-level cache once for two uses, and their chains of dependent
// operations overlap.
#include "interleave.hpp"

using namespace spdatoms;

namespace {

constexpr int TINY = 8;    // up to this size a factorisation is kept in registers
constexpr int KEPT = 4;    // up to this size the entries of X stay in registers, too
constexpr int KNOWN = 16;  // up to this size the program has a size that is known when it is compiled

// How many pivots are multiplied before the exponent of their product is taken off.
template <class T> constexpr int PIVOTS_AT_ONCE = sizeof(T) == 8 ? 6 : 4;

// The running product of the pivots as mantissa and exponent, with the least pivot as witness.
template <class T> struct Determinant {
    using V = Vector<T>;
    V product = fill(T(1)), exponent = fill(T(0)), least = fill(T(1));
    int pending = 0;

    INLINE void witness(V value) { least = spdatoms::least(value, least); }
    // Multiply by a principal minor worth this many pivots.
    INLINE void include(V minor, int pivots) {
        if (pending + pivots > PIVOTS_AT_ONCE<T>) normalise();
        witness(minor);
        product *= minor;
        pending += pivots;
    }
    INLINE void normalise() {
        // 0·product is NaN where the product is not finite, and splitting would hide that.
        exponent += product * T(0);
        V taken;
        split(product, product, taken);
        exponent += taken;
        pending = 0;
    }
    INLINE V checked() const { return least > T(0) ? product : fill(NOT_A_NUMBER<T>); }
};

// ---- Tiny matrices: two columns at a time with one division for both.
//
// The second column is reduced by the first, as ever. With the inverse of the 2×2 block in its place the error would
// grow with the block's condition.
//
// entry(r, c) is read where it is first needed: there are not registers for all.
template <class T, int N, class F> INLINE Determinant<T> factorise_in_registers(F entry) {
    using V = Vector<T>;
    V A[N][N];
    Determinant<T> det;
    if constexpr (N % 2) {
        const V a = entry(0, 0), inverse = reciprocal(a);
        det.least = a;  // the first witness is compared with nothing
        det.include(a, 1);
        UNROLL for (int q = 1; q < N; ++q) A[q][0] = entry(q, 0);
        UNROLL for (int q = 1; q < N; ++q) {
            const V factor = A[q][0] * inverse;
            UNROLL for (int r = q; r < N; ++r) A[r][q] = entry(r, q) - A[r][0] * factor;
        }
    }
    UNROLL for (int c = N % 2; c < N; c += 2) {
        const auto at = [&](int r, int q) { return c == 0 ? entry(r, q) : A[r][q]; };
        const V a = at(c, c), b = at(c + 1, c), d = at(c + 1, c + 1), minor = a * d - b * b;
        det.least = c == 0 ? a : least(a, det.least);
        det.include(minor, 2);
        const V inverse = reciprocal(a * minor), first = minor * inverse, second = a * a * inverse;
        V factors[N][2];
        UNROLL for (int q = c + 2; q < N; ++q) {
            A[q][c] = at(q, c);
            factors[q][0] = A[q][c] * first;
            A[q][c + 1] = at(q, c + 1) - b * factors[q][0];
            factors[q][1] = A[q][c + 1] * second;
        }
        UNROLL for (int q = c + 2; q < N; ++q)
            UNROLL for (int r = q; r < N; ++r)
                A[r][q] = at(r, q) - A[r][c] * factors[q][0] - A[r][c + 1] * factors[q][1];
    }
    return det;
}

// The slot of entry (r, c) in tile order.
template <int N> constexpr int slot_of(int r, int c) {
    constexpr int ODD = N % TILE;
    if (r < ODD) return c * ODD + r;
    const int block = (r - ODD) / TILE;
    return int(row_block_start(block, ODD)) + c * TILE + (r - ODD) % TILE;
}

// ---- Tiles.

// One to three pivots at once, as ratios of leading minors, whose reciprocals are independent of each other: a division
// takes three times as long as a multiplication, and every pivot would wait for the one before.
template <int COUNT, class V, int SIZE, class D>
INLINE void eliminate_step(int i, V (&A)[SIZE][SIZE], V (&L)[SIZE][SIZE], V (&inverses)[SIZE], D &det) {
    const V a = A[i][i], inverse = reciprocal(a);
    inverses[i] = inverse;
    if constexpr (COUNT == 1) det.include(a, 1);
    if constexpr (COUNT > 1) {
        const V b = A[i + 1][i], second = a * A[i + 1][i + 1] - b * b, inverse_second = reciprocal(second);
        L[i + 1][i] = b * inverse;
        inverses[i + 1] = a * inverse_second;
        det.witness(a);
        if constexpr (COUNT == 2) det.include(second, 2);
        if constexpr (COUNT == 3) {
            det.witness(second);
            const V e = A[i + 2][i], across = a * A[i + 2][i + 1] - b * e, last = a * A[i + 2][i + 2] - e * e;
            const V third = second * last - across * across;  // a times the determinant
            L[i + 2][i] = e * inverse;
            L[i + 2][i + 1] = across * inverse_second;
            inverses[i + 2] = a * second * reciprocal(third);
            det.include(third * inverse, 3);
        }
    }
}

// L and 1/D of a diagonal tile; A is overwritten.
template <class V, int SIZE, class D>
INLINE void eliminate(V (&A)[SIZE][SIZE], V (&L)[SIZE][SIZE], V (&inverses)[SIZE], D &det) {
    constexpr int STEP = SIZE < 3 ? SIZE : 3;
    eliminate_step<STEP>(0, A, L, inverses, det);
    if constexpr (SIZE > STEP) {
        static_assert(SIZE == STEP + 1, "a tile has at most four rows");
        constexpr int q = STEP;
        UNROLL for (int c = 0; c < STEP; ++c) {
            UNROLL for (int k = 0; k < c; ++k) A[q][c] -= A[q][k] * L[c][k];
            L[q][c] = A[q][c] * inverses[c];
        }
        UNROLL for (int c = 0; c < STEP; ++c) A[q][q] -= A[q][c] * L[q][c];
        eliminate_step<1>(q, A, L, inverses, det);
    }
}

// Make the compiler load again what it knows to be in memory: in long straight-line code it would otherwise keep
// everything "in registers", that is, spill all the time.
INLINE void forget() { asm volatile("" ::: "memory"); }

template <class T, int ODD> struct Factorisation {
    using V = Vector<T>;
    static constexpr Int L = LANES<T>;
    const T *x, *y;             // in tile order
    T *inverses, *lower;        // 1/D, and L in tile order
    Determinant<T> det;

    // Do a step for all columns left of a tile: as many as the odd block has, and then whole tiles, unrolled.
    template <class F> static INLINE void for_columns(Int columns, F step) {
        if (columns == 0) return;
        UNROLL for (int k = 0; k < ODD; ++k) step(k);
        for (Int first = ODD; first < columns; first += TILE) UNROLL for (int k = 0; k < TILE; ++k) step(first + k);
    }

    template <int H> static INLINE V sum(const T *x, const T *y, int r, int c) {
        return load(y + (c * H + r) * L) + x[c * H + r];
    }

    // Factor a diagonal tile at these slots, right of so many columns: its pivots, and its rows of L.
    template <int H> INLINE void diagonal(Int start, Int columns, const T *upper) {
        V A[H][H];
        forget();
        const T *here = x + start + columns * H, *there = y + (start + columns * H) * L;
        UNROLL for (int c = 0; c < H; ++c) UNROLL for (int r = c; r < H; ++r) A[r][c] = sum<H>(here, there, r, c);
        T *rows = lower + start * L;
        for_columns(columns, [&](Int k) __attribute__((always_inline)) {
            const V inverse = load(inverses + k * L);
            V u[H], l[H];
            UNROLL for (int r = 0; r < H; ++r) u[r] = load(upper + (k * H + r) * L);
            UNROLL for (int c = 0; c < H; ++c) {
                l[c] = u[c] * inverse;
                store(rows + (k * H + c) * L, l[c]);
                UNROLL for (int r = c; r < H; ++r) A[r][c] -= u[r] * l[c];
            }
        });
        V factors[H][H], pivots[H];
        eliminate(A, factors, pivots, det);
        UNROLL for (int c = 0; c < H; ++c) {
            store(inverses + (columns + c) * L, pivots[c]);
            UNROLL for (int r = c + 1; r < H; ++r) store(rows + ((columns + c) * H + r) * L, factors[r][c]);
        }
        det.normalise();
    }

    // Compute a tile of U: rows of the block at `start`, columns of the block at `column_start`, right of so many.
    template <int W> INLINE void below(Int start, Int column_start, Int columns, T *upper) {
        constexpr int H = TILE;
        V A[H][W];
        forget();
        const T *here = x + start + columns * H, *there = y + (start + columns * H) * L;
        UNROLL for (int c = 0; c < W; ++c) UNROLL for (int r = 0; r < H; ++r) A[r][c] = sum<H>(here, there, r, c);
        const T *rows = lower + column_start * L;
        for_columns(columns, [&](Int k) __attribute__((always_inline)) {
            V l[W];
            UNROLL for (int c = 0; c < W; ++c) l[c] = load(rows + (k * W + c) * L);
            UNROLL for (int r = 0; r < H; ++r) {
                const V u = load(upper + (k * H + r) * L);
                UNROLL for (int c = 0; c < W; ++c) A[r][c] -= u * l[c];
            }
        });
        UNROLL for (int c = 0; c < W; ++c) {
            UNROLL for (int q = 0; q < c; ++q) {
                const V factor = load(rows + ((columns + q) * W + c) * L);
                UNROLL for (int r = 0; r < H; ++r) A[r][c] -= A[r][q] * factor;
            }
            UNROLL for (int r = 0; r < H; ++r) store(upper + ((columns + c) * H + r) * L, A[r][c]);
        }
    }

    // Factor COUNT tile rows from number `block` on, side by side.
    template <int COUNT> INLINE void rows(Int block, T *upper, Int stride) {
        Int starts[COUNT];
        UNROLL for (int i = 0; i < COUNT; ++i) starts[i] = row_block_start(block + i, ODD);
        if constexpr (ODD > 0) UNROLL for (int i = 0; i < COUNT; ++i) below<ODD>(starts[i], 0, 0, upper + i * stride);
        for (Int left = 0; left < block; ++left)
            UNROLL for (int i = 0; i < COUNT; ++i)
                below<TILE>(starts[i], row_block_start(left, ODD), ODD + left * TILE, upper + i * stride);
        UNROLL for (int i = 0; i < COUNT; ++i) {
            UNROLL for (int j = 0; j < i; ++j)
                below<TILE>(starts[i], row_block_start(block + j, ODD), ODD + (block + j) * TILE, upper + i * stride);
            diagonal<TILE>(starts[i], ODD + (block + i) * TILE, upper + i * stride);
        }
    }
};

template <class T> constexpr Int scratch_size(Int n) { return (slot_count(n) + (2 * TILE + 1) * n) * LANES<T>; }

template <class T, int ODD, int SINGLE> INLINE Determinant<T> tiles(Int n, const T *x, const T *y, T *scratch) {
    T *upper = scratch + n * LANES<T>, *lower = upper + 2 * TILE * n * LANES<T>;
    const Int stride = TILE * n * LANES<T>, blocks = n / TILE;
    Factorisation<T, ODD> work{x, y, scratch, lower, {}};
    if constexpr (ODD > 0) work.template diagonal<ODD>(0, 0, upper);
    if constexpr (SINGLE > 0) work.template rows<1>(0, upper, stride);
    for (Int block = SINGLE; block < blocks; block += 2) work.template rows<2>(block, upper, stride);
    return work.det;
}

// ---- The determinants of a run of batches, then their logarithms: those have many constants, which are then loaded once.
template <class T> struct Run {
    Int n, count;
    const T *x, *y;
    T *scratch, *results;  // product of every batch, and its exponent if it has one yet
    T *out;
    T floor, exponent, shift_x;
    const T *shifts_y;
    Vector<T> *verdict;
};

// Whether a determinant of this size has an exponent yet.
template <class T> constexpr bool HAS_EXPONENT(Int n) { return n > PIVOTS_AT_ONCE<T>; }

// Write max(floor, logarithm − shifts) of every batch; NaN in one spoils the verdict.
template <class T, bool HAS_EXPONENT> NOINLINE void write_logarithms(const Run<T> &run) {
    using V = Vector<T>;
    const V floor = fill(run.floor), exponent = fill(run.exponent), shift = fill(run.shift_x);
    // Copies of the addresses, which the compiler knows no store to change.
    const T *results = run.results, *shifts_y = run.shifts_y;
    T *out = run.out;
    const Int count = run.count;
    V all_numbers = *run.verdict;
    _Pragma("GCC unroll 2") for (Int b = 0; b < count; ++b) {
        const T *result = results + (HAS_EXPONENT ? 2 : 1) * b * LANES<T>;
        Determinant<T> det;
        det.product = load(result);
        det.exponent = exponent;
        if (HAS_EXPONENT) det.exponent += load(result + LANES<T>);
        det.normalise();
        const V value = log_of_split(det.product, det.exponent) - (shift + load(shifts_y + b * LANES<T>));
        all_numbers += value * T(0);
        store(out + b * LANES<T>, floor > value ? floor : value);
    }
    *run.verdict = all_numbers;
}

// N is the size, or 0 and REST the size modulo two tiles.
template <class T, int N, int REST> NOINLINE void shifted_logs(const Run<T> &run) {
    const Int n = N ? N : run.n, batch = slot_count(n) * LANES<T>;
    T *const results = run.results;
    const auto keep = [&](Int b, const Determinant<T> &det) {
        T *result = results + (HAS_EXPONENT<T>(n) ? 2 : 1) * b * LANES<T>;
        store(result, det.checked());
        if (HAS_EXPONENT<T>(n)) store(result + LANES<T>, det.exponent);
    };
    if constexpr (N > 0 && N <= TINY) {
        Vector<T> kept[N <= KEPT ? slot_count(N) : 1];
        if constexpr (N <= KEPT)
            for (int s = 0; s < slot_count(N); ++s) kept[s] = fill(run.x[s]);
        const T *Y = run.y;
        T *out = run.out;
        const Int count = run.count;
        for (Int b = 0; b < count; ++b) {
            const T *y = Y + b * batch;
            __builtin_prefetch(out + b * LANES<T>, 1, 3);
            keep(b, factorise_in_registers<T, N>([&](int r, int c) {
                     const int slot = slot_of<N>(r, c);
                     return load(y + slot * LANES<T>) + (N <= KEPT ? kept[slot] : fill(run.x[slot]));
                 }));
        }
    } else
        for (Int b = 0; b < run.count; ++b) {
            __builtin_prefetch(run.out + b * LANES<T>, 1, 3);
            keep(b, tiles<T, REST % TILE, REST / TILE>(n, run.x, run.y + b * batch, run.scratch));
        }
    (HAS_EXPONENT<T>(n) ? write_logarithms<T, true> : write_logarithms<T, false>)(run);
}

template <class T> using Program = void (*)(const Run<T> &);

template <class T, std::size_t... N> Program<T> program_of(Int n, std::index_sequence<N...>) {
    constexpr int ROUND = 2 * TILE;
    static constexpr Program<T> KNOWN_SIZES[] = {shifted_logs<T, int(N) + 1, (int(N) + 1) % ROUND>...};
    static constexpr Program<T> OTHERS[] = {shifted_logs<T, 0, int(N) % ROUND>...};
    return n <= KNOWN ? KNOWN_SIZES[n - 1] : OTHERS[n % ROUND];
}

template <class T> struct LogDets {
    Int n, rows;
    const T *X;  // (rows, slots)
    // Batches, one after the other; or, if matrices are chosen, matrices: lane k of all batches is factor·Y[chosen[k]].
    const T *Y;
    const Int *chosen, *entries;  // the entry of every slot
    double factor;
    double floor, exponent;
    const T *shifts_x, *shifts_y;  // for every row, and for every lane of the batches
    const Int *begins, *ends;      // the batches of every row
    Int batches, chunk;            // so many serve all rows before the next come in, so that they stay in the cache
    T *out;
    Int columns, stride;  // of a row of the results, and from one row to the next
};

// Write max(floor, log det(2^e·(X_i + Y_j)) − shifts_x[i] − shifts_y[j]), with exponent = n·e; whether all are numbers.
template <class T> Int logdets(const LogDets<T> &g) {
    const Int slots = slot_count(g.n), batch = slots * LANES<T>, full = g.columns / LANES<T>;
    Buffer<T> scratch(scratch_size<T>(g.n)), results(2 * (g.chosen ? 1 : g.chunk) * LANES<T>), gathered(g.chosen ? batch : 0);
    if (!scratch || !results || !gathered) return NO_MEMORY;
    const Program<T> shifted_logs = program_of<T>(g.n, std::make_index_sequence<KNOWN>());
    T last[LANES<T>];
    Vector<T> verdict = {};
    for (Int chunk = 0; chunk < g.batches; chunk += g.chunk)
        for (Int i = 0; i < g.rows; ++i) {
            const Int begin = chunk > g.begins[i] ? chunk : g.begins[i];
            const Int end = chunk + g.chunk < g.ends[i] ? chunk + g.chunk : g.ends[i];
            for (Int b = begin, count; b < end; b += count) {
                // The last batch of a row may have no room for all of its lanes.
                count = g.chosen || b >= full ? 1 : (end < full ? end : full) - b;
                const T *y = g.Y + b * batch;
                if (g.chosen) {
                    gather(g.Y, g.n * g.n, g.chosen + b * LANES<T>, g.entries, slots, g.factor, gathered.data());
                    y = gathered.data();
                }
                T *target = g.out + i * g.stride + b * LANES<T>;
                shifted_logs({g.n, count, g.X + i * slots, y, scratch.data(), results.data(), b < full ? target : last,
                              T(g.floor), T(g.exponent), g.shifts_x[i], g.shifts_y + b * LANES<T>, &verdict});
                if (b >= full) std::memcpy(target, last, (g.columns - full * LANES<T>) * sizeof(T));
            }
        }
    return !anywhere(verdict != verdict);
}

template <class T> struct PairLogDets {
    Int n, batches;
    const T *X;                   // (·, slots)
    const Int *firsts, *seconds;  // the matrices in every lane; −1 is a matrix of zeros
    double floor, exponent;
    const T *shifts;  // for every lane
    T *out;           // (batches, LANES)
};

// The same for chosen pairs of X, one per lane: where there are too few matrices to fill the lanes with those that meet
// one X. They have at least as many slots as there are lanes.
template <class T> Int pair_logdets(const PairLogDets<T> &g) {
    const Int slots = slot_count(g.n);
    Buffer<T> scratch(scratch_size<T>(g.n)), results(2 * LANES<T>), sums(slots * LANES<T>), zero(slots);
    if (!scratch || !results || !sums || !zero) return NO_MEMORY;
    std::memset(zero.data(), 0, slots * sizeof(T));
    const Program<T> shifted_logs = program_of<T>(g.n, std::make_index_sequence<KNOWN>());
    Vector<T> verdict = {};
    const auto matrix = [&](Int i) { return i < 0 ? zero.data() : g.X + i * slots; };
    for (Int lane = 0; lane < g.batches * LANES<T>; lane += LANES<T>) {
        const T *first[LANES<T>], *second[LANES<T>];
        for (int l = 0; l < LANES<T>; ++l)
            first[l] = matrix(g.firsts[lane + l]), second[l] = matrix(g.seconds[lane + l]);
        for_blocks<T>(slots, [&](Int slot) __attribute__((always_inline)) {
            Vector<T> block[LANES<T>];
            UNROLL for (int l = 0; l < LANES<T>; ++l) block[l] = load(second[l] + slot) + load(first[l] + slot);
            transpose(block);
            UNROLL for (int e = 0; e < LANES<T>; ++e) store(sums.data() + (slot + e) * LANES<T>, block[e]);
        });
        shifted_logs({g.n, 1, zero.data(), sums.data(), scratch.data(), results.data(), g.out + lane, T(g.floor),
                      T(g.exponent), T(0), g.shifts + lane, &verdict});
    }
    return !anywhere(verdict != verdict);
}

}  // namespace

EXPORT Int logdets_f64(const LogDets<double> *given) { return logdets(*given); }
EXPORT Int logdets_f32(const LogDets<float> *given) { return logdets(*given); }
EXPORT Int pair_logdets_f64(const PairLogDets<double> *given) { return pair_logdets(*given); }
EXPORT Int pair_logdets_f32(const PairLogDets<float> *given) { return pair_logdets(*given); }
