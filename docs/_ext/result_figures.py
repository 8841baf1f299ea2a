"""The figures of the guide and of the first page, drawn from the tables of results (``docs/paper/results/*.json``).

They are drawn when the site is built, so that pages and record agree. To draw them alone, with ``where.png`` for the
README and the first page of results, and to renew the comparison in the manuscript:

    python docs/_ext/result_figures.py
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dark_figures import save
from matplotlib import pyplot as plt
from sphinx.application import Sphinx

from spdatoms.paper.reporting import Table
from spdatoms.paper.reporting.record import Record, read_record
from spdatoms.paper.reporting.sentences import OURS, STURDY, differences_to_peer, to_peer
from spdatoms.paper.reporting.table import sign

_DOCS = Path(__file__).resolve().parents[1]
MANUSCRIPT = _DOCS / "paper" / "joss" / "paper.md"
_INK, _ORANGE, _PALE = "#1f3b57", "#c2571a", "#9aa7b4"
#: The methods of curves, with their names there and their lines: ours are solid.
_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "SPDEnsembleClassifier": (
        "SPDEnsembleClassifier",
        {"color": _INK, "marker": "o", "linewidth": 2.2},
    ),
    "ensemble, cv": ("ensemble, cv", {"color": "#3f7cac", "marker": "s"}),
    "RSR-S": ("RSR-S", {"color": _ORANGE, "marker": "D"}),
    "tangent space + LDA pooled": (
        "tangent + LDA",
        {"color": "#5b8c6a", "marker": "^", "linestyle": "--"},
    ),
    "tangent space + SVC": (
        "tangent + SVC",
        {"color": "#8a6d9e", "marker": "v", "linestyle": "--"},
    ),
    "kernel SVM Stein": ("kernel SVM", {"color": "#b09a2f", "marker": "P", "linestyle": "--"}),
    "MDM": ("MDM", {"color": "#7f8c98", "marker": "x", "linestyle": ":"}),
    "1-NN Stein": ("1-NN", {"color": "#a8736a", "marker": "+", "linestyle": ":"}),
}
_TREATMENTS = {
    "untreated": ("untreated", {"marker": "x", "color": "#7f8c98"}),
    "by variance": ("without channels of odd variance", {"marker": "^", "color": "#b09a2f"}),
    "BrokenChannels": ("without what BrokenChannels finds", {"marker": "o", "color": _INK}),
    "told": ("without the broken ones (told)", {"marker": "|", "color": _ORANGE}),
}

Tables = Sequence[Table]


def recorded_by_name() -> dict[str, Record]:
    """Return what the pages of all experiments show."""
    files = sorted((_DOCS / "paper" / "results").glob("*.json"))
    return {file.stem: read_record(file) for file in files}


def recorded() -> Tables:
    """Return the tables of all results."""
    return [table for record in recorded_by_name().values() for table in record.tables]


def table(record: Tables, title: str, names: int = 1) -> dict[Any, dict[str, str]]:
    """Return the first table whose title begins so: cells by the first columns and the name of the column."""
    found = next((one for one in record if one.title.startswith(title)), None)
    assert found, f"docs/paper/results has no table {title}"
    return {
        line.cells[0] if names == 1 else line.cells[:names]: dict(
            zip(found.header[names:], line.cells[names:], strict=True)
        )
        for line in found.lines
    }


def number(cell: str) -> float:
    """Return the number that a cell begins with."""
    return float(re.match(r"[+-]?[\d.]+", cell.replace("−", "-"))[0])  # type: ignore[index]


def new_axes(height: float = 3.4) -> Any:
    """Return axes of a figure that can be read on a telephone."""
    return plt.subplots(figsize=(4.8, height), layout="constrained")[1]


def which_method(record: Tables) -> Any:
    """Draw the mean accuracy of every method over ten data sets."""
    found = table(record, "Classifiers side by side")
    means = {method: number(row["mean"]) for method, row in found.items()}
    order = sorted(means, key=lambda method: means[method])
    ax = new_axes(5.2)
    own = ("SPD", "RSR", "ensemble")
    for place, method in enumerate(order):
        ink = _INK if method.startswith(own) else _PALE
        ax.hlines(place, 75, means[method], color=ink, linewidth=0.8, linestyle=":")
        ax.plot(means[method], place, "o", color=ink)
        ax.text(means[method] + 0.4, place, f"{means[method]:.1f}", fontsize=8, va="center")
    ax.set_yticks(range(len(order)), order)
    ax.set(xlim=(75, 91), title="mean accuracy over ten data sets (%)")
    ax.tick_params(axis="y", labelsize=8, length=0)
    return ax.figure


def against_peers(record: Tables) -> Any:
    """Draw how far the ensemble is ahead of the best peer of every data set, chosen after looking, or behind."""
    found = table(record, "ensemble, cv against the best peer")
    ax = new_axes(5.2)
    for place, (column, row) in enumerate(found.items()):
        cell = row["difference ± standard error"]
        difference, error = number(cell), number(cell.partition("±")[2].strip())
        ink = _ORANGE if difference < 0 else _INK
        ax.errorbar(difference, place, xerr=2 * error, fmt="o", color=ink, capsize=3)
        ax.text(-7.6, place, f"{column}\n{row['which']}".strip(), fontsize=8, va="center")
    ax.axvline(0.0, color="0.6", linewidth=0.8)
    ax.set(xlim=(-7.7, 3), yticks=[], xticks=(-4, -2, 0, 2))
    ax.set(title="ensemble, cv − best peer (points, ± 2 errors)")
    ax.invert_yaxis()
    return ax.figure


def _curves(record: Tables, title: str, label: str, names: int = 1, treatment: str = "") -> Any:
    found = table(record, title, names)
    rows = {
        name if names == 1 else name[0]: row for name, row in found.items() if treatment in name
    }
    ax = new_axes(3.9)
    levels = list(next(iter(rows.values())))
    for method, (name, style) in _LINES.items():
        if method in rows:
            values = [number(rows[method][level]) for level in levels]
            ax.plot(range(len(levels)), values, label=name, **{"markersize": 5, **style})
    ax.set_xticks(range(len(levels)), levels)
    ax.set(xlabel=label, title="mean accuracy (%)")
    ax.legend(frameon=False, fontsize=8, ncols=2)
    return ax.figure


def few_matrices(record: Tables) -> Any:
    """Draw accuracy against the number of training matrices per class."""
    return _curves(record, "Training size: mean", "training matrices per class")


def wrong_labels(record: Tables) -> Any:
    """Draw accuracy against the share of wrong labels."""
    return _curves(record, "Mislabelled: mean", "wrong training labels")


def broken_channel(record: Tables) -> Any:
    """Draw accuracy against the gain of a broken channel."""
    return _curves(record, "Outlier channel: mean", "one channel of a query × (1 + …)")


def noise(record: Tables) -> Any:
    """Draw accuracy against the noise in all channels of queries."""
    return _curves(record, "Noise: mean", "noise in all channels of queries, share of the variance")


def missing_channels(record: Tables) -> Any:
    """Draw accuracy against the share of channels that queries lack."""
    label = "channels missing in queries, all methods refitted"
    return _curves(record, "Missing channels: mean", label, 2, "refitted")


def labels_not_perfect(record: Tables) -> Any:
    """Draw accuracy against the share of wrong labels, of the data sets beside that figure."""
    return _curves(
        record, "Wrong labels: mean", "wrong training labels, untreated", 2, "as they are"
    )


def broken_channels(record: Tables) -> Any:
    """Draw the mean accuracy over faults of channels by what is done about them."""
    found = table(record, "Broken channels: mean", 2)
    methods = list(dict.fromkeys(method for method, _ in found if method in _LINES))
    ax = new_axes(3.9)
    for treatment, (name, style) in _TREATMENTS.items():
        means = [_mean(found[method, treatment]) for method in methods]
        ax.plot(means, range(len(methods)), linestyle="", markersize=8, label=name, **style)
    ax.set_yticks(
        range(len(methods)),
        [_LINES[m][0].replace("SPDEnsemble", "SPDEnsemble\n") for m in methods],
        fontsize=8,
    )
    ax.invert_yaxis()
    ax.set(title="mean accuracy (%), channels broken in queries")
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.35, -0.08))
    return ax.figure


def _mean(row: Mapping[str, str]) -> float:
    """Return the mean over all faults."""
    values = [number(cell) for fault, cell in row.items() if fault != "none"]
    return sum(values) / len(values)


def dictionaries(record: Tables) -> Any:
    """Draw accuracy against the non-zeros of codes, of learned atoms and others."""
    found = table(record, "Sparsity, 104: accuracy")
    ax = new_axes(3.9)
    levels = [level for level in next(iter(found.values())) if level[0].isdigit()]
    places = [int(level.split()[0]) for level in levels]
    for method, row in found.items():
        known = [
            (p, number(row[v])) for p, v in zip(places, levels, strict=True) if row[v][:1].isdigit()
        ]
        if len(known) > 1:
            style = _style_of_atoms(method)
            ax.plot(*zip(*known, strict=True), label=method, markersize=5, **style)
    ax.set(xscale="log", xlabel="non-zeros of a code", title="accuracy over 104 atoms (%)")
    ax.set_xticks(places, map(str, places))
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=8)
    return ax.figure


def _style_of_atoms(method: str) -> dict[str, Any]:
    ours = not re.search("random|k-means|K-SVD|Frobenius|logEuc", method)
    marker = "o" if ours else "x" if "random" in method else "^" if "means" in method else "s"
    ink = (
        _ORANGE if re.search("RSR-J", method) else _INK if re.search("RSR-S", method) else "#7f8c98"
    )
    return {"color": ink, "marker": marker, "linestyle": "-" if ours else "--"}


#: Functions of the benchmark against peers that are shown together, by how their names begin.
_SPEED = {
    "distances of pairs": ("divergence stein", "divergence jeffrey", "divergence riemann"),
    "Riemannian, Stein means": ("mean riemann", "mean stein"),
    "logarithms, roots, geodesics": ("logm", "sqrtm", "geodesic"),
    "Euclidean, Cholesky means": ("mean euclid, checked", "mean chol", "mean logchol"),
}
#: How cases of imperfect data are called.
_CASES = {
    "Missing channels, 50%": "half of the channels missing",
    "Missing everywhere, 25%": "a quarter missing everywhere",
    "Broken channels, gain × 1": "one channel broken, detected",
    "Wrong labels, 20%": "a fifth of the labels wrong",
    "Deficient ranks, average reference": "deficient ranks",
}

#: Tools of the library: how they are called, the imperfection, two treatments to compare, and the level.
_TOOLS = (
    ("BrokenChannels, not variance", "Broken channels", "BrokenChannels", "by variance", ""),
    (
        "local imputation, not global",
        "Missing everywhere",
        "local imputation",
        "global imputation",
        "25%",
    ),
    ("suspect labels removed", "Wrong labels", "suspects removed", "as they are", "20%"),
)

#: What packages do by themselves.
_PACKAGES = ("spdatoms", "pyRiemann", "spd_learn")
_DOES = {
    "reasons of a decision": ("spdatoms",),
    "sparse codes, dictionaries": ("spdatoms",),
    "queries that lack channels": ("spdatoms",),
    "noisy channels found": ("spdatoms",),
    "CSP and Xdawn filters": ("pyRiemann",),
    "deep networks": ("spd_learn",),
}

Lead = tuple[str, float, float | None]


def leads(records: Mapping[str, Record]) -> dict[str, list[Lead]]:
    """Return how many points we are ahead, and half of its interval if that is known, by kind of data."""
    imperfect, curves, classifiers = (records[n] for n in ("imperfect", "curves", "classifiers"))
    cases = differences_to_peer(imperfect)
    size = table(curves.tables, "Training size: mean")
    found = {
        "imperfect data": [_lead(_CASES.get(k, k), cell) for k, cell in cases.items()],
        "what its tools add to it": [_gain(imperfect, *tool) for tool in _TOOLS],
        "few examples": [
            (f"{n} per class", _points(size[OURS][n], size[STURDY][n]), None)
            for n in ("1", "2", "5", "20")
        ],
    }
    for name, title in (("untouched", "data never looked at"), ("classifiers", "complete data")):
        if name in records:
            cells = {
                "in the mean" if k == "mean" else k: v for k, v in to_peer(records[name]).items()
            }
            # After ± stands half of an interval there.
            found[title] = [_lead(column, cell[-1], 1.0) for column, cell in cells.items()]
    best = table(classifiers.tables, "ensemble, cv against the best peer")
    behind = [(column, list(row.values())[-1]) for column, row in best.items()]
    found["behind the best peer of a column"] = [_lead(*one) for one in behind if sign(one[1]) < 0]
    return {kind: own for kind, own in found.items() if own}


def _points(first: str, second: str) -> float:
    return round(number(first) - number(second), 1)


def _lead(name: str, cell: str, errors: float = 2.0) -> Lead:
    _, known, error = cell.partition(" ± ")
    return name, number(cell), round(errors * float(error), 1) if known else None


def _gain(imperfect: Record, name: str, title: str, tool: str, other: str, level: str) -> Lead:
    """Return what a tool adds to our classifier, at a level or in the mean over faults."""
    rows = table(imperfect.tables, f"{title}: mean", 2)
    own, beside = rows[OURS, tool], rows[OURS, other]
    levels = [level] if level else [fault for fault in own if fault != "none"]
    return name, round(float(np.mean([_points(own[v], beside[v]) for v in levels])), 1), None


def speeds() -> dict[str, list[float]]:
    """Return how many times as fast as the fastest peer we are: the least, the geometric mean and the greatest."""

    def read(name: str) -> Any:
        path = _DOCS.parent / "benchmarks" / "results" / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8"))

    ratios = read("peers")["ratios"]
    rates = [cell["rates"] for cell in read("coding")["solver"]]
    notes = [
        row["note"]
        for row in read("pairwise")["rows"]
        if re.fullmatch(r"Stein n=\d+, \d+×\d+", row["what"])
    ]
    pairs = [float(found[1]) for note in notes if (found := re.search(r"(\d+)× pyRiemann", note))]
    found = {
        "all pairs, Stein": pairs,
        "sparse codes": [
            own["spdatoms"] / max(rate for name, rate in own.items() if name != "spdatoms")
            for own in rates
        ],
        **{
            what: [r for name in names for r in ratios[name].values()]
            for what, names in _SPEED.items()
        },
    }
    return {
        what: [float(f"{v:.2g}") for v in (min(own), np.exp(np.mean(np.log(own))), max(own))]
        for what, own in found.items()
    }


def where(record: Tables, narrow: bool = False) -> Any:
    """Draw where the library is the better choice and where it is not: accuracy against a peer, and speed."""
    return draw_where(leads(recorded_by_name()), speeds(), narrow)


def draw_where(
    kinds: Mapping[str, Sequence[Lead]], times: Mapping[str, Sequence[float]], narrow: bool
) -> Any:
    """Draw points ahead by kind of data, times as fast, and what only some packages do."""
    heights = [0.2 * sum(len(own) + 1 for own in kinds.values()) + 0.5, 2.6, 2.0]
    if narrow:
        figure = plt.figure(figsize=(4.4, sum(heights)), layout="constrained")
        left, middle, right = figure.subplots(3, 1, height_ratios=heights)
    else:
        figure = plt.figure(figsize=(9.6, heights[0]), layout="constrained")
        grid = figure.add_gridspec(2, 2, height_ratios=heights[1:])
        left, middle, right = (
            figure.add_subplot(one) for one in (grid[:, 0], grid[0, 1], grid[1, 1])
        )
    _draw_leads(left, kinds)
    _draw_speeds(middle, times)
    _draw_packages(right)
    for ax in (left, middle, right):
        ax.tick_params(axis="y", length=0, labelsize=9)
        ax.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _draw_leads(ax: Any, kinds: Mapping[str, Sequence[Lead]]) -> None:
    labels: list[str] = []
    heads = []
    for kind, own in kinds.items():
        heads.append(len(labels))
        labels.append(kind)
        for name, lead, error in own:
            # Without an error nothing can be told, and the mark is hollow.
            fill = {} if error is not None else {"markerfacecolor": "w"}
            ink = _ink(lead, error or 0.0)
            ax.errorbar(
                lead, len(labels), xerr=error, fmt="o", color=ink, capsize=3, markersize=5, **fill
            )
            labels.append(name)
    ax.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(labels)), labels)
    for head in heads:
        ax.get_yticklabels()[head].set_weight("bold")
    ax.set(ylim=(len(labels) - 0.4, -0.6))
    ax.set_title("points ahead of tangent space + LDA", loc="right", fontsize=10)


def _draw_speeds(ax: Any, times: Mapping[str, Sequence[float]]) -> None:
    for i, (least, mean, most) in enumerate(times.values()):
        ink = _INK if mean > 1.0 else _ORANGE
        ax.plot((least, most), (i, i), color=ink, linewidth=2, alpha=0.5)
        ax.plot(mean, i, "o", color=ink, markersize=6)
        shown = f"{mean:.0f} ×" if mean >= 10 else f"{mean:.2g} ×"
        ax.text(mean, i - 0.15, shown, fontsize=8, ha="center", va="bottom")
    ax.axvline(1.0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(times)), list(times))
    ax.set(xscale="log", ylim=(len(times) - 0.5, -0.8))
    ax.set_xticks([0.1, 1, 10, 100, 1000, 10000], ["0.1", "1", "10", "100", "10³", "10⁴"])
    ax.minorticks_off()
    ax.set_title("times as fast as the fastest peer", loc="right", fontsize=10)


def _draw_packages(ax: Any) -> None:
    for i, does in enumerate(_DOES.values()):
        for j, package in enumerate(_PACKAGES):
            yes = package in does
            ink = _INK if yes else _PALE
            ax.plot(j, i, "o", markersize=7, color=ink, markerfacecolor=ink if yes else "w")
    ax.set_yticks(range(len(_DOES)), list(_DOES))
    ax.set_xticks(range(len(_PACKAGES)), _PACKAGES, fontsize=9, rotation=30, ha="left")
    ax.set(xlim=(-0.6, len(_PACKAGES) - 0.4), ylim=(len(_DOES) - 0.5, -0.6))
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="x", length=0, labeltop=True, labelbottom=False)


def _ink(lead: float, error: float) -> str:
    """Return the colour of a lead: ours, the peer's, or that of what cannot be told."""
    if abs(lead) <= error or lead == 0.0:
        return "#7f8c98"
    return _INK if lead > 0 else _ORANGE


