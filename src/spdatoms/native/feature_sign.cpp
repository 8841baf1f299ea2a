#include "feature_sign.hpp"

#include "scan.hpp"

namespace spdatoms {

namespace {

// A round proposes up to MORE_PROPOSALS + GROWTH · (active atoms) atoms, or LEAST_PROPOSALS. With DAMPING 1 a proposal
// takes off its whole one-atom step, which overshoots when atoms are correlated, and those of a kernel are; with 0 the
// proposals of a round are nearly copies of each other. CONTENDER leaves out atoms whose violation is too small against
// the worst one to be proposed in the same round. All of them were chosen by timing; the answer does not depend on them.
constexpr Int LEAST_PROPOSALS = 16, MORE_PROPOSALS = 8;
constexpr double GROWTH = 0.5, DAMPING = 0.3, CONTENDER = 0.12;

constexpr Int FAR = 1024;  // atoms from which on rows of K are far away in memory, and asked for ahead of time

constexpr Int FIRST_CAPACITY = 128;  // active atoms that there is room for at first

}  // namespace

FeatureSign::FeatureSign(const Gram &gram, const AtomScales &scales, bool positive, Int max_rounds, Int capacity)
    : gram(gram), scales(scales), positive(positive), max_rounds(max_rounds), fold(positive ? 0.0 : -1.0),
      active(capacity), numbers(2 * (gram.n + 8)), indices(3 * (gram.n + 8)) {
    if (!*this) return;
    const Int room = gram.n + 8;
    std::memset(indices.data(), 0, 3 * room * sizeof(Int));  // any number that is read there is an atom
    std::memset(numbers.data(), 0, 2 * room * sizeof(double));
    h = numbers.data();
    explained = h + room;
    contenders = indices.data();
    proposals = contenders + room;
    watched = proposals + room;
}

Status FeatureSign::code(const Query &query, bool warm, double *code, double *report) {
    active.size = 0;
    Status status = warm ? start(query, code) : Status::FINE;
    Int rounds = 0;
    Violation violation{};
    if (status == Status::FINE) status = search(query, rounds, violation);
    if (status != Status::FINE) return status;
    report[ROUNDS] = double(rounds);
    return deliver(query, violation, code, report) ? Status::FINE : Status::INDEFINITE;
}

// Take the atoms and values of a starting code.
Status FeatureSign::start(const Query &query, const double *code) {
    Int count = 0;
    for (Int j = 0; j < gram.n; ++j)
        if ((code[j] > 0.0 || (code[j] < 0.0 && !positive)) && j != query.excluded) proposals[count++] = j;
    const Status status = append(count, query.cross, query.tau);
    for (Int i = 0; i < active.size; ++i) {
        active.code[i] = code[active.atoms[i]];
        active.sign[i] = std::copysign(1.0, active.code[i]);
    }
    return status;
}

// Rounds to the optimum.
Status FeatureSign::search(const Query &query, Int &rounds, Violation &violation) {
    const Int n = gram.n;
    const double tau = query.tau, tolerance = query.tolerance;
    double previous_error = INFINITE<double>;
    Int n_watched = 0;
    for (rounds = 0; rounds <= max_rounds; ++rounds) {
        double error = 0.0;
        bool partly = n_watched > 0 && rounds < max_rounds;
        if (partly) {
            const double before = violation.excess;
            correlate_some(gram, query.cross, active, watched, n_watched, explained, h);
            violation = largest_violation(h, n, tau, scales, fold);
            partly = tolerance < violation.excess && violation.excess <= 0.5 * before;
        }
        if (!partly) {
            correlate(gram, query.cross, active, h);
            error = settle(active, tau, scales.inverse, h);
            if (query.excluded >= 0) h[query.excluded] = 0.0;  // never proposed, and no part of the test of optimality
            violation = largest_violation(h, n, tau, scales, fold);
        }
        n_watched = 0;
        const bool block_is_optimal = error <= tolerance;
        if ((block_is_optimal && violation.excess <= tolerance) || rounds == max_rounds)
            break;  // all atoms have been looked at
        Int first = 0;
        if (block_is_optimal) {
            const Int more = MORE_PROPOSALS + Int(GROWTH * double(active.size));
            const Int limit = more > LEAST_PROPOSALS ? more : LEAST_PROPOSALS;
            const Int count = propose(violation.excess, tau, tolerance, limit);
            if (count < limit) n_watched = watch(h, n, tau, violation.excess, scales, fold, watched);
            first = active.size;
            const Status status = append(count, h, tau);
            if (status != Status::FINE) return status;
            previous_error = INFINITE<double>;
        } else if (error <= 0.5 * previous_error) {  // a starting code, or iterative refinement
            active.solve_lower(0);
            previous_error = error;
        } else
            break;  // refinement has come down to rounding error
        descend(first, tau);
    }
    return Status::FINE;
}

// Write up to `limit` atoms with |h_j| > τ, worst first; how many. Greedy coordinate descent that is never written to
// the code: after each choice its damped step is taken off the correlations of the other contenders.
Int FeatureSign::propose(double excess, double tau, double tolerance, Int limit) {
    const double level = larger(tolerance, CONTENDER * excess), *const inverse = scales.inverse;
    double *const left = explained;
    Int *const atoms = contenders, count = 0;
    if (scales.uniform)
        count = indices_above(h, gram.n, fold, tau + level / inverse[0], atoms);
    else
        for (Int j = 0; j < gram.n; ++j)
            if ((folded(h[j], fold) - tau) * inverse[j] > level) atoms[count++] = j;
    for (Int q = 0; q < count; ++q) left[q] = h[atoms[q]];
    for (Int q = count; q < count + 7; ++q) left[q] = NOT_A_NUMBER<double>;
    const Int most = smaller(limit, count);
    Int proposed = 0, expected = -1;
    for (Leaders best = leaders(left, count, fold); proposed < most;) {
        const double value = left[best.first], surplus = folded(value, fold) - tau;
        const Int j = atoms[best.first];
        if (!(surplus > 0.0)) break;
        proposals[proposed++] = j;
        if (gram.n >= FAR) {
            if (best.first != expected) fetch(gram.row(j), gram.n);
            fetch(gram.row(atoms[best.second]), gram.n);
            expected = best.second;
        }
        const double step = DAMPING * std::copysign(surplus, value) * inverse[j] * inverse[j];
        best = take_off(gram.row(j), step, fold, atoms, left, count, best.first);
    }
    return proposed;
}

// Append the first of the proposals to the active set, which is at its optimum.
Status FeatureSign::append(Int count, const double *correlations, double tau) {
    if (active.size + count > active.capacity) return Status::FULL;
    for (Int i = 0; i < active.size; ++i) active.slack[i] = active.half_step[i] = 0.0;
    return active.append(gram, proposals, count, scales, correlations, tau);
}

// Feature-sign steps to the optimum of the active block.
//
// Each step solves K_AA d = r. A new atom that would move against its sign leaves (one that moves with it always
// remains, since rᵀK_AA⁻¹r > 0), so d is a descent direction: half the objective has the slope −rᵀd = −‖z‖² along it.
// Every step ends at the optimum, drops an atom or lowers the objective at other signs, so the steps are finitely many;
// the bound is there for rounding.
void FeatureSign::descend(Int first, double tau) {
    for (Int times = 2 * active.size + 10; times > 0; --times) {
        const Int before = active.size, known = active.solve_upper_end(smaller(first, before));
        drop_backward(known);
        if (active.size < before) continue;
        active.solve_upper_rest(known);
        drop_backward(0);
        if (active.size < before) continue;
        Int kink;
        const double length = line_search(tau, kink);
        Int first_flip = move(length, kink, tau);
        if (kink >= 0) {
            active.remove(kink);
            first_flip -= first_flip > kink;
        } else if (first_flip == active.size && length == 1.0)
            break;
        first = 0;
        active.solve_lower(first_flip);
    }
}

// Remove the atoms without a code, of those whose step is known, that would move against their sign.
void FeatureSign::drop_backward(Int known) {
    for (Int i = active.size - 1; i >= known; --i)
        if (active.code[i] == 0.0 && active.step[i] * active.sign[i] <= 0.0) active.remove(i);
}

// Minimise the objective over y + t d exactly; t, and the entry that is zero there (−1: none). Half the objective has
// the slope −‖z‖² (1 − t), and 2τ|d_i| more past each sign change of y_i.
double FeatureSign::line_search(double tau, Int &kink) {
    const Int size = active.size;
    const double *const code = active.code, *const step = active.step, *const z = active.half_step;
    double curvature = 0.0, *const crossing = active.crossing;
    for (Int i = 0; i < size; ++i) {
        curvature += z[i] * z[i];
        crossing[i] = (code[i] + step[i]) * active.sign[i] <= 0.0 ? -code[i] / step[i] : INFINITE<double>;
    }
    double slope = -curvature;
    kink = -1;
    for (Int times = 0; times <= size; ++times) {
        Int nearest = 0;
        for (Int i = 0; i < size; ++i)
            if (crossing[i] < crossing[nearest]) nearest = i;
        const double t = crossing[nearest];
        if (slope + smaller(t, 1.0) * curvature >= 0.0) return slope < 0.0 ? -slope / curvature : 1.0;
        slope += 2.0 * tau * std::fabs(step[nearest]);
        if (positive || slope + t * curvature >= 0.0) {
            kink = nearest;
            return t;
        }
        crossing[nearest] = INFINITE<double>;
    }
    return 0.0;
}

// y += t d; the first entry whose sign has changed (the size if none). A code that must be positive can cross zero by a
// rounding error only, and stops there.
Int FeatureSign::move(double length, Int kink, double tau) {
    double *const code = active.code, *const sign = active.sign, *const slack = active.slack;
    Int first_flip = active.size;
    for (Int i = active.size - 1; i >= 0; --i) {
        code[i] += length * active.step[i];
        slack[i] *= 1.0 - length;
        active.half_step[i] *= 1.0 - length;
        if (i != kink && code[i] * sign[i] < 0.0) {
            if (positive)
                code[i] = 0.0;
            else {
                sign[i] = -sign[i];
                slack[i] -= 2.0 * tau * sign[i];
            }
            first_flip = i;
        }
    }
    return first_flip;
}

// Write the code, and what is reported of it except the rounds; whether all is finite.
bool FeatureSign::deliver(const Query &query, const Violation &others, double *code, double *report) {
    const double tau = query.tau, *const cross = query.cross;
    double violation = larger(0.0, others.peak - tau), excess = others.excess, peak = others.peak;
    double linear = 0.0, quadratic = 0.0, norm = 0.0, nonzeros = 0.0;
    const double sum = sum_of(h, gram.n);  // not finite if an active row of K is not
    std::memset(code, 0, gram.n * sizeof(double));
    for (Int i = 0; i < active.size; ++i) {
        const Int j = active.atoms[i];
        const double y = active.code[i], size = std::fabs(active.slack[i]);
        const double correlation = active.slack[i] + tau * active.sign[i];
        code[j] = y;
        nonzeros += y != 0.0;
        violation = larger(violation, size);
        excess = larger(excess, size * scales.inverse[j]);
        linear += y * cross[j];
        quadratic += y * (cross[j] - correlation);
        norm += std::fabs(y);
        peak = larger(peak, correlation * active.sign[i]);
    }
    report[LINEAR] = linear, report[QUADRATIC] = quadratic, report[NORM] = norm, report[NONZEROS] = nonzeros;
    report[VIOLATION] = violation, report[EXCESS] = excess, report[PEAK] = peak;
    return std::fabs(sum + violation + linear + quadratic + norm) < INFINITE<double>;
}

}  // namespace spdatoms

