// min_{y≥0} cᵀy − logdet M over M = Σ_j y_j D_j ⪯ X: a primal–dual interior-point method on few atoms.
//
// If the optimum without the bound keeps it, that is the answer. Otherwise everything is seen from X, which becomes the
// identity: then S = I − M has an error of rounding alone, however ill-conditioned X is. M is scaled under the bound, and
// a multiplier Z ≻ 0 of S ≻ 0 comes to it. A round linearises the optimality conditions
//
//     c_j + tr(ZD_j) − tr(M⁻¹D_j) ≥ 0, with equality where y_j > 0,    and    Z = μS⁻¹
//
// twice, as Mehrotra does: for μ = 0, which shows how far μ may fall and what the linearisation leaves out; then for that
// μ and with the second-order terms. With dS = −dM it is Z + dZ = μS⁻¹ + ½(S⁻¹ dM Z + Z dM S⁻¹) (the direction of
// Helmberg, Rendl, Vanderbei and Wolkowicz; Kojima, Shindoh and Hara; Monteiro), so that
//
//     H_ij = tr(M⁻¹D_i M⁻¹D_j) + tr(S⁻¹D_i ZD_j)
//
// and Cholesky factors are all that is needed. Signs of y are kept by the exact solution of the quadratic model over
// y ≥ 0.
#include <initializer_list>

#include "maxdet.hpp"
#include "scan.hpp"

namespace spdatoms {

namespace {

constexpr double TO_THE_EDGE = 0.99;  // the share of the way to the edge of the cone that a step may go
// Halvings that find the edge of the cone, to within 1/128 of the step; to choose μ, 1/16 is good enough.
constexpr Int HALVINGS = 7, ROUGH_HALVINGS = 4;
constexpr double FIRST_SHARE = 0.9;        // the first M is so much of what the bound allows
constexpr double LEAST_LEFT = 1e-2;        // a round is expected to leave at least this fraction of tr(SZ)
constexpr double NEGLIGIBLE_SHARE = 0.1;   // of the duality gap: codes below it are dropped on their way to zero

// The t, to a tenth, up to which tM ⪯ I; it is known to be below 1.
double largest_multiple(const double *identity, const double *M, Int n, double *work) {
    double low = 0.0, high = 1.0;
    for (Int times = 0; times < HALVINGS_TO_ZERO && high - low > 0.1 * high; ++times) {
        const double t = 0.5 * (low + high);
        (factorise_sum(identity, -t, M, n, work) ? low : high) = t;
    }
    return low;
}

INLINE Int number_count(const Atoms &atoms) {
    const Int N = atoms.N, n = atoms.n, p = atoms.p, groups = groups_of(N);
    return 17 * n * n + N * (n * n + p + 5) + groups * 8 * (2 * n * n + p) + transform_scratch(n) + p;
}

class BoundedSearch {
    Buffer<double> numbers;
    Buffer<Int> indices;
    WorkingSet working;
    // The matrices of the point (M, S, Z), their Cholesky factors U, T = U⁻ᵀ, and a step (dM, dZ).
    double *M, *UM, *TM, *inverse, *S, *US, *TS, *inverse_slack, *Z, *UZ, *dM, *dZ;
    double *correction, *curvature, *work, *TX, *identity;
    double *seen, *halves, *ones, *stack, *transformed, *scratch, *half, *pull, *slack, *old, *slopes;
    Atoms atoms;
    double logdet_bound;

    // Write T D_j Tᵀ / c_j and the half-vectors of these matrices: X becomes the identity, the costs are in the atoms.
    void see_from_bound(const Atoms &given) {
        const Int N = atoms.N, n = atoms.n, p = atoms.p;
        for (Int j = 0; j < N; ++j) working.atoms[j] = j;
        gather_stack(given.matrices, n, given.costs, working.atoms, N, stack);
        transform_halves(TX, n, stack, groups_of(N), scratch, transformed, p);
        for (Int j = 0; j < N; ++j) {
            const double *const lane = transformed + j / 8 * p * 8 + j % 8;
            for (Int k = 0; k < p; ++k) halves[j * p + k] = lane[k * 8];
            unpack(halves + j * p, n, seen + j * n * n);
        }
    }

    // A point inside the cone: M under the bound, and a multiplier.
    void start(double *x) {
        const Int n = atoms.n;
        matrix_of_code(atoms, x, half, M);
        const double share = FIRST_SHARE * largest_multiple(identity, M, n, work);
        for (Int j = 0; j < atoms.N; ++j) x[j] *= share;
        add(M, share - 1.0, M, n, M);
        add(identity, -1.0, M, n, S);
        factorise(S, n, US);
        invert(US, n, TS, Z);
        // Z = μS⁻¹, and the conditions hold in the mean over the code: Σ x_j + tr(ZM) = n.
        const double mu = (double(n) - sum_of(x, atoms.N)) / inner_product(Z, M, n);
        add(Z, mu - 1.0, Z, n, Z);
        factorise(M, n, UM);
        factorise(Z, n, UZ);
    }

