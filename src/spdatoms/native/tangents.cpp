// log(W_i D_j W_iᵀ) and its derivatives, for a list of pairs (i, j) of small matrices, one pair per lane.
//
// With X = L Lᵀ and W = L⁻¹ it is the tangent vector from X to D, in the frame where X is the identity. Eigenvalues and
// eigenvectors are found by Jacobi rotations: one in the plane of p and q makes the entry a_pq zero; sweeps over all
// planes go on until every entry is negligible next to √(a_pp a_qq), in all lanes. The eigenvalues are in no order.
#include "interleave.hpp"

using namespace spdatoms;

namespace {

using V = Vector<double>;
constexpr Int L = LANES<double>;
constexpr double EPS = std::numeric_limits<double>::epsilon(), ROOT_TWO = 1.4142135623730951;
constexpr int SWEEPS = 30;       // after which the iteration is given up; six are usual
constexpr double LEAST = 1e-100;  // the least λ_max, and one over the greatest

struct TangentVectors {
    const double *W, *D, *V;  // (·, n, n); V is null for logarithms
    Int n, count;
    const Int *queries, *atoms;  // the pairs
    double *ratios, *out;        // (count), (count, n(n+1)/2)
};

// A batch of square matrices, entry by entry; the transposed one is the same memory.
struct Square {
    double *base;
    Int down, across;

    Square(double *base, Int n) : base(base), down(n * L), across(L) {}
    Square(double *base, Int down, Int across) : base(base), down(down), across(across) {}
    INLINE double *at(Int r, Int c) const { return base + r * down + c * across; }
    INLINE V operator()(Int r, Int c) const { return load(at(r, c)); }
    Square turned() const { return {base, across, down}; }
};

// Entry (r, c) of a product.
INLINE V dot(Int n, Square left, Square right, Int r, Int c) {
    V total = {};
    for (Int k = 0; k < n; ++k) total += left(r, k) * right(k, c);
    return total;
}

NOINLINE void multiply(Int n, Square left, Square right, Square product) {
    for (Int r = 0; r < n; ++r)
        for (Int c = 0; c < n; ++c) store(product.at(r, c), dot(n, left, right, r, c));
}

// Call f(r, c, entry) for the entries on and below the diagonal of a product.
template <class F> INLINE void for_lower_triangle(Int n, Square left, Square right, F f) {
    for (Int r = 0; r < n; ++r)
        for (Int c = 0; c <= r; ++c) f(r, c, dot(n, left, right, r, c));
}

// Write the lower triangle of a product, row by row.
NOINLINE void write_lower_triangle(Int n, Square left, Square right, double *out) {
    for_lower_triangle(n, left, right, [&](Int r, Int c, V entry) { store(out + (r * (r + 1) / 2 + c) * L, entry); });
}

// Make a_qp zero, if it is not negligible in all lanes; return whether it was not in one.
INLINE bool rotate(Int n, Square A, Square U, Int p, Int q) {
    const V a_pp = A(p, p), a_qq = A(q, q), a_qp = A(q, p), one = fill(1.0), zero = {};
    const auto large = a_qp * a_qp > EPS * EPS * (a_pp * a_qq);
    if (!anywhere(large)) return false;
    const V ratio = 0.5 * (a_qq - a_pp) / (large ? a_qp : one);
    V tangent = copysign(reciprocal(absolute(ratio) + sqrt(ratio * ratio + 1.0)), ratio);
    tangent = large ? tangent : zero;
    const V cosine = reciprocal(sqrt(tangent * tangent + 1.0)), sine = tangent * cosine;
    const auto turn = [&](double *first, double *second) {
        const V x = load(first), y = load(second);
        store(first, cosine * x - sine * y);
        store(second, cosine * y + sine * x);
    };
    for (Int k = 0; k < n; ++k) turn(U.at(k, p), U.at(k, q));
    for (Int k = 0; k < p; ++k) turn(A.at(p, k), A.at(q, k));
    for (Int k = p + 1; k < q; ++k) turn(A.at(k, p), A.at(q, k));
    for (Int k = q + 1; k < n; ++k) turn(A.at(k, p), A.at(k, q));
    store(A.at(p, p), a_pp - tangent * a_qp);
    store(A.at(q, q), a_qq + tangent * a_qp);
    store(A.at(q, p), large ? zero : a_qp);
    return true;
}

// Make A, of which the lower triangle is used, diagonal, and write the eigenvectors to the columns of U.
NOINLINE void diagonalise(Int n, Square A, Square U) {
    for (Int r = 0; r < n; ++r)
        for (Int c = 0; c < n; ++c) store(U.at(r, c), fill(r == c ? 1.0 : 0.0));
    bool rotated = true;
    for (int sweep = 0; sweep < SWEEPS && rotated; ++sweep) {
        rotated = false;
        for (Int q = 0; q < n; ++q)
            for (Int p = 0; p < q; ++p) rotated |= rotate(n, A, U, p, q);
    }
}

INLINE V logarithm(V x) {
    V mantissa, exponent;
    split(x, mantissa, exponent);
    return log_of_split(mantissa, exponent);
}

// W D Wᵀ = U λ Uᵀ with λ on the diagonal of A; returns λ_min/λ_max, NaN if λ is too large or too small.
V spectra(Int n, Square W, Square D, Square A, Square U) {
    multiply(n, W, D, U);
    for_lower_triangle(n, U, W.turned(), [&](Int r, Int c, V entry) { store(A.at(r, c), entry); });
    diagonalise(n, A, U);
    V least = A(0, 0), greatest = least;
    for (Int k = 1; k < n; ++k) {
        least = spdatoms::least(A(k, k), least);
        greatest = spdatoms::greatest(A(k, k), greatest);
    }
    // Rotations know when to end by products of two entries, which must be normal numbers.
    const V within = spdatoms::least(greatest, reciprocal(greatest));
    return within > LEAST ? least / greatest : fill(NOT_A_NUMBER<double>);
}

// Write the lower triangle of U log(λ) Uᵀ to the beginning of A.
void logarithms(Int n, Square A, Square U, Square scaled) {
    for (Int k = 0; k < n; ++k) {
        const V log = logarithm(A(k, k));
        for (Int r = 0; r < n; ++r) store(scaled.at(r, k), log * U(r, k));
    }
    write_lower_triangle(n, scaled, U.turned(), A.base);
}

// (log a − log b)/(a − b), which for near numbers is 2 artanh(s)/(s·(a + b)) with s = (a − b)/(a + b).
INLINE V divided_logarithm(V a, V b) {
    const V difference = a - b, total = a + b, s = difference / total;
    const auto far = absolute(s) > ARTANH_LIMIT;
    return (far ? logarithm(a) - logarithm(b) : artanh_ratio(s * s)) / (far ? difference : total);
}

// Write the lower triangle of P (F ∘ Uᵀ V U) Pᵀ with P = Wᵀ U, F as in `divided_logarithm`, to the beginning of A.
void derivatives(Int n, Square W, Square direction, Square A, Square U, Square space) {
    multiply(n, direction, U, space);
    for_lower_triangle(n, U.turned(), space, [&](Int a, Int b, V entry) {
        entry *= divided_logarithm(A(a, a), A(b, b));
        store(direction.at(a, b), entry);
        store(direction.at(b, a), entry);
    });
    multiply(n, W.turned(), U, space);
    multiply(n, space, direction, U);
    write_lower_triangle(n, U, space.turned(), A.base);
}

}  // namespace

