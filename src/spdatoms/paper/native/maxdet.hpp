// min_{y≥0} cᵀy − logdet(Σ_j y_j D_j) on few atoms, with or without the bound Σ_j y_j D_j ⪯ X: what both have in common.
//
// In the variables x_j = c_j y_j atoms of all sizes are alike.
#pragma once

#include "congruence.hpp"
#include "nonnegative.hpp"

namespace spdatoms {

// What is reported of each query; paper/baselines/tensor/_maxdet.py says what it means.
enum { OBJECTIVE, GAP, RESIDUAL, ROUNDS, REPORT };

// Atoms D (N, n, n), their half-vectors (N, p) and costs c.
struct Atoms {
    const double *matrices, *halves, *costs;
    Int N, n, p;
};

struct Goal {
    double tolerance;  // the duality gap allowed, over n, and the relative error of the optimality conditions
    Int max_rounds;
};

// Atoms that may come in a round: this many, or this share of those in use if that is more.
constexpr Int PROPOSALS = 8;
constexpr double SHARE_OF_PROPOSALS = 0.25;
constexpr Int HALVINGS_TO_ZERO = 1100;  // that bring 1 to zero, whatever the number that it is compared with

// Whether the duality gap is small, there are no rounds left or it does not shrink any more, which is rounding.
class Progress {
    static constexpr Int PATIENCE = 15;  // rounds without half the gap
    double halved_gap = INFINITE<double>;
    Int stalled = 0;

  public:
    bool is_over(const Goal &goal, Int n, double gap, double residual, Int rounds) {
        const bool halved = gap < 0.5 * halved_gap;
        halved_gap = halved ? gap : halved_gap;
        stalled = halved ? 0 : stalled + 1;
        const bool solved = gap <= goal.tolerance * double(n) && residual <= goal.tolerance;
        return solved || rounds == goal.max_rounds || stalled > PATIENCE;
    }
};

// The matrices in use and some that would lower the objective, as eight lanes each, and a quadratic model over them.
struct WorkingSet {
    Int *atoms;
    Int count = 0;

    // Take the atoms in use, then those of the most negative gradient.
    void choose(const double *x, const double *gradient, const Atoms &all, double tolerance) {
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

    // x += t · step; what the whole step puts to zero is zero if so little is left.
    void move(const double *step, double t, double negligible, double *x) const {
        for (Int i = 0; i < count; ++i) {
            double &entry = x[atoms[i]];
            const bool ends = entry + step[i] < 1e-15 * std::fabs(step[i]);
            const bool dropped = ends && (1.0 - t) * entry <= negligible;
            entry = dropped ? 0.0 : larger(0.0, entry + t * step[i]);
        }
    }
    void take(const double *values, double *taken) const {
        for (Int i = 0; i < count; ++i) taken[i] = values[atoms[i]];
    }
};

// Write ⟨A, D_j⟩ / c_j of all atoms, given the half-vector of A.
inline void products(const Atoms &atoms, const double *half, double *out) {
    for (Int j = 0; j < atoms.N; ++j) out[j] = dot(atoms.halves + j * atoms.p, half, atoms.p) / atoms.costs[j];
}

// Write M = Σ_j x_j D_j / c_j.
inline void matrix_of_code(const Atoms &atoms, const double *x, double *half, double *M) {
    set_zero(half, atoms.p);
    for (Int j = 0; j < atoms.N; ++j)
        if (x[j] > 0.0) add_multiple(x[j] / atoms.costs[j], atoms.halves + j * atoms.p, atoms.p, half);
    unpack(half, atoms.n, M);
}

// max_j |min(x_j, g_j)|, which is zero where x ≥ 0, g ≥ 0 and x_j g_j = 0; g is relative to c.
inline double stationarity(const double *x, const double *gradient, Int N) {
    double worst = 0.0;
    for (Int j = 0; j < N; ++j) worst = larger(worst, std::fabs(smaller(x[j], gradient[j])));
    return worst;
}

// Code one query from x, or from zeros, without the bound; x becomes c∘y. DONE or NO_MEMORY.
Int code_free(const Atoms &atoms, const double *logdets, const Goal &goal, double *x, double *report);

// Code one query from about the solution without the bound X; write the half-vector of the multiplier, too. Whether the
// bound matters (if x keeps it, nothing is changed), or NO_MEMORY.
Int code_bounded(const Atoms &atoms, const double *X, const Goal &goal, double *x, double *multiplier, double *report);

}  // namespace spdatoms
