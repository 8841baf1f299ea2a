// Moments of feature vectors over the cells of a grid, and covariances over boxes made of cells.
//
// The moments of F features are F(F+3)/2 numbers: the F sums, then the sums of products of the upper triangle, row by
// row.
#include "vector.hpp"

using namespace spdatoms;

namespace {

struct MeanAndVariance {
    const double *samples;  // (count, n)
    Int count, n;
    double *mean, *variance;
};

struct AddMoments {
    const double *pixels;  // (rows, columns, n)
    Int rows, columns, n;
    const double *centre;
    const Int *row_cell, *column_cell;
    double *moments;  // (cell rows, cell_columns, n(n+3)/2)
    Int cell_columns;
};

struct BoxCovariances {
    const double *table;  // (points, n(n+3)/2), an integral image with its axes merged
    Int n, boxes, corners_of_a_box;
    const Int *corners;
    const double *signs, *counts;
    double *means, *covariances;
};

constexpr Int moment_count(Int n) { return n * (n + 3) / 2; }

// Call f(column, value) for every entry, two samples at a time: what f adds to is loaded and stored half as often.
template <class F> INLINE void for_samples(const MeanAndVariance &given, F f) {
    const Int n = given.n, odd = given.count % 2;
    const double *sample = given.samples;
    for (Int i = 0; i < n * odd; ++i) f(i, sample[i]);
    for (Int p = odd; p < given.count; p += 2)
        for (Int i = 0; i < n; ++i) {
            f(i, sample[p * n + i]);
            f(i, sample[p * n + n + i]);
        }
}

void add_to_cell(Int n, const double *__restrict f, double *__restrict cell) {
    for (Int i = 0; i < n; ++i) cell[i] += f[i];
    cell += n;
    for (Int i = 0; i < n; cell += n - i++)
        for (Int j = i; j < n; ++j) cell[j - i] += f[i] * f[j];
}

// Σ_k signs[k]·table[corners[k]]
void moments_of_box(const BoxCovariances &g, const Int *corners, double *__restrict moments) {
    const Int count = moment_count(g.n);
    for (Int m = 0; m < count; ++m) moments[m] = 0.0;
    for (Int k = 0; k < g.corners_of_a_box; ++k) {
        const double *corner = g.table + corners[k] * count;
        for (Int m = 0; m < count; ++m) moments[m] += g.signs[k] * corner[m];
    }
}

}  // namespace

// Mean and mean squared deviation of every column.
EXPORT Int mean_and_variance(const MeanAndVariance *given) {
    const Int n = given->n;
    double *__restrict mean = given->mean, *__restrict variance = given->variance;
    for (Int i = 0; i < n; ++i) mean[i] = variance[i] = 0.0;
    for_samples(*given, [&](Int i, double value) { mean[i] += value; });
    for (Int i = 0; i < n; ++i) mean[i] /= double(given->count);
    for_samples(*given, [&](Int i, double value) { variance[i] += (value - mean[i]) * (value - mean[i]); });
    for (Int i = 0; i < n; ++i) variance[i] /= double(given->count);
    return DONE;
}

// Add every pixel's moments about the centre to its cell, (row_cell[r], column_cell[c]), to none if either is negative.
EXPORT Int add_moments(const AddMoments *given) {
    const Int n = given->n;
    Buffer<double> f(n);
    if (!f) return NO_MEMORY;
    for (Int r = 0; r < given->rows; ++r)
        for (Int c = 0; c < given->columns && given->row_cell[r] >= 0; ++c) {
            if (given->column_cell[c] < 0) continue;
            const double *pixel = given->pixels + (r * given->columns + c) * n;
            for (Int i = 0; i < n; ++i) f.data()[i] = pixel[i] - given->centre[i];
            const Int cell = given->row_cell[r] * given->cell_columns + given->column_cell[c];
            add_to_cell(n, f.data(), given->moments + cell * moment_count(n));
        }
    return DONE;
}

// Means and covariances over boxes, from the moments summed up to their corners.
EXPORT Int box_covariances(const BoxCovariances *given) {
    const Int n = given->n;
    Buffer<double> memory(moment_count(n));
    if (!memory) return NO_MEMORY;
    const double *moments = memory.data();
    for (Int b = 0; b < given->boxes; ++b) {
        moments_of_box(*given, given->corners + b * given->corners_of_a_box, memory.data());
        double *mean = given->means + b * n, *covariance = given->covariances + b * n * n;
        const double count = given->counts[b], free = count > 2.0 ? count - 1.0 : 1.0;
        for (Int i = 0; i < n; ++i) mean[i] = moments[i] / count;
        const double *product = moments + n;
        for (Int i = 0; i < n; ++i) {
            for (Int j = i; j < n; ++j)
                covariance[i * n + j] = covariance[j * n + i] = (*product++ - moments[i] * mean[j]) / free;
            // Rounding may leave a variance of nothing below zero.
            double &variance = covariance[i * n + i];
            if (variance < 0.0) variance = 0.0;
        }
    }
    return DONE;
}
