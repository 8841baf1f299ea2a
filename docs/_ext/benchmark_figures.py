"""The figures of the pages on performance and scaling, drawn from what the benchmarks wrote.

They are drawn when the site is built, from the JSON files in ``benchmarks/results``, so that pages and record agree. To
draw them alone:

    python docs/_ext/benchmark_figures.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from dark_figures import save
from matplotlib import pyplot as plt
from sphinx.application import Sphinx

_DOCS = Path(__file__).resolve().parents[1]
_BENCHMARKS = _DOCS.parent / "benchmarks"
_INK, _ORANGE, _PALE = "#1f3b57", "#c2571a", "#9aa7b4"


def results(name: str) -> Any:
    """Return what a benchmark wrote."""
    return json.loads((_BENCHMARKS / "results" / f"{name}.json").read_text(encoding="utf-8"))


def measured(what: str, note: str = r"(?P<note>)") -> np.ndarray:
    """Return n, the figure and what is looked for in its note, one row per size in the record of all pairs."""
    found = []
    for row in results("pairwise")["rows"]:
        named, noted = re.fullmatch(what, row["what"]), re.search(note, row["note"])
        if named and noted:
            found.append((int(named["n"]), row["measured"], float(noted["note"] or 0)))
    assert found, f"benchmarks/results/pairwise.json has nothing like {what}"
    return np.array(found)


def all_pairs() -> Any:
    """Draw the speed of all pairs against matrix multiplication and against pyRiemann."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    stein = measured(r"Stein n=(?P<n>\d+), \d+×\d+", r"(?P<note>\d+)× pyRiemann")
    jeffrey = measured(r"Jeffrey n=(?P<n>\d+), \d+×\d+")
    airm = measured(r"AIRM n=(?P<n>\d+), one thread")
    left.plot(stein[:, 0], stein[:, 1], "o-", color=_INK, label="Stein")
    left.plot(jeffrey[:, 0], jeffrey[:, 1], "s--", color=_ORANGE, label="Jeffrey")
    left.set(ylim=(0, 100), title="speed, % of matrix multiplication")
    right.loglog(stein[:, 0], stein[:, 2], "o-", color=_INK, label="Stein")
    right.loglog(airm[:, 0], airm[:, 1], "D:", color=_PALE, label="affine-invariant")
    right.set(title="times as fast as pyRiemann", ylim=(1, None))
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xticks(stein[:, 0], [f"{n:.0f}" for n in stein[:, 0]])
        ax.minorticks_off()
        ax.set_xlabel("size of the matrices, n")
        ax.legend(frameon=False)
    return figure


def coding() -> Any:
    """Draw queries per second of solvers of the kernel Lasso."""
    cells = results("coding")["solver"]
    figure, ax = plt.subplots(figsize=(10, 3.4), layout="constrained")
    place = np.arange(len(cells))
    names = {
        "spdatoms": "spdatoms",
        "spams": "SPAMS",
        "lars": "scikit-learn's LARS",
        "skglm": "skglm",
        "osqp": "OSQP",
        "clarabel": "Clarabel",
    }
    inks = (_INK, _ORANGE, _PALE, "#5b8c6a", "#8a6d9e", "#c9b458")
    for k, ((solver, name), ink) in enumerate(zip(names.items(), inks, strict=True)):
        rates = [cell["rates"].get(solver, np.nan) for cell in cells]
        ax.bar(place + 0.14 * (k - 2.5), rates, 0.13, color=ink, label=name)
    ax.set_yscale("log")
    labels = [f"{cell['n_atoms']} atoms\nα = {cell['alpha']:g}" for cell in cells]
    ax.set_xticks(place, labels, fontsize=9)
    ax.set(ylabel="queries per second", title="sparse coding, one thread", ylim=(None, 5e6))
    ax.legend(frameon=False, ncols=3, loc="upper right")
    return figure