// Write the lower triangles of log(W_i D_j W_iᵀ), row by row, with the weight √2 off the diagonal, and λ_min/λ_max of
// every W_i D_j W_iᵀ; with V the gradient of ⟨V_i, log(W_i D_j W_iᵀ)⟩ with respect to D_j instead.
EXPORT Int tangent_vectors(const TangentVectors *given) {
    const Int n = given->n, size = n * n, length = n * (n + 1) / 2, count = given->count;
    Buffer<double> memory((5 * size + length) * L + length);
    Buffer<Int> places(size);
    if (!memory || !places) return NO_MEMORY;
    double *const w = memory.data(), *const d = w + size * L, *const a = d + size * L, *const u = a + size * L;
    double *const space = u + size * L, *const last = space + size * L, *const weights = last + length * L;
    for (Int e = 0; e < size; ++e) places.data()[e] = e;
    for (Int r = 0, k = 0; r < n; ++r)
        for (Int c = 0; c <= r; ++c) weights[k++] = r == c ? 1.0 : ROOT_TWO;
    for (Int first = 0; first < count; first += L) {
        const bool full = first + L <= count;
        Int queries[L], atoms[L];
        for (Int l = 0; l < L; ++l) {
            const Int pair = first + l < count ? first + l : count - 1;
            queries[l] = given->queries[pair];
            atoms[l] = given->atoms[pair];
        }
        scatter(given->W, size, queries, places.data(), 1.0, w);
        scatter(given->D, size, atoms, places.data(), 1.0, d);
        const V ratio = spectra(n, {w, n}, {d, n}, {a, n}, {u, n});
        if (given->V) {
            scatter(given->V, size, queries, places.data(), 1.0, d);
            derivatives(n, {w, n}, {d, n}, {a, n}, {u, n}, {space, n});
        } else
            logarithms(n, {a, n}, {u, n}, {w, n});
        collect(a, places.data(), weights, length, full ? given->out + first * length : last, length);
        if (!full) std::memcpy(given->out + first * length, last, (count - first) * length * sizeof(double));
        std::memcpy(given->ratios + first, &ratio, (full ? L : count - first) * sizeof(double));
    }
    return DONE;
}
