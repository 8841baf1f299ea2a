"""Covariances over sliding windows of a megapixel: region_covariances against a loop over windows.

    python benchmarks/descriptors.py --json descriptors.json

The image is 1024×1024, with the five texture features, computed before. The loop cuts out each window,
centres it and multiplies, which is np.cov without its overhead; one thread.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from _timing import best_times, machine
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from spdatoms.descriptors import region_covariances, texture_features

Floats = NDArray[Any]

SIDE = 1024
#: Window and step.
WINDOWS = [(32, 4), (16, 2)]


def loop(features: Floats, window: int, step: int) -> Floats:
    starts = range(0, SIDE - window + 1, step)
    out = np.empty((len(starts) ** 2, features.shape[-1], features.shape[-1]))
    regions = (features[r : r + window, c : c + window] for r in starts for c in starts)
    for i, region in enumerate(regions):
        samples = region.reshape(window * window, -1)
        samples = samples - samples.mean(axis=0)
        np.matmul(samples.T, samples, out=out[i])
    out /= window * window - 1
    return out


def measure(features: Floats, window: int, step: int, repeats: int) -> dict[str, float]:
    ours = region_covariances(features, block=window, step=step, shrinkage=0.0)
    error = float(abs(ours - loop(features, window, step)).max() / abs(ours).max())
    methods = {
        "loop": lambda: loop(features, window, step),
        "spdatoms": lambda: region_covariances(features, block=window, step=step),
    }
    return {"windows": len(ours), "error": error} | best_times(methods, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    features = texture_features(np.random.default_rng(0).random((SIDE, SIDE)))
    figures: dict[str, Any] = {"machine": machine()}
    for window, step in WINDOWS:
        with threadpool_limits(1):
            result = measure(features, window, step, options.repeats)
        ratio = result["loop"] / result["spdatoms"]
        figures[f"{window}x{window} step {step}"] = result | {"ratio": ratio}
        print(
            f"{result['windows']:.0f} windows of {window}×{window}, step {step}: "
            f"{result['spdatoms']:.3f} s, loop {result['loop']:.2f} s, {ratio:.0f}×; "
            f"greatest difference {result['error']:.0e} of the largest entry"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