def pipeline() -> Any:
    """Draw the parts of the time of a query, from check to code or label, over 1000 atoms."""
    cells = [cell for cell in results("pipeline")["cells"] if cell["N"] == 1000]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", sharey=True)
    parts = ("divergences", "codes", "correction", "exponential", "scores", "checks", "rest")
    inks = (_INK, "#5b7c99", _ORANGE, "#e0a577", "#5b8c6a", "#c9b458", _PALE)
    for ax, method in zip(axes, ("transform", "predict"), strict=True):
        names = [f"{cell['metric'].title()} {cell['n']}" for cell in cells]
        left = np.zeros(len(cells))
        for part, ink in zip(parts, inks, strict=True):
            share = [
                max(0.0, cell[method].get(part, 0.0)) / cell[method]["whole"] for cell in cells
            ]
            ax.barh(names, share, left=left, color=ink, label=part)
            left += share
        ax.set(title=f"{method}: shares of the time of a query", xlim=(0, 1))
        ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes[0].invert_yaxis()
    axes[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def peers() -> Any:
    """Draw how many times as fast as the best peer every function is, by the size of the matrices."""
    ratios = results("peers")["ratios"]
    sizes = sorted({int(n) for row in ratios.values() for n in row})
    table = np.array([[row.get(str(n), np.nan) for n in sizes] for row in ratios.values()])
    figure, ax = plt.subplots(figsize=(7, 0.21 * len(table) + 0.8), layout="constrained")
    ax.imshow(np.log10(table), cmap="PuOr_r", vmin=-1.3, vmax=1.3, aspect="auto")
    for (i, j), ratio in np.ndenumerate(table):
        if np.isfinite(ratio):
            shown = (
                f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"
            )
            pale = abs(np.log10(ratio)) > 0.9
            ax.text(j, i, shown, ha="center", va="center", fontsize=7, color="w" if pale else "k")
    ax.set_yticks(range(len(table)), list(ratios), fontsize=7)
    ax.set_xticks(range(len(sizes)), [f"n = {n}" for n in sizes], fontsize=8)
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    return figure


def workers() -> Any:
    """Draw the wall clock of a learning run in several settings, and time per matrix against their number."""
    found = results("scale")
    names, seconds = list(found["seconds"]), list(found["seconds"].values())
    each = np.array(found["microseconds"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    bars = left.barh(names, seconds, color=[_PALE, _INK, _INK, _INK, _INK][: len(names)])
    left.bar_label(bars, fmt="%.0f s", padding=3)
    left.invert_yaxis()
    left.set(
        title=f"three iterations, {found['matrices']:,} matrices",
        xlim=(0, 1.15 * max(seconds)),
        xticks=[],
    )
    left.spines["bottom"].set_visible(False)
    right.semilogx(each[:, 0], each[:, 1], "o-", color=_INK, label="learning, per iteration")
    right.semilogx(each[:, 0], each[:, 2], "s--", color=_ORANGE, label="coding")
    right.set(title="time per matrix", xlabel="matrices", ylabel="µs", ylim=(0, None))
    right.legend(frameon=False, loc="center right")
    return figure


def prediction() -> Any:
    """Draw the predicted time of an iteration against the number of workers."""
    # The model of the guide: c and r per matrix, s per task, l per pass, t0 per iteration, in seconds.
    work_time, read_time, task_time, pass_time, atoms_time = 355e-6, 6.8e-6, 14e-3, 50e-3, 21e-3
    passes = 4
    figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
    w = np.geomspace(1, 2000, 200)
    for m, ink in ((1e6, _PALE), (1e8, _ORANGE), (1e9, _INK)):
        task = np.clip(m / w / 6, 2048, 16384)
        work, scheduler = m / w * (work_time + passes * read_time), m / task * task_time
        ax.loglog(
            w,
            np.maximum(work, scheduler) + passes * pass_time + atoms_time,
            color=ink,
            label=f"10{_power(m)}",
        )
        ax.loglog(w, scheduler, ":", color=ink, linewidth=1)
    ax.set(
        xlabel="workers", ylabel="seconds per iteration", title="predicted; dotted: the scheduler"
    )
    ax.legend(frameon=False, title="matrices")
    return figure


def _power(m: float) -> str:
    return str(round(np.log10(m))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def draw(app: Sphinx | None = None) -> None:
    """Write all figures."""
    folder = _DOCS / "figures"
    folder.mkdir(exist_ok=True)
    for make in (all_pairs, coding, pipeline, peers, workers, prediction):
        figure = make()
        for ax in figure.axes:
            ax.spines[["top", "right"]].set_visible(False)
            ax.title.set_fontsize(11)
        save(figure, folder / f"{make.__name__}.svg")
        plt.close(figure)


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw before pages are read."""
    app.connect("builder-inited", draw)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    draw()
