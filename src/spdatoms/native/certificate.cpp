// What the Lasso needs of many queries before and after it codes them: the largest cross values and the duality gaps.
#include <cmath>

#include "feature_sign.hpp"
#include "scan.hpp"

using namespace spdatoms;

namespace {

struct RowSizes {
    const double *rows;
    Int m, n;
    double *sizes;
};

struct DualityGaps {
    const double *report;  // (m, REPORT)
    Int m;
    const double *alpha, *squared_norm;
    const double *scale;  // what yᵀk, yᵀKy and ‖y‖₁ of the report are multiplied by
    double by_ridge;      // n/ρ, or 0
    double *objective, *gap, *terms;
};

// ‖x‖² − ‖x − u‖² of the multiple u of the residual.
double dual(double multiple, double left, double distance) { return multiple * (2.0 * left - multiple * distance); }

}  // namespace

// Write max |x_j| of every row x; whether the sum of all entries is finite, as it is not if one of them is not.
EXPORT Int row_sizes(const RowSizes *given) {
    const RowSizes g = *given;
    double sum = 0.0;
    for (Int i = 0; i < g.m; ++i) {
        g.sizes[i] = greatest_of(g.rows + i * g.n, g.n, -1.0);
        sum += sum_of(g.rows + i * g.n, g.n);
    }
    return std::fabs(sum) < INFINITE<double>;
}

// Write P(y), P(y) − D(u) and the size of the terms that they are differences of; see lasso/certificate.py.
EXPORT Int duality_gaps(const DualityGaps *given) {
    const DualityGaps g = *given;
    for (Int i = 0; i < g.m; ++i) {
        const double *const report = g.report + i * REPORT;
        const double unit = g.scale[i], alpha = g.alpha[i], violation = report[VIOLATION], peak = report[PEAK];
        const double linear = report[LINEAR] * unit, quadratic = report[QUADRATIC] * unit;
        const double left = g.squared_norm[i] - linear, distance = left - linear + quadratic;
        const double feasible = 2.0 * peak > alpha ? alpha / (2.0 * peak) : INFINITE<double>;
        const double best = distance > 0.0 ? left / distance : 1.0;
        // Where the residual is rounding error, so is the best multiple: one near 1 is as good.
        const double bound = larger(dual(smaller(larger(best, 0.0), feasible), left, distance),
                                    dual(smaller(feasible, 1.0), left, distance));
        g.objective[i] = distance + alpha * report[NORM] * unit;
        g.gap[i] = larger(g.objective[i] - bound, 0.0);
        if (g.by_ridge > 0.0) g.gap[i] = smaller(g.gap[i], g.by_ridge * violation * violation * unit);
        g.terms[i] = g.squared_norm[i] + std::fabs(linear) + std::fabs(quadratic);
    }
    return DONE;
}
