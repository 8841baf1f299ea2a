// Matrices to and from the order of the lane kernels (interleave.hpp).
#include "interleave.hpp"

using namespace spdatoms;

namespace {

template <class T> struct PackScalars {
    const T *X;
    Int count, size;  // matrices, and entries of each
    const Int *entries;
    Int slots;
    double factor;
    T *out;  // (count, slots)
};

template <class T> Int pack_scalars(const PackScalars<T> &g) {
    for (Int i = 0; i < g.count; ++i)
        for (Int s = 0; s < g.slots; ++s) g.out[i * g.slots + s] = T(g.X[i * g.size + g.entries[s]] * g.factor);
    return DONE;
}

template <class T> struct PackLanes {
    const T *X;
    Int size;
    const Int *chosen;  // a matrix for every lane of the batches
    Int batches;
    const Int *places;  // the slot of every entry
    Int slots;
    double factor;
    T *out;  // (batches, slots, LANES)
};

template <class T> Int pack_lanes(const PackLanes<T> &g) {
    for (Int b = 0; b < g.batches; ++b)
        scatter(g.X, g.size, g.chosen + b * LANES<T>, g.places, T(g.factor), g.out + b * g.slots * LANES<T>);
    return DONE;
}

template <class T> struct ReadLanes {
    const T *packed;  // (batches, slots, LANES)
    Int slots, count;  // matrices
    const Int *places;
    const T *scales;
    Int length;
    T *out;  // (count, length)
};

// Row i is the entries at these places of matrix i, each times its scale.
template <class T> Int read_lanes(const ReadLanes<T> &g) {
    for (Int first = 0; first < g.count; first += LANES<T>) {
        const T *batch = g.packed + first * g.slots;
        T *rows = g.out + first * g.length;
        if (g.length >= LANES<T> && first + LANES<T> <= g.count) {
            collect(batch, g.places, g.scales, g.length, rows, g.length);
            continue;
        }
        for (Int l = 0; l < LANES<T> && first + l < g.count; ++l)
            for (Int p = 0; p < g.length; ++p) rows[l * g.length + p] = batch[g.places[p] * LANES<T> + l] * g.scales[p];
    }
    return DONE;
}

}  // namespace

EXPORT Int pack_scalars_f64(const PackScalars<double> *given) { return pack_scalars(*given); }
EXPORT Int pack_scalars_f32(const PackScalars<float> *given) { return pack_scalars(*given); }
EXPORT Int pack_lanes_f64(const PackLanes<double> *given) { return pack_lanes(*given); }
EXPORT Int pack_lanes_f32(const PackLanes<float> *given) { return pack_lanes(*given); }
EXPORT Int read_lanes_f64(const ReadLanes<double> *given) { return read_lanes(*given); }
EXPORT Int read_lanes_f32(const ReadLanes<float> *given) { return read_lanes(*given); }