def write_where() -> None:
    """Write the pictures of the first page of results and of the README, with what they show in their descriptions."""
    shown = leads(recorded_by_name()), speeds()
    for narrow in (False, True):
        figure = draw_where(*shown, narrow)
        path = _DOCS / "paper" / "results" / f"where{'_narrow' if narrow else ''}.png"
        figure.savefig(path, dpi=150, metadata={"Description": json.dumps(shown)})
        plt.close(figure)


FIGURES = (
    which_method, against_peers, few_matrices, wrong_labels, broken_channel, noise, missing_channels,
    labels_not_perfect, broken_channels, dictionaries, where,
)  # fmt: skip


def draw(app: Sphinx | None = None) -> None:
    """Write all figures."""
    folder = _DOCS / "figures"
    folder.mkdir(exist_ok=True)
    record = recorded()
    for make in FIGURES:
        figure = make(record)
        for ax in figure.axes:
            ax.spines[["top", "right"]].set_visible(False)
            ax.title.set_fontsize(10)
        save(figure, folder / f"{make.__name__}.svg")
        plt.close(figure)
    narrow = where(record, narrow=True)
    save(narrow, folder / "where_narrow.svg")
    plt.close(narrow)


def comparison(records: Mapping[str, Record], fast: Mapping[str, Sequence[float]]) -> str:
    """Return what the manuscript says about accuracy and speed."""
    ours, peer, _ = to_peer(records["classifiers"])["mean"]
    best = table(records["classifiers"].tables, "ensemble, cv against the best peer")["mean"]
    after = best["difference ± standard error"]
    cases = differences_to_peer(records["imperfect"])
    sentences = [
        f"On ten data sets on which parts of it were settled, the default classifier has a mean accuracy of {ours} %, "
        f"the best peer, a linear discriminant in the tangent space, {peer} %; to the best peer of every data set, "
        f"chosen after looking, the weighted form differs by {after} points."
    ]
    if "untouched" in records:
        found = to_peer(records["untouched"])
        mean = found.pop("mean")
        sentences.append(
            f"On {len(found)} data sets that were kept apart until everything was settled, they have {mean[0]} and "
            f"{mean[1]} %, a difference of {mean[2]} points (± half of a 95 % interval)."
        )
    missing, wrong = (cases[c] for c in ("Missing channels, 50%", "Wrong labels, 20%"))
    codes, pairs = fast["sparse codes"], fast["all pairs, Stein"]
    sentences += [
        f"With half of the channels missing the default differs from a refitted discriminant by {missing} points, with "
        f"a fifth of the labels wrong by {wrong} (± standard error over data sets).",
        f"Sparse codes are computed {codes[0]:.2g} to {codes[-1]:.2g} times as fast as by the fastest other solver, "
        f"and all pairs of Stein divergences {pairs[0]:,.0f} to {pairs[-1]:,.0f} times as fast as by `pyRiemann`.",
    ]
    return "\n".join(textwrap.wrap(" ".join(sentences), 120, break_on_hyphens=False))


def renewed(text: str, paragraph: str) -> str:
    """Return a text with another paragraph between its marks."""
    marks = r"(<!-- results: .*? -->\n).*?(<!-- end of results -->)"
    return re.sub(marks, lambda found: f"{found[1]}\n{paragraph}\n\n{found[2]}", text, flags=re.S)


def write_manuscript() -> None:
    """Renew the comparison in the manuscript."""
    text = MANUSCRIPT.read_text(encoding="utf-8")
    paragraph = comparison(recorded_by_name(), speeds())
    MANUSCRIPT.write_text(renewed(text, paragraph), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw before pages are read."""
    app.connect("builder-inited", draw)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    draw()
    write_where()
    write_manuscript()
