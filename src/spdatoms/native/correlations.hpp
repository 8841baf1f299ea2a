// h = k − Ky, over all atoms or some, and what of it violates the conditions of optimality.
//
// In late rounds few atoms enter, and those that will enter next are near their limit τ already. So h is first computed
// anew for these, which `watch` chooses, and for all only if none of them is clearly beyond its limit.
#pragma once

#include "active_factor.hpp"

namespace spdatoms {

struct Violation {
    double peak;    // max |h_j|, where |x| is max(x, fold·x)
    double excess;  // max (|h_j| − τ)/√K_jj, at least 0
};

// h = k − Ky
void correlate(const Gram &gram, const double *cross, const ActiveSet &active, double *h);

// The same for some atoms, and 0 for the active ones.
void correlate_some(const Gram &gram, const double *cross, const ActiveSet &active, const Int *some, Int count,
                    double *scratch, double *h);

// Move the active entries of h to r = h − τθ, leave zeros; max |r_j|/√K_jj.
double settle(ActiveSet &active, double tau, const double *inverse, double *h);

Violation largest_violation(const double *h, Int n, double tau, const AtomScales &scales, double fold);

// Write the atoms that are near their limit, given the largest violation; how many, 0 if too many.
Int watch(const double *h, Int n, double tau, double excess, const AtomScales &scales, double fold, Int *atoms);

}  // namespace spdatoms
