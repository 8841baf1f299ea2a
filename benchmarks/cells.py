"""Settle the cells of `SPDEnsembleClassifier` without each of ten data sets in turn, and say what they have there.

    python benchmarks/cells.py --data DIR --json cells.json

DIR is the folder that ``spdatoms reproduce classifiers`` reads. For every division of every data set the scores of
all candidate cells are computed once, for left-out training matrices and for test matrices. A set of cells is then
judged by its mean accuracy over nine data sets, and the best one is reported on the tenth: an accuracy on data
that nothing was settled on. Beside it: the sets that are the defaults, class means alone (what codes add), and how many
entries of a code are not zero. It takes some ten minutes of one processor.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.folds import folds_of
from spdatoms.classification._left_out import Whitenings, leave_out
from spdatoms.classification.average import average
from spdatoms.classification.calibration import standardised
from spdatoms.classification.cells import Cell, CodedScores, code_cells, in_order, mean_cells
from spdatoms.classification.ensemble import ALPHA, CELLS, FACTOR, TRUST
from spdatoms.classification.kernel_ensemble import References
from spdatoms.geometry.hermitian import dimension
from spdatoms.paper.experiments.task import COVARIANCES
from spdatoms.paper.protocols._columns import Column, load_columns

Floats = NDArray[np.float64]

METRICS = ("stein", "logeuclid")
#: What is tried: penalties and multiples of β of codes, shrinkages of codes, class means, and the part of trust.
ALPHAS, FACTORS = (0.05, 0.1), (1.0, 2.0, 5.0)
SHRINKAGES = ((0.1, 1.0), (0.1, 0.3), (0.3, 1.0), (0.1, 0.3, 1.0))
MEANS = (((0.1, 0.3), (0.3,)), ((0.03, 0.1, 0.3), (0.3, 1.0)))
TRUSTS = (0.3, 0.5, 0.7, 0.9)
_EVERY_SHRINKAGE, (_EVERY_MEAN, _EVERY_MEAN_FACTOR) = SHRINKAGES[-1], MEANS[-1]


def candidates() -> tuple[Cell, ...]:
    """Return every cell of every set."""
    codes = (code_cells(2, _EVERY_SHRINKAGE, FACTORS, alpha) for alpha in ALPHAS)
    return in_order(
        [
            *(cell for some in codes for cell in some),
            *mean_cells(2, _EVERY_MEAN, _EVERY_MEAN_FACTOR),
        ]
    )


@dataclass(frozen=True)
class Set:
    """Cells that are averaged; without trust all count the same."""

    alpha: float
    factor: float
    shrinkages: tuple[float, ...]
    means: tuple[tuple[float, ...], tuple[float, ...]]
    trust: float | None = None

    def rows(self, cells: Sequence[Cell], codes: bool = True) -> list[int]:
        """Return which of the cells these are, with or without those of codes."""
        wanted = set(mean_cells(2, *self.means))
        if codes:
            wanted |= set(code_cells(2, self.shrinkages, (self.factor,), self.alpha))
        return [i for i, cell in enumerate(cells) if cell in wanted]


def sets(trusts: Sequence[float | None]) -> Iterator[Set]:
    """Yield what is tried."""
    for chosen in product(ALPHAS, FACTORS, SHRINKAGES, MEANS, trusts):
        yield Set(*chosen)


def default_set(weights: str) -> Set:
    """Return the cells that are the default."""
    shrinkages, means, factors, _ = CELLS[weights]
    trust = TRUST if weights == "cv" else None
    return Set(ALPHA, FACTOR, shrinkages, (means, factors), trust)


@dataclass(frozen=True)
class Division:
    """The scores of all cells in one division of a data set."""

    left_out: Any
    t: Floats
    scores: Floats
    truth: NDArray[np.intp]
    non_zeros: float

    def accuracy(self, rows: Sequence[int], trust: float | None) -> float:
        """Return that of the cells in these rows, in per cent."""
        weights = np.ones(len(rows))
        if trust is not None:
            counts = self._of(rows).soft_weights()
            weights = trust * counts / counts.sum() + (1.0 - trust) / len(rows)
        logits = np.tensordot(weights * self.t[rows], self.scores[rows], 1)
        return float(100.0 * np.mean(logits.argmax(axis=1) == self.truth))

    def _of(self, rows: Sequence[int]) -> Any:
        found = self.left_out
        return replace(
            found,
            cells=[found.cells[row] for row in rows],
            scores=found.scores[rows],
            medians=found.medians[rows],
            usual=found.usual[rows],
        )


def divisions(column: Column, cells: Sequence[Cell], most: int | None) -> Iterator[Division]:
    """Yield the scores in every division of a data set."""
    for repeat in range(column.repeats if most is None else min(most, column.repeats)):
        train, test = column.divide(repeat, np.random.default_rng([repeat, 0]))
        X, Z = (np.asarray(part.views[COVARIANCES], np.float64) for part in (train, test))
        classes, labels = np.unique(train.y, return_inverse=True)
        references = References.of(X, METRICS)
        size = dimension(references.matrices)
        whitenings = [Whitenings(d, labels, None, size) for d in references.among()]
        folds = list(folds_of(5, labels, None, np.arange(len(labels))))
        left_out = leave_out(whitenings, cells, folds)
        every = average(left_out, np.ones(len(cells)))
        scores, counts = np.empty((len(cells), len(Z), len(classes))), []
        for c, atoms, values in every._cell_values(references.divergences(Z)):
            scores[c] = standardised(atoms.scores(values), left_out.usual[c])
            if isinstance(atoms, CodedScores) and (cells[c].alpha, cells[c].factor) == (
                ALPHA,
                FACTOR,
            ):
                counts.append(np.count_nonzero(atoms.contributions(values), axis=1).mean())
        truth = np.searchsorted(classes, test.y)
        yield Division(left_out, left_out.sharpness, scores, truth, float(np.mean(counts)))


def mean_accuracy(found: Sequence[Division], rows: Sequence[int], trust: float | None) -> float:
    return float(np.mean([division.accuracy(rows, trust) for division in found]))


def report(
    data: dict[str, list[Division]], cells: Sequence[Cell], say: Callable[[str], None]
) -> dict[str, Any]:
    """Print one row per way of choosing, and return them."""
    table: dict[str, dict[str, float]] = {}
    for weights, trusts in (("uniform", (None,)), ("cv", TRUSTS)):
        tried = list(sets(trusts))
        accuracy = np.array(
            [[mean_accuracy(d, one.rows(cells), one.trust) for d in data.values()] for one in tried]
        )
        default = default_set(weights)
        own = [mean_accuracy(d, default.rows(cells), default.trust) for d in data.values()]
        means = [
            mean_accuracy(d, default.rows(cells, codes=False), default.trust) for d in data.values()
        ]
        settled = []
        for k in range(len(data)):
            others = np.delete(accuracy, k, axis=1).mean(axis=1)
            settled.append(accuracy[others.argmax(), k])
        rows = {"default": own, "settled on the others": settled, "class means alone": means}
        for name, values in rows.items():
            table[f"{weights}, {name}"] = dict(zip(data, map(float, values), strict=True))
    table["non-zeros of a code"] = {
        name: float(np.mean([one.non_zeros for one in found])) for name, found in data.items()
    }
    say(f"| | {' | '.join(data)} | mean |\n|{'---|' * (len(data) + 2)}")
    for name, row in table.items():
        numbers = " | ".join(f"{value:.1f}" for value in (*row.values(), np.mean([*row.values()])))
        say(f"| {name} | {numbers} |")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--divisions", type=int, help="at most this many of each data set")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cells = candidates()
    data = {}
    for name, column in load_columns(options.data, "raise").items():
        data[name] = list(divisions(column, cells, options.divisions))
        print(f"{name}: {len(data[name])} divisions", file=sys.stderr, flush=True)
    table = report(data, cells, print)
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
