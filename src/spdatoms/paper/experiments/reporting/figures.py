"""Results as figures: bars with deviations, accuracy by size, matches by rank, confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import ACCURACY, Experiment
from spdatoms.paper.experiments.reporting.curves import curve, data_and_kind, kinds_of, levels_of
from spdatoms.paper.experiments.reporting.descent import mean_objective
from spdatoms.paper.experiments.reporting.imperfect_figures import imperfect_pictures
from spdatoms.paper.experiments.reporting.picture import Picture, new_figure, panels
from spdatoms.paper.experiments.reporting.seconds import bounds, fastest
from spdatoms.paper.experiments.reporting.sparsity import curve as curve_of
from spdatoms.paper.experiments.reporting.sparsity import curved_parts
from spdatoms.paper.experiments.results import Results, Summary
from spdatoms.paper.plotting import AccuracyBySizeDisplay, CMCDisplay, ComparisonDisplay
from spdatoms.plotting import LearningCurveDisplay

_MAX_RANK = 20
#: Ticks of an axis of non-zeros.
LEVELS = ("2", "5", "10", "20", "50")


def pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return the figures of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    results : Results
        Its results.

    Returns
    -------
    list of Picture
        Empty without results.
    """
    if not results.rows:
        return []
    draw = {
        "bars": _bars,
        "sparsity": _sparsity,
        "cmc": _cmc,
        "confusion": _confusion,
        "curves": _curves,
        "imperfect": imperfect_pictures,
        "seconds": _seconds,
        "descent": _descent,
    }
    return draw[experiment.figure](experiment, results)


