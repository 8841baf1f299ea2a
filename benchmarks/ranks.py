"""Accuracy on singular copies of covariances, on their common range, beside that of the originals.

    python benchmarks/ranks.py --data folder

Copies are average-referenced, cleaned as ICA does (the projection off two, or four, random components), or have four
channels that others determine (interpolated). RSR-S and the nearest mean; differences are paired, with their standard
error over subjects (SSVEP) or folds (EEG).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from spdatoms import MinimumDistanceToMean, SPDRange, SPDSparseClassifier

MODELS = {"RSR-S": SPDSparseClassifier, "MDM": MinimumDistanceToMean}


def treatments(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the linear maps of signals."""
    mixing = np.linalg.qr(rng.standard_normal((n, n)))[0]
    interpolated = np.eye(n)
    interpolated[-4:] = rng.dirichlet(np.ones(n - 4), 4) @ np.eye(n)[: n - 4]
    return {
        "average reference": np.eye(n) - 1.0 / n,
        "2 components removed": mixing[:, 2:] @ mixing[:, 2:].T,
        "4 components removed": mixing[:, 4:] @ mixing[:, 4:].T,
        "4 channels interpolated": interpolated,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    folder = parser.parse_args().data / "covariances"
    print("| set | method | copies | accuracy | minus original |\n|---|---|---|---|---|")
    for name in ("ssvep", "eeg_s001_left_right", "eeg_s001_hands_feet"):
        file = np.load(folder / f"{name}.npz")
        X, y = file["X"].astype(float), file["y"]
        groups = file["g"] if name == "ssvep" else np.zeros(len(y))
        maps = treatments(X.shape[-1], np.random.default_rng(0))
        hits: dict[tuple[str, str], list[float]] = {}
        for group in np.unique(groups):
            own = np.flatnonzero(groups == group)
            for seed in range(1 if name == "ssvep" else 5):
                folds = StratifiedKFold(4, shuffle=True, random_state=seed)
                right: dict[tuple[str, str], list[float]] = {}
                for a, b in folds.split(own, y[own]):
                    train, test = own[a], own[b]
                    for model, make in MODELS.items():
                        score = make().fit(X[train], y[train]).score(X[test], y[test])
                        right.setdefault((model, "original"), []).append(score)
                        for treatment, T in maps.items():
                            Z = T @ X[own] @ T.T
                            pipeline = make_pipeline(SPDRange(), make()).fit(Z[a], y[train])
                            score = pipeline.score(Z[b], y[test])
                            right.setdefault((model, treatment), []).append(score)
                for key, scores in right.items():
                    hits.setdefault(key, []).append(100.0 * float(np.mean(scores)))
        for (model, treatment), scores in hits.items():
            difference = np.subtract(scores, hits[model, "original"])
            error = difference.std(ddof=1) / len(difference) ** 0.5
            print(
                f"| {name} | {model} | {treatment} | {np.mean(scores):.1f} | "
                f"{difference.mean():+.2f} ± {error:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
