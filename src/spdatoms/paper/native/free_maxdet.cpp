// min_{y≥0} cᵀy − logdet(Σ_j y_j D_j): Newton's method on few atoms.
//
// Σ x_j = n at the optimum. A round takes the atoms in use and some that would lower the objective, minimises the
// quadratic model over x ≥ 0 exactly, and goes so far along the way there as the objective falls. Atoms that are not in
// use therefore have the code zero, not a small number.
#include <algorithm>
#include <functional>
#include <initializer_list>

#include "maxdet.hpp"
#include "scan.hpp"

namespace spdatoms {

namespace {

constexpr Int FIRST_ROUNDS = 5, FIRST_ATOMS = 8;  // steps over all atoms before the first code, and atoms that it may have
constexpr double SAFE_DECREMENT = 0.2;  // below it a full Newton step is safe (the objective is self-concordant)
constexpr double SUFFICIENT = 0.1;      // the share of the decrease that the slope promises, which a step must keep

INLINE Int number_count(const Atoms &atoms) {
    const Int n = atoms.n, groups = groups_of(atoms.N);
    return 3 * atoms.N + atoms.p + 5 * n * n + groups * 8 * (n * n + atoms.p) + transform_scratch(n);
}

class FreeSearch {
    const Atoms atoms;
    Buffer<double> numbers;
    Buffer<Int> indices;
    WorkingSet working;
    double *gradient, *half, *M, *U, *T, *inverse, *identity, *stack, *transformed, *scratch, *old, *slopes;

    // The atom that represents the query best on its own: least n·log c_j − logdet D_j.
    Int first_atom(const double *logdets) const {
        Int best = 0;
        for (Int j = 0; j < atoms.N; ++j)
            if (double(atoms.n) * std::log(atoms.costs[j] / atoms.costs[best]) < logdets[j] - logdets[best]) best = j;
        return best;
    }

    // Write the greatest entries of a code that x_j ← x_j tr(M⁻¹D_j)/c_j has improved from x = n/N on.
    //
    // The optimum is a fixed point, and no such step raises the objective. If there are more atoms than dimensions, many
    // codes are optimal to within the tolerance: then one atom is the start, from which few others are reached.
    void first_code(const double *logdets, double *x) {
        const Int N = atoms.N, n = atoms.n;
        if (atoms.p < N) {
            x[first_atom(logdets)] = double(n);
            return;
        }
        for (Int j = 0; j < N; ++j) x[j] = double(n) / double(N);
        for (Int round = 0; round < FIRST_ROUNDS; ++round) {
            pull(x);
            for (Int j = 0; j < N; ++j) x[j] *= gradient[j];
        }
        const Int kept = smaller(N, n / 2 + FIRST_ATOMS);
        std::memcpy(old, x, N * sizeof(double));
        std::nth_element(old, old + kept - 1, old + N, std::greater<double>());
        for (Int j = 0; j < N; ++j)
            if (x[j] < old[kept - 1]) x[j] = 0.0;
    }

    // Write M, its Cholesky factor U, U⁻ᵀ, and the tr(M⁻¹D_j)/c_j.
    void pull(const double *x) {
        matrix_of_code(atoms, x, half, M);
        factorise(M, atoms.n, U);
        invert(U, atoms.n, T, inverse);
        pack(inverse, atoms.n, half);
        products(atoms, half, gradient);
    }

