"""Moments of feature vectors over the cells of a grid, and covariances over boxes made of cells.

The moments of F features are F(F+3)/2 numbers: the F sums, then the sums of products of the upper
triangle, row by row.
"""

import numpy as np

from spdatoms._compiled.jit import kept


@kept
def mean_and_variance(samples, mean, variance):
    """Mean and mean squared deviation of each of the F columns of ``samples`` (N, F)."""
    count, n = samples.shape
    mean[:] = 0.0
    variance[:] = 0.0
    for p in range(count):
        for i in range(n):
            mean[i] += samples[p, i]
    for i in range(n):
        mean[i] /= count
    for p in range(count):
        for i in range(n):
            variance[i] += (samples[p, i] - mean[i]) ** 2
    for i in range(n):
        variance[i] /= count


@kept
def add_moments(pixels, centre, row_cell, column_cell, moments):
    """Add every pixel's moments about ``centre`` to its cell.

    ``pixels`` (rows, columns, F); row r and column c belong to the cell (row_cell[r], column_cell[c])
    of ``moments`` (cell rows, cell columns, F(F+3)/2), to none where either is negative.
    """
    rows, columns, n = pixels.shape
    f = centre.copy()
    for r in range(rows):
        if row_cell[r] < 0:
            continue
        for c in range(columns):
            if column_cell[c] < 0:
                continue
            cell = moments[row_cell[r], column_cell[c]]
            for i in range(n):
                f[i] = pixels[r, c, i] - centre[i]
                cell[i] += f[i]
            k = n
            for i in range(n):
                for j in range(i, n):
                    cell[k] += f[i] * f[j]
                    k += 1


@kept
def box_covariances(table, corners, signs, counts, means, covariances):
    """Means and covariances over boxes, from the moments summed up to their corners.

    ``table`` (points, F(F+3)/2) is an integral image with its axes merged; the moments of box b are
    Σ_k signs[k] · table[corners[b, k]].
    """
    n = means.shape[1]
    moments = np.empty(table.shape[1])
    for b in range(corners.shape[0]):
        moments[:] = 0.0
        for k in range(corners.shape[1]):
            corner, sign = corners[b, k], signs[k]
            for m in range(moments.shape[0]):
                moments[m] += sign * table[corner, m]
        count = counts[b]
        free = max(count - 1.0, 1.0)
        for i in range(n):
            means[b, i] = moments[i] / count
        m = n
        for i in range(n):
            for j in range(i, n):
                value = (moments[m] - moments[i] * means[b, j]) / free
                covariances[b, i, j] = value
                covariances[b, j, i] = value
                m += 1
            # Rounding may leave a variance of nothing below zero.
            covariances[b, i, i] = max(covariances[b, i, i], 0.0)
