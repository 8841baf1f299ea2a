"""A stream of windows: what a prediction and an update take, and how accuracy stands up to drift.

    python benchmarks/live.py
    python benchmarks/live.py --drift

Matrices are covariances of 22 channels, of four classes, drawn like band-pass filtered EEG: class c raises the power of
some sources. Without options: 1,000 windows; each is re-centred and predicted, then the centre and, with its label, the
classifier are updated. Milliseconds of processor time, p50, p99 and the longest.

With --drift: the sources turn by a random congruence over 500 windows, A(t) = expm(tV/500), ‖V‖₂ = 1. Accuracy of a
classifier that stays as it is, behind `SPDRecentre` whose centre follows without labels, with `partial_fit` of the
labels, with both; and of one that is fitted anew at every step to the last windows with their labels, as many as there
are atoms. *undrifted*: the first one without drift. Means of ten streams.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: processor time is of one thread

import numpy as np
from scipy.linalg import expm

from spdatoms import SPDEnsembleClassifier, SPDRecentre, SPDSparseClassifier

N, CLASSES, SAMPLES = 22, 4, 250
WINDOWS, DRIFT, STREAMS = 1000, 500, 10
FORGETTING = 0.98
MODELS: dict[str, Callable[[], Any]] = {
    "RSR-S, 200 atoms": lambda: SPDSparseClassifier(max_atoms=200),
    "RSR-S, 300 atoms": lambda: SPDSparseClassifier(max_atoms=300),
    "ensemble, 100 atoms": lambda: SPDEnsembleClassifier(max_atoms=100),
    "ensemble, 200 atoms": lambda: SPDEnsembleClassifier(max_atoms=200),
}


def drawn(count: int, seed: int, drift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return windows and labels of one person; from window to window the sources turn by a share of the drift."""
    person = np.random.default_rng([seed, 0])
    mixing = person.standard_normal((N, N)) + 2.0 * np.eye(N)
    V = person.standard_normal((N, N))
    V /= np.linalg.norm(V, 2)
    rng = np.random.default_rng([seed, 1])
    y = rng.integers(CLASSES, size=count)
    gains = np.exp(0.15 * person.standard_normal((CLASSES, N)))
    sources = rng.standard_normal((count, N, SAMPLES)) * gains[y][:, :, None]
    sources *= np.exp(0.3 * rng.standard_normal((count, N, 1)))
    X = mixing @ (sources @ sources.swapaxes(1, 2) / SAMPLES) @ mixing.T
    if drift:
        turns = np.array([expm(drift * t / DRIFT * V) for t in range(count)])
        X = turns @ X @ turns.swapaxes(1, 2)
    return X, y


def latencies(model: Any) -> dict[str, np.ndarray]:
    """Return milliseconds of processor time of each window."""
    X, y = drawn(WINDOWS + model.max_atoms, 0)
    first = slice(0, model.max_atoms)
    recentre = SPDRecentre(forgetting=FORGETTING).fit(X[first])
    model.fit(recentre.transform(X[first]), y[first])
    found: dict[str, list[int]] = {
        "re-centre": [], "predict": [], "move the centre": [], "partial_fit": []
    }  # fmt: skip
    for i in range(model.max_atoms, len(X)):
        clock = [time.process_time_ns()]
        Z = recentre.transform(X[i : i + 1])
        clock.append(time.process_time_ns())
        model.predict(Z)
        clock.append(time.process_time_ns())
        recentre.partial_fit(X[i : i + 1])
        clock.append(time.process_time_ns())
        model.partial_fit(Z, y[i : i + 1])
        clock.append(time.process_time_ns())
        for name, spent in zip(found, np.diff(clock), strict=True):
            found[name].append(int(spent))
    return {name: np.array(spent) / 1e6 for name, spent in found.items()}


def drifting(seed: int, atoms: int = 100) -> dict[str, float]:
    """Return accuracies in per cent over a stream that drifts."""
    still, y = drawn(atoms + DRIFT, seed)
    X = still.copy()
    X[atoms:] = drawn(atoms + DRIFT, seed, drift=1.0)[0][atoms:]
    first, rest = slice(0, atoms), range(atoms, atoms + DRIFT)
    start = SPDRecentre(forgetting=FORGETTING).fit(X[first])
    Z = start.transform(X[first])
    fixed = SPDSparseClassifier().fit(X[first], y[first])
    centred = SPDSparseClassifier().fit(Z, y[first])
    labelled = SPDSparseClassifier(max_atoms=atoms).fit(X[first], y[first])
    both = SPDSparseClassifier(max_atoms=atoms).fit(Z, y[first])
    hits: dict[str, list[bool]] = {}

    def note(name: str, predicted: np.ndarray, i: int) -> None:
        hits.setdefault(name, []).append(bool(predicted[0] == y[i]))

    for i in rest:
        one, label = X[i : i + 1], y[i : i + 1]
        brought = start.transform(one)
        note("undrifted", fixed.predict(still[i : i + 1]), i)
        note("as it was", fixed.predict(one), i)
        note("centre follows", centred.predict(brought), i)
        note("labels follow", labelled.predict(one), i)
        note("both", both.predict(brought), i)
        last = slice(i - atoms, i)
        note("fitted anew", SPDSparseClassifier().fit(X[last], y[last]).predict(one), i)
        start.partial_fit(one)
        labelled.partial_fit(one, label)
        both.partial_fit(brought, label)
    return {name: 100 * float(np.mean(own)) for name, own in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--drift", action="store_true", help="accuracy in a stream that drifts")
    parser.add_argument("--streams", type=int, default=STREAMS, help="how many of them")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.drift:
        rows = [drifting(seed) for seed in range(options.streams)]
        print("| | accuracy | minus fitted anew |\n|---|---|---|")
        for name in rows[0]:
            d = np.array([row[name] - row["fitted anew"] for row in rows])
            error = d.std(ddof=1) / len(d) ** 0.5 if len(d) > 1 else 0.0
            value = np.mean([row[name] for row in rows])
            print(f"| {name} | {value:.1f} | {d.mean():+.1f} ± {error:.1f} |")
        return
    print("| model | step | p50 | p99 | longest |\n|---|---|---|---|---|")
    for name, make in MODELS.items():
        spent = latencies(make())
        spent["re-centre and predict"] = spent["re-centre"] + spent["predict"]
        spent["all"] = spent["re-centre and predict"] + spent["move the centre"]
        spent["all"] += spent["partial_fit"]
        for step, values in spent.items():
            p50, p99, longest = np.percentile(values, (50, 99, 100))
            print(f"| {name} | {step} | {p50:.2f} | {p99:.2f} | {longest:.1f} |", flush=True)


if __name__ == "__main__":
    main()
