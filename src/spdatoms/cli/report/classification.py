"""The report of 'classify': how often it is right, what is confused, and the reasons of every prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.text import drawable, visible
from spdatoms._utils.typing import Array, Floats
from spdatoms.cli.comparison import class_accuracies
from spdatoms.cli.predictions import Predictions, Reason
from spdatoms.cli.report import page
from spdatoms.cli.report.pictures import HINT, Origins, Pictures, in_bytes
from spdatoms.plotting.display import INK

#: The greatest numbers of mistakes that are listed, and of classes and channels that are shown for a query.
_LISTED, _TOTALS = 12, 8
#: Predictions with a smaller probability are called unsure.
_UNSURE = 0.6
#: The greatest numbers of classes whose confusions are written as numbers, and of those that are shown.
_NUMBERED, _SHOWN = 20, 50
_BINS = 10
_ON_SCALPS = "Heads are seen from above, with a dot per channel: its log variance, or what it adds to the margin."

#: How many matrices of the first class were taken for the second.
Confusions = Counter[tuple[str, str]]


def write_classification_report(
    path: Path,
    truth: Array | None,
    predictions: Predictions,
    summary: page.Rows,
    doubts: Sequence[tuple[Any, ...]] = (),
    origins: Origins | None = None,
) -> None:
    """Write how good predictions are, if the labels are known, and the reasons of each to click through.

    Parameters
    ----------
    path : Path
        The file.
    truth : ndarray of shape (m,) or None
        The labels, if they are known.
    predictions : Predictions
        What is reported.
    summary : sequence of (name, value)
        What is said first.
    doubts : sequence of (row, label, suggestion, probability), default=()
        Training labels that are probably wrong.
    origins : Origins or None, default=None
        What the matrices were made of.
    """
    origins = origins or Origins()
    figures: list[Any] = []
    tables: list[Any] = []
    if truth is not None:
        truth = truth.astype(str)
        right = truth == predictions.labels.astype(str)
        figures, tables = _judged(truth, right, predictions)
        summary = [("accuracy", f"{right.mean():.2%} of {len(right)}"), *summary]
    if doubts:
        header = ("row", "label", "suggestion", "p(wrong)")
        title = "Training labels that are probably wrong"
        if len(doubts) > _SHOWN:
            title += f": the {_SHOWN} most doubtful of {len(doubts)}"
        tables.append(page.table_of(title, header, doubts[:_SHOWN]))
    doubtful = {row for row, *_ in doubts} if origins.left_out else set()
    browser = None
    if predictions.reasons:
        browser = _reasons_to_browse(predictions, truth, origins, doubtful)
    page.write_report(path, "A classification", summary, figures, tables, browser)


def _judged(truth: Array, right: Array, predictions: Predictions) -> tuple[list[Any], list[Any]]:
    """Return figures and tables: confusions, how far probabilities can be trusted, and the surest mistakes."""
    predicted, names = predictions.labels.astype(str), predictions.classes.astype(str).tolist()
    sure = predictions.probabilities.max(axis=1)
    confusions = Counter(zip(truth.tolist(), predicted.tolist(), strict=True))
    shown = _most_confused(confusions, names)
    those = f" The {len(shown)} of {len(names)} classes with the most mistakes."
    caption = "Labels and predictions: numbers of matrices."
    figures = [
        page.drawn_figure(
            "confusions",
            caption + (those if len(shown) < len(names) else ""),
            lambda ax: _draw_confusions(ax, confusions, shown),
            (4.8, 4.2),
        ),
        page.drawn_figure(
            "calibration",
            "Calibration: on the dashed line, probabilities say how often predictions are right.",
            lambda ax: _draw_calibration(ax, right, sure),
        ),
    ]
    wrong = np.flatnonzero(~right)
    wrong = wrong[np.argsort(-sure[wrong], kind="stable")][:_LISTED]
    mistakes = [(i, truth[i], predicted[i], f"{sure[i]:.2f}") for i in wrong]
    tables = [_accuracies(confusions, names)]
    if mistakes and len(names) > _NUMBERED:
        pairs = [(*pair, n) for pair, n in confusions.most_common() if pair[0] != pair[1]]
        header: Sequence[str] = ("label", "predicted", "matrices")
        tables.append(page.table_of("The most frequent confusions", header, pairs[:_LISTED]))
    if mistakes:
        header = ("index", "label", "predicted", "probability")
        tables.append(page.table_of("The surest mistakes", header, mistakes))
    return figures, tables


def _reasons_to_browse(
    predictions: Predictions, truth: Array | None, origins: Origins, doubtful: set[int]
) -> dict[str, Any]:
    """Return the queries whose reasons are known, each with its classes, training matrices and channels."""
    predicted, sure = predictions.labels.astype(str), predictions.probabilities.max(axis=1)
    reasons = sorted(predictions.reasons.items())
    size = len(reasons[0][1].query)
    names, places = origins.channels(size)
    pictures, items = Pictures(places), []
    for row, reason in reasons:
        photograph = origins.queries.photograph(row)
        lines, kinds = [f"Predicted {visible(predicted[row])}, probability {sure[row]:.2f}."], []
        if sure[row] < _UNSURE:
            kinds.append("unsure")
        if truth is not None:
            wrong = truth[row] != predicted[row]
            kinds.append("mistakes" if wrong else "right")
            lines.append(f"Its label is {visible(truth[row])}{': a mistake' if wrong else ''}.")
        if row in doubtful:
            kinds.append("doubtful labels")
            lines.append("Its label is probably wrong, by all other matrices.")
        if photograph is not None:
            lines.append(f"Photograph {visible(photograph.name)}.")
        item: dict[str, Any] = {
            "name": f"#{row} {visible(predicted[row])} {sure[row]:.2f}",
            "kinds": kinds,
            "lines": [*lines, _in_words(reason)],
            "picture": pictures.add(reason.query, photograph),
            "groups": [_totals(reason), _training_matrices(reason, pictures, origins)],
        }
        if reason.channels is not None:
            item["groups"].append(_channels(reason.channels, names))
            if places is not None:
                largest = np.nanmax(np.abs(reason.channels)) or 1.0
                item["channels"] = in_bytes(reason.channels / largest)
        items.append(item)
    hint = f"{_ON_SCALPS} {HINT}" if places is not None else HINT
    if origins.photographed:
        hint = "Photographs stand for their matrices."
    if len(items) < len(predicted):
        hint += f" The {len(items)} of {len(predicted)} matrices that are wrong or least sure."
    known = sum(reason.channels is not None for _, reason in reasons)
    if 0 < known < len(items):
        hint += f" Channels are known for {known} of them: for the wrong and least sure ones."
    return page.items_to_browse("Why? One query at a time", hint, items, pictures.encoded())


def _in_words(reason: Reason) -> str:
    found = reason.explanation
    if found.runner_up is None:
        return visible(found.headline)
    text = (
        f"{len(found.atoms)} of {found.n_used} training matrices hold {found.share:.0%} of the margin over "
        f"{found.runner_up}."
    )
    return visible(text)


def _totals(reason: Reason) -> dict[str, Any]:
    found = reason.explanation
    best = np.argsort(-found.totals, kind="stable")[:_TOTALS]
    return page.bars("Totals of the classes", [(found.classes[c], found.totals[c]) for c in best])


def _training_matrices(reason: Reason, pictures: Pictures, origins: Origins) -> dict[str, Any]:
    found, rows = reason.explanation, []
    for row, (name, value), matrix in zip(found.atoms, found.named(), reason.matrices, strict=True):
        photograph = None if reason.learned else origins.training.photograph(row)
        if photograph is not None:
            name += f", {photograph.name}"
        rows.append((visible(name), value, pictures.add(matrix, photograph)))
    return {
        "title": "Training matrices, and what they add to the total of their class",
        "rows": rows,
    }


def _channels(channels: Floats, names: Sequence[str]) -> dict[str, Any]:
    """Return the channels that decided most, the first ones first."""
    known = np.flatnonzero(~np.isnan(channels))
    most = known[np.argsort(-np.abs(channels[known]), kind="stable")][:_TOTALS]
    title = "Channels, and what they add to the margin"
    return page.bars(title, [(names[i], channels[i]) for i in most])


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
    for (i, j), share in np.ndenumerate(shares):
        if share > 0:  # a shape and no pixels: it takes the colour of the page
            ax.bar(j, 1, 1, i - 0.5, color=INK, alpha=share)
    ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5), aspect="equal")
    ticks, labels = np.arange(len(names)), [drawable(name) for name in names]
    ax.set(xlabel="predicted", ylabel="label")
    size = "medium" if len(names) <= _NUMBERED else 5
    ax.set_xticks(ticks, labels, rotation=45, ha="right", fontsize=size)
    ax.set_yticks(ticks, labels, fontsize=size)
    for (i, j), share in np.ndenumerate(shares) if len(names) <= _NUMBERED else ():
        ax.text(j, i, counts[i, j], ha="center", va="center", color="w" if share > 0.5 else "k")


def _draw_calibration(ax: Any, right: Array, sure: Array) -> None:
    from sklearn.calibration import calibration_curve

    shares, means = calibration_curve(right, np.minimum(sure, 1.0), n_bins=_BINS)
    ax.plot([0, 1], [0, 1], color="0.7", linestyle="--")
    ax.plot(means, shares, "o-", color=INK)
    ax.set(xlabel="probability of the predicted class", ylabel="share that is right")
    ax.set(xlim=(0, 1), ylim=(0, 1.02))


def _accuracies(confusions: Confusions, names: list[str]) -> dict[str, Any]:
    """Return a table of the accuracy of all classes, or of those with the least if there are many."""
    counts, every = class_accuracies(confusions)
    shares = {c: every[c] for c in names if c in every}
    title = "Accuracy"
    if len(shares) > _SHOWN:
        title = f"Accuracy: the {_SHOWN} least of {len(shares)} classes"
        shares = dict(sorted(shares.items(), key=lambda item: item[1])[:_SHOWN])
    rows = [(c, counts[c], f"{share:.1%}") for c, share in shares.items()]
    return page.table_of(title, ("class", "matrices", "accuracy"), rows)
