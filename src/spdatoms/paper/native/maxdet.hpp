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

constexpr Int HALVINGS_TO_ZERO = 1100;  // that bring 1 to zero, whatever the number that it is compared with

// Whether the duality gap is small, there are no rounds left or it does not shrink any more, which is rounding.
class Progress {
    static constexpr Int PATIENCE = 15;  // rounds without half the gap
    double halved_gap = INFINITE<double>;
    Int stalled = 0;

  public:
    bool is_over(const Goal &goal, Int n, double gap, double residual, Int rounds);
};

// The matrices in use and some that would lower the objective, as eight lanes each, and a quadratic model over them.
struct WorkingSet {
    Int *atoms;
    Int count = 0;

    // Take the atoms in use, then those of the most negative gradient.
    void choose(const double *x, const double *gradient, const Atoms &all, double tolerance);
    // x += t · step; what the whole step puts to zero is zero if so little is left.
    void move(const double *step, double t, double negligible, double *x) const;
    void take(const double *values, double *taken) const {
        for (Int i = 0; i < count; ++i) taken[i] = values[atoms[i]];
    }
};

// Write ⟨A, D_j⟩ / c_j of all atoms, given the half-vector of A.
void products(const Atoms &atoms, const double *half, double *out);

// Write M = Σ_j x_j D_j / c_j.
void matrix_of_code(const Atoms &atoms, const double *x, double *half, double *M);

// max_j |min(x_j, g_j)|, which is zero where x ≥ 0, g ≥ 0 and x_j g_j = 0; g is relative to c.
double stationarity(const double *x, const double *gradient, Int N);

// Code one query from x, or from zeros, without the bound; x becomes c∘y. DONE or NO_MEMORY.
Int code_free(const Atoms &atoms, const double *logdets, const Goal &goal, double *x, double *report);

// Code one query from about the solution without the bound X; write the half-vector of the multiplier, too. Whether the
// bound matters (if x keeps it, nothing is changed), or NO_MEMORY.
Int code_bounded(const Atoms &atoms, const double *X, const Goal &goal, double *x, double *multiplier, double *report);

}  // namespace spdatoms
