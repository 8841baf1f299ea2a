// How well the atoms of each class represent a query: 2 y_cᵀk − y_cᵀK y_c, over the non-zeros of its code y alone.
#include "scan.hpp"

using namespace spdatoms;

namespace {

struct ClassResiduals {
    const double *codes, *gram, *cross;  // (m, n), (n, n), (m, n)
    const Int *atom_classes;             // (n,)
    Int m, n, n_classes;
    Int most;        // non-zeros
    double *scores;  // (m, n_classes)
    bool *many;      // which rows have more non-zeros, and are left out
};

// Write the atoms found to `atoms`, class by class: those of class c from ends[c] to ends[c + 1].
void sort_by_class(const Int *found, Int count, const Int *atom_classes, Int n_classes, Int *ends, Int *atoms) {
    for (Int c = 0; c <= n_classes; ++c) ends[c] = 0;
    for (Int i = 0; i < count; ++i) ++ends[atom_classes[found[i]]];
    for (Int c = 1; c <= n_classes; ++c) ends[c] += ends[c - 1];
    // From the back: the end of a class moves to its beginning.
    for (Int i = count - 1; i >= 0; --i) atoms[--ends[atom_classes[found[i]]]] = found[i];
}

}  // namespace

EXPORT Int class_residuals(const ClassResiduals *given) {
    const ClassResiduals g = *given;
    const Int n = g.n;
    Buffer<Int> indices(2 * n + g.n_classes + 1);
    Buffer<double> numbers(n);
    if (!indices || !numbers) return NO_MEMORY;
    Int *const found = indices.data(), *const atoms = found + n, *const ends = atoms + n;
    double *const values = numbers.data();
    for (Int query = 0; query < g.m; ++query) {
        const double *const code = g.codes + query * n, *const cross = g.cross + query * n;
        const Int count = indices_above(code, n, -1.0, 0.0, found);
        g.many[query] = count > g.most;
        if (count > g.most) continue;
        sort_by_class(found, count, g.atom_classes, g.n_classes, ends, atoms);
        for (Int i = 0; i < count; ++i) values[i] = code[atoms[i]];
        for (Int c = 0; c < g.n_classes; ++c) {
            double score = 0.0;
            for (Int a = ends[c]; a < ends[c + 1]; ++a) {
                const double *const row = g.gram + atoms[a] * n;
                double explained = 0.5 * row[atoms[a]] * values[a];
                for (Int b = ends[c]; b < a; ++b) explained += row[atoms[b]] * values[b];
                score += 2.0 * values[a] * (cross[atoms[a]] - explained);  // K is symmetric
            }
            g.scores[query * g.n_classes + c] = score;
        }
    }
    return DONE;
}