    // Write pull_j = tr(M⁻¹D_j)/c_j, slack_j = 1 + tr(ZD_j)/c_j − pull_j, Z, and the report; tr(SZ).
    double certify(const double *x, double *multiplier, double *report) {
        const Int N = atoms.N, n = atoms.n;
        pack(inverse, n, half);
        products(atoms, half, pull);
        pack(Z, n, multiplier);
        products(atoms, multiplier, slack);
        double ratio = 0.0;
        for (Int j = 0; j < N; ++j) {
            const double price = 1.0 + slack[j];
            ratio = larger(ratio, pull[j] / price);
            slack[j] = price - pull[j];
        }
        const double complementarity = inner_product(S, Z, n), sum = sum_of(x, N);
        // (M⁻¹/ratio, Z) is feasible for the dual problem.
        const double gap = sum - double(n) + inner_product(identity, Z, n) + double(n) * std::log(ratio);
        report[OBJECTIVE] = sum - log_determinant(UM, n);
        report[GAP] = larger(gap, 0.0);
        report[RESIDUAL] = larger(stationarity(x, slack, N), complementarity / double(n));
        return complementarity;
    }

    // H of the working set, as the Gram matrix of its atoms in both frames.
    void write_hessian(double *H) {
        const Int n = atoms.n, p = atoms.p, length = p + n * n, groups = groups_of(working.count);
        gather_stack(seen, n, ones, working.atoms, working.count, stack);
        transform_halves(TM, n, stack, groups, scratch, transformed, length);
        transform_fully(TS, n, stack, groups, UZ, scratch, transformed + p * 8, length);
        gram_of(transformed, groups, length, H);
    }

    // Write the dM of a step.
    void follow(const double *step) {
        set_zero(half, atoms.p);
        for (Int i = 0; i < working.count; ++i)
            add_multiple(step[i], halves + working.atoms[i] * atoms.p, atoms.p, half);
        unpack(half, atoms.n, dM);
    }

    // dZ = μS⁻¹ − Z + ½(S⁻¹ dM Z + Z dM S⁻¹) + correction
    void multiplier_step(double mu) {
        multiply_symmetric(inverse_slack, dM, Z, atoms.n, dZ, work);
        for (Int k = 0; k < atoms.n * atoms.n; ++k) dZ[k] += mu * inverse_slack[k] - Z[k] + correction[k];
    }

    // Write the correction ½(S⁻¹ dM dZ + dZ dM S⁻¹); add ⟨μS⁻¹ + correction − M⁻¹dM M⁻¹dM M⁻¹, D_j⟩ to the slopes. dZ is
    // lost.
    void second_order(double mu) {
        const Int n = atoms.n, p = atoms.p;
        multiply_symmetric(inverse_slack, dM, dZ, n, correction, work);
        multiply_symmetric(inverse, dM, inverse, n, dZ, work);
        multiply_symmetric(dZ, dM, inverse, n, curvature, work);
        for (Int k = 0; k < n * n; ++k) curvature[k] = mu * inverse_slack[k] + correction[k] - curvature[k];
        pack(curvature, n, half);
        for (Int i = 0; i < working.count; ++i) slopes[i] += dot(half, halves + working.atoms[i] * p, p);
    }

    // μσ with nμ = tr(SZ) and σ the third power of what a step t towards μ = 0 leaves of tr(SZ).
    double smaller_mu(double t, double complementarity) const {
        const Int n = atoms.n;
        const double first = inner_product(S, dZ, n) - inner_product(dM, Z, n), second = inner_product(dM, dZ, n);
        const double left = (complementarity + t * first - t * t * second) / complementarity;
        const double bounded = smaller(larger(LEAST_LEFT, left), 1.0);
        return complementarity / double(n) * bounded * bounded * bounded;
    }

    // Whether S − t dM, Z + t dZ and M + t dM are positive definite.
    bool inside(double t) {
        const Int n = atoms.n;
        return factorise_sum(S, -t, dM, n, work) && factorise_sum(Z, t, dZ, n, work) &&
               factorise_sum(M, t, dM, n, work);
    }

    // The t ≤ 1 that goes `TO_THE_EDGE` of the way to the edge of the cone, nearly.
    double to_the_edge(Int halvings) {
        double low = 0.0, high = 1.0 / TO_THE_EDGE;
        if (inside(high)) return 1.0;
        for (; halvings > 0; --halvings) {
            const double t = 0.5 * (low + high);
            (inside(t) ? low : high) = t;
        }
        return TO_THE_EDGE * low;
    }

