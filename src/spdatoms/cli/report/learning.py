"""The report of 'learn': the objective, the atoms, and the matrices that use each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import Array, Indices
from spdatoms.cli.formats.matrices import Matrices
from spdatoms.cli.report.page import Rows, drawn_figure, items_to_browse, write_report
from spdatoms.cli.report.pictures import HINT, Origins, Pictures
from spdatoms.plotting.display import INK
from spdatoms.scale.blocks import some_rows

#: The greatest numbers of matrices that are coded, of atoms that are shown, and of matrices for each.
_CODED, _ATOMS, _USERS = 2000, 1000, 5


def write_learning_report(
    path: Path, learner: Any, X: Array, summary: Rows, read: Matrices
) -> None:
    """Write the objective, how often atoms are used, how sparse codes are, and the atoms to click through.

    Parameters
    ----------
    path : Path
        The file.
    learner : SPDDictionaryLearning
        A fitted dictionary.
    X : ndarray of shape (m, n, n)
        The matrices that it was fitted to.
    summary : sequence of (name, value)
        What is said first.
    read : Matrices
        As they were read.
    """
    from spdatoms.plotting import AtomUsageDisplay, LearningCurveDisplay

    rows = np.arange(len(X))[evenly_spaced(len(X), min(_CODED, len(X)))]
    some = some_rows(X, rows)
    codes = learner.transform(some)
    nonzeros = np.count_nonzero(codes, axis=1)

    def sparsity(ax: Any) -> None:
        ax.hist(nonzeros, bins=np.arange(nonzeros.max() + 2) - 0.5, color=INK, rwidth=0.9)
        ax.set(xlabel="non-zero entries of a code", ylabel="matrices")

    figures = [
        drawn_figure(
            "objective",
            "The objective after every half-step: codes, then atoms.",
            lambda ax: LearningCurveDisplay.from_estimator(learner, ax=ax),
        ),
        drawn_figure(
            "usage",
            "The share of matrices whose codes use each atom.",
            lambda ax: AtomUsageDisplay.from_codes(codes, ax=ax),
        ),
        drawn_figure("sparsity", f"The sparsity of the codes of {len(some)} matrices.", sparsity),
    ]
    browser = _atoms_to_browse(learner.atoms_, some, rows, codes, Origins(read))
    write_report(path, "A dictionary", summary, figures, browser=browser)


def _atoms_to_browse(
    atoms: Array, X: Array, rows: Indices, codes: Array, origins: Origins
) -> dict[str, Any]:
    """Return the atoms, those that are used most first, each with the matrices in which it weighs most."""
    pictures, items = Pictures(origins.channels(atoms.shape[-1])[1]), []
    used = np.count_nonzero(codes, axis=0)
    order = np.argsort(-used, kind="stable")[:_ATOMS]
    for atom in order:
        users = np.argsort(-np.abs(codes[:, atom]), kind="stable")[: min(_USERS, used[atom])]
        shown = [
            (
                f"matrix #{rows[i]}",
                float(codes[i, atom]),
                pictures.add(X[i], origins.queries.photograph(rows[i])),
            )
            for i in users
        ]
        items.append(
            {
                "name": f"atom {atom}",
                "kinds": [] if used[atom] else ["unused"],
                "lines": [f"{used[atom]} of {len(X)} codes use it."],
                "picture": pictures.add(atoms[atom]),
                "groups": [{"title": "Where it weighs most: entries of codes", "rows": shown}],
            }
        )
    hint = f"Atoms, those that are used most first. {HINT}"
    return items_to_browse("The atoms", hint, items, pictures.encoded())
