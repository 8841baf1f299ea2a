// C = A·B for small B. Each entry is a sum over k in the same order whatever the number of rows: BLAS has other code,
// which adds in another order, for few rows, for rows left over, and for small products.
#include "vector.hpp"

using namespace spdatoms;

namespace {

// Columns are computed in panels; the last one, filled up with zeros, in a copy.
constexpr int REGISTERS = 2 * TILE;

template <class T> struct RowProducts {
    const T *a, *b;  // (m, k) and (k, n)
    Int m, k, n;
    T *c;  // (m, n)
};

// ROWS rows of A times COUNT registers of columns.
template <int ROWS, int COUNT, class T> INLINE void tile(const T *a, Int k, const T *b, Int ldb, T *c, Int ldc) {
    Vector<T> sums[ROWS][COUNT] = {};
    for (Int t = 0; t < k; ++t) {
        Vector<T> x[COUNT];
        UNROLL for (int j = 0; j < COUNT; ++j) x[j] = load(b + t * ldb + j * LANES<T>);
        UNROLL for (int i = 0; i < ROWS; ++i)
            UNROLL for (int j = 0; j < COUNT; ++j) sums[i][j] += a[i * k + t] * x[j];
    }
    UNROLL for (int i = 0; i < ROWS; ++i)
        UNROLL for (int j = 0; j < COUNT; ++j) store(c + i * ldc + j * LANES<T>, sums[i][j]);
}

// All rows of A times COUNT registers of columns.
template <int COUNT, class T> NOINLINE void panel(const T *a, Int m, Int k, const T *b, Int ldb, T *c, Int ldc) {
    constexpr int FIRST = COUNT < TILE ? COUNT : TILE, OTHERS = COUNT - FIRST;
    Int i = 0;
    for (; i + TILE <= m; i += TILE) {
        tile<TILE, FIRST>(a + i * k, k, b, ldb, c + i * ldc, ldc);
        constexpr Int BEYOND = FIRST * LANES<T>;
        if constexpr (OTHERS > 0) tile<TILE, OTHERS>(a + i * k, k, b + BEYOND, ldb, c + i * ldc + BEYOND, ldc);
    }
    for (; i < m; ++i) tile<1, COUNT>(a + i * k, k, b, ldb, c + i * ldc, ldc);
}

template <class T> using Panel = void (*)(const T *, Int, Int, const T *, Int, T *, Int);

// The function for this number of registers.
template <class T, int COUNT = 1> Panel<T> panel_of(Int count) {
    if constexpr (COUNT < REGISTERS)
        if (count > COUNT) return panel_of<T, COUNT + 1>(count);
    return panel<COUNT, T>;
}

template <class T> Int row_products(const RowProducts<T> &g) {
    constexpr Int PANEL = REGISTERS * LANES<T>;
    const Int whole = g.n / PANEL * PANEL, rest = g.n - whole;
    for (Int j = 0; j < whole; j += PANEL) panel<REGISTERS, T>(g.a, g.m, g.k, g.b + j, g.n, g.c + j, g.n);
    if (!rest) return DONE;
    const Int count = (rest + LANES<T> - 1) / LANES<T>, width = count * LANES<T>;
    Buffer<T> memory((g.k + g.m) * width);
    if (!memory) return NO_MEMORY;
    T *const b = memory.data(), *const c = b + g.k * width;
    std::memset(b, 0, g.k * width * sizeof(T));
    for (Int t = 0; t < g.k; ++t) std::memcpy(b + t * width, g.b + t * g.n + whole, rest * sizeof(T));
    panel_of<T>(count)(g.a, g.m, g.k, b, width, c, width);
    for (Int i = 0; i < g.m; ++i) std::memcpy(g.c + i * g.n + whole, c + i * width, rest * sizeof(T));
    return DONE;
}

}  // namespace

EXPORT Int row_products_f64(const RowProducts<double> *given) { return row_products(*given); }
EXPORT Int row_products_f32(const RowProducts<float> *given) { return row_products(*given); }
