// The instruction set of this library, and what the processor and the operating system allow.
//
// By CPUID, without the compiler's runtime (__builtin_cpu_supports needs symbols that not every compiler brings). This
// file is compiled for every processor, so that a library for another one can be asked.
#include <cstdint>
#define EXPORT extern "C" __attribute__((visibility("default")))

#if defined(__x86_64__)
#include <cpuid.h>

static bool has(unsigned x, unsigned bits) { return (x & bits) == bits; }

// 2, 3, 4 for x86-64-v2, -v3, -v4; 0 for less.
EXPORT std::int64_t level(const void *) {
    unsigned a, b, c, d, b7, c7, d7, extended, low = 0, high;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    // SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT
    if (!has(c, 1u | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23)) return 0;
    // FMA, MOVBE, OSXSAVE, AVX, F16C; AVX2, BMI1, BMI2; LZCNT
    if (!has(c, 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29)) return 2;
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) || !has(b7, 1u << 3 | 1u << 5 | 1u << 8)) return 2;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d) || !has(extended, 1u << 5)) return 2;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // registers that the system saves: xmm, ymm; opmask, zmm
    if (!has(low, 0x06)) return 2;
    // AVX512F, DQ, CD, BW, VL
    return has(b7, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) && has(low, 0xe6) ? 4 : 3;
}
#else
EXPORT std::int64_t level(const void *) { return 0; }
#endif
