"""Results as figures: the kinds there are, and bars with deviations, matches by rank, confusions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results
from spdatoms.paper.experiments.task import ACCURACY
from spdatoms.paper.plotting import CMCDisplay, ComparisonDisplay
from spdatoms.paper.reporting.curves import curve_pictures
from spdatoms.paper.reporting.descent import descent_pictures
from spdatoms.paper.reporting.imperfect import imperfect_pictures
from spdatoms.paper.reporting.picture import Picture, new_figure, panelled, title_panel
from spdatoms.paper.reporting.seconds import second_pictures
from spdatoms.paper.reporting.sparsity import sparsity_pictures

_MAX_RANK = 20
#: As many methods are shown as bars.
_MOST_BARS = 12


def pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return the figures of an experiment.

    Parameters
    ----------
    experiment, results : Experiment, Results
        The experiment, and its results.

    Returns
    -------
    list of Picture
        Empty without results.
    """
    if not results.rows:
        return []
    draw = {
        "bars": _bars,
        "sparsity": sparsity_pictures,
        "cmc": _cmc,
        "confusion": _confusion,
        "curves": curve_pictures,
        "imperfect": imperfect_pictures,
        "seconds": second_pictures,
        "descent": descent_pictures,
    }
    return draw[experiment.figure](experiment, results)


def _bars(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw a panel of bars for every score of every part, side by side or one below the other."""
    once = experiment.single_queries or results.settings["repeats"] == 1
    caption = "Accuracy" if once else "Mean accuracy, with standard deviations as lines"
    if not results.embedded and experiment.published:
        caption += "; diamonds are published values"
    methods, named = results.ran(experiment.methods()), {p.method for p in experiment.published}
    shown = [m for i, m in enumerate(methods) if i < _MOST_BARS or m in named]
    if len(shown) < len(methods):
        caption += "; other methods are in the tables"
    keys = list(dict.fromkeys((s.part, score) for s in results.summaries() for score in s.scores))
    keys = [key for key in keys if key[1] == "average"] or keys

    def draw(ax: Any, key: tuple[str, str]) -> None:
        part, score = key
        summaries = {s.method: s for s in results.summaries() if s.part == part}
        here = {m: summaries[m] for m in shown if m in summaries and score in summaries[m].scores}
        published = {
            row.method: row.scores[score]
            for row in experiment.published
            if row.method in here and row.part in ("", part) and score in row.scores
        }
        ComparisonDisplay(
            {name: summary.scores[score] for name, summary in here.items()},
            {m: s.deviations[score] for m, s in here.items() if not experiment.single_queries},
            {} if results.embedded else published,
            emphasis=["RSR-S", "RSR-J"],
        ).plot(ax)
        ax.set_title(" ".join(filter(None, (part, "" if score == ACCURACY else score))), fontsize=9)
        ax.tick_params(labelsize=8)

    return [panelled("accuracy", f"{caption}.", draw, keys, (2.5, 0.9 + 0.21 * len(shown)))]


def _cmc(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw a panel of curves for every part."""

    def draw(ax: Any, part: str) -> None:
        ran = {name: results.of(part, name) for name in experiment.methods()}
        curves = {
            name: np.mean([row.extra["cmc"] for row in rows], axis=0)
            for name, rows in ran.items()
            if rows
        }
        CMCDisplay(curves, max_rank=_MAX_RANK).plot(ax)
        title_panel(ax, part)
        ax.get_legend().remove()

    caption = "Cumulative matching characteristic: how often the right person is among the best."
    return [panelled("cmc", caption, draw, results.parts(), (2.7, 3.0), legend=4)]


def _confusion(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw the bars, and the measured and published confusion matrices of every method."""
    from sklearn.metrics import confusion_matrix

    found = _bars(experiment, results)
    for name in results.ran(experiment.methods()):
        rows = [row for row in results.rows if row.method == name]
        slug = name.lower().replace(" ", "-")
        truth = [label for row in rows for label in row.extra["truth"]]
        predicted = [label for row in rows for label in row.extra["predicted"]]
        labels = sorted({*truth, *predicted})
        matrix = 100 * confusion_matrix(truth, predicted, labels=labels, normalize="true")
        where = f", {part}" if (part := rows[0].part) else ""
        caption = f"Confusion matrix of {name}{where}, in %."
        found.append(Picture(f"confusion-{slug}", caption, _matrix(matrix, labels)))
        if name in experiment.published_confusions and not results.embedded:
            actions, printed = experiment.published_confusions[name]
            caption = f"Published confusion matrix of {name}, in %."
            drawn = _matrix(np.asarray(printed), actions)
            found.append(Picture(f"confusion-{slug}-published", caption, drawn))
    return found


def _matrix(matrix: Any, labels: Sequence[str]) -> Any:
    from sklearn.metrics import ConfusionMatrixDisplay

    figure = new_figure((1.4 + 0.32 * len(labels), 1.4 + 0.32 * len(labels)))
    ax = figure.subplots()
    ConfusionMatrixDisplay(matrix, display_labels=labels).plot(
        ax=ax, cmap="Greys", values_format=".0f", xticks_rotation=45, colorbar=False
    )
    ax.tick_params(labelsize=8)
    return figure
