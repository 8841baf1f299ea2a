// min_y yᵀQy + α‖y‖₁ over Σ_j ℓ_j y_j = 1, for many Gram matrices Q: the method of multipliers of
// paper/baselines/tangent/_affine_lasso.py, each round a feature-sign search.
#include "feature_sign.hpp"

using namespace spdatoms;

namespace {

constexpr Int MOST_ROUNDS = 60, SEARCH_ROUNDS = 500;
constexpr double ROUNDING = 1e-14;

struct SolveAffine {
    const double *grams, *lengths;  // ℓ_i (Q_ij + ρ) ℓ_j of each query (m, n, n), and the ℓ_j
    const double *rho, *tolerance;  // (m,); the error allowed in h_j/√K_jj
    const double *inverse_scale;    // 1/√K_jj of the longest atom (m,)
    Int m, n;
    double tau, dependent, indefinite;
    double *codes;  // (m, n), where it starts
};

}  // namespace

EXPORT Int solve_affine(const SolveAffine *given) {
    const SolveAffine g = *given;
    const Int n = g.n;
    Buffer<double> numbers(2 * n);
    if (!numbers) return NO_MEMORY;
    double *const cross = numbers.data(), *const inverse = cross + n, report[REPORT];
    FeatureSign solver({g.grams, n}, {inverse, true, g.dependent, g.indefinite}, false, SEARCH_ROUNDS, n);
    if (!solver) return NO_MEMORY;
    for (Int i = 0; i < g.m; ++i) {
        double *const code = g.codes + i * n, target = 1.0, before = INFINITE<double>;
        solver.use(g.grams + i * n * n);
        for (Int j = 0; j < n; ++j) inverse[j] = g.inverse_scale[i];
        for (Int round = 0; round < MOST_ROUNDS; ++round) {
            for (Int j = 0; j < n; ++j) cross[j] = g.rho[i] * target * g.lengths[j];
            if (solver.code({cross, g.tau, g.tolerance[i], -1}, true, code, report) != Status::FINE) break;
            double total = 0.0, norm = 0.0;
            for (Int j = 0; j < n; ++j) {
                total += g.lengths[j] * code[j];
                norm += g.lengths[j] * std::fabs(code[j]);
            }
            const double error = 1.0 - total, size = std::fabs(error);
            if (size <= ROUNDING * norm || size > 0.5 * before) break;  // what does not shrink any more is rounding
            target += error;
            before = size;
        }
    }
    return DONE;
}
