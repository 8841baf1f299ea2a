"""Regression: the accuracy of predicted numbers, and how often intervals hold them.

    python benchmarks/regression.py --json results/regression.json

Targets are drawn for matrices A·exp(S)·Aᵀ, where S is a symmetric Gaussian matrix whose variance falls along random
directions, as it does in recordings, and A is the same for all. With linear functions f and g of S, scaled to
variance 1, and noise,

- log-linear targets are f (3 % of their variance is noise: no method can have more than R² = 0.97);
- curved targets are sin f + f·g/2 (10 % is noise: 0.90).

Means and standard errors over independent draws of 300 matrices to train and 500 to test.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _timing import machine
from numpy.typing import NDArray
from pyriemann.tangentspace import TangentSpace
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from spdatoms import SPDEnsembleRegressor, SPDNystroem, SPDSparseRegressor
from spdatoms.geometry import expm, unvech

Floats = NDArray[np.float64]

SIZES = (5, 10, 20)
NOISE = {"log-linear": 0.03, "curved": 0.1}
TRAIN, TEST = 300, 500
RIDGES = np.logspace(-6, 4, 21)
COVERAGE = 0.9


def draw(rng: np.random.Generator, n: int, kind: str) -> tuple[Floats, Floats]:
    """Return matrices and their targets."""
    count, dim = TRAIN + TEST, n * (n + 1) // 2
    directions = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    deviations = 1.0 / (1.0 + np.arange(dim))
    deviations *= 0.6 * np.sqrt(n) / np.linalg.norm(deviations)
    coordinates = deviations * rng.standard_normal((count, dim))
    root = np.eye(n) + rng.standard_normal((n, n)) / np.sqrt(n)
    X = root @ expm(unvech(coordinates @ directions.T, weighted=True)) @ root.T

    def linear() -> Floats:
        values = coordinates @ rng.standard_normal(dim)
        return np.asarray(values / values.std())

    f = linear()
    signal = f if kind == "log-linear" else np.sin(f) + 0.5 * f * linear()
    signal = (signal - signal.mean()) / signal.std()
    noise = rng.standard_normal(count)
    return X, np.sqrt(1.0 - NOISE[kind]) * signal + np.sqrt(NOISE[kind]) * noise


def regressors() -> dict[str, Any]:
    """Return the methods to compare."""
    return {
        "ensemble": SPDEnsembleRegressor(),
        "tangent space + RidgeCV": make_pipeline(TangentSpace(), RidgeCV(RIDGES)),
        "SPDNystroem + RidgeCV": make_pipeline(
            SPDNystroem(n_landmarks=TRAIN, random_state=0), RidgeCV(RIDGES)
        ),
        "SPDSparseRegressor": SPDSparseRegressor(),
    }


def scores(n: int, kind: str, seed: int) -> dict[str, float]:
    """Return R² of all methods on one draw, and the coverage and the mean width of the ensemble's intervals."""
    X, t = draw(np.random.default_rng([seed, n]), n, kind)
    train, test = slice(0, TRAIN), slice(TRAIN, None)
    found = {}
    for name, model in regressors().items():
        model.fit(X[train], t[train])
        found[name] = float(r2_score(t[test], model.predict(X[test])))
        if name == "ensemble":
            low, high = model.predict_interval(X[test], COVERAGE).T
            found["coverage"] = float(((low <= t[test]) & (t[test] <= high)).mean())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, help="the number of draws")
    parser.add_argument("--first-seed", type=int, default=0, help="the seed of the first draw")
    parser.add_argument("--json", type=Path, help="where to write all numbers")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    names = [*regressors(), "coverage"]
    print("| targets | n | " + " | ".join(names) + " |")
    print("|" + "---|" * (2 + len(names)))
    with threadpool_limits(1):
        for kind in NOISE:
            for n in SIZES:
                seeds = range(args.first_seed, args.first_seed + args.seeds)
                drawn = [scores(n, kind, seed) for seed in seeds]
                values = {name: np.array([one[name] for one in drawn]) for name in names}
                error = np.sqrt(max(1, args.seeds - 1))
                cells = [f"{v.mean():.3f} ± {v.std() / error:.3f}" for v in values.values()]
                print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)
                rows += [
                    {"targets": kind, "n": n, "seed": seed} | one
                    for seed, one in zip(seeds, drawn, strict=True)
                ]
    if args.json:
        args.json.write_text(json.dumps({"machine": machine(), "draws": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