    // Write the point of a new code; whether it is inside the cone.
    bool renew(double t, const double *x) {
        const Int n = atoms.n;
        matrix_of_code(atoms, x, half, M);
        add(identity, -1.0, M, n, S);
        add(Z, t, dZ, n, Z);
        return factorise(S, n, US) && factorise(Z, n, UZ) && factorise(M, n, UM);
    }

    // Take one step; `moved` tells whether there was a better point.
    Int round(const Goal &goal, double complementarity, double gap, double *x, bool &moved) {
        const Int n = atoms.n;
        working.choose(x, slack, atoms, 0.1 * goal.tolerance);
        const Int count = working.count, groups = groups_of(count);
        Buffer<double> H(64 * groups * groups);
        NonnegativeStep model(H.data(), 8 * groups, count);
        if (!H || !model) return NO_MEMORY;
        write_hessian(H.data());
        working.take(x, old);
        working.take(pull, slopes);
        for (Int i = 0; i < count; ++i) slopes[i] = 1.0 - slopes[i];
        set_zero(correction, n * n);
        double mu = 0.0, t = 0.0;
        for (const bool predicting : {true, false}) {
            model.minimise(old, slopes, 0.01 * goal.tolerance);
            follow(model.d);
            multiplier_step(mu);
            t = to_the_edge(predicting ? ROUGH_HALVINGS : HALVINGS);
            if (!predicting) break;
            mu = larger(0.1 * goal.tolerance, smaller_mu(t, complementarity));
            second_order(mu);
        }
        // More than a share of the gap would undo what the round has gained, where an atom gives way to its copy.
        working.move(model.d, t, NEGLIGIBLE_SHARE * gap, x);
        moved = renew(t, x);
        // Where rounding leaves no new point inside the cone, the one before is the best there is.
        if (!moved)
            for (Int i = 0; i < count; ++i) x[working.atoms[i]] = old[i];
        return DONE;
    }

  public:
    explicit BoundedSearch(const Atoms &given) : numbers(number_count(given)), indices(given.N) {
        if (!*this) return;
        const Int N = given.N, n = given.n, p = given.p, groups = groups_of(N);
        working.atoms = indices.data();
        Room room{numbers.data()};
        for (double **matrix : {&M, &UM, &TM, &inverse, &S, &US, &TS, &inverse_slack, &Z, &UZ, &dM, &dZ, &correction,
                                &curvature, &work, &TX, &identity})
            *matrix = room.take(n * n);
        for (double **list : {&ones, &pull, &slack, &old, &slopes}) *list = room.take(N);
        half = room.take(p);
        seen = room.take(N * n * n);
        halves = room.take(N * p);
        stack = room.take(groups * 8 * n * n);
        transformed = room.take(groups * 8 * (n * n + p));
        scratch = room.take(transform_scratch(n));
        set_identity(n, identity);
        for (Int j = 0; j < N; ++j) ones[j] = 1.0;
        atoms = {seen, halves, ones, N, n, p};
    }
    explicit operator bool() const { return numbers && indices; }

    bool bound_matters(const Atoms &given, const double *X, const double *x) {
        matrix_of_code(given, x, half, M);
        return !factorise_sum(X, -1.0, M, given.n, work);
    }

    Int code(const Atoms &given, const double *X, const Goal &goal, double *x, double *multiplier,
                            double *report) {
        const Int n = atoms.n;
        factorise(X, n, UM);
        logdet_bound = log_determinant(UM, n);
        invert(UM, n, TX, work);
        see_from_bound(given);
        start(x);
        Progress progress;
        report[ROUNDS] = 0.0;
        for (Int rounds = 0;; ++rounds) {
            invert(UM, n, TM, inverse);
            invert(US, n, TS, inverse_slack);
            const double complementarity = certify(x, multiplier, report);
            report[ROUNDS] = double(rounds);
            if (progress.is_over(goal, n, report[GAP], report[RESIDUAL], rounds)) break;
            bool moved = false;
            if (round(goal, complementarity, report[GAP], x, moved) == NO_MEMORY) return NO_MEMORY;
            if (!moved) break;
        }
        report[OBJECTIVE] -= logdet_bound;
        // The multiplier of M ⪯ X is T_Xᵀ Z T_X.
        unpack(multiplier, n, Z);
        multiply_transposed(TX, Z, n, work);
        multiply(work, TX, n, Z);
        pack(Z, n, multiplier);
        return true;
    }
};

}  // namespace

Int code_bounded(const Atoms &atoms, const double *X, const Goal &goal, double *x, double *multiplier, double *report) {
    BoundedSearch search(atoms);
    if (!search) return NO_MEMORY;
    return search.bound_matters(atoms, X, x) ? search.code(atoms, X, goal, x, multiplier, report) : false;
}

}  // namespace spdatoms
