// min_d ½ dᵀHd + gᵀd over x + d ≥ 0 for a positive semidefinite H: the active-set method of Lawson and Hanson.
//
// The block of H over the positive entries is held as a Cholesky factor that grows by rows.
#pragma once

#include "small_matrices.hpp"

namespace spdatoms {

// A step from x ≥ 0, of `n` entries; H has rows of `stride` numbers. Every step lowers the objective. It is d and not
// x + d that is solved for: where H is ill-conditioned, the digits of a small step would be lost in those of x.
class NonnegativeStep {
    const double *const H;
    const Int stride, n;
    Buffer<double> numbers;
    Buffer<Int> order;
    double *factor, *s, *r;  // r = g + Hd is the gradient at x + d
    Int size;

    void append(Int entering);
    void solve();
    Int step_on_face(const double *x, const double *gradient);
    void keep_positive(const double *x);

  public:
    double *d;

    NonnegativeStep(const double *H, Int stride, Int n);
    explicit operator bool() const { return numbers && order; }

    void minimise(const double *x, const double *gradient, double tolerance);
};

}  // namespace spdatoms
