// Eight numbers, in one, two or four registers: what the Lasso works on.
#pragma once

#include "vector.hpp"

namespace spdatoms {

using Part = Vector<double>;
using Word = Vector<Int>;
constexpr int WIDTH = LANES<double>, PARTS = 8 / WIDTH;

struct Eight {
    Part part[PARTS];
};

template <class F> INLINE Eight each(F f) {
    Eight result;
    UNROLL for (int p = 0; p < PARTS; ++p) result.part[p] = f(p);
    return result;
}
INLINE Eight every(double x) {
    return each([=](int) { return fill(x); });
}
INLINE Eight load_eight(const double *source) {
    return each([=](int p) { return load(source + p * WIDTH); });
}
INLINE void store(double *target, const Eight &x) {
    UNROLL for (int p = 0; p < PARTS; ++p) store(target + p * WIDTH, x.part[p]);
}
INLINE Eight operator+(const Eight &x, const Eight &y) {
    return each([&](int p) { return x.part[p] + y.part[p]; });
}
INLINE Eight operator-(const Eight &x, const Eight &y) {
    return each([&](int p) { return x.part[p] - y.part[p]; });
}
INLINE Eight operator*(const Eight &x, const Eight &y) {
    return each([&](int p) { return x.part[p] * y.part[p]; });
}
INLINE Eight operator*(double x, const Eight &y) {
    return each([&](int p) { return x * y.part[p]; });
}
INLINE Eight operator/(const Eight &x, const Eight &y) {
    return each([&](int p) { return x.part[p] / y.part[p]; });
}
INLINE Eight greatest(const Eight &x, const Eight &y) {
    return each([&](int p) { return greatest(x.part[p], y.part[p]); });
}
// f(0), …, f(7); quicker than the instruction that gathers.
template <class F> INLINE Eight gathered(F f) {
    double x[8];
    UNROLL for (int l = 0; l < 8; ++l) x[l] = f(l);
    return each([&](int p) { return constants<Part>([&](int l) { return x[p * WIDTH + l]; }); });
}
INLINE double lane(const Eight &x, int l) { return x.part[l / WIDTH][l % WIDTH]; }
INLINE void set_lane(Eight &x, int l, double value) { x.part[l / WIDTH][l % WIDTH] = value; }
INLINE double total(const Eight &x) {
    Part sums = x.part[0];
    UNROLL for (int p = 1; p < PARTS; ++p) sums += x.part[p];
    double total = 0.0;
    UNROLL for (int l = 0; l < WIDTH; ++l) total += sums[l];
    return total;
}

INLINE double larger(double x, double y) { return y > x ? y : x; }  // x if y is a NaN
INLINE double smaller(double x, double y) { return y < x ? y : x; }
INLINE Int smaller(Int x, Int y) { return y < x ? y : x; }

}  // namespace spdatoms
