// Last steps of pairwise divergences, in place and in one pass.
#include "vector.hpp"

using namespace spdatoms;

namespace {

constexpr Int EDGE = 32;                          // rows and columns of a tile that the first-level cache holds
constexpr double CANCELLED = 1e-2;                // the least share of a sum that may be left: two digits may cancel
constexpr double LEAST = 1e-280, GREATEST = 1e300;  // where no part of a sum of squares has left the range

constexpr Int smaller(Int x, Int y) { return x < y ? x : y; }

// 1 if one of the two is not finite: the entry may be rounded to single precision.
template <class T> INLINE Int not_finite(double value, T entry) {
    return Int(!(__builtin_fabs(value) <= std::numeric_limits<double>::max())) |
           Int(!(entry <= std::numeric_limits<T>::max()));
}

template <class T> struct ScaleAndShift {
    T *out;
    Int rows, columns;
    double scale;
    const T *shifts_x, *shifts_y;
};

// out[i, j] ← max(0, scale·out[i, j] + shifts_x[i] + shifts_y[j]); whether all are finite.
template <class T> Int scale_and_shift(const ScaleAndShift<T> g) {
    using V = Vector<double>;
    constexpr Int L = LANES<double>;
    const Int whole = g.columns / L * L, rest = g.columns - whole;
    V check = {};  // NaN if an entry is not finite, also after it has been rounded to single precision
    T last[L] = {}, last_shifts[L] = {};
    std::memcpy(last_shifts, g.shifts_y + whole, rest * sizeof(T));
    const auto shifted = [&](T *row, const T *shifts, V shift) {
        const V value = load_double(row) * g.scale + (shift + load_double(shifts));
        store_rounded(row, value < 0.0 ? V{} : value);
        check += value * 0.0 + load_double(row) * 0.0;
    };
    for (Int i = 0; i < g.rows; ++i) {
        T *row = g.out + i * g.columns;
        const V shift = fill(double(g.shifts_x[i]));
        for (Int j = 0; j < whole; j += L) shifted(row + j, g.shifts_y + j, shift);
        if (!rest) continue;
        std::memcpy(last, row + whole, rest * sizeof(T));
        shifted(last, last_shifts, shift);
        std::memcpy(row + whole, last, rest * sizeof(T));
    }
    return !anywhere(check != check);
}

template <class T> struct Symmetrise {
    T *out;
    Int n;
    double scale, shift;
};

// out ← max(0, scale·(out + outᵀ) + shift) with a zero diagonal, tile by tile; whether all are finite.
template <class T> Int symmetrise(const Symmetrise<T> g) {
    Int bad = 0;
    for (Int first = 0; first < g.n; first += EDGE)
        for (Int second = 0; second <= first; second += EDGE)
            for (Int i = first; i < smaller(first + EDGE, g.n); ++i)
                for (Int j = second; j < smaller(second + EDGE, i); ++j) {
                    T &below = g.out[i * g.n + j], &above = g.out[j * g.n + i];
                    const double value = g.scale * (below + above) + g.shift;
                    below = above = T(value < 0.0 ? 0.0 : value);
                    bad |= not_finite(value, below);
                }
    for (Int i = 0; i < g.n; ++i) g.out[i * g.n + i] = 0;
    return !bad;
}

template <class T> struct Mirror {
    T *out;  // (count, n, n)
    Int count, n, start, stop;
};

// Copy rows start … stop of a matrix right of the diagonal to the columns below it.
template <class T> void mirror_one(const Mirror<T> &g, T *out) {
    constexpr Int L = LANES<T>;
    const auto copy = [&](Int i, Int begin, Int end) {
        for (Int j = begin; j < end; ++j) out[j * g.n + i] = out[i * g.n + j];
    };
    for (Int first = g.start; first < g.stop; first += L) {
        const Int last = smaller(first + L, g.stop), whole = last - first == L ? (g.n - first) / L * L : 0;
        for (Int i = first; i < last; ++i) {
            copy(i, i + 1, whole ? last : g.n);
            if (whole) copy(i, first + whole, g.n);
        }
        for (Int j = first + L; j < first + whole; j += L) {  // whole tiles
            Vector<T> tile[L];
            UNROLL for (int r = 0; r < L; ++r) tile[r] = load(out + (first + r) * g.n + j);
            transpose(tile);
            UNROLL for (int r = 0; r < L; ++r) store(out + (j + r) * g.n + first, tile[r]);
        }
    }
}

template <class T> Int mirror(const Mirror<T> g) {
    for (Int i = 0; i < g.count; ++i) mirror_one(g, g.out + i * g.n * g.n);
    return DONE;
}

struct SettleSquares {
    double *out;
    Int rows, columns, length;
    const double *squares_x, *squares_y, *X, *Y;  // X (rows, length), Y (columns, length)
};

// ‖x − y‖². Zero is for equal rows alone: the least of all numbers stands for what is less.
double squared_difference(const double *x, const double *y, Int length) {
    double total = 0.0;
    for (Int k = 0; k < length; ++k) {
        const double difference = x[k] - y[k];
        total += difference * difference;
        if (difference != 0.0 && total < 5e-324) total = 5e-324;
    }
    return total;
}

}  // namespace

EXPORT Int scale_and_shift_f64(const ScaleAndShift<double> *given) { return scale_and_shift(*given); }
EXPORT Int scale_and_shift_f32(const ScaleAndShift<float> *given) { return scale_and_shift(*given); }
EXPORT Int symmetrise_f64(const Symmetrise<double> *given) { return symmetrise(*given); }
EXPORT Int symmetrise_f32(const Symmetrise<float> *given) { return symmetrise(*given); }
EXPORT Int mirror_f64(const Mirror<double> *given) { return mirror(*given); }
EXPORT Int mirror_f32(const Mirror<float> *given) { return mirror(*given); }

// out[i, j] ← ‖X_i − Y_j‖², given the products of rows that have these squares once both sets are shifted alike.
// Where ‖x‖² + ‖y‖² − 2 x·y cancels or is near the ends of the range, the rows are subtracted.
EXPORT Int settle_squares(const SettleSquares *given) {
    const SettleSquares g = *given;
    for (Int i = 0; i < g.rows; ++i)
        for (Int first = 0; first < g.columns; first += EDGE) {
            const Int count = smaller(EDGE, g.columns - first);
            double *row = g.out + i * g.columns + first;
            const double *squares = g.squares_y + first, square = g.squares_x[i];
            Int doubtful = 0;
            for (Int j = 0; j < count; ++j) {  // without branches, for the sake of vectors
                const double total = square + squares[j], value = total - 2.0 * row[j];
                const double least = CANCELLED * total > LEAST ? CANCELLED * total : LEAST;
                row[j] = (least <= value) & (value <= GREATEST) ? value : -1.0;
                doubtful |= Int(row[j] < 0.0);
            }
            for (Int j = 0; doubtful && j < count; ++j)
                if (row[j] < 0.0)
                    row[j] = squared_difference(g.X + i * g.length, g.Y + (first + j) * g.length, g.length);
        }
    return DONE;
}
