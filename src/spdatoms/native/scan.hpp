// Passes over many numbers, eight at a time: the greatest, which are above a level, and what is left of some.
//
// For all, a number x counts as max(x, fold·x): |x| with the fold −1, max(x, 0) with 0.
#pragma once

#include "eight.hpp"

namespace spdatoms {

// Positions of the greatest number, up to seven digits, and of one that may be the next.
struct Leaders {
    Int first, second;
};

INLINE double folded(double x, double fold) { return larger(x, fold * x); }

// The greatest, at least 0.
double greatest_of(const double *values, Int n, double fold);

double sum_of(const double *values, Int n);

// Write which values are above a level; how many.
Int indices_above(const double *values, Int n, double fold, double level, Int *indices);

// Behind the values there are NaNs up to a multiple of eight; NaNs do not lead.
Leaders leaders(const double *values, Int count, double fold);

// values[q] −= step·row[indices[q]], NaN where it is taken; the leaders then.
Leaders take_off(const double *row, double step, double fold, const Int *indices, double *values, Int count, Int taken);

// Ask for numbers ahead of time.
INLINE void fetch(const double *values, Int n) {
    for (Int i = 0; i < n; i += 8) __builtin_prefetch(values + i, 0, 2);
}

}  // namespace spdatoms
