// x_i ← exp(scale·x_i) for many numbers: NumPy has no vector code for it on processors without AVX-512.
#include "vector.hpp"

using namespace spdatoms;

namespace {

// Registers that a round fills, so that its dependent operations overlap with each other.
constexpr Int REGISTERS = 4, ROUND = REGISTERS * LANES<double>;

NOINLINE void exp_rounds(double *values, Int rounds, double scale) {
    for (Int round = 0; round < rounds; ++round, values += ROUND) {
        Vector<double> x[REGISTERS];
        UNROLL for (int r = 0; r < REGISTERS; ++r) x[r] = exp(load(values + r * LANES<double>) * scale);
        UNROLL for (int r = 0; r < REGISTERS; ++r) store(values + r * LANES<double>, x[r]);
    }
}

struct ScaledExp {
    double *values;
    Int count;
    double scale;
};

}  // namespace

EXPORT Int scaled_exp(const ScaledExp *given) {
    const Int rounds = given->count / ROUND, rest = given->count % ROUND;
    exp_rounds(given->values, rounds, given->scale);
    double last[ROUND] = {};  // what does not fill a round: by the same code, so that no number depends on its place
    std::memcpy(last, given->values + rounds * ROUND, rest * sizeof(double));
    exp_rounds(last, 1, given->scale);
    std::memcpy(given->values + rounds * ROUND, last, rest * sizeof(double));
    return DONE;
}
