"""Write the accuracies that README, home page and guide quote, each with the command that renews what it is made of.

    spdatoms reproduce all --data DIR --out OUT --processes 2
    python benchmarks/cells.py --data DIR --json cells.json
    python benchmarks/headlines.py --results OUT --cells cells.json --data DIR --json headlines.json

Figures of tables are read from the results of the first two commands. With ``--data`` those of the guide that no table
has are computed here, in some minutes of one processor. What is not given is left out.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from missing_channels import connectomes

from spdatoms import SPDEnsembleClassifier, SPDSparseClassifier, pairwise_divergence
from spdatoms._utils.threads import one_thread
from spdatoms.paper.experiments import RESULTS_FILE, Results, get_experiment, read_results
from spdatoms.paper.experiments.task import COVARIANCES
from spdatoms.paper.methods.peers import ENSEMBLE, WEIGHTED
from spdatoms.paper.protocols._columns import Column, load_columns
from spdatoms.paper.reporting.comparison import accuracies_of_units, mean_and_error, paired
from spdatoms.paper.reporting.imperfect import accuracies, whole

#: A figure, its standard error if it has one, and the command that renews it.
Headline = tuple[str, float, float | None, str]
_PEER = get_experiment("untouched").peer
#: How much groups of simulated correlations differ: all that were tried. And seeds for each.
CHANGES, SEEDS = (0.15, 0.08, 0.05, 0.03), 10
#: The peer that the lead with missing channels is quoted against.
_REFITTED = "tangent space + LDA pooled"


def of_columns(results: Results, name: str) -> Iterator[Headline]:
    """Yield the mean accuracies over columns, and the mean paired difference of the ensemble to the named peer."""
    command = f"spdatoms reproduce {name}"
    units = {
        (method, part): accuracies_of_units(results.of(part, method))
        for method in (ENSEMBLE, WEIGHTED, _PEER)
        for part in results.parts()
    }
    for method in (ENSEMBLE, WEIGHTED, _PEER):
        means = [np.mean(list(units[method, part].values())) for part in results.parts()]
        yield f"{name}: {method}", float(np.mean(means)), None, command
    pairs = [paired(units[ENSEMBLE, part], units[_PEER, part]) for part in results.parts()]
    means, errors = np.array([mean_and_error(pair) for pair in pairs], float).T
    error = float(np.sqrt(np.nansum(errors**2)) / len(errors))
    yield f"{name}: {ENSEMBLE} − {_PEER}", float(means.mean()), error, command


def of_missing_channels(results: Results) -> Iterator[Headline]:
    """Yield the lead over a refitted discriminant where half of the channels are missing."""
    case, found = ("missing channels", "refitted", "50%"), whole(results)
    own, other = (accuracies(found, case[0], m, *case[1:]) for m in (ENSEMBLE, _REFITTED))
    lead = f"half of the channels missing: {ENSEMBLE} − {_REFITTED}"
    yield lead, *mean_and_error(paired(own, other)), "spdatoms reproduce imperfect"


def of_cells(table: dict[str, dict[str, float]]) -> Iterator[Headline]:
    """Yield the means of cells that were settled without the data set that is tested."""
    for weights in ("uniform", "cv"):
        row = table[f"{weights}, settled on the others"]
        name = f"cells settled on the other data sets, {weights}"
        yield name, float(np.mean(list(row.values()))), None, "python benchmarks/cells.py"


def accuracy(models: Sequence[Any], column: Column, divisions: int) -> list[float]:
    """Return the mean accuracies of classifiers in the first divisions of a column."""
    found = []
    for repeat in range(divisions):
        train, test = column.divide(repeat, np.random.default_rng([repeat, 0]))
        X, Z = train.views[COVARIANCES], test.views[COVARIANCES]
        found.append([np.mean(m.fit(X, train.y).predict(Z) == test.y) for m in models])
    return [100.0 * float(score) for score in np.mean(found, axis=0)]


def definite_beta(X: np.ndarray, metric: str) -> float:
    """Return the automatic β, raised until the Gram matrix is positive definite."""
    D = pairwise_divergence(X, metric=metric)
    beta = 1.0 / float(np.median(D[np.triu_indices(len(D), 1)]))
    while np.linalg.eigvalsh(np.exp(-beta * D))[0] <= 0.0:
        beta *= 1.1
    return beta


def of_correlations(change: float, command: str) -> Iterator[Headline]:
    """Yield accuracies on simulated correlations of 60 regions, and what a Euclidean metric gains, over seeds."""
    metrics, scores = ("stein", "logeuclid", "euclid"), []
    for seed in range(SEEDS):
        X, y, Z, t = next(connectomes(60, change, seed))
        models = [SPDEnsembleClassifier(metrics=m) for m in (metrics[:2], metrics[2:], metrics)]
        scores.append([100.0 * model.fit(X, y).score(Z, t) for model in models])
    usual, euclidean, every = np.array(scores).T
    name = f"simulated correlations, groups differ by {change}"
    yield f"{name}: Stein and log-Euclidean", *mean_and_error(usual), command
    yield f"{name}: Euclidean − these", *mean_and_error(euclidean - usual), command
    yield f"{name}: all three − these", *mean_and_error(every - usual), command


def of_the_guide(folder: Path) -> Iterator[Headline]:
    """Yield figures of `docs/guide/choosing.md` that no table has."""
    command, columns = "python benchmarks/headlines.py --data DIR", load_columns(folder, "raise")
    for change in CHANGES:
        yield from of_correlations(change, command)
    faces = columns["FERET"]
    raised = definite_beta(
        faces.divide(0, np.random.default_rng(0))[0].views[COVARIANCES], "jeffrey"
    )
    models = [SPDSparseClassifier("jeffrey"), SPDSparseClassifier("jeffrey", beta=raised)]
    for name, score in zip(("clipped", "raised β"), accuracy(models, faces, 1), strict=True):
        yield f"FERET, Jeffrey, {name}", score, None, command
    models = [SPDSparseClassifier("jeffrey", alpha=alpha) for alpha in (0.01, 0.05)]
    scores = accuracy(models, columns["HDM05"], columns["HDM05"].repeats)
    for alpha, score in zip((0.01, 0.05), scores, strict=True):
        yield f"HDM05, Jeffrey, α = {alpha}", score, None, command
    discriminant: dict[str, Any] = {"alpha": 0.0, "ridge": 0.1, "whitening": 0.1}
    forms = {
        "200 landmarks, whitened": SPDSparseClassifier(landmarks=200, **discriminant),
        "kernel, whitened": SPDSparseClassifier(**discriminant),
        "RSR-S": SPDSparseClassifier(),
    }
    for column in ("Brodatz 16c", "Randen 16", "EEG left/right"):
        for form, score in zip(
            forms, accuracy(list(forms.values()), columns[column], 5), strict=True
        ):
            yield f"{column}, {form}", score, None, command


def headlines(options: argparse.Namespace) -> Iterator[Headline]:
    for name in ("classifiers", "untouched", "imperfect") if options.results else ():
        path = options.results / name / RESULTS_FILE
        if path.is_file():
            results = read_results(path)
            imperfect = name == "imperfect"
            yield from of_missing_channels(results) if imperfect else of_columns(results, name)
    if options.cells:
        yield from of_cells(json.loads(options.cells.read_text("utf-8")))
    if options.data:
        yield from of_the_guide(options.data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, help="the folder of 'spdatoms reproduce all --out'")
    parser.add_argument("--cells", type=Path, help="what 'benchmarks/cells.py --json' wrote")
    parser.add_argument("--data", type=Path, help="the folder of 'spdatoms reproduce --data'")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = {}
    print("| | % | renewed by |\n|---|---|---|")
    with one_thread():
        for name, score, error, command in headlines(options):
            beside = "" if error is None else f" ± {error:.1f}"
            print(f"| {name} | {score:.1f}{beside} | `{command}` |", flush=True)
            table[name] = {"value": score, "error": error, "command": command}
    if options.json:
        text = json.dumps(table, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
