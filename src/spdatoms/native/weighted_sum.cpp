// Σ w_i X_i of symmetric matrices in one pass over memory that reads hardly more than one triangle of them.
#include "vector.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
constexpr Int L = LANES<double>, TOGETHER = 8;

struct WeightedSum {
    Int n, count;
    const double *X, *weights;  // (count, n, n), (count,)
    double *out;                // (n, n); the sum is added to it
};

// Add the weighted sum of COUNT matrices from the first on: entries left of the diagonal have no meaning.
template <int COUNT> INLINE void add_matrices(const WeightedSum &g, Int first) {
    const Int size = g.n * g.n, width = g.n < L ? size : g.n;  // a small matrix is one row
    const double *const weights = g.weights + first;
    for (Int i = 0; i * width < size; ++i) {
        const double *const row = g.X + first * size + i * width;
        double *const sums = g.out + i * width;
        if (width < L) {
            for (Int k = 0; k < COUNT; ++k)
                for (Int j = 0; j < width; ++j) sums[j] += weights[k] * row[k * size + j];
            continue;
        }
        const auto added = [&](Int j) {
            V sum = load(sums + j);
            UNROLL for (int k = 0; k < COUNT; ++k) sum += weights[k] * load(row + k * size + j);
            return sum;
        };
        const Int last = width - L;
        const V end = added(last);  // before the others change what it shares with them
        for (Int j = i / L * L; j < last; j += L) store(sums + j, added(j));
        store(sums + last, end);
    }
}

}  // namespace

EXPORT Int weighted_sum(const WeightedSum *given) {
    const WeightedSum g = *given;
    const Int n = g.n, together = g.count / TOGETHER * TOGETHER;
    for (Int i = 0; i < together; i += TOGETHER) add_matrices<TOGETHER>(g, i);
    for (Int i = together; i < g.count; ++i) add_matrices<1>(g, i);
    for (Int first = 0; first < n; first += L)  // what is below the diagonal, some columns at a time
        for (Int i = first; i < n; ++i)
            for (Int j = first; j < i && j < first + L; ++j) g.out[i * n + j] = g.out[j * n + i];
    return DONE;
}
