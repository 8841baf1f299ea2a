// A vector of a register: as many numbers as one register of the processor holds, and what is done with them.
//
// Written with the vector extensions of GCC and Clang (x + y, x < y ? a : b work lane by lane), without intrinsics. The
// size of a register follows from the instruction set for which a file is compiled. Products that are added are
// contracted to fused multiply-adds where the processor has them (-ffp-contract=fast).
#pragma once

#include "buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")  // Clang leaves short loops over registers rolled: half the speed

namespace spdatoms {

// Bytes of a register, and the edge of a square tile of accumulators that leaves registers for operands.
#if defined(__AVX512F__)
constexpr int REGISTER = 64, TILE = 4;
#elif defined(__AVX2__)
constexpr int REGISTER = 32, TILE = 3;
#elif defined(__aarch64__)
constexpr int REGISTER = 16, TILE = 4;
#else
constexpr int REGISTER = 16, TILE = 3;
#endif

template <class T> constexpr T INFINITE = std::numeric_limits<T>::infinity();
template <class T> constexpr T NOT_A_NUMBER = std::numeric_limits<T>::quiet_NaN();

// ---- Types.
template <class T> struct Format;
template <> struct Format<double> {
    using Integer = std::int64_t;
    static constexpr int MANTISSA = 52, BIAS = 1023;
    static constexpr Integer ROOT_HALF = 0x3fe6a09e667f3bcd;  // the bits of √½
};
template <> struct Format<float> {
    using Integer = std::int32_t;
    static constexpr int MANTISSA = 23, BIAS = 127;
    static constexpr Integer ROOT_HALF = 0x3f3504f3;
};

template <class T> struct RegisterOf {
    typedef T type __attribute__((vector_size(REGISTER)));
};
template <class T> using Vector = typename RegisterOf<T>::type;
template <class T> constexpr int LANES = REGISTER / sizeof(T);
template <class V> using Scalar = std::remove_cv_t<std::remove_reference_t<decltype(std::declval<V>()[0])>>;
template <class V> using Integers = Vector<typename Format<Scalar<V>>::Integer>;

// ---- Memory. An address need not be a multiple of the register's size.
template <class T> INLINE Vector<T> load(const T *source) {
    Vector<T> x;
    std::memcpy(&x, source, sizeof x);
    return x;
}
template <class V> INLINE void store(Scalar<V> *target, V x) { std::memcpy(target, &x, sizeof x); }
template <class T> INLINE Vector<T> fill(T x) { return x - Vector<T>{}; }

// A vector of doubles from and to numbers of either precision.
template <class T> struct Narrow {
    typedef T type __attribute__((vector_size(REGISTER / sizeof(double) * sizeof(T))));
};
template <class T> INLINE Vector<double> load_double(const T *source) {
    typename Narrow<T>::type x;
    std::memcpy(&x, source, sizeof x);
    return __builtin_convertvector(x, Vector<double>);
}
template <class T> INLINE void store_rounded(T *target, Vector<double> x) {
    const auto rounded = __builtin_convertvector(x, typename Narrow<T>::type);
    std::memcpy(target, &rounded, sizeof rounded);
}

// ---- Lanes.
// A vector of integers that are known at compile time: written lane by lane, GCC would build it at run time.
template <class W, class F, std::size_t... L> INLINE constexpr W constants_of(F f, std::index_sequence<L...>) {
    return W{static_cast<Scalar<W>>(f(int(L)))...};
}
template <class W, class F> INLINE constexpr W constants(F f) {
    return constants_of<W>(f, std::make_index_sequence<sizeof(W) / sizeof(Scalar<W>)>());
}

// Lane l is lane CHOICE(l) of x and y side by side.
template <class V, class F, std::size_t... L> INLINE V shuffle_of(V x, V y, F choice, std::index_sequence<L...>) {
#if defined(__clang__)
    return __builtin_shufflevector(x, y, F{}(int(L))...);
#else
    return __builtin_shuffle(x, y, constants<Integers<V>>(choice));
#endif
}
template <class V, class F> INLINE V shuffle(V x, V y, F choice) {
    return shuffle_of(x, y, choice, std::make_index_sequence<LANES<Scalar<V>>>());
}

template <int N, int STEP> struct Low {
    constexpr int operator()(int l) const { return l + (l & STEP ? N - STEP : 0); }
};
template <int N, int STEP> struct High {
    constexpr int operator()(int l) const { return l + (l & STEP ? N : STEP); }
};

// The columns of a square block, given its rows: lane i of row j goes to lane j of row i.
template <int STEP = 1, class V> INLINE void transpose(V *rows) {
    constexpr int N = LANES<Scalar<V>>;
    if constexpr (STEP < N) {
        // Blocks of STEP × STEP lanes off the diagonal change places.
        UNROLL for (int i = 0; i < N; ++i) {
            if (i & STEP) continue;
            const V upper = rows[i], lower = rows[i + STEP];
            rows[i] = shuffle(upper, lower, Low<N, STEP>{});
            rows[i + STEP] = shuffle(upper, lower, High<N, STEP>{});
        }
        transpose<2 * STEP>(rows);
    }
}

// ---- Arithmetic, lane by lane.
template <class V> INLINE V reciprocal(V x) { return Scalar<V>(1) / x; }
template <class V> INLINE V absolute(V x) {
    using W = Integers<V>;
    return (V)((W)x & std::numeric_limits<Scalar<W>>::max());
}
template <class V> INLINE V copysign(V x, V y) {  // |x| with the sign of y
    using W = Integers<V>;
    return (V)((W)absolute(x) | ((W)y & std::numeric_limits<Scalar<W>>::min()));
}
template <class V> INLINE V least(V x, V y) { return x < y ? x : y; }     // y if one is a NaN
template <class V> INLINE V greatest(V x, V y) { return x > y ? x : y; }  // y if one is a NaN
template <class V> INLINE V sqrt(V x) {
    V root;
    if constexpr (sizeof(Scalar<V>) == 8)
        UNROLL for (int l = 0; l < LANES<Scalar<V>>; ++l) root[l] = __builtin_sqrt(x[l]);
    else
        UNROLL for (int l = 0; l < LANES<Scalar<V>>; ++l) root[l] = __builtin_sqrtf(x[l]);
    return root;
}
template <class W> INLINE bool anywhere(W condition) {  // of what a comparison returns
    Scalar<W> any = 0;
    UNROLL for (int l = 0; l < int(sizeof(W) / sizeof(Scalar<W>)); ++l) any |= condition[l];
    return any != 0;
}

// x = mantissa · 2^exponent of positive normal numbers, with a mantissa in [√½, √2); both as numbers.
template <class V> INLINE void split(V x, V &mantissa, V &exponent) {
    using T = Scalar<V>;
    using F = Format<T>;
    using I = typename F::Integer;
    using W = Integers<V>;
    using U = Vector<std::make_unsigned_t<I>>;
    constexpr I ONE = I(F::BIAS) << F::MANTISSA, FIELD = ~((I(1) << F::MANTISSA) - 1);
    // Counted from √½ instead of 1, the exponent field changes at √2·2^k.
    const U raised = (U)x + (std::make_unsigned_t<I>)(ONE - F::ROOT_HALF);
    mantissa = (V)((U)x - (raised & (U)(W{} + FIELD)) + (std::make_unsigned_t<I>)ONE);
    // A small integer in the last bits of 2^MANTISSA reads as 2^MANTISSA + integer.
    constexpr I MAGIC = I(F::BIAS + F::MANTISSA) << F::MANTISSA;
    exponent = (V)((raised >> F::MANTISSA) | (std::make_unsigned_t<I>)MAGIC) - T((I(1) << F::MANTISSA) + F::BIAS);
}

// 2 artanh(s)/s = 2 + z·p(z), z = s², for |s| ≤ 3 − 2√2, with the minimax coefficients of fdlibm's log.
constexpr double ARTANH_LIMIT = 0.17;
template <class V> INLINE V artanh_ratio(V z) {
    using T = Scalar<V>;
    constexpr T SERIES[] = {T(2),
                            T(0.6666666666666735130), T(0.3999999999940941908), T(0.2857142874366239149),
                            T(0.2222219843214978396), T(0.1818357216161805012), T(0.1531383769920937332),
                            T(0.1479819860511658591)};
    constexpr int DEGREE = sizeof(T) == 8 ? 7 : 4;
    V p = fill(SERIES[DEGREE]);
    UNROLL for (int k = DEGREE - 1; k >= 0; --k) p = p * z + SERIES[k];
    return p;
}

// log(mantissa · 2^exponent) by log m = 2 artanh s, s = (m − 1)/(m + 1).
template <class V> INLINE V log_of_split(V mantissa, V exponent) {
    using T = Scalar<V>;
    const V s = (mantissa - T(1)) / (mantissa + T(1));
    return s * artanh_ratio(s * s) + exponent * T(0.6931471805599453);
}

// exp x in double precision; zero below the least normal number (computing with such numbers is slow), infinity above
// the greatest, NaN for NaN. x = k·log 2 + r with an integer k and |r| ≤ log(2)/2, so exp x = 2^k·exp r, and exp r is its
// Taylor polynomial of degree 13, whose remainder is below 1e-17.
INLINE Vector<double> exp(Vector<double> x) {
    using V = Vector<double>;
    using W = Vector<std::uint64_t>;
    constexpr double MAGIC = 0x1.8p52;  // the sum with it has k in its last bits, rounded to nearest
    constexpr double FACTORIALS[] = {1., 1., 2., 6., 24., 120., 720., 5040., 40320., 362880., 3628800., 39916800.,
                                     479001600., 6227020800.};
    const V shifted = x * 1.4426950408889634 + MAGIC, k = shifted - MAGIC;
    // log 2 in two parts, the first of which has so few digits that k times it is exact.
    const V r = x - k * 0.693147180369123816490 - k * 1.90821492927058770002e-10;
    V p = fill(1.0 / FACTORIALS[13]);
    UNROLL for (int degree = 12; degree >= 0; --degree) p = p * r + 1.0 / FACTORIALS[degree];
    V result = (V)((W)p + ((W)shifted << 52));
    result = x < -708.396 ? V{} : result;
    result = x > 709.78 ? fill(INFINITE<double>) : result;
    return x == x ? result : x;
}

}  // namespace spdatoms