def _bars(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw a panel of bars for every score of every part, side by side or one below the other."""
    embedded = results.settings.get("data") == "embedded"
    once = experiment.single_queries or results.settings["repeats"] == 1
    caption = "Accuracy" if once else "Mean accuracy, with standard deviations as lines"
    if not embedded and experiment.published:
        caption += "; diamonds are published values"
    wide, narrow = (_bar_panels(experiment, results, columns) for columns in (5, 1))
    return [Picture("accuracy", f"{caption}.", wide, narrow)]


def _bar_panels(experiment: Experiment, results: Results, columns: int) -> Any:
    summaries = results.summaries()
    keys = list(dict.fromkeys((s.part, score) for s in summaries for score in s.scores))
    methods = [name for name in experiment.methods() if any(s.method == name for s in summaries)]
    embedded = results.settings.get("data") == "embedded"
    width = 4.6 if len(keys) == 1 and columns > 1 else 2.5
    figure, axes = panels(len(keys), (width, 0.9 + 0.21 * len(methods)), columns)
    for ax, (part, score) in zip(axes, keys, strict=True):
        here = {s.method: s for s in summaries if s.part == part and score in s.scores}
        named = {name: here[name] for name in methods if name in here}
        ComparisonDisplay(
            {name: summary.scores[score] for name, summary in named.items()},
            {} if experiment.single_queries else _deviations(named, score),
            {} if embedded else _published_values(experiment, part, score, list(named)),
            emphasis=["RSR-S", "RSR-J"],
        ).plot(ax)
        ax.set_title(" ".join(filter(None, (part, "" if score == ACCURACY else score))), fontsize=9)
        ax.tick_params(labelsize=7.5)
    return figure


def _deviations(summaries: Mapping[str, Summary], score: str) -> dict[str, float]:
    return {name: summary.deviations[score] for name, summary in summaries.items()}


def _published_values(
    experiment: Experiment, part: str, score: str, methods: Sequence[str]
) -> dict[str, float]:
    return {
        row.method: row.scores[score]
        for row in experiment.published
        if row.method in methods and row.part in ("", part) and score in row.scores
    }


def _sparsity(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw accuracy against the number of atoms, and against the number of non-zeros of codes."""
    parts = curved_parts(results)
    if not parts:
        return _sizes(experiment, results)
    figure, axes = panels(len(parts), (3.9, 4.2), columns=3)
    for ax, part in zip(axes, parts, strict=True):
        found = {name: curve_of(results.of(part, name)) for name in experiment.methods()}
        curves = {name: list(own.values()) for name, own in found.items() if own}
        AccuracyBySizeDisplay(
            {name: [count for _, count in points] for name, points in curves.items()},
            {name: [np.mean(values) for values, _ in points] for name, points in curves.items()},
            {name: [np.std(values) for values, _ in points] for name, points in curves.items()},
        ).plot(ax)
        ax.set(xscale="log", xlabel="non-zeros of a code", title=part)
        ax.set_xticks([int(level) for level in LEVELS], labels=LEVELS, minor=False)
        ax.set_xticks([], minor=True)
        ax.get_legend().remove()
    handles = axes[-1].get_legend_handles_labels()
    columns = 4 if len(parts) > 1 else 2
    figure.legend(*handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    caption = (
        "Mean accuracy against the number of non-zeros of a probe's code, with standard deviations as lines; "
        "a method with one point has codes whose number of non-zeros the penalty does not rule."
    )
    return [*_sizes(experiment, results), Picture("accuracy-by-nonzeros", caption, figure)]


def _sizes(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw accuracy against the number of atoms; parts are sizes, but for others that are left out."""
    summaries = [summary for summary in results.summaries() if summary.part.isdigit()]
    names = [m for m in experiment.methods() if any(s.method == m for s in summaries)]
    curves = {
        name: sorted(
            (int(s.part), s.scores[ACCURACY], s.deviations[ACCURACY])
            for s in summaries
            if s.method == name
        )
        for name in names
    }
    published: dict[str, dict[int, float]] = {}
    if results.settings.get("data") != "embedded":
        for row in experiment.published:
            if row.part.isdigit() and row.part in results.parts():
                published.setdefault(row.method, {})[int(row.part)] = row.scores[ACCURACY]
    display = AccuracyBySizeDisplay(
        {name: [point[0] for point in points] for name, points in curves.items()},
        {name: [point[1] for point in points] for name, points in curves.items()},
        {name: [point[2] for point in points] for name, points in curves.items()},
    )
    wide, narrow = new_figure((8.4, 4.6)), new_figure((4.2, 6.6))
    # Beside or below the curves: there are too many of them to leave room inside.
    for figure, place in ((wide, "outside right center"), (narrow, "outside lower center")):
        ax = figure.subplots()
        display.plot(ax)
        ax.get_legend().remove()
        figure.legend(*ax.get_legend_handles_labels(), loc=place, frameon=False, fontsize=8)
        for name, line in zip(curves, display.lines_, strict=True):
            _mark_published(ax, published.get(name, {}), line[0].get_color())
    caption = "Mean accuracy against the size of the dictionary, with standard deviations as lines"
    if any(published.values()):
        caption += "; diamonds are published values, in the colour of their method"
    return [Picture("accuracy-by-size", f"{caption}.", wide, narrow)]


def _mark_published(ax: Any, values: Mapping[int, float], colour: Any) -> None:
    if values:
        ax.plot(
            list(values), list(values.values()), "D", markersize=7, markerfacecolor="white",
            markeredgecolor=colour, markeredgewidth=1.6, zorder=5,
        )  # fmt: skip


def _cmc(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw a panel of curves for every part."""
    parts = results.parts()
    figure, axes = panels(len(parts), (3.8, 3.6), columns=3)
    for ax, part in zip(axes, parts, strict=True):
        curves = {}
        for name in experiment.methods():
            rows = results.of(part, name)
            if rows:
                curves[name] = np.mean([row.extra["cmc"] for row in rows], axis=0)
        CMCDisplay(curves, max_rank=_MAX_RANK).plot(ax)
        ax.set_title(part, fontsize=9)
    caption = "Cumulative matching characteristic: how often the right person is among the best."
    return [Picture("cmc", caption, figure)]


def _curves(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw for every kind of difficulty a panel per data set, with a curve per method."""
    found = []
    for kind in kinds_of(results):
        parts = [part for part in results.parts() if data_and_kind(part)[1] == kind]
        levels = levels_of(results, parts)
        figure, axes = panels(len(parts), (3.1, 2.9), columns=5)
        ran = {row.method for row in results.rows if row.part in parts}
        shown = ran.intersection(experiment.in_figure) or ran
        methods = [method for method in experiment.methods() if method in shown]
        for ax, part in zip(axes, parts, strict=True):
            curves = {m: curve(results, part, m) for m in methods}
            curves = {method: points for method, points in curves.items() if points}
            AccuracyBySizeDisplay(
                {m: [levels.index(level) for level in points] for m, points in curves.items()},
                {m: [mean for mean, _ in points.values()] for m, points in curves.items()},
                {m: [error for _, error in points.values()] for m, points in curves.items()},
            ).plot(ax)
            ax.set_xticks(range(len(levels)), levels)
            ax.set_xlabel(kind)
            if not ax.get_subplotspec().is_first_col():
                ax.set_ylabel("")  # the panels of a row share the axis
            ax.set_title(data_and_kind(part)[0], fontsize=9)
            ax.get_legend().remove()
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=3,
            frameon=False,
            fontsize=9,
        )
        caption = f"Mean accuracy against {kind}, with standard errors over the repeats as lines."
        found.append(Picture(f"accuracy-by-{kind.replace(' ', '-')}", caption, figure))
    return found


def _seconds(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw the least seconds of every method as bars, and the published ones as diamonds."""
    totals = {name: sum(seconds) for name, seconds in fastest(experiment, results).items()}
    published = bounds(experiment)
    figure = new_figure((6.4, 1.0 + 0.35 * len(totals)))
    ax = figure.subplots()
    ax.barh(list(totals), list(totals.values()), color="0.55", height=0.7)
    for i, (name, seconds) in enumerate(totals.items()):
        ax.text(1.12 * seconds, i, f"{seconds:.2f} s", va="center", fontsize=8)
        if name in published:
            ax.plot(published[name], i, "D", markersize=5.5, markerfacecolor="white", color="k")
    ax.set(
        xscale="log",
        xlabel="seconds",
        xlim=(None, 3 * max([*totals.values(), *published.values()])),
    )
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    caption = "Seconds on a logarithmic scale; diamonds are the bounds that the paper gives."
    return [Picture("seconds", caption, figure)]


def _descent(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw the mean objective over the iterations, a panel for every part."""
    parts = results.parts()
    figure, axes = panels(len(parts), (3.8, 3.4), columns=3)
    styles = (("black", "-"), ("black", ":"), ("0.55", "-"), ("0.55", "--"))
    for ax, part in zip(axes, parts, strict=True):
        for name, (colour, line) in zip(experiment.methods(), styles, strict=True):
            rows = results.of(part, name)
            if rows:
                LearningCurveDisplay(mean_objective(rows), label="objective (%)").plot(
                    ax, color=colour, linestyle=line, marker="", label=name
                )
        ax.set_title(part, fontsize=9)
        ax.set_ylabel("objective (%)" if ax is axes[0] else "")
    axes[-1].legend(frameon=False, fontsize=8)
    caption = "Mean objective after every half-step of learning, coding and update in turn."
    return [Picture("descent", caption, figure)]


def _confusion(experiment: Experiment, results: Results) -> list[Picture]:
    """Draw the bars, and the measured and published confusion matrices of every method."""
    from sklearn.metrics import confusion_matrix

    found = _bars(experiment, results)
    embedded = results.settings.get("data") == "embedded"
    for name in experiment.methods():
        rows = [row for row in results.rows if row.method == name]
        if not rows:
            continue
        slug = name.lower().replace(" ", "-")
        truth = [label for row in rows for label in row.extra["truth"]]
        predicted = [label for row in rows for label in row.extra["predicted"]]
        labels = sorted({*truth, *predicted})
        matrix = 100 * confusion_matrix(truth, predicted, labels=labels, normalize="true")
        where = f", {part}" if (part := rows[0].part) else ""
        caption = f"Confusion matrix of {name}{where}, in %."
        found.append(Picture(f"confusion-{slug}", caption, _matrix(matrix, labels)))
        if name in experiment.published_confusions and not embedded:
            actions, printed = experiment.published_confusions[name]
            caption = f"Published confusion matrix of {name}, in %."
            drawn = _matrix(np.asarray(printed), actions)
            found.append(Picture(f"confusion-{slug}-published", caption, drawn))
    return found


def _matrix(matrix: Any, labels: Sequence[str]) -> Any:
    from sklearn.metrics import ConfusionMatrixDisplay

    figure = new_figure((2.2 + 0.5 * len(labels), 1.8 + 0.45 * len(labels)))
    ax = figure.subplots()
    ConfusionMatrixDisplay(matrix, display_labels=labels).plot(
        ax=ax, cmap="Greys", values_format=".0f", xticks_rotation=45, colorbar=False
    )
    ax.tick_params(labelsize=7.5)
    return figure