    // A t ≤ 1 for which t·Σ step − logdet(I + tB) is low enough, with the B of half-vector V step.
    double step_length(const double *step) {
        const Int n = atoms.n, p = atoms.p;
        set_zero(half, p);
        for (Int first = 0; first < working.count; first += 8) {
            double steps[8] = {};
            std::memcpy(steps, step + first, smaller(8, working.count - first) * sizeof(double));
            const Eight weights = load_eight(steps);
            for (Int k = 0; k < p; ++k) half[k] += total(weights * load_eight(transformed + (first * p) + k * 8));
        }
        // As the square of B it is not negative: as a quadratic form of H it might be, where atoms are nearly copies.
        const double decrement = std::sqrt(dot(half, half, p));
        if (decrement <= SAFE_DECREMENT) return 1.0;
        double slope = 0.0, trace = 0.0, *const B = M;
        for (Int i = 0; i < working.count; ++i) slope += step[i];
        unpack(half, n, B);
        for (Int i = 0; i < n; ++i) trace += B[i * n + i];
        const double fall = trace - slope, short_enough = 1.0 / (1.0 + decrement);  // always
        double t = 1.0;
        for (Int times = 0; times < HALVINGS_TO_ZERO && t > short_enough; ++times, t *= 0.5)
            if (factorise_sum(identity, t, B, n, inverse) &&
                log_determinant(inverse, n) - t * slope >= SUFFICIENT * t * fall)
                return t;
        return short_enough;
    }

  public:
    explicit FreeSearch(const Atoms &atoms) : atoms(atoms), numbers(number_count(atoms)), indices(atoms.N) {
        if (!*this) return;
        const Int N = atoms.N, n = atoms.n, groups = groups_of(N);
        working.atoms = indices.data();
        Room room{numbers.data()};
        for (double **list : {&gradient, &old, &slopes}) *list = room.take(N);
        half = room.take(atoms.p);
        for (double **matrix : {&M, &U, &T, &inverse, &identity}) *matrix = room.take(n * n);
        stack = room.take(groups * 8 * n * n);
        transformed = room.take(groups * 8 * atoms.p);
        scratch = room.take(transform_scratch(n));
        set_zero(U, n * n);
        set_identity(n, identity);
    }
    explicit operator bool() const { return numbers && indices; }

    Int code(const double *logdets, const Goal &goal, double *x, double *report) {
        const Int N = atoms.N, n = atoms.n;
        if (sum_of(x, N) <= 0.0) first_code(logdets, x);
        Progress progress;
        for (Int rounds = 0;; ++rounds) {
            const double multiple = double(n) / sum_of(x, N);  // the best one of a code is known: Σ x_j = n
            for (Int j = 0; j < N; ++j) x[j] *= multiple;
            pull(x);
            double ratio = 1.0;
            for (Int j = 0; j < N; ++j) {
                ratio = larger(ratio, gradient[j]);
                gradient[j] = 1.0 - gradient[j];
            }
            // M⁻¹/ratio is feasible for the dual problem, max logdet W + n over tr(W D_j) ≤ c_j.
            report[GAP] = double(n) * std::log(ratio);
            report[RESIDUAL] = stationarity(x, gradient, N);
            report[ROUNDS] = double(rounds);
            if (progress.is_over(goal, n, report[GAP], report[RESIDUAL], rounds)) break;
            working.choose(x, gradient, atoms, 0.1 * goal.tolerance);
            const Int count = working.count, groups = groups_of(count);
            Buffer<double> H(64 * groups * groups);
            NonnegativeStep model(H.data(), 8 * groups, count);
            if (!H || !model) return NO_MEMORY;
            gather_stack(atoms.matrices, n, atoms.costs, working.atoms, count, stack);
            transform_halves(T, n, stack, groups, scratch, transformed, atoms.p);
            gram_of(transformed, groups, atoms.p, H.data());
            working.take(x, old);
            working.take(gradient, slopes);
            model.minimise(old, slopes, 0.01 * goal.tolerance);
            working.move(model.d, step_length(model.d), 0.0, x);
        }
        report[OBJECTIVE] = double(n) - log_determinant(U, n);
        return DONE;
    }
};

}  // namespace

Int code_free(const Atoms &atoms, const double *logdets, const Goal &goal, double *x, double *report) {
    FreeSearch search(atoms);
    return search ? search.code(logdets, goal, x, report) : NO_MEMORY;
}

}  // namespace spdatoms
