"""Reports of 'learn' and 'classify': one page with pictures that needs no other file."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.text import drawable
from spdatoms._utils.typing import Array
from spdatoms._utils.version import __version__
from spdatoms._utils.writing import replace_file
from spdatoms.cli.page import render_page

#: The greatest numbers of matrices that are coded, of atoms that are drawn, and of mistakes that are listed.
_CODED, _DRAWN, _LISTED = 2000, 24, 12
#: The greatest numbers of classes whose confusions are written as numbers, and of those that are shown.
_NUMBERED, _SHOWN = 20, 50
_BINS = 10

Rows = Sequence[tuple[str, str]]
#: How many matrices of the first class were taken for the second.
Confusions = Counter[tuple[str, str]]


def write_learning_report(path: Path, learner: Any, X: Array, summary: Rows) -> None:
    """Write the objective, the atoms, how often they are used, and how sparse codes are."""
    from spdatoms.plotting import AtomsDisplay, AtomUsageDisplay, LearningCurveDisplay

    some = np.asarray(X[evenly_spaced(len(X), min(_CODED, len(X)))])
    codes = learner.transform(some)
    nonzeros = np.count_nonzero(codes, axis=1)
    drawn = learner.atoms_[np.argsort(-(codes != 0).sum(axis=0), kind="stable")[:_DRAWN]]

    def sparsity(ax: Any) -> None:
        ax.hist(nonzeros, bins=np.arange(nonzeros.max() + 2) - 0.5, color="#1f3b57", rwidth=0.9)
        ax.set(xlabel="non-zero entries of a code", ylabel="matrices")

    figures = [
        _figure(
            "The objective after every half-step: codes, then atoms.",
            lambda ax: LearningCurveDisplay.from_estimator(learner, ax=ax),
        ),
        _figure(
            f"The {len(drawn)} atoms that are used most.",
            lambda ax: AtomsDisplay(drawn).plot(ax),
            (6.4, 5.0),
        ),
        _figure(
            "The share of matrices whose codes use each atom.",
            lambda ax: AtomUsageDisplay.from_codes(codes, ax=ax),
        ),
        _figure(f"The sparsity of the codes of {len(some)} matrices.", sparsity),
    ]
    _write(path, "A dictionary", summary, figures, [])


def write_classification_report(
    path: Path, truth: Array, predicted: Array, probabilities: Array, classes: Array, summary: Rows
) -> None:
    """Write the accuracy, confusions, how far probabilities can be trusted, and the surest mistakes."""
    truth, predicted, names = truth.astype(str), predicted.astype(str), classes.astype(str)
    right, sure = truth == predicted, probabilities.max(axis=1)
    confusions = Counter(zip(truth.tolist(), predicted.tolist(), strict=True))
    shown = _most_confused(confusions, names.tolist())
    those = f" The {len(shown)} of {len(names)} classes with the most mistakes."
    caption = "Labels and predictions: numbers of matrices."
    figures = [
        _figure(
            caption + (those if len(shown) < len(names) else ""),
            lambda ax: _draw_confusions(ax, confusions, shown),
            (6.4, 5.4),
        ),
        _figure(
            "Calibration: on the dashed line, probabilities say how often predictions are right.",
            lambda ax: _draw_calibration(ax, right, sure),
        ),
    ]
    wrong = np.flatnonzero(~right)
    wrong = wrong[np.argsort(-sure[wrong], kind="stable")][:_LISTED]
    mistakes = [(i, truth[i], predicted[i], f"{sure[i]:.2f}") for i in wrong]
    tables = [_accuracies(confusions, names.tolist())]
    if mistakes and len(names) > _NUMBERED:
        pairs = [(*pair, n) for pair, n in confusions.most_common() if pair[0] != pair[1]]
        header: Sequence[str] = ("label", "predicted", "matrices")
        tables.append(_table("The most frequent confusions", header, pairs[:_LISTED]))
    if mistakes:
        header = ("index", "label", "predicted", "probability")
        tables.append(_table("The surest mistakes", header, mistakes))
    accuracy = ("accuracy", f"{right.mean():.2%} of {len(right)}")
    _write(path, "A classification", [accuracy, *summary], figures, tables)


def _most_confused(confusions: Confusions, names: list[str]) -> list[str]:
    """Return the classes to show, in their order: all, or those that are in most mistakes."""
    if len(names) <= _SHOWN:
        return names
    mistakes: Counter[str] = Counter()
    for (label, other), count in confusions.items():
        if label != other:
            mistakes.update({label: count, other: count})
    chosen = sorted(range(len(names)), key=lambda i: -mistakes[names[i]])[:_SHOWN]
    return [names[i] for i in sorted(chosen)]


def _draw_confusions(ax: Any, confusions: Confusions, names: list[str]) -> None:
    counts = np.array([[confusions[label, other] for other in names] for label in names])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    ticks, labels = np.arange(len(names)), [drawable(name) for name in names]
    ax.set(xlabel="predicted", ylabel="label")
    size = "medium" if len(names) <= _NUMBERED else 5
    ax.set_xticks(ticks, labels, rotation=45, ha="right", fontsize=size)
    ax.set_yticks(ticks, labels, fontsize=size)
    for (i, j), share in np.ndenumerate(shares) if len(names) <= _NUMBERED else ():
        ax.text(j, i, counts[i, j], ha="center", va="center", color="w" if share > 0.5 else "k")


def _draw_calibration(ax: Any, right: Array, sure: Array) -> None:
    bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    full = [k for k in range(_BINS) if (bins == k).any()]
    ax.plot([0, 1], [0, 1], color="0.7", linestyle="--")
    ax.plot(
        [sure[bins == k].mean() for k in full],
        [right[bins == k].mean() for k in full],
        "o-",
        color="#1f3b57",
    )
    ax.set(
        xlabel="probability of the predicted class",
        ylabel="share that is right",
        xlim=(0, 1),
        ylim=(0, 1.02),
    )


def _accuracies(confusions: Confusions, names: list[str]) -> dict[str, Any]:
    """Return a table of the accuracy of all classes, or of those with the least if there are many."""
    counts: Counter[str] = Counter()
    for (label, _), count in confusions.items():
        counts[label] += count
    shares = {c: confusions[c, c] / counts[c] for c in names if counts[c]}
    title = "Accuracy"
    if len(shares) > _SHOWN:
        title = f"Accuracy: the {_SHOWN} least of {len(shares)} classes"
        shares = dict(sorted(shares.items(), key=lambda item: item[1])[:_SHOWN])
    rows = [(c, counts[c], f"{share:.1%}") for c, share in shares.items()]
    return _table(title, ("class", "matrices", "accuracy"), rows)


def _figure(
    caption: str, draw: Callable[[Any], Any], size: tuple[float, float] = (6.4, 3.8)
) -> dict[str, str]:
    figures = import_extra("matplotlib.figure", extra="plot")
    figure = figures.Figure(figsize=size, layout="constrained")
    draw(figure.add_subplot())
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    source = base64.b64encode(content.getvalue()).decode()
    return {"caption": caption, "source": f"data:image/svg+xml;base64,{source}"}


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    named = [list(zip(header, row, strict=True)) for row in rows]
    return {"title": title, "header": header, "rows": named}


def _write(
    path: Path,
    title: str,
    summary: Rows,
    figures: list[dict[str, str]],
    tables: list[dict[str, Any]],
) -> None:
    page = render_page(
        "report.html.jinja",
        "spdatoms.cli",
        title=title,
        summary=summary,
        figures=figures,
        tables=tables,
        version=__version__,
    )
    replace_file(path, page.encode())
