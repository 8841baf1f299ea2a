#include "scan.hpp"

namespace spdatoms {

namespace {

INLINE Eight folded(const Eight &x, double fold) { return greatest(x, fold * x); }

// Bit SPACING·l says whether lane l is above the level.
#if defined(__AVX512F__)
constexpr int SPACING = 8;
INLINE std::uint64_t mask_above(const Eight &x, double level) {
    typedef signed char Bytes __attribute__((vector_size(WIDTH)));
    // One instruction here, a dozen elsewhere.
    const Bytes above = __builtin_convertvector((Word)(x.part[0] > fill(level)), Bytes);
    std::uint64_t bits;
    std::memcpy(&bits, &above, 8);
    return bits & 0x0101010101010101;
}
#else
constexpr int SPACING = 1;
INLINE std::uint64_t mask_above(const Eight &x, double level) {
    Word bits = {};
    UNROLL for (int p = 0; p < PARTS; ++p)
        bits |= (Word)(x.part[p] > fill(level)) & (constants<Word>([](int l) { return Int(1) << l; }) << (p * WIDTH));
    Int mask = 0;
    UNROLL for (int l = 0; l < WIDTH; ++l) mask |= bits[l];
    return std::uint64_t(mask);
}
#endif

// In every lane the greatest of all lanes.
template <int STEP> struct Swapped {
    constexpr int operator()(int l) const { return l ^ STEP; }
};
template <int STEP = WIDTH / 2> INLINE Part over_lanes(Part x) {
    if constexpr (STEP == 0)
        return x;
    else
        return over_lanes<STEP / 2>(greatest(x, shuffle(x, x, Swapped<STEP>{})));
}
INLINE Part over_lanes(const Eight &x) {
    Part best = x.part[0];
    UNROLL for (int p = 1; p < PARTS; ++p) best = greatest(best, x.part[p]);
    return over_lanes(best);
}

INLINE Word positions(Int first, int p) { return constants<Word>([](int l) { return l; }) + (first + p * WIDTH); }

// The greatest number so far in each lane, in its last bits where it stands: so one maximum finds both.
class Leading {
    static constexpr Int POSITION = (1 << 24) - 1;
    Int kept;  // the other bits, without the sign if |x| counts
    Eight best = every(0.0);

    static INLINE Part as_numbers(Word bits) {
        Part x = (Part)bits;
#if defined(__AVX512F__)
        asm("" : "+v"(x));  // no instruction: GCC sees a maximum of numbers, but not of bits that it knows to be some
#endif
        return x;
    }

  public:
    explicit INLINE Leading(double fold)
        : kept(fold < 0.0 ? ~POSITION & std::numeric_limits<Int>::max() : ~POSITION) {}

    INLINE void consider(const Eight &x, Int first) {
        best = greatest(each([&](int p) { return as_numbers(((Word)x.part[p] & kept) | positions(first, p)); }), best);
    }

    INLINE Leaders found() const {
        const Part most = over_lanes(best);
        const Part next = over_lanes(each([&](int p) { return best.part[p] == most ? Part{} : best.part[p]; }));
        return {((Word)most)[0] & POSITION, ((Word)next)[0] & POSITION};
    }
};

}  // namespace

double greatest_of(const double *values, Int n, double fold) {
    Eight best = every(0.0);
    for (Int i = 0; i + 8 <= n; i += 8) best = greatest(folded(load_eight(values + i), fold), best);
    double result = over_lanes(best)[0];
    for (Int i = n - n % 8; i < n; ++i) result = larger(result, folded(values[i], fold));
    return result;
}

double sum_of(const double *values, Int n) {
    Eight sums = every(0.0);
    for (Int i = 0; i + 8 <= n; i += 8) sums = sums + load_eight(values + i);
    double result = total(sums);
    for (Int i = n - n % 8; i < n; ++i) result += values[i];
    return result;
}

Int indices_above(const double *values, Int n, double fold, double level, Int *indices) {
    Int count = 0;
    for (Int i = 0; i + 8 <= n; i += 8)
        for (std::uint64_t left = mask_above(folded(load_eight(values + i), fold), level); left; left &= left - 1)
            indices[count++] = i + __builtin_ctzll(left) / SPACING;
    for (Int i = n - n % 8; i < n; ++i)
        if (folded(values[i], fold) > level) indices[count++] = i;
    return count;
}

Leaders leaders(const double *values, Int count, double fold) {
    Leading leading(fold);
    for (Int q = 0; q < count; q += 8) leading.consider(load_eight(values + q), q);
    return leading.found();
}

Leaders take_off(const double *row, double step, double fold, const Int *indices, double *values, Int count,
                 Int taken) {
    Leading leading(fold);
    for (Int q = 0; q < count; q += 8) {
        Eight left = load_eight(values + q) - step * gathered([=](int l) { return row[indices[q + l]]; });
        left = each([&](int p) { return positions(q, p) == taken ? fill(NOT_A_NUMBER<double>) : left.part[p]; });
        store(values + q, left);
        leading.consider(left, q);
    }
    return leading.found();
}

}  // namespace spdatoms
