"""What a query costs on its whole way through `SPDSparseCoder` and `SPDSparseClassifier`, part by part.

    python benchmarks/pipeline.py --json pipeline.json
    python benchmarks/pipeline.py --sizes 3 12 --atoms 128 --metrics stein

Every part is called as the estimator calls it, on the same queries, on one thread; microseconds per query,
of processor time, the best of several runs. *Rest* is what the public method takes beyond the sum of the
parts. *Overhead* is the share of everything but divergences and codes.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _timing import best_times, machine
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from classification import wishart_classes
from spdatoms import SPDSparseClassifier, SPDSparseCoder, check_spd, sparse_code
from spdatoms.classification.scores import ClassRule
from spdatoms.divergences import get_divergence
from spdatoms.kernels.bandwidth import kernel_values

Floats = NDArray[np.float64]

SIZES, ATOMS, METRICS = (3, 5, 12, 22, 43, 93), (128, 1000), ("stein", "jeffrey")
CLASSES = 16
PARTS = ("checks", "divergences", "exponential", "correction", "codes", "scores", "rest")


def cell(n: int, n_atoms: int, metric: str, queries: int, repeats: int) -> dict[str, Any]:
    """Return the microseconds per query of every part, for the coder and for the classifier."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_atoms + queries) % CLASSES
    X = wishart_classes(rng, n, labels, 0.5)
    atoms, y, Q = X[:n_atoms], labels[:n_atoms], X[n_atoms:]
    coder = SPDSparseCoder(atoms, metric).fit(atoms)
    classifier = SPDSparseClassifier(metric).fit(atoms, y)
    found = {}
    for name, whole, model in (
        ("transform", lambda: coder.transform(Q), coder),
        ("predict", lambda: classifier.predict(Q), classifier),
    ):
        steps = parts(model, Q, y if name == "predict" else None)
        times = best_times({**steps, "whole": whole}, repeats, time.process_time)
        each = {part: 1e6 * seconds / queries for part, seconds in times.items()}
        each["rest"] = each["whole"] - sum(each[part] for part in steps)
        wanted = each["divergences"] + each["codes"]
        found[name] = each | {"overhead": 1.0 - min(1.0, wanted / each["whole"])}
    return found


def parts(model: Any, Q: Floats, y: NDArray[np.intp] | None) -> dict[str, Callable[[], Any]]:
    """Return the parts of the way of queries through a fitted coder or classifier."""
    kernel, alpha = model.kernel_, model.alpha_
    divergence = get_divergence(kernel.metric)

    def divergences() -> Floats:
        return np.asarray(divergence.pairwise(divergence.prepare(Q), kernel._atoms))

    d = divergences()
    values = kernel_values(d, kernel.beta_)
    cross = kernel._correction.transform(values)

    def codes() -> Floats:
        return np.asarray(sparse_code(kernel.gram_, cross, alpha, query_norm=1.0, check_gram=False))

    Y = codes()
    steps: dict[str, Callable[[], Any]] = {
        "checks": lambda: check_spd(Q),
        "divergences": divergences,
        "exponential": lambda: kernel_values(d, kernel.beta_),
        "correction": lambda: kernel._correction.transform(values),
        "codes": codes,
    }
    if y is not None:
        steps["scores"] = lambda: ClassRule("residual", y, CLASSES).scores(Y, kernel.gram_, cross)
    return steps


def main() -> None:
    """Measure all cells."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--atoms", type=int, nargs="*", default=ATOMS)
    parser.add_argument("--metrics", nargs="*", default=METRICS)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    figures: dict[str, Any] = {"machine": machine(), "cells": []}
    print(f"{'':8} {'n':>3} {'N':>5} {'':9}", *(f"{part:>11}" for part in PARTS), "overhead")
    with threadpool_limits(1):
        for metric in options.metrics:
            for n in options.sizes:
                for n_atoms in options.atoms:
                    found = cell(n, n_atoms, metric, options.queries, options.repeats)
                    figures["cells"].append({"metric": metric, "n": n, "N": n_atoms, **found})
                    for name, each in found.items():
                        values = (
                            f"{each[part]:11.2f}" if part in each else " " * 11 for part in PARTS
                        )
                        print(
                            f"{metric:8} {n:3} {n_atoms:5} {name:9}",
                            *values,
                            f"{each['overhead']:8.0%}",
                            flush=True,
                        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
