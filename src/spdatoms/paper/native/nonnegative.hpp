// min_d ½ dᵀHd + gᵀd over x + d ≥ 0 for a positive semidefinite H: the active-set method of Lawson and Hanson.
//
// The block of H over the positive entries is held as a Cholesky factor that grows by rows.
#pragma once

#include "small_matrices.hpp"

namespace spdatoms {

// A squared pivot below this, against its diagonal entry, says that the entry depends on the others. It is raised to
// this value: the step is then long, the right way, and ends where another entry meets zero.
constexpr double PIVOT_FLOOR = 1e-15;

// A step from x ≥ 0, of `n` entries; H has rows of `stride` numbers. Every step lowers the objective. It is d and not
// x + d that is solved for: where H is ill-conditioned, the digits of a small step would be lost in those of x.
class NonnegativeStep {
    const double *const H;
    const Int stride, n;
    Buffer<double> numbers;
    Buffer<Int> order;
    double *factor, *s, *r;  // r = g + Hd is the gradient at x + d
    Int size;

    // Add a row to L, where L Lᵀ is the block of H over order[:size].
    void append(Int entering) {
        const double *const products = H + entering * stride;
        double *const row = factor + size * n, pivot = products[entering];
        for (Int i = 0; i < size; ++i) {
            const double *const known = factor + i * n;
            row[i] = (products[order.data()[i]] - dot(known, row, i)) / known[i];
            pivot -= row[i] * row[i];
        }
        row[size] = std::sqrt(larger(PIVOT_FLOOR * products[entering], pivot));
        order.data()[size++] = entering;
    }

    // Solve L Lᵀ s = −r over order[:size]; s is in that order.
    void solve() {
        for (Int i = 0; i < size; ++i) {
            const double *const row = factor + i * n;
            s[i] = (-r[order.data()[i]] - dot(row, s, i)) / row[i];
        }
        for (Int i = size - 1; i >= 0; --i) {
            const double *const row = factor + i * n;
            s[i] /= row[i];
            add_multiple(-s[i], row, i, s);
        }
    }

    // Go to the minimum over the entries in `order`, or until one of them meets zero; which, or −1.
    Int step_on_face(const double *x, const double *gradient) {
        const Int *const entries = order.data();
        double step = 1.0;
        Int blocking = -1;
        solve();
        for (Int i = 0; i < size; ++i) {
            const Int j = entries[i];
            if (x[j] + d[j] + s[i] <= 0.0 && s[i] < 0.0) {
                const double to_zero = (x[j] + d[j]) / -s[i];
                if (to_zero < step || blocking < 0) {
                    step = smaller(step, to_zero);
                    blocking = j;
                }
            }
        }
        for (Int i = 0; i < size; ++i) d[entries[i]] += step * s[i];
        if (blocking >= 0) d[blocking] = -x[blocking];
        for (Int i = 0; i < size; ++i) d[entries[i]] = larger(d[entries[i]], -x[entries[i]]);
        std::memcpy(r, gradient, n * sizeof(double));
        for (Int j = 0; j < n; ++j)
            if (d[j] != 0.0) add_multiple(d[j], H + j * stride, n, r);
        return blocking;
    }

    // Leave the entries that are zero out of the factor.
    void keep_positive(const double *x) {
        const Int before = size;
        size = 0;
        for (Int i = 0; i < before; ++i) {
            const Int j = order.data()[i];
            if (x[j] + d[j] > 0.0) append(j);
        }
    }

  public:
    double *d;

    NonnegativeStep(const double *H, Int stride, Int n)
        : H(H), stride(stride), n(n), numbers(n * n + 3 * n), order(n) {
        factor = numbers.data();
        s = factor + n * n;
        r = s + n;
        d = r + n;
    }
    explicit operator bool() const { return numbers && order; }

    void minimise(const double *x, const double *gradient, double tolerance) {
        set_zero(d, n);
        std::memcpy(r, gradient, n * sizeof(double));
        size = 0;
        for (Int j = 0; j < n; ++j)
            if (x[j] > 0.0) append(j);
        for (Int times = 0; times < 3 * n + 10; ++times) {
            for (Int dropped = 0; dropped < n && step_on_face(x, gradient) >= 0; ++dropped) keep_positive(x);
            double best = tolerance;
            Int entering = -1;
            for (Int j = 0; j < n; ++j)
                if (x[j] + d[j] <= 0.0 && -r[j] > best) {
                    best = -r[j];
                    entering = j;
                }
            if (entering < 0 || size == n) {
                step_on_face(x, gradient);  // once more from here, with what rounding has left of r
                break;
            }
            append(entering);
        }
    }
};

}  // namespace spdatoms
