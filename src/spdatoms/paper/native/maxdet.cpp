#include "maxdet.hpp"

using namespace spdatoms;

namespace {

constexpr double ROUGH = 1e-2;  // the tolerance of codes to start from

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
