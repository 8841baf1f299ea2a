"""All pairs of complex matrices, by Stein's and Jeffrey's divergence: processor time of ours and of pyRiemann.

Both take turns in one process, and the least of several times counts. Run it with ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pyriemann.geometry.distance import pairwise_distance

from spdatoms import pairwise_divergence

COUNT, REPEATS = 40, 3


def seconds(function: Callable[..., Any], *args: Any) -> float:
    """Return the processor time of a call."""
    start = time.process_time()
    function(*args)
    return time.process_time() - start


def main() -> None:
    """Print milliseconds, and how many times faster ours are."""
    rng = np.random.default_rng(0)
    print("| n | divergence | ours, ms | pyRiemann, ms | times as fast |\n|---|---|---|---|---|")
    for n in (3, 8, 16):
        G = rng.standard_normal((COUNT, n, 3 * n)) + 1j * rng.standard_normal((COUNT, n, 3 * n))
        X = G @ G.conj().swapaxes(1, 2) / n
        Y = X[::-1].copy()
        for theirs, ours in (("logdet", "stein"), ("kullback_sym", "jeffrey")):
            pairwise_divergence(X, Y, ours)  # loads
            times = [
                (
                    seconds(pairwise_divergence, X, Y, ours),
                    seconds(pairwise_distance, X, Y, theirs),
                )
                for _ in range(REPEATS)
            ]
            own, peer = np.min(times, axis=0)
            print(f"| {n} | {ours} | {1e3 * own:.2f} | {1e3 * peer:.1f} | {peer / own:.0f} |")


if __name__ == "__main__":
    main()
