#include "active_factor.hpp"

#include <initializer_list>

namespace spdatoms {

namespace {

constexpr Int ENTRIES = 9;            // numbers that are kept of each atom
constexpr Int LEAST_TRANSPOSED = 3;  // fewer atoms are copied from the panel one by one

// Where row i begins, after the rows q < i with padded(q + PANEL) numbers each.
INLINE Int row_start(Int i) {
    const Int t = (i + 7) / 16;
    return 16 * (i + t * (i - 8 * t - 1));
}

INLINE Int entry_length(Int capacity) { return padded(capacity + PANEL) + PADDING; }

INLINE Int number_count(Int capacity) {
    const Int rows = capacity + PANEL;
    return row_start(rows) + rows * PANEL + ENTRIES * entry_length(capacity);
}

typedef double Four __attribute__((vector_size(32)));
INLINE Four load_four(const double *source) {
    Four x;
    std::memcpy(&x, source, sizeof x);
    return x;
}

}  // namespace

ActiveSet::ActiveSet(Int capacity)
    : numbers(number_count(capacity)), indices(capacity + PANEL), capacity(capacity), atoms(indices.data()) {
    if (!*this) return;
    // Zeros, because products with what lies behind the last atom must be some.
    std::memset(numbers.data(), 0, number_count(capacity) * sizeof(double));
    std::memset(atoms, 0, (capacity + PANEL) * sizeof(Int));
    double *next = numbers.data();
    for (double **entry : {&code, &sign, &slack, &half_step, &step, &crossing, &reciprocal, &cosine, &sine}) {
        *entry = next;
        next += entry_length(capacity);
    }
    panel = next;
    factor = panel + (capacity + PANEL) * PANEL;
}

INLINE double *ActiveSet::row(Int i) const { return factor + row_start(i); }

// Replace K_A,new in the panel by L⁻¹ K_A,new, four rows at a time.
NOINLINE void ActiveSet::solve_panel() {
    Int i = 0;
    for (; i + 4 <= size; i += 4) {
        const double *const rows[] = {row(i), row(i + 1), row(i + 2), row(i + 3)};
        eliminate(rows, panel, i, reciprocal);
    }
    for (; i < size; ++i) {
        const double *const rows[] = {row(i)};
        eliminate(rows, panel, i, reciprocal);
    }
}

// Take XᵀX of the panel X off the squares.
INLINE void ActiveSet::subtract_squares() {
    for (Int p = 0; p < PANEL; p += 4) {
        const double *const columns[] = {panel + p, panel + p + 1, panel + p + 2, panel + p + 3};
        subtract_products(columns, PANEL, panel, 0, size, corner.squares + p * PANEL);
    }
}

Status ActiveSet::append(const Gram &gram, const Int *added, Int n_added, const AtomScales &scales, const double *h,
                         double tau) {
    const Int first = size;
    const double share = scales.indefinite / scales.dependent;
    for (Int start = 0; start < n_added; start += PANEL, added += PANEL) {
        const Int count = smaller(PANEL, n_added - start);
        const double *rows[PANEL];
        for (Int p = 0; p < PANEL; ++p) rows[p] = gram.row(added[smaller(p, count - 1)]);  // made up by copies
        fill_panel(rows, atoms, size, panel);
        fill_panel(rows, added, count, corner.squares);
        solve_panel();
        subtract_squares();
        for (Int p = 0; p < count; ++p) {
            const Int j = added[p];
            if (start == 0 || !scales.uniform)
                corner.floors[p] = scales.dependent / (scales.inverse[j] * scales.inverse[j]);
            corner.right[p] = h[j] - std::copysign(tau, h[j]);
        }
        const double *const z[] = {half_step};
        subtract_products(z, 1, panel, first, size, corner.right);
        if (start == 0 && corner.squares[0] < corner.floors[0]) {
            if (corner.squares[0] < share * corner.floors[0]) return Status::INDEFINITE;
            corner.squares[0] = corner.floors[0];
        }
        corner.factorise(count);
        const Status status = append_corner(added, count, share, h, tau);
        if (status != Status::FINE) return status;
    }
    return Status::FINE;
}

// Append the atoms of a panel, of which the corner is factorised. A pivot under this share of its floor is negative.
Status ActiveSet::append_corner(const Int *added, Int count, double share, const double *h, double tau) {
    const Int first = size;
    for (Int p = 0; p < count; ++p) {
        if (!(corner.pivots[p] >= share * corner.floors[p])) return Status::INDEFINITE;  // or it is a NaN
        places[p] = -1;
        if (corner.pivots[p] < corner.floors[p]) continue;
        const Int j = added[p];
        places[p] = size;
        atoms[size] = j;
        code[size] = 0.0;
        sign[size] = std::copysign(1.0, h[j]);
        slack[size] = h[j] - std::copysign(tau, h[j]);
        half_step[size] = corner.right[p];
        reciprocal[size] = corner.roots[p];
        store(panel + size * PANEL, corner.roots[p] * load_eight(corner.squares + p * PANEL));
        ++size;
    }
    extend_rows(first, count);
    return Status::FINE;
}

// Copy what the panel holds of the atoms that were accepted to the rows of L.
NOINLINE void ActiveSet::extend_rows(Int first, Int count) {
    Int copied = 0;
    if (count >= LEAST_TRANSPOSED) {
        double *targets[PANEL];
        for (Int p = 0; p < PANEL; ++p) {  // what is not wanted goes where the next atom will overwrite it
            if (p >= count || places[p] < 0) places[p] = size;
            targets[p] = row(places[p]);
        }
        copied = first - first % PANEL;
        for (Int q = 0; q < copied; q += PANEL) write_columns(panel + q * PANEL, targets, q);
    }
    for (Int p = 0; p < count; ++p) {
        const Int i = places[p];
        if (i < 0 || i == size) continue;
        double *const target = row(i);
        const double *const column = panel + p;
        for (Int q = copied; q < i; ++q) target[q] = column[q * PANEL];
        for (Int q = i; q < padded(i); ++q) target[q] = 0.0;
    }
}

// Remove an atom from the set, its factor and z, by Givens rotations. Row i + 1 becomes row i. Rotation k clears what
// then stands right of the diagonal in row k, and acts on columns k and k + 1 of the rows below it, and of z.
void ActiveSet::remove(Int leaving) {
    double z_carried = half_step[leaving];
    Int rotated = leaving, ready = leaving;
    for (Int i = leaving; i < size - 1; ++i) {
        const double *const source = row(i + 1);
        double *const target = row(i), carried;
        if (i >= ready && i >= leaving + PADDING && i + 4 < size) {
            rotate_four_rows(i, leaving);
            rotated = i;
            ready = i + 4;
        }
        if (i < ready)
            carried = carry[i - rotated];
        else {
            std::memmove(target, source, leaving * sizeof(double));
            carried = source[leaving];
            rotated = leaving;
        }
        for (Int k = rotated; k < i; ++k) {
            const double following = source[k + 1], turned = sine[k] * carried;
            target[k] = cosine[k] * carried + sine[k] * following;
            carried = cosine[k] * following - turned;
        }
        for (Int k = i; k < padded(i); ++k) target[k] = 0.0;
        const double pivot = 1.0 / reciprocal[i + 1];
        reciprocal[i] = 1.0 / std::sqrt(carried * carried + pivot * pivot);
        const double c = cosine[i] = carried * reciprocal[i], s = sine[i] = pivot * reciprocal[i];
        const double following = half_step[i + 1];
        half_step[i] = c * z_carried + s * following;
        z_carried = c * following - s * z_carried;
        atoms[i] = atoms[i + 1];
        for (double *entry : {code, sign, slack}) entry[i] = entry[i + 1];
    }
    --size;
}

// Apply the rotations before i to four rows from i + 1 on: in one row, each waits for the one before it.
void ActiveSet::rotate_four_rows(Int i, Int leaving) {
    double *const rows[] = {row(i), row(i + 1), row(i + 2), row(i + 3), row(i + 4)};
    double x[4];
    UNROLL for (int r = 0; r < 4; ++r) std::memmove(rows[r], rows[r + 1], leaving * sizeof(double));
    UNROLL for (int r = 0; r < 4; ++r) x[r] = rows[r + 1][leaving];
    for (Int k = leaving; k < i; ++k) {
        const double c = cosine[k], s = sine[k];
        double y[4];
        UNROLL for (int r = 0; r < 4; ++r) y[r] = rows[r + 1][k + 1];
        UNROLL for (int r = 0; r < 4; ++r) {
            const double turned = s * x[r];
            rows[r][k] = c * x[r] + s * y[r];
            x[r] = c * y[r] - turned;
        }
    }
    UNROLL for (int r = 0; r < 4; ++r) carry[r] = x[r];
}

void ActiveSet::solve_lower(Int first) {
    double *const z = half_step;
    for (Int i = first; i < padded(size); ++i) z[i] = 0.0;
    for (Int i = first; i < size; ++i) {
        const double *const left = row(i);
        Eight even = every(0.0), odd = every(0.0);
        for (Int q = 0; q < i; q += 16) {
            even = even + load_eight(left + q) * load_eight(z + q);
            odd = odd + load_eight(left + q + 8) * load_eight(z + q + 8);
        }
        z[i] = (slack[i] - total(even + odd)) * reciprocal[i];
    }
}

Int ActiveSet::solve_upper_end(Int first) {
    // Entries between the last multiple of PADDING and the first that is known hold what is left of z.
    const Int known = first - first % 4, begin = known - known % PADDING;
    for (Int i = begin; i < padded(size + 3); ++i) step[i] = i < size ? half_step[i] : 0.0;
    solve_rows(known, size, begin);
    return known;
}

void ActiveSet::solve_upper_rest(Int known) {
    const Int begin = known - known % PADDING;
    std::memcpy(step, half_step, begin * sizeof(double));
    for (Int i = known; i < size; i += 4) take_four_off(i, 0, begin);
    solve_rows(0, known, 0);
}

// Solve Lᵀx = z for the entries from `first` to `end`, four at a time, and take them off those from `begin`.
void ActiveSet::solve_rows(Int first, Int end, Int begin) {
    double *const x = step;
    for (Int k = (end + 3) / 4 * 4 - 4; k >= first; k -= 4) {  // rounded up by zeros
        const double *const row1 = row(k + 1), *const row2 = row(k + 2), *const row3 = row(k + 3);
        const double x3 = x[k + 3] * reciprocal[k + 3];
        const double x2 = (x[k + 2] - x3 * row3[k + 2]) * reciprocal[k + 2];
        const double x1 = (x[k + 1] - x3 * row3[k + 1] - x2 * row2[k + 1]) * reciprocal[k + 1];
        const double x0 = (x[k] - x3 * row3[k] - x2 * row2[k] - x1 * row1[k]) * reciprocal[k];
        x[k] = x0, x[k + 1] = x1, x[k + 2] = x2, x[k + 3] = x3;
        take_four_off(k, begin, k);
    }
}

// x_q −= Σ x_i L_iq for four rows i from k on and begin ≤ q < end, of which begin is a multiple of 16 and end of 4.
INLINE void ActiveSet::take_four_off(Int k, Int begin, Int end) {
    double *const x = step;
    const double *const row0 = row(k), *const row1 = row(k + 1), *const row2 = row(k + 2), *const row3 = row(k + 3);
    const double x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
    Int q = begin;
    for (; q + 8 <= end; q += 8)
        store(x + q, load_eight(x + q) - x0 * load_eight(row0 + q) - x1 * load_eight(row1 + q) -
                         x2 * load_eight(row2 + q) - x3 * load_eight(row3 + q));
    for (; q < end; q += 4) {
        const Four left = load_four(x + q) - x0 * load_four(row0 + q) - x1 * load_four(row1 + q) -
                          x2 * load_four(row2 + q) - x3 * load_four(row3 + q);
        std::memcpy(x + q, &left, sizeof left);
    }
}

}  // namespace spdatoms
