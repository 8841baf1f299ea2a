// min_y  yᵀKy − 2 yᵀk + α‖y‖₁  for many k on one K: feature-sign search on the active set.
//
// With h = k − Ky (minus half the gradient) and τ = α/2, y is optimal when h_j = τ sign(y_j) where y_j ≠ 0 and |h_j| ≤ τ
// elsewhere. One round
//
// 1. proposes several atoms with |h_j| > τ, each chosen after the correlation that the earlier ones explain has been
//    (partly) taken off, so that few of them have to leave again;
// 2. appends them to the Cholesky factor of the active block of K;
// 3. takes feature-sign steps (Newton steps on the active block, cut by an exact search over the sign changes) to the
//    optimum of the active block;
// 4. recomputes h over all atoms, which is the test of optimality, or first over those near their limit.
//
// The violation |h_j| − τ of an atom is judged in the atom's own scale √K_jj, so that a short atom counts as much as a
// long one. K, k and τ come in units in which no square overflows. No loop depends on a comparison to end, because every
// comparison with a NaN is false: K may be no Gram matrix.
#pragma once

#include "correlations.hpp"

namespace spdatoms {

// What is reported of each query; native/feature_sign.py says what it means.
enum { VIOLATION, LINEAR, QUADRATIC, NORM, PEAK, ROUNDS, EXCESS, NONZEROS, REPORT };

struct Query {
    const double *cross;  // k
    double tau, tolerance;
    Int excluded;  // an atom that it must not use, −1 for none
};

class FeatureSign {
    Gram gram;
    const AtomScales scales;
    const bool positive;
    const Int max_rounds;
    const double fold;
    ActiveSet active;
    Buffer<double> numbers;
    Buffer<Int> indices;
    double *h, *explained;
    Int *contenders, *proposals, *watched;

    Status start(const Query &query, const double *code);
    Status search(const Query &query, Int &rounds, Violation &violation);
    Int propose(double excess, double tau, double tolerance, Int limit);
    Status append(Int count, const double *correlations, double tau);
    void descend(Int first, double tau);
    void drop_backward(Int known);
    double line_search(double tau, Int &kink);
    Int move(double length, Int kink, double tau);
    bool deliver(const Query &query, const Violation &violation, double *code, double *report);

  public:
    FeatureSign(const Gram &gram, const AtomScales &scales, bool positive, Int max_rounds, Int capacity);
    explicit operator bool() const { return active && numbers && indices; }

    // Go on with another Gram matrix of the same size.
    void use(const double *values) { gram.values = values; }

    // Code one query, from its code if it is warm.
    Status code(const Query &query, bool warm, double *code, double *report);
};

}  // namespace spdatoms
