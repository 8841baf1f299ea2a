// log(W_i D_j W_iᵀ) and its derivatives, for a list of pairs (i, j) of small matrices, one pair per lane.
//
// With X = L Lᵀ and W = L⁻¹ it is the tangent vector from X to D, in the frame where X is the identity. With D = M Mᵀ the
// eigenvalues and eigenvectors are those of W M (jacobi.hpp).
#include <initializer_list>

#include "jacobi.hpp"

using namespace spdatoms;
using namespace spdatoms::jacobi;

namespace {

constexpr double ROOT_TWO = 1.4142135623730951;
constexpr double LEAST = 1e-100;  // the least λ_max, and one over the greatest: products of two must be normal numbers

struct TangentVectors {
    const double *W, *D, *V;  // (·, n, n); V is null for logarithms
    Int n, count;
    const Int *queries, *atoms;  // the pairs
    double *ratios, *out;        // (count), (count, n(n+1)/2)
};

struct Space {
    Columns W, D, U, P, Q;
    double *squares;
    Space(Int n, double *memory) {
        for (Columns *matrix : {&W, &D, &U, &P, &Q}) *matrix = {memory, n}, memory += n * n * L;
        squares = memory;
    }
    static Int size(Int n) { return (5 * n * n + n) * L; }
};

// W D Wᵀ = U λ Uᵀ, D is lost; returns λ_min/λ_max, NaN if λ is too large or too small.
V spectra(const Space &s) {
    factorise(s.D);
    multiply(s.W, s.D, false, false, s.U);
    orthogonalise(s.U, s.squares);
    V least = load(s.squares), greatest = least;
    for (Int k = 0; k < s.U.n; ++k) {
        const V value = load(s.squares + k * L), inverse = reciprocal(sqrt(value));
        least = spdatoms::least(value, least);
        greatest = spdatoms::greatest(value, greatest);
        for (Int r = 0; r < s.U.n; ++r) store(s.U.at(r, k), s.U(r, k) * inverse);
    }
    const V within = spdatoms::least(greatest, reciprocal(greatest));
    return within > LEAST ? least / greatest : fill(NOT_A_NUMBER<double>);
}

// Q ← U log(λ) Uᵀ
void logarithms(const Space &s) {
    for (Int k = 0; k < s.U.n; ++k) {
        const V log = logarithm(load(s.squares + k * L));
        for (Int r = 0; r < s.U.n; ++r) store(s.P.at(r, k), log * s.U(r, k));
    }
    multiply(s.P, s.U, true, false, s.Q);
}

// (log a − log b)/(a − b), which for near numbers is 2 artanh(s)/(s·(a + b)) with s = (a − b)/(a + b).
INLINE V divided_logarithm(V a, V b) {
    const V difference = a - b, total = a + b, s = difference / total;
    const auto far = absolute(s) > ARTANH_LIMIT;
    return (far ? logarithm(a) - logarithm(b) : artanh_ratio(s * s)) / (far ? difference : total);
}

// Q ← P (F ∘ UᵀVU) Pᵀ with P = WᵀU, F as in `divided_logarithm` and V in D.
void derivatives(const Space &s) {
    multiply(s.D, s.U, false, false, s.P);
    transpose(s.U, s.D);
    multiply(s.D, s.P, false, false, s.Q);
    for (Int a = 0; a < s.U.n; ++a)
        for (Int b = 0; b < s.U.n; ++b)
            store(s.Q.at(a, b), s.Q(a, b) * divided_logarithm(load(s.squares + a * L), load(s.squares + b * L)));
    transpose(s.W, s.D);
    multiply(s.D, s.U, false, false, s.P);
    multiply(s.P, s.Q, false, false, s.D);
    multiply(s.D, s.P, true, false, s.Q);
}

}  // namespace

// Write the lower triangles of log(W_i D_j W_iᵀ), row by row, with the weight √2 off the diagonal, and λ_min/λ_max of
// every W_i D_j W_iᵀ; with V the gradient of ⟨V_i, log(W_i D_j W_iᵀ)⟩ with respect to D_j instead.
EXPORT Int tangent_vectors(const TangentVectors *given) {
    const Int n = given->n, size = n * n, length = n * (n + 1) / 2, count = given->count;
    Buffer<double> memory(Space::size(n) + length * (L + 1));
    Buffer<Int> indices(size + length);
    if (!memory || !indices) return NO_MEMORY;
    const Space space(n, memory.data());
    double *const last = memory.data() + Space::size(n), *const weights = last + length * L;
    Int *const places = indices.data(), *const lower = places + size;
    for (Int r = 0, k = 0; r < n; ++r)
        for (Int c = 0; c < n; ++c) {
            places[r * n + c] = c * n + r;
            if (c <= r) lower[k] = c * n + r, weights[k++] = r == c ? 1.0 : ROOT_TWO;
        }
    for (Int first = 0; first < count; first += L) {
        const bool full = first + L <= count;
        Int queries[L], atoms[L];
        for (Int l = 0; l < L; ++l) {
            const Int pair = first + l < count ? first + l : count - 1;
            queries[l] = given->queries[pair];
            atoms[l] = given->atoms[pair];
        }
        scatter(given->W, size, queries, places, 1.0, space.W.base);
        scatter(given->D, size, atoms, places, 1.0, space.D.base);
        const V ratio = spectra(space);
        if (given->V) scatter(given->V, size, queries, places, 1.0, space.D.base);
        (given->V ? derivatives : logarithms)(space);
        collect(space.Q.base, lower, weights, length, full ? given->out + first * length : last, length);
        if (!full) std::memcpy(given->out + first * length, last, (count - first) * length * sizeof(double));
        std::memcpy(given->ratios + first, &ratio, (full ? L : count - first) * sizeof(double));
    }
    return DONE;
}
