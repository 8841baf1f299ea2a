// L Lᵀ = K_AA: the Cholesky factor of the active block of a Gram matrix, as atoms come and go.
//
// L is held by rows, one after the other. Its diagonal is kept apart, as reciprocals, and every row has zeros from the
// diagonal up to the next multiple of PADDING, so that no inner loop has a scalar remainder.
#pragma once

#include "panel.hpp"

namespace spdatoms {

constexpr Int PADDING = 16;
INLINE Int padded(Int length) { return (length + PADDING - 1) / PADDING * PADDING; }

enum class Status { FINE, INDEFINITE, FULL };  // K_AA is indefinite, or there is no room for so many atoms

struct Gram {
    const double *values;
    Int n;
    INLINE const double *row(Int j) const { return values + j * n; }
};

struct AtomScales {
    const double *inverse;  // 1/√K_jj
    bool uniform;           // whether all are the same
    // Limits of squared pivots, as multiples of K_jj: one under the first is rounding error, under the second negative.
    double dependent, indefinite;
};

// The active atoms, and what is kept of each.
class ActiveSet {
    Buffer<double> numbers;
    Buffer<Int> indices;
    double *factor, *panel, *cosine, *sine;
    Corner corner;
    Int places[PANEL];  // of the atoms of a panel in the active set
    double carry[4];    // what rotations carry to the next column of four rows

    double *row(Int i) const;
    void solve_panel();
    void subtract_squares();
    Status append_corner(const Int *added, Int count, double share, const double *h, double tau);
    void extend_rows(Int first, Int count);
    void rotate_four_rows(Int i, Int leaving);
    void take_four_off(Int k, Int begin, Int end);
    void solve_rows(Int first, Int end, Int begin);

  public:
    const Int capacity;
    Int size = 0;
    Int *atoms;
    double *code;
    double *sign;        // θ: the sign that the code has or is about to take
    double *slack;       // r = h − τθ: zero at the optimum of the active block
    double *half_step;   // z = L⁻¹ r
    double *step;        // K_AA⁻¹ r = L⁻ᵀ z
    double *crossing;    // step length at which the code changes sign
    double *reciprocal;  // of the diagonal of L

    explicit ActiveSet(Int capacity);
    explicit operator bool() const { return numbers && indices; }

    // Append atoms, code zero. Their θ, r and z come from h, and are right if r of the others is zero.
    //
    // An atom that is a combination of the active ones, up to rounding, is left out, unless it is the first of those
    // added: the caller has to make progress with that one, so its pivot is raised to the limit.
    Status append(const Gram &gram, const Int *added, Int n_added, const AtomScales &scales, const double *h,
                  double tau);
    void remove(Int leaving);
    // z = L⁻¹ r, where the entries before `first` are right already.
    void solve_lower(Int first);
    // L⁻ᵀ z, its entries from `first` on; the first one that is known.
    Int solve_upper_end(Int first);
    // The others, of which those from `known` on are there already.
    void solve_upper_rest(Int known);
};

}  // namespace spdatoms