using namespace spdatoms;

struct CodeRows {
    const double *gram, *cross;  // (n, n) and (m, n)
    Int n;
    const double *tau, *tolerance;  // (m,)
    Int positive, max_rounds;
    const double *inverse;
    Int uniform;
    double dependent, indefinite;
    const Int *excluded;  // (m,)
    Int warm;
    const Int *rows;
    Int n_rows;
    double *codes, *report;  // (m, n) and (m, REPORT)
};

struct CodeQuickly {
    const double *gram, *cross;  // (n, n) and (m, n)
    Int n, m;
    double alpha, scale;  // 1/√K_jj, about the same for all atoms
    double tolerance, of_penalty, least_error;
    const double *inverse;
    double dependent, indefinite;
    Int max_rounds;
    const Int *excluded;  // (m,), or null for none
    double least, most;   // between which max |k_j| must be
    double *codes;        // (m, n)
};

// Code all rows of `cross` to the accuracy that lasso/units.py asks for; whether all went well. If not, take the way that
// has a report of every query.
EXPORT Int code_quickly(const CodeQuickly *given) {
    const CodeQuickly g = *given;
    double report[REPORT];
    for (Int q = 0, capacity = smaller(g.n, FIRST_CAPACITY);; capacity = smaller(g.n, 4 * capacity)) {
        FeatureSign solver({g.gram, g.n}, {g.inverse, true, g.dependent, g.indefinite}, false, g.max_rounds, capacity);
        if (!solver) return NO_MEMORY;
        Status status = Status::FINE;
        for (; q < g.m; ++q) {
            const double *const cross = g.cross + q * g.n;
            const double size = greatest_of(cross, g.n, -1.0), largest = size * g.scale;
            if (!(size >= g.least && size < g.most && std::fabs(sum_of(cross, g.n)) < INFINITE<double>)) return 0;
            const double aim = smaller(g.tolerance * largest, larger(g.of_penalty * g.scale * g.alpha, g.least_error * largest));
            const Query query{cross, 0.5 * g.alpha, 0.5 * aim, g.excluded ? g.excluded[q] : -1};
            status = solver.code(query, false, g.codes + q * g.n, report);
            if (status != Status::FINE) break;
            if (!(report[EXCESS] <= 0.5 * aim)) return 0;
        }
        if (status != Status::FULL) return status == Status::FINE;
    }
}

// Code these rows of `cross`; −1, or the number of the one for which K_AA turned out indefinite.
EXPORT Int code_rows(const CodeRows *given) {
    const CodeRows g = *given;
    Int number = 0;
    // Room for four times as many atoms each time: the query that found none begins again.
    for (Int capacity = smaller(g.n, FIRST_CAPACITY);; capacity = smaller(g.n, 4 * capacity)) {
        FeatureSign solver({g.gram, g.n}, {g.inverse, g.uniform != 0, g.dependent, g.indefinite}, g.positive != 0,
                           g.max_rounds, capacity);
        if (!solver) return NO_MEMORY;
        Status status = Status::FINE;
        for (; number < g.n_rows; ++number) {
            const Int q = g.rows[number], next = g.rows[smaller(number + 1, g.n_rows - 1)];
            fetch(g.cross + next * g.n, g.n);  // which may be anywhere
            const Query query{g.cross + q * g.n, g.tau[q], g.tolerance[q], g.excluded[q]};
            status = solver.code(query, g.warm != 0, g.codes + q * g.n, g.report + q * REPORT);
            if (status != Status::FINE) break;
        }
        if (status != Status::FULL) return status == Status::FINE ? -1 : number;
    }
}
