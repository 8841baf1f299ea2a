#include "maxdet.hpp"

namespace spdatoms {

namespace {

// Atoms that may come in a round: this many, or this share of those in use if that is more.
constexpr Int PROPOSALS = 8;
constexpr double SHARE_OF_PROPOSALS = 0.25;
constexpr double ROUGH = 1e-2;  // the tolerance of codes to start from

}  // namespace

bool Progress::is_over(const Goal &goal, Int n, double gap, double residual, Int rounds) {
    const bool halved = gap < 0.5 * halved_gap;
    halved_gap = halved ? gap : halved_gap;
    stalled = halved ? 0 : stalled + 1;
    const bool solved = gap <= goal.tolerance * double(n) && residual <= goal.tolerance;
    return solved || rounds == goal.max_rounds || stalled > PATIENCE;
}

void WorkingSet::choose(const double *x, const double *gradient, const Atoms &all, double tolerance) {
    count = 0;
    for (Int j = 0; j < all.N; ++j)
        if (x[j] > 0.0) atoms[count++] = j;
    const Int used = count, share = Int(SHARE_OF_PROPOSALS * double(count));
    // If atoms are dependent, the more are looked at together, the fewer are used in the end.
    const Int most = all.N > all.p ? 2 * count + PROPOSALS : count + (share > PROPOSALS ? share : PROPOSALS);
    for (Int j = 0; j < all.N; ++j) {
        if (x[j] > 0.0 || gradient[j] >= -tolerance) continue;
        // Insertion into the sorted proposals: those that fall off the end are forgotten.
        Int place = count < most ? count : count - 1;
        if (count == most && gradient[j] >= gradient[atoms[place]]) continue;
        for (; place > used && gradient[j] < gradient[atoms[place - 1]]; --place) atoms[place] = atoms[place - 1];
        atoms[place] = j;
        count = smaller(count + 1, most);
    }
}

void WorkingSet::move(const double *step, double t, double negligible, double *x) const {
    for (Int i = 0; i < count; ++i) {
        double &entry = x[atoms[i]];
        const bool ends = entry + step[i] < 1e-15 * std::fabs(step[i]);
        const bool dropped = ends && (1.0 - t) * entry <= negligible;
        entry = dropped ? 0.0 : larger(0.0, entry + t * step[i]);
    }
}

void products(const Atoms &atoms, const double *half, double *out) {
    for (Int j = 0; j < atoms.N; ++j) out[j] = dot(atoms.halves + j * atoms.p, half, atoms.p) / atoms.costs[j];
}

void matrix_of_code(const Atoms &atoms, const double *x, double *half, double *M) {
    set_zero(half, atoms.p);
    for (Int j = 0; j < atoms.N; ++j)
        if (x[j] > 0.0) add_multiple(x[j] / atoms.costs[j], atoms.halves + j * atoms.p, atoms.p, half);
    unpack(half, atoms.n, M);
}

double stationarity(const double *x, const double *gradient, Int N) {
    double worst = 0.0;
    for (Int j = 0; j < N; ++j) worst = larger(worst, std::fabs(smaller(x[j], gradient[j])));
    return worst;
}

}  // namespace spdatoms

using namespace spdatoms;

namespace {

struct CodeMaxdet {
    const double *atoms, *halves, *logdets;  // (N, n, n), (N, p), (N,)
    Int N, n;
    const double *costs, *bounds;  // (m, N), (m, n, n) or none
    Int m;
    double tolerance;
    Int max_rounds;
    double *codes, *multipliers, *report;  // (m, N) in which it starts, (m, p), (m, REPORT)
};

// Code one query, where the bound may be none.
Int code_query(const Atoms &atoms, const double *logdets, const double *bound, const Goal &goal, double *x,
               double *multiplier, double *report) {
    if (bound) {
        // Where the bound matters, a rough solution without it is a good start.
        if (const Int failed = code_free(atoms, logdets, {ROUGH, goal.max_rounds}, x, report)) return failed;
        if (const Int bounded = code_bounded(atoms, bound, goal, x, multiplier, report))
            return bounded == NO_MEMORY ? NO_MEMORY : DONE;
    }
    if (const Int failed = code_free(atoms, logdets, goal, x, report)) return failed;
    return bound && code_bounded(atoms, bound, goal, x, multiplier, report) == NO_MEMORY ? NO_MEMORY : DONE;
}

}  // namespace

EXPORT Int code_maxdet(const CodeMaxdet *given) {
    const CodeMaxdet g = *given;
    const Int p = g.n * (g.n + 1) / 2;
    for (Int i = 0; i < g.m; ++i) {
        const Atoms atoms{g.atoms, g.halves, g.costs + i * g.N, g.N, g.n, p};
        const double *const bound = g.bounds ? g.bounds + i * g.n * g.n : nullptr;
        if (code_query(atoms, g.logdets, bound, {g.tolerance, g.max_rounds}, g.codes + i * g.N, g.multipliers + i * p,
                       g.report + i * REPORT))
            return NO_MEMORY;
    }
    return DONE;
}
