"""Reports of 'learn' and 'classify': one page with pictures that needs no other file."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import Array
from spdatoms._utils.version import __version__
from spdatoms._utils.writing import replace_file

#: The greatest numbers of matrices that are coded, of atoms that are drawn, and of mistakes that are listed.
_CODED, _DRAWN, _LISTED = 2000, 24, 12
#: The greatest number of classes whose confusions are written as numbers.
_NUMBERED = 20
_BINS = 10

Rows = Sequence[tuple[str, str]]


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
    counts = np.array([[((truth == a) & (predicted == b)).sum() for b in names] for a in names])

    def confusion(ax: Any) -> None:
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        ticks = np.arange(len(names))
        ax.set(xlabel="predicted", ylabel="label", xticks=ticks, yticks=ticks)
        ax.set_xticklabels(_plain(names), rotation=45, ha="right")
        ax.set_yticklabels(_plain(names))
        for (i, j), share in np.ndenumerate(shares) if len(names) <= _NUMBERED else ():
            ax.text(j, i, counts[i, j], ha="center", va="center", color="w" if share > 0.5 else "k")

    def calibration(ax: Any) -> None:
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

    figures = [
        _figure("Labels and predictions: numbers of matrices.", confusion, (6.4, 5.4)),
        _figure(
            "Calibration: on the dashed line, probabilities say how often predictions are right.",
            calibration,
        ),
    ]
    of_class = [
        (c, int((truth == c).sum()), f"{right[truth == c].mean():.1%}")
        for c in names
        if (truth == c).any()
    ]
    wrong = np.flatnonzero(~right)
    wrong = wrong[np.argsort(-sure[wrong], kind="stable")][:_LISTED]
    mistakes = [(i, truth[i], predicted[i], f"{sure[i]:.2f}") for i in wrong]
    tables = [_table("Accuracy", ("class", "matrices", "accuracy"), of_class)]
    if mistakes:
        tables.append(
            _table("The surest mistakes", ("index", "label", "predicted", "probability"), mistakes)
        )
    accuracy = ("accuracy", f"{right.mean():.2%} of {len(right)}")
    _write(path, "A classification", [accuracy, *summary], figures, tables)


def _plain(names: Array) -> list[str]:
    """Return names in which matplotlib finds no formulas."""
    return [name.replace("$", r"\$") for name in names]


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
    jinja = import_extra("jinja2", extra="cli")
    # The style is that of the reports of experiments.
    packages = ("spdatoms.cli", "spdatoms.experiments.reporting")
    loader = jinja.ChoiceLoader([jinja.PackageLoader(name, "templates") for name in packages])
    environment = jinja.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.get_template("report.html.jinja").render(
        title=title, summary=summary, figures=figures, tables=tables, version=__version__
    )
    replace_file(path, page.encode())
