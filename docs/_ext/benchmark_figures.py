"""The figures of the pages on performance and scaling, drawn from the record of the benchmarks.

They are drawn when the site is built, from the tables in ``benchmarks/RESULTS.md``, so that pages and record
agree.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from sphinx.application import Sphinx

_DOCS = Path(__file__).resolve().parents[1]
_RECORD = _DOCS.parent / "benchmarks" / "RESULTS.md"
_INK, _ORANGE, _PALE = "#1f3b57", "#c2571a", "#9aa7b4"


def numbers(record: str, pattern: str) -> np.ndarray:
    """Return the groups of every line that matches a pattern as numbers, one row per line."""
    found = re.findall(pattern, record, flags=re.M)
    assert found, f"benchmarks/RESULTS.md has no line like {pattern}"
    rows = [line if isinstance(line, tuple) else (line,) for line in found]
    return np.array([[float(cell.replace(",", "")) for cell in row] for row in rows])


def all_pairs(record: str) -> Any:
    """Draw the speed of all pairs against matrix multiplication and against pyRiemann."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    stein = numbers(record, r"^\| Stein n=(\d+), \d+×\d+ \| ([\d.]+) % .* (\d+)× pyRiemann")
    jeffrey = numbers(record, r"^\| Jeffrey n=(\d+), \d+×\d+ \| ([\d.]+) %")
    airm = numbers(record, r"^\| AIRM n=(\d+), one thread \| ([\d.]+) ×")
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


def coding(record: str) -> Any:
    """Draw queries per second of solvers of the kernel Lasso; "-" is one that was not measured."""
    pattern = r"^ +(\d+) +([\d.]+) +(\d+) +([\d,]+)" + r" +([\d,.]+|nan)" * 5 + " "
    rows = numbers(record.replace(" - ", " nan "), pattern)
    figure, ax = plt.subplots(figsize=(10, 3.4), layout="constrained")
    place = np.arange(len(rows))
    solvers = ("spdatoms", "SPAMS", "scikit-learn's LARS", "skglm", "OSQP", "Clarabel")
    inks = (_INK, _ORANGE, _PALE, "#5b8c6a", "#8a6d9e", "#c9b458")
    for k, (name, ink) in enumerate(zip(solvers, inks, strict=True)):
        ax.bar(place + 0.14 * (k - 2.5), rows[:, 3 + k], 0.13, color=ink, label=name)
    ax.set_yscale("log")
    names = [f"{atoms:.0f} atoms\nα = {alpha:g}" for atoms, alpha in rows[:, :2]]
    ax.set_xticks(place, names, fontsize=9)
    ax.set(ylabel="queries per second", title="sparse coding, one thread")
    ax.legend(frameon=False, ncols=2)
    return figure


def workers(record: str) -> Any:
    """Draw the wall clock of a learning run in several settings, and time per matrix against their number."""
    section = record.partition("## Out of core")[2]
    walls = re.findall(r"^\| ([^|]+) \| ([\d.]+) s \|", section, flags=re.M)
    learned = numbers(section, r"^\| (\d+) thousand matrices \| (\d+) µs \| (\d+) µs")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    names, seconds = [name for name, _ in walls], [float(value) for _, value in walls]
    bars = left.barh(names, seconds, color=[_PALE, _INK, _INK, _INK, _INK][: len(names)])
    left.bar_label(bars, fmt="%.0f s", padding=3)
    left.invert_yaxis()
    left.set(title="three iterations, 300,000 matrices", xlim=(0, 1.15 * max(seconds)), xticks=[])
    left.spines["bottom"].set_visible(False)
    right.semilogx(
        1e3 * learned[:, 0], learned[:, 1], "o-", color=_INK, label="learning, per iteration"
    )
    right.semilogx(1e3 * learned[:, 0], learned[:, 2], "s--", color=_ORANGE, label="coding")
    right.set(title="time per matrix", xlabel="matrices", ylabel="µs", ylim=(0, None))
    right.legend(frameon=False, loc="center right")
    return figure


def prediction(record: str) -> Any:
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


def draw(app: Sphinx) -> None:
    """Write all figures."""
    folder = _DOCS / "figures"
    folder.mkdir(exist_ok=True)
    record = _RECORD.read_text(encoding="utf-8")
    for make in (all_pairs, coding, workers, prediction):
        figure = make(record)
        for ax in figure.axes:
            ax.spines[["top", "right"]].set_visible(False)
            ax.title.set_fontsize(11)
        figure.savefig(folder / f"{make.__name__}.svg")
        plt.close(figure)


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw before pages are read."""
    app.connect("builder-inited", draw)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
