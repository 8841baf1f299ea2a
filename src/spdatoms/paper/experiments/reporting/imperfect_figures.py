"""Figures of data that are not perfect: means over data sets, and the curves of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.reporting.curves import kinds_of
from spdatoms.paper.experiments.reporting.imperfect import accuracies, cases_of, whole
from spdatoms.paper.experiments.reporting.picture import Picture, new_figure, panels
from spdatoms.paper.experiments.results import Results
from spdatoms.paper.plotting import AccuracyBySizeDisplay

#: Imperfections that have a share: the treatment and the axis of their curves.
_CURVED = {
    "missing channels": ("refitted", "channels missing in queries"),
    "wrong labels": ("as they are", "wrong labels in training"),
}
_BROKEN = "broken channels"
#: How a treatment of broken channels is marked.
_MARKS: dict[str, dict[str, Any]] = {
    "untreated": {"marker": "x", "color": "0.35"},
    "by variance": {"marker": "o", "color": "0.6"},
    "BrokenChannels": {"marker": "o", "color": "C0"},
    "told": {"marker": "|", "color": "black", "markersize": 13},
}


def imperfect_pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return a figure of the means over data sets, and one per imperfection with the curves of every data set.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    results : Results
        Its results.

    Returns
    -------
    list of Picture
    """
    results = whole(results)
    ran = {row.method for row in results.rows}
    shown = ran.intersection(experiment.in_figure) or ran
    methods = [name for name in experiment.methods() if name in shown]
    there = kinds_of(results)
    curved = [kind for kind in _CURVED if kind in there]
    found = [_overview(results, methods, [k for k in (*_CURVED, _BROKEN) if k in there])]
    return found + [_every_data_set(results, methods, kind) for kind in curved]


def _overview(results: Results, methods: Sequence[str], kinds: Sequence[str]) -> Picture:
    wide, narrow = new_figure((4.0 * len(kinds), 3.9)), new_figure((4.2, 3.6 * len(kinds)))
    for figure, shape in ((wide, (1, len(kinds))), (narrow, (len(kinds), 1))):
        axes = figure.subplots(*shape, squeeze=False).ravel()
        for ax, kind in zip(axes, kinds, strict=True):
            draw = _treatments if kind == _BROKEN else _curves
            draw(ax, results, methods, kind)
        handles = axes[0].get_legend_handles_labels()
        columns = 3 if figure is wide else 2
        figure.legend(*handles, loc="outside lower center", ncols=columns, frameon=False)
    caption = (
        "Mean accuracy over data sets that are not perfect. Missing channels: every classifier is refitted to "
        "the channels that a query has. Wrong labels: nothing is done about them. Broken channels, mean over six kinds "
        "of faults: untreated, and refitted without the channels of unusual variance, without those that "
        "BrokenChannels finds, or without the right ones (told)."
    )
    return Picture("overview", caption, wide, narrow)


def _curves(
    ax: Any, results: Results, methods: Sequence[str], kind: str, data: str | None = None
) -> None:
    """Draw the accuracy against the level, of one data set or in the mean of all."""
    treatment, label = _CURVED[kind]
    levels = cases_of(results, kind)[treatment]
    shares = [float(level.rstrip("%")) for level in levels]
    found = {m: [accuracies(results, kind, m, treatment, v) for v in levels] for m in methods}
    values = {
        m: [own[data] if data else float(np.mean(list(own.values()))) for own in curve]
        for m, curve in found.items()
        if data is None or data in curve[0]
    }
    AccuracyBySizeDisplay(dict.fromkeys(values, shares), values).plot(ax)
    ax.set_xlabel(f"{label} (%)")
    ax.get_legend().remove()


def _treatments(ax: Any, results: Results, methods: Sequence[str], kind: str) -> None:
    """Draw for every method the accuracy with each treatment, in the mean over data sets and faults."""
    for treatment, levels in cases_of(results, kind).items():
        values = [
            np.mean([list(accuracies(results, kind, m, treatment, v).values()) for v in levels[1:]])
            for m in methods
        ]
        style = {"markersize": 7, "linestyle": "", **_MARKS[treatment]}
        ax.plot(values, range(len(methods)), label=treatment, **style)
    ax.set_yticks(range(len(methods)), methods)
    ax.invert_yaxis()
    ax.set_xlabel("accuracy (%), channels broken in queries")
    ax.grid(axis="y", color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 1.16), ncols=4, frameon=False,
              columnspacing=0.8, handletextpad=0.1)  # fmt: skip


def _every_data_set(results: Results, methods: Sequence[str], kind: str) -> Picture:
    treatment, label = _CURVED[kind]
    data = list(accuracies(results, kind, methods[0], *_first(results, kind, treatment)))
    figure, axes = panels(len(data), (3.1, 2.9), columns=5)
    for ax, name in zip(axes, data, strict=True):
        _curves(ax, results, methods, kind, name)
        ax.set_title(name, fontsize=9)
        if not ax.get_subplotspec().is_first_col():
            ax.set_ylabel("")  # the panels of a row share the axis
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    caption = f"Accuracy against the share of {label}, {treatment}."
    return Picture(kind.replace(" ", "-"), caption, figure)


def _first(results: Results, kind: str, treatment: str) -> tuple[str, str]:
    return treatment, cases_of(results, kind)[treatment][0]
