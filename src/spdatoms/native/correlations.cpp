#include "correlations.hpp"

#include "scan.hpp"

namespace spdatoms {

namespace {

// Atoms are watched when the largest violation is under WATCHABLE·τ: those whose h is within WATCH times the largest
// violation of τ, if they are no more than a share WATCHED of at least MANY atoms. These were chosen by timing; the
// answer does not depend on them.
constexpr double WATCHABLE = 0.5, WATCH = 0.5, WATCHED = 1.0 / 16;
constexpr Int MANY = 256;
// Rows of K that are taken off together, whole or some of their entries.
constexpr int ROWS = 6, PARTIAL_ROWS = 4;

// Some active atoms: their rows of K, and their codes.
template <int R> struct Terms {
    const double *rows[R + 1];  // never empty
    double weights[R + 1];
    INLINE Terms(const Gram &gram, const Int *atoms, const double *code) {
        UNROLL for (int r = 0; r < R; ++r) rows[r] = gram.row(atoms[r]), weights[r] = code[r];
    }
};

// target = source − Σ_r code[r]·K_atoms[r] for the first R atoms, up to a multiple of eight.
template <int R>
INLINE void take_rows_off(const double *source, const Gram &gram, const Int *atoms, const double *code,
                          double *target) {
    const Terms<R> terms(gram, atoms, code);
    const Int n = gram.n;
    for (Int j = 0; j + 8 <= n; j += 8) {
        Eight left = load_eight(source + j);
        UNROLL for (int r = 0; r < R; ++r) left = left - terms.weights[r] * load_eight(terms.rows[r] + j);
        store(target + j, left);
    }
}

// The same for some columns alone, in place.
template <int R>
INLINE void take_entries_off(const Gram &gram, const Int *atoms, const double *code, const Int *columns, Int count,
                             double *target) {
    const Terms<R> terms(gram, atoms, code);
    for (Int q = 0; q < count; q += 8) {
        Eight left = load_eight(target + q);
        UNROLL for (int r = 0; r < R; ++r) {
            const double *const row = terms.rows[r];
            left = left - terms.weights[r] * gathered([=](int l) { return row[columns[q + l]]; });
        }
        store(target + q, left);
    }
}

// f<count>, where count is known at run time only.
template <int R, class F> INLINE void with_count(Int count, F f) {
    if constexpr (R == 0)
        f(std::integral_constant<int, 0>());
    else if (count == R)
        f(std::integral_constant<int, R>());
    else
        with_count<R - 1>(count, f);
}

}  // namespace

void correlate(const Gram &gram, const double *cross, const ActiveSet &active, double *h) {
    const Int *const atoms = active.atoms, size = active.size, rest = size % ROWS;
    const double *const code = active.code;
    with_count<ROWS - 1>(rest, [&](auto R) { take_rows_off<R.value>(cross, gram, atoms, code, h); });
    for (Int i = rest; i < size; i += ROWS) take_rows_off<ROWS>(h, gram, atoms + i, code + i, h);
    for (Int j = gram.n - gram.n % 8; j < gram.n; ++j) {
        h[j] = cross[j];
        for (Int i = 0; i < size; ++i) h[j] -= code[i] * gram.row(atoms[i])[j];
    }
}

void correlate_some(const Gram &gram, const double *cross, const ActiveSet &active, const Int *some, Int count,
                    double *scratch, double *h) {
    const Int *const atoms = active.atoms, size = active.size;
    for (Int q = 0; q < count; ++q) scratch[q] = cross[some[q]];
    for (Int i = 0; i < size; i += PARTIAL_ROWS)
        with_count<PARTIAL_ROWS>(smaller(PARTIAL_ROWS, size - i), [&](auto R) {
            take_entries_off<R.value>(gram, atoms + i, active.code + i, some, count, scratch);
        });
    for (Int q = 0; q < count; ++q) h[some[q]] = scratch[q];
    for (Int i = 0; i < size; ++i) h[atoms[i]] = 0.0;
}

double settle(ActiveSet &active, double tau, const double *inverse, double *h) {
    double worst = 0.0;
    for (Int i = 0; i < active.size; ++i) {
        const Int j = active.atoms[i];
        active.slack[i] = h[j] - tau * active.sign[i];
        h[j] = 0.0;
        worst = larger(worst, std::fabs(active.slack[i]) * inverse[j]);
    }
    return worst;
}

Violation largest_violation(const double *h, Int n, double tau, const AtomScales &scales, double fold) {
    const double peak = greatest_of(h, n, fold);
    if (scales.uniform) return {peak, larger(0.0, (peak - tau) * scales.inverse[0])};
    double excess = 0.0;
    for (Int j = 0; j < n; ++j) excess = larger(excess, (folded(h[j], fold) - tau) * scales.inverse[j]);
    return {peak, excess};
}

Int watch(const double *h, Int n, double tau, double excess, const AtomScales &scales, double fold, Int *atoms) {
    const double violation = excess / scales.inverse[0];
    if (n < MANY || !scales.uniform || violation > WATCHABLE * tau) return 0;
    const Int count = indices_above(h, n, fold, tau - WATCH * violation, atoms);
    return double(count) <= WATCHED * double(n) ? count : 0;
}

}  // namespace spdatoms
