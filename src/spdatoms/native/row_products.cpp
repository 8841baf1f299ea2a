// C = A·B for small B. Each entry is a sum over k in the same order whatever the number of rows: BLAS has other code,
// which adds in another order, for few rows, for rows left over, and for small products.
#include "vector.hpp"

using namespace spdatoms;

namespace {

// Columns are computed in panels; the last one, filled up with zeros, in a copy.
constexpr int REGISTERS = 2 * TILE;
constexpr Int PANEL = REGISTERS * LANES<double>;

struct RowProducts {
    const double *a, *b;  // (m, k) and (k, n)
    Int m, k, n;
    double *c;  // (m, n)
};

// ROWS rows of A times COUNT registers of columns.
template <int ROWS, int COUNT> INLINE void tile(const double *a, Int k, const double *b, Int ldb, double *c, Int ldc) {
    Vector<double> sums[ROWS][COUNT] = {};
    for (Int t = 0; t < k; ++t) {
        Vector<double> x[COUNT];
        UNROLL for (int j = 0; j < COUNT; ++j) x[j] = load(b + t * ldb + j * LANES<double>);
        UNROLL for (int i = 0; i < ROWS; ++i)
            UNROLL for (int j = 0; j < COUNT; ++j) sums[i][j] += a[i * k + t] * x[j];
    }
    UNROLL for (int i = 0; i < ROWS; ++i)
        UNROLL for (int j = 0; j < COUNT; ++j) store(c + i * ldc + j * LANES<double>, sums[i][j]);
}

// All rows of A times COUNT registers of columns.
template <int COUNT> NOINLINE void panel(const double *a, Int m, Int k, const double *b, Int ldb, double *c, Int ldc) {
    constexpr int FIRST = COUNT < TILE ? COUNT : TILE, OTHERS = COUNT - FIRST;
    Int i = 0;
    for (; i + TILE <= m; i += TILE) {
        tile<TILE, FIRST>(a + i * k, k, b, ldb, c + i * ldc, ldc);
        constexpr Int BEYOND = FIRST * LANES<double>;
        if constexpr (OTHERS > 0) tile<TILE, OTHERS>(a + i * k, k, b + BEYOND, ldb, c + i * ldc + BEYOND, ldc);
    }
    for (; i < m; ++i) tile<1, COUNT>(a + i * k, k, b, ldb, c + i * ldc, ldc);
}

using Panel = void (*)(const double *, Int, Int, const double *, Int, double *, Int);

// The function for this number of registers.
template <int COUNT = 1> Panel panel_of(Int count) {
    if constexpr (COUNT < REGISTERS)
        if (count > COUNT) return panel_of<COUNT + 1>(count);
    return panel<COUNT>;
}

}  // namespace

EXPORT Int row_products(const RowProducts *given) {
    const RowProducts g = *given;
    const Int whole = g.n / PANEL * PANEL, rest = g.n - whole;
    for (Int j = 0; j < whole; j += PANEL) panel<REGISTERS>(g.a, g.m, g.k, g.b + j, g.n, g.c + j, g.n);
    if (!rest) return DONE;
    const Int count = (rest + LANES<double> - 1) / LANES<double>, width = count * LANES<double>;
    Buffer<double> memory((g.k + g.m) * width);
    if (!memory) return NO_MEMORY;
    double *const b = memory.data(), *const c = b + g.k * width;
    std::memset(b, 0, g.k * width * sizeof(double));
    for (Int t = 0; t < g.k; ++t) std::memcpy(b + t * width, g.b + t * g.n + whole, rest * sizeof(double));
    panel_of(count)(g.a, g.m, g.k, b, width, c, width);
    for (Int i = 0; i < g.m; ++i) std::memcpy(g.c + i * g.n + whole, c + i * width, rest * sizeof(double));
    return DONE;
}
