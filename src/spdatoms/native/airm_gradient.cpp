// Σ_j c_ij log W_ij for all rows i, with W_ij = L_i⁻¹ Y_j L_i⁻ᵀ (whitening.hpp), one pair per lane.
//
// With μ = tr(W)/n and Qᵀ W Q = μ T tridiagonal (tridiagonal.hpp) it is, by a rational approximation of the logarithm,
//
//     log W = Q log(T) Qᵀ + log μ,    log T = γ − Σ_k w_k (T + t_k)⁻¹.
//
// The entries of these inverses are known: with the leading minors θ_j of the first j rows of T + t and the trailing
// minors φ_i of those after row i, (T + t)⁻¹_ij = θ_j φ_i (−e_j) ⋯ (−e_{i−1}) / θ_n for j ≤ i. All t and w are positive,
// so that nothing cancels in their sum, which is a matrix product over k. There are no eigenvectors to wait for.
#include "tridiagonal.hpp"
#include "whitening.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
constexpr Int L = LANES<double>;
constexpr int ABREAST = 4;  // poles whose minors are found together: each is a chain of dependent operations

struct LogSums {
    Int n, rows, batches, poles;  // the number of poles is a multiple of ABREAST
    const double *X, *Y;          // factors L⁻¹ as scalars (rows, slots), and M as batches of lanes (batches, slots, LANES)
    const double *t, *w;
    double gamma, least;  // γ, and the least eigenvalue of T for which the approximation holds
    double *weights;      // c (rows, batches · LANES), replaced by zeros where a pair is not left out
    double *out;          // the lower triangles of the sums, row after row, in parts (rows, triangle, LANES), which are added to
};

// The minors θ or φ of T + t, times `first`, go to every TILE·poles-th block of TILE vectors; returns what would follow.
template <bool TRAILING> void minors(const LogSums &g, const Tridiagonal T, const double *t, V (&now)[ABREAST], double *target) {
    V before[ABREAST] = {};
    for (Int step = 0; step < g.n; ++step) {
        const Int i = TRAILING ? g.n - 1 - step : step;
        const V d = load(T.d(i)), e2 = load(T.e2(TRAILING ? i : i - 1));
        UNROLL for (int q = 0; q < ABREAST; ++q) {
            store(target + ((i / TILE * g.poles + q) * TILE + i % TILE) * L, now[q]);
            const V next = (d + t[q]) * now[q] - e2 * before[q];
            before[q] = now[q], now[q] = next;
        }
    }
}

// Add c log W of a batch to the sums, and leave the c of pairs that have too small an eigenvalue.
void add_batch(const LogSums &g, const double *x, const double *y, double *weights, double *sums, double *memory) {
    const Int n = g.n, tiles = whitening::tile_count(n), slots = whitening::slot_count(n) * L, width = g.poles * TILE * L;
    double *log = memory, *reflections = log + slots, *theta = reflections + slots, *phi = theta + tiles * width;
    double *panel = phi + tiles * width;
    const Tridiagonal T{panel + (4 * n + 5) * L, L};
    whitening::product<false>(tiles, x, y, log);
    whitening::gram(tiles, log, reflections);
    tridiagonal::reduce(n, reflections, panel, T);
    V mean = {}, trace_of_inverse = {}, mantissa, exponent;
    for (Int i = 0; i < n; ++i) mean += load(T.d(i)) / double(n);
    store(T.e2(-1), V{}), store(T.e2(n - 1), V{});
    for (Int i = 0; i < n; ++i) store(T.d(i), load(T.d(i)) / mean), store(T.e2(i), load(T.e2(i)) / (mean * mean));
    for (Int k = 0; k < g.poles; k += ABREAST) {
        V now[ABREAST];
        UNROLL for (int q = 0; q < ABREAST; ++q) now[q] = fill(1.0);
        minors<false>(g, T, g.t + k, now, theta + k * TILE * L);
        UNROLL for (int q = 0; q < ABREAST; ++q) now[q] = g.w[k + q] / now[q];
        minors<true>(g, T, g.t + k, now, phi + k * TILE * L);
    }
    whitening::lower_triangle(tiles, [&](Int block) { return phi + block * width; },
                              [&](Int left) { return theta + left * width; }, [&](Int) { return g.poles * TILE; }, log);
    for (Int i = 0; i < n; ++i) {
        const Int minor = i / TILE * width + i % TILE * L;
        trace_of_inverse += load(theta + minor) * load(phi + minor);
    }
    // That of T + t₀; a NaN is not below.
    const auto answered = trace_of_inverse * (g.least + g.t[0]) < g.w[0];
    split(mean, mantissa, exponent);
    const V limit = g.gamma + log_of_split(mantissa, exponent), c = load(weights);
    for (Int i = 0; i < n; ++i) {
        double *row = log + whitening::triangle_start(i) * L;
        store(row + i * L, limit - load(row + i * L));
        V product = fill(-1.0);
        for (Int j = i - 1; j >= 0; --j) {
            product *= tridiagonal::negative_e(T, reflections, j);
            store(row + j * L, load(row + j * L) * product);
        }
    }
    tridiagonal::transform_back(n, reflections, log, panel);
    for (Int at = 0; at < whitening::triangle_start(n) * L; at += L)
        store(sums + at, load(sums + at) + (answered ? c * load(log + at) : V{}));
    store(weights, answered ? V{} : c);
}

}  // namespace

EXPORT Int log_sums(const LogSums *given) {
    const LogSums g = *given;
    const Int slots = whitening::slot_count(g.n), minor_count = 2 * whitening::tile_count(g.n) * g.poles * TILE;
    Buffer<double> memory((2 * slots + minor_count + 6 * g.n + 8) * L);
    if (!memory) return NO_MEMORY;
    for (Int row = 0; row < g.rows; ++row)
        for (Int batch = 0; batch < g.batches; ++batch) {
            double *weights = g.weights + (row * g.batches + batch) * L;
            double *sums = g.out + row * whitening::triangle_start(g.n) * L;
            if (anywhere(load(weights) != 0.0))
                add_batch(g, g.X + row * slots, g.Y + batch * slots * L, weights, sums, memory.data());
        }
    return DONE;
}
