"""All pairs of SPD matrices, against DGEMM, NumPy's batched Cholesky and pyRiemann: one table, one JSON file.

Everything runs in this process, the methods of a row in turns, BLAS at one thread; the best of several runs counts.
Where DGEMM is compared with, and threads with each other, caches are warm: each method is called once more before it is
timed. Ours is the public function: validation, packing and the allocation of the result included. pyRiemann and NumPy
do fewer pairs, and their time per pair is compared.

    python benchmarks/pairwise.py [--out pairwise.json] [--quick] [--sizes 3 12 43]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
from _timing import best_times, first_calls, machine
from numpy.typing import NDArray
from pyriemann.geometry.distance import pairwise_distance
from threadpoolctl import threadpool_limits

from spdatoms import pairwise_divergence

Matrices = NDArray[np.floating]

#: Up to this size calls are short, and the result is larger than the matrices: with this many of them, 80 MB.
TINY, MANY = 5, 3200
#: Sizes n of the matrices.
STEIN_SIZES = (3, 5, 12, 22, 43, 64, 93, 155)
JEFFREY_SIZES = (12, 22, 43, 93, 155)
AIRM_SIZES = (3, 5, 12, 22, 43, 64, 93)
#: Sizes of few large matrices, and how many they are.
LARGE_SIZES, FEW = (128, 256), (4, 8, 16)
#: Matrices that NumPy's Cholesky gets at a time, in bytes: they stay in the cache.
CHUNK_BYTES = 1 << 20

FIRST_CALL = """
import time
start = time.perf_counter()
import spdatoms
imported = time.perf_counter()
import numpy as np
X = np.repeat(np.eye(12)[None], 20, axis=0)
begun = time.perf_counter()
spdatoms.pairwise_divergence(X, X.copy())
print(imported - start, time.perf_counter() - begun)
"""


@dataclass
class Row:
    """A figure, and what it is compared with."""

    what: str
    measured: float
    unit: str
    compared_with: str = ""
    note: str = ""

    def __str__(self) -> str:
        figure = f"{self.measured:.2f} {self.unit}"
        return f"| {self.what} | {figure} | {self.compared_with} | {self.note} |"


def wishart(m: int, n: int, seed: int, dtype: type = np.float64) -> Matrices:
    """Return covariances of 2n + 2 Gaussian samples."""
    samples = np.random.default_rng(seed).standard_normal((m, n, 2 * n + 2))
    return np.asarray(samples @ samples.swapaxes(1, 2) / (2 * n + 2), dtype)


def count_for(n: int) -> int:
    """Return how many matrices are on each side."""
    return 1000 if n <= 22 else 500 if n <= 64 else 250


def dgemm(size: int) -> tuple[Callable[[], object], float]:
    """Return a square matrix product to be timed, and its flops."""
    A, B = np.random.default_rng(0).standard_normal((2, size, size))
    out = np.empty_like(A)
    return lambda: np.matmul(A, B, out=out), 2.0 * size**3


def chunked_cholesky(X: Matrices, Y: Matrices) -> Callable[[], None]:
    """Return log det(X_i + Y_j) by NumPy's batched Cholesky, a row of pairs in chunks at a time."""
    chunk = max(1, CHUNK_BYTES // Y[0].nbytes)

    def run() -> None:
        for A in X:
            for start in range(0, len(Y), chunk):
                L = np.linalg.cholesky(A + Y[start : start + chunk])
                np.log(L.diagonal(axis1=1, axis2=2)).sum(axis=1)

    return run


def stein_rows(n: int, repeats: int, gemm_size: int) -> Iterator[Row]:
    """Stein: percent of DGEMM, counting n³/3 + n² flops per pair, and times as fast as the others."""
    m = count_for(n)
    X, Y = wishart(m, n, 0), wishart(m, n, 1)
    few, some = max(1, 20_000 // (m * n)), max(8, 200 // n)
    multiply, flops = dgemm(gemm_size)
    times = best_times(
        {
            "ours": lambda: pairwise_divergence(X, Y),
            "dgemm": multiply,
            "numpy": chunked_cholesky(X[:few], Y),
            "pyriemann": lambda: pairwise_distance(X[:some], Y[:some], metric="logdet"),
        },
        repeats,
        warm=True,
    )
    pair = times["ours"] / m**2
    rate = flops / times["dgemm"]
    numpy_ratio = times["numpy"] / (few * m) / pair
    pyriemann_ratio = times["pyriemann"] / some**2 / pair
    note = f"{pair * 1e9:.0f} ns per pair, DGEMM {rate / 1e9:.0f} Gflop/s"
    note += f", {numpy_ratio:.0f}× NumPy Cholesky, {pyriemann_ratio:.0f}× pyRiemann"
    percent = 100 * (n**3 / 3 + n**2) / pair / rate
    yield Row(f"Stein n={n}, {m}×{m}", percent, "%", "DGEMM", note)


def jeffrey_rows(n: int, m: int, repeats: int, gemm_size: int) -> Iterator[Row]:
    """Jeffrey: percent of DGEMM, counting 2·m²·n(n+1) flops."""
    X, Y = wishart(m, n, 0), wishart(m, n, 1)
    multiply, flops = dgemm(gemm_size)
    methods = {"ours": lambda: pairwise_divergence(X, Y, "jeffrey"), "dgemm": multiply}
    times = best_times(methods, repeats, warm=True)
    rate = flops / times["dgemm"]
    percent = 100 * 2.0 * m**2 * n * (n + 1) / times["ours"] / rate
    note = f"{times['ours'] * 1e3:.1f} ms, DGEMM {rate / 1e9:.0f} Gflop/s"
    yield Row(f"Jeffrey n={n}, {m}×{m}", percent, "%", "DGEMM", note)


def few_rows(n: int, m: int, repeats: int) -> Iterator[Row]:
    """Stein, all pairs of few large matrices: percent of DGEMM of their size, counting their own factors, too."""
    X = wishart(m, n, 0)
    multiply, flops = dgemm(n)
    methods = {"ours": lambda: pairwise_divergence(X), "dgemm": multiply}
    times = best_times(methods, repeats, warm=True)
    work = (m + m * (m - 1) / 2) * (n**3 / 3 + n**2)
    percent = 100 * work / times["ours"] / (flops / times["dgemm"])
    note = f"{times['ours'] * 1e3:.2f} ms"
    yield Row(f"Stein n={n}, all pairs of {m}", percent, "%", f"DGEMM, {n}×{n}", note)


def airm_rows(n: int, repeats: int) -> Iterator[Row]:
    """AIRM: times as fast as pyRiemann, whose one BLAS thread both of ours are compared with."""
    m = max(16, min(400, 3000 // n))
    X, Y = wishart(m, n, 0), wishart(m, n, 1)
    times = best_times(
        {
            "one": lambda: pairwise_divergence(X, Y, "riemann"),
            "two": lambda: pairwise_divergence(X, Y, "riemann", n_jobs=2),
            "pyriemann": lambda: pairwise_distance(X, Y, metric="riemann"),
        },
        repeats,
    )
    for threads in ("one", "two"):
        ratio = times["pyriemann"] / times[threads]
        note = f"{times[threads] / m**2 * 1e6:.2f} µs per pair"
        plural = "" if threads == "one" else "s"
        what = f"AIRM n={n}, {threads} thread{plural}"
        yield Row(what, ratio, "×", "pyRiemann, one thread", note)


def thread_rows(n: int, m: int, repeats: int) -> Iterator[Row]:
    """Stein with two threads and in single precision, against one thread in double precision."""
    X, Y = wishart(m, n, 0), wishart(m, n, 1)
    X32, Y32 = X.astype(np.float32), Y.astype(np.float32)
    times = best_times(
        {
            "double": lambda: pairwise_divergence(X, Y),
            "threads": lambda: pairwise_divergence(X, Y, n_jobs=2),
            "single": lambda: pairwise_divergence(X32, Y32),
        },
        repeats,
        warm=True,
    )
    what = f"Stein n={n}{f', {m}×{m}' if m != count_for(n) else ''}"
    yield Row(f"{what}, two threads", times["double"] / times["threads"], "×", "one thread")
    yield Row(f"{what}, float32", times["double"] / times["single"], "×", "float64")


def start_rows(repeats: int) -> Iterator[Row]:
    """The import and the first call."""
    imported, first = first_calls(FIRST_CALL, repeats)
    yield Row("import spdatoms", imported, "s")
    yield Row("first Stein call", first, "s", note="n=12")


def all_rows(sizes: list[int], quick: bool) -> Iterator[Row]:
    """Measure everything, row by row."""
    repeats, gemm_size = (2, 1000) if quick else (7, 2000)
    for n in sizes:
        yield from stein_rows(n, repeats, gemm_size)
    for n in sorted(set(sizes) & set(JEFFREY_SIZES)):
        yield from jeffrey_rows(n, 1000, repeats, gemm_size)
    for n, m in product(LARGE_SIZES, FEW):
        yield from few_rows(n, m, 3 * repeats)
    for n in sorted(set(sizes) & set(AIRM_SIZES)):
        yield from airm_rows(n, repeats)
    for n in sizes:
        # Two threads need both processors at the same time, which for a short call takes some luck.
        yield from thread_rows(n, count_for(n), repeats if n > TINY else 10 * repeats)
    for n in sizes:
        if n <= TINY:
            yield from thread_rows(n, MANY, repeats)
    yield from start_rows(1 if quick else 3)


def main() -> None:
    """Print the table and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="where to write the figures as JSON")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, for a look")
    parser.add_argument("--sizes", type=int, nargs="+", default=STEIN_SIZES)
    options = parser.parse_args()
    rows = []
    print("| | measured | compared with | |\n|---|---|---|---|")
    with threadpool_limits(1, user_api="blas"):
        for row in all_rows(options.sizes, options.quick):
            print(row, flush=True)
            rows.append(asdict(row))
    if options.out:
        figures = {"machine": machine(), "quick": options.quick, "rows": rows}
        options.out.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
