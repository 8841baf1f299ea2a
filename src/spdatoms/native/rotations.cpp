// T = Z λ Zᵀ of one symmetric tridiagonal matrix, by QL steps with implicit shifts.
//
// A step on the rows l … m chases a bulge by rotations of neighbours, and so must Zᵀ be rotated: five sixths of the work.
// These rotations wait until there are many. Then a few columns of Zᵀ at a time, which stay in the first-level cache, go
// through all of them, and the row that two rotations share stays in registers.
#include <algorithm>
#include <cmath>

#include "vector.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
constexpr Int L = LANES<double>;
constexpr int WIDTH = 4;        // vectors of a row that are rotated together
constexpr Int MOST_STEPS = 30;  // per eigenvalue; two are enough in the mean
// Numbers whose squares are far from the ends of the range.
constexpr double LEAST = 1e-130, GREATEST = 1e130;

struct TridiagonalEigen {
    Int n, width;
    double *d, *e;  // diagonal, which becomes the eigenvalues, and what is beside it (n, the last without meaning)
    double *Z;      // (n, width): Qᵀ, which becomes Zᵀ Qᵀ; rows are eigenvectors, or their real and imaginary parts
};

struct Rotation {
    double c, s;
};
// Rotations of the rows last and last − 1, …, first + 1 and first.
struct Step {
    Int first, last;
};

struct Waiting {
    const Int n, width, room;
    Buffer<Rotation> rotations;
    Buffer<Step> steps;
    Buffer<double> columns;
    Buffer<Int> order;
    Int rotation_count = 0, step_count = 0;

    Waiting(Int n, Int width)
        : n(n), width(width), room((n * n + 1) / 2), rotations(room + n), steps(room + 1), columns(n * WIDTH * L), order(n) {}
    explicit operator bool() const { return rotations && steps && columns && order; }

    INLINE void rotate() const {
        const Rotation *next = rotations.data();
        const auto row = [&](Int i) { return columns.data() + i * WIDTH * L; };
        for (Int step = 0; step < step_count; ++step) {
            const auto [first, last] = steps.data()[step];
            V shared[WIDTH];
            UNROLL for (int w = 0; w < WIDTH; ++w) shared[w] = load(row(last) + w * L);
            for (Int i = last - 1; i >= first; --i, ++next) {
                const double c = next->c, s = next->s;
                UNROLL for (int w = 0; w < WIDTH; ++w) {
                    const V x = load(row(i) + w * L);
                    store(row(i + 1) + w * L, s * x + c * shared[w]);
                    shared[w] = c * x - s * shared[w];
                }
            }
            UNROLL for (int w = 0; w < WIDTH; ++w) store(row(first) + w * L, shared[w]);
        }
    }

    // Rotate Z; row k becomes what row order[k] is then.
    void apply(double *Z) {
        for (Int begin = 0; begin < width; begin += WIDTH * L) {
            const Int count = std::min(WIDTH * L, width - begin);
            for (Int i = 0; i < n; ++i) {
                double *target = columns.data() + i * WIDTH * L;
                std::fill(std::copy_n(Z + i * width + begin, count, target), target + WIDTH * L, 0.0);
            }
            rotate();
            for (Int i = 0; i < n; ++i)
                std::copy_n(columns.data() + order.data()[i] * WIDTH * L, count, Z + i * width + begin);
        }
        rotation_count = step_count = 0;
    }
};

// The end of the block that begins at l and whose neighbours are coupled.
Int end_of_block(const double *d, const double *e, Int l, Int n) {
    constexpr double EPS = std::numeric_limits<double>::epsilon() / 2, TINIEST = std::numeric_limits<double>::min();
    for (; l < n - 1; ++l)
        if (e[l] * e[l] <= EPS * EPS * std::fabs(d[l] * d[l + 1]) + TINIEST) break;
    return l;
}

// One step on the rows l … m, whose rotations are written: how many there are.
Int ql_step(double *d, double *e, Int l, Int m, Rotation *rotations) {
    double g = (d[l + 1] - d[l]) / (2.0 * e[l]), r = std::hypot(g, 1.0);
    g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
    double s = 1.0, c = 1.0, p = 0.0;
    for (Int i = m - 1; i >= l; --i) {
        const double f = s * e[i], b = c * e[i];
        const double square = f * f + g * g;
        r = std::sqrt(square);
        e[i + 1] = r;
        if (r == 0.0) {  // the block falls apart here
            d[i + 1] -= p;
            e[m] = 0.0;
            return m - 1 - i;
        }
        const double inverse = r * (1.0 / square);  // root and quotient at once, where 1/r would wait for r
        s = f * inverse, c = g * inverse;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2.0 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotations[m - 1 - i] = {c, s};
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
    return m - l;
}

}  // namespace

// Overwrite d by the eigenvalues, ascending, and the rows of Z by eigenvectors; whether it did not succeed.
EXPORT Int tridiagonal_eigenvectors(const TridiagonalEigen *given) {
    const Int n = given->n;
    double *d = given->d, *e = given->e, largest = 0.0;
    Waiting waiting(n, given->width);
    if (!waiting) return NO_MEMORY;
    for (Int i = 0; i < n; ++i) {
        largest = std::max(largest, std::max(std::fabs(d[i]), i < n - 1 ? std::fabs(e[i]) : 0.0));
        waiting.order.data()[i] = i;
        if (!(std::fabs(d[i]) <= GREATEST)) return 1;
    }
    if (!(largest >= LEAST && largest <= GREATEST)) return 1;
    for (Int l = 0, steps = 0; l < n; ++l)
        for (Int m; (m = end_of_block(d, e, l, n)) > l; ++steps) {
            if (steps == MOST_STEPS * n) return 1;
            const Int made = ql_step(d, e, l, m, waiting.rotations.data() + waiting.rotation_count);
            if (made) waiting.steps.data()[waiting.step_count++] = {m - made, m};
            waiting.rotation_count += made;
            if (waiting.rotation_count >= waiting.room) waiting.apply(given->Z);
        }
    Int *order = waiting.order.data();
    std::sort(order, order + n, [&](Int i, Int j) { return d[i] < d[j]; });
    waiting.apply(given->Z);
    std::copy_n(d, n, e);
    for (Int i = 0; i < n; ++i) d[i] = e[order[i]];
    return DONE;
}
