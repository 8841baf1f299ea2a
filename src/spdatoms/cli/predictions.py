"""Predicted labels, and why: of queries, and of every labelled matrix by a classifier that was trained without it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.text import counted
from spdatoms._utils.typing import Array, Floats, Indices
from spdatoms.cli.formats.volumes import VOLUME_FILES
from spdatoms.cli.show import record, say, show_table

if TYPE_CHECKING:
    from spdatoms.classification.explanation import Explanation
    from spdatoms.cli.formats.matrices import Matrices

#: The greatest number of classes whose accuracies are listed.
_LISTED = 30
#: The greatest number of classes whose confusions are shown.
_CONFUSED = 12
#: The greatest numbers of queries whose reasons are shown, and of training matrices for each.
SHOWN, _ATOMS = 1000, 5
#: The greatest number of queries whose channels are looked at, and what this may cost: their number · atoms · n³.
_CHANNELS, _COST = 100, 3e9


@dataclass(frozen=True)
class Reason:
    """An explanation, with the training matrices that it names.

    Attributes
    ----------
    explanation : Explanation
        What at most five training matrices add, and the totals of the classes.
    matrices : ndarray of shape (k, n, n)
        These training matrices.
    query : ndarray of shape (n, n)
        The matrix that is explained.
    learned : bool
        The training matrices are atoms that were learned, and no rows of the training set.
    channels : ndarray of shape (n,) or None, default=None
        What each channel contributed to the margin, if that was computed; NaN where the query lacks it.
    """

    explanation: Explanation
    matrices: Array
    query: Array
    learned: bool
    channels: Floats | None = None

    def renumbered(self, rows: Indices) -> Reason:
        """Return the same with other indices of its training matrices: those of the rows they were taken from."""
        if self.learned:
            return self
        return replace(
            self, explanation=replace(self.explanation, atoms=rows[self.explanation.atoms])
        )


@dataclass(frozen=True)
class Predictions:
    """What a classifier says of matrices.

    Attributes
    ----------
    probabilities : ndarray of shape (m, n_classes)
        Of every matrix.
    classes : ndarray of shape (n_classes,)
        The labels.
    reasons : dict of int to Reason
        Why some of the matrices were classified as they were, by their rows.
    """

    probabilities: Array
    classes: Array
    reasons: dict[int, Reason] = field(default_factory=dict)

    @property
    def labels(self) -> Array:
        """The predicted labels."""
        return np.asarray(self.classes[self.probabilities.argmax(axis=1)])


def predict(classifier: Any, X: Array, y: Any = None, *, explained: int = 0) -> Predictions:
    """Return predictions, with reasons for ``explained`` of them; labels ``y`` may be known."""
    from spdatoms.scale.blocks import gathered, of_blocks

    parts = (part for _, part in of_blocks(classifier.predict_proba, X))
    probabilities = gathered(parts, len(X))
    found = Predictions(probabilities, classifier.classes_)
    wrong = np.zeros(len(X), bool) if y is None else ~_same(found.labels, y)
    rows = _most_instructive(probabilities, wrong, explained)
    return replace(found, reasons=_reasons(classifier, X, rows, explained))


def _reasons(classifier: Any, X: Array, rows: Indices, most: int) -> dict[int, Reason]:
    """Return the reasons of a fitted classifier for some rows of X; none if it keeps no training matrices.

    The first rows also have the channels that decided, if this does not take too long. ``most`` is how many of the
    `SHOWN` queries may be of these rows.
    """
    atoms = getattr(classifier, "atoms_", None)
    if atoms is None or not hasattr(classifier, "explain") or not len(rows):
        return {}
    # The ensemble names rows of its training set, of which it may keep a part.
    kept = getattr(classifier, "atom_indices_", np.arange(len(atoms)))
    learned = getattr(classifier, "n_atoms_per_class", None) is not None
    from spdatoms.scale.blocks import some_rows

    queries = some_rows(X, rows)
    found = classifier.explain(queries, n_atoms=_ATOMS)
    cost = len(atoms) * X.shape[-1] ** 3
    looked_at = most / SHOWN * min(_CHANNELS, _COST / cost)
    return {
        int(row): Reason(
            one,
            atoms[np.searchsorted(kept, one.atoms)],
            query,
            learned,
            _channels(one, query) if place < looked_at else None,
        )
        for place, (row, one, query) in enumerate(zip(rows, found, queries, strict=True))
    }


def _channels(explanation: Explanation, query: Array) -> Floats | None:
    """Return what each channel contributed to the margin; None if the explanation does not know it."""
    try:
        known = explanation.rough_channels().channels
    except ValueError:
        return None
    channels = np.full(len(query), np.nan)
    channels[~np.isnan(np.diagonal(query).real)] = known
    return channels


def _most_instructive(probabilities: Floats, wrong: Array, count: int) -> Indices:
    """Return this number of rows: those that are wrong, and then the others, the least sure first."""
    return np.lexsort((probabilities.max(axis=1), ~wrong))[:count]


def cross_validate(
    classifier: Any, labelled: Matrices, cv: int, seed: int, *, shown: bool, explained: bool = False
) -> Predictions:
    """Divide matrices into folds with equal shares of the classes, predict each by all others, and show it."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from spdatoms.scale.blocks import taken

    X, y = labelled.X, labelled.y
    classes, counts = check_folds(y, cv)
    held_out = Predictions(np.empty((len(X), len(classes))), classes)
    division = StratifiedKFold(cv, shuffle=True, random_state=seed)
    folds = list(division.split(np.zeros(len(X)), y))
    with progress_bar(cv, "cross-validation", shown) as advance:
        for others, fold in folds:
            fitted = clone(classifier).fit(taken(X, others), y[others])
            own = predict(
                fitted, taken(X, fold), y[fold], explained=SHOWN // cv if explained else 0
            )
            held_out.probabilities[fold] = own.probabilities
            held_out.reasons.update(
                (int(fold[i]), reason.renumbered(others)) for i, reason in own.reasons.items()
            )
            advance()
    right = held_out.labels == y
    by_fold = np.array([right[fold].mean() for _, fold in folds])
    rows = [
        ("accuracy", f"{by_fold.mean():.2%} ± {by_fold.std(ddof=1):.2%} (deviation of {cv} folds)"),
        ("folds", " ".join(f"{share:.1%}" for share in by_fold)),
        ("most frequent class alone", f"{counts.max() / len(y):.2%}"),
    ]
    show_table(rows, title="Cross-validation")
    record("folds", by_fold)
    show_accuracy(y, held_out.labels)
    if len(classes) <= _CONFUSED:
        table = [
            (label, *(int((held_out.labels[y == label] == other).sum()) for other in classes))
            for label in classes
        ]
        show_table(table, header=("class", *(f"as {other}" for other in classes)))
    return held_out


def check_folds(y: Array, cv: int) -> tuple[Array, Array]:
    """Return the classes and their sizes; refuse more folds than a class has matrices."""
    classes, counts = np.unique(y, return_counts=True)
    least = int(counts.min())
    if least < cv:
        advice = (
            f"Give --cv {least} or less" if least > 1 else "Leave it out, or label more matrices"
        )
        if 2 * len(classes) > len(y) and _are_numbers(classes):
            advice = "These labels look like numbers, not classes; SPDEnsembleRegressor in Python predicts numbers"
        raise ValueError(
            f"--cv {cv} needs {cv} matrices of every class or more, but the class {classes[counts.argmin()]} has "
            f"{least}. {advice}."
        )
    return classes, counts


def _are_numbers(labels: Array) -> bool:
    try:
        return bool(np.isfinite(labels.astype(float)).all())
    except ValueError:
        return False


def _same(labels: Array, others: Array) -> Array:
    """Return which labels are equal: as text, if one of both are names and the others numbers."""
    if labels.dtype.kind != others.dtype.kind:
        labels, others = labels.astype(str), others.astype(str)
    return np.asarray(labels == others)


def with_known_labels(asked: Matrices, classes: Array, *, own: bool) -> Matrices:
    """Warn of test labels that no training matrix has; a file's own labels are not used if all of them are such."""
    labels, names = [] if asked.y is None else [*map(str, asked.y)], [*map(str, classes)]
    strange = [label for label in labels if label not in names]
    if not strange:
        return asked
    used = not own or len(strange) < len(labels)
    known = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    say(
        f"warning: {len(strange)} of {counted(len(labels), 'test label')} occur in no training matrix, as "
        f"{strange[0]!r}; the training labels are {known}"
        + ("" if used else ". Only predictions are given")
    )
    return asked if used else replace(asked, y=None)


def show_accuracy(truth: Array, predicted: Array) -> None:
    """Print the accuracy, and that of every class unless there are many."""
    right = _same(truth, predicted)
    rows = [("all", len(right), f"{right.mean():.2%}")]
    classes = np.unique(truth)
    if len(classes) <= _LISTED:
        rows += [(c, int((truth == c).sum()), f"{right[truth == c].mean():.2%}") for c in classes]
    show_table(rows, header=("class", "matrices", "accuracy"))
    record("accuracy", float(right.mean()))
    record("accuracy_of_classes", {str(c): float(right[truth == c].mean()) for c in classes})


def write_predictions(out: Path, predictions: Predictions, of: Matrices) -> None:
    """Write labels as a map, labels and probabilities as arrays, or both with the true labels as a table."""
    from spdatoms.cli.formats.writing import write_arrays, write_table

    predicted, classes = predictions.labels, predictions.classes
    if out.name.lower().endswith(VOLUME_FILES):
        if classes.dtype.kind not in "iu":
            numbers = ", ".join(f"{number} {label}" for number, label in enumerate(classes, 1))
            say(f"note: the classes in {out} are {numbers}")
            predicted = classes.searchsorted(predicted) + 1
        write_arrays(out, {"predicted": predicted}, of.volume)
    elif out.suffix.lower() != ".csv":
        arrays = {"probabilities": predictions.probabilities, "classes": classes}
        write_arrays(out, {"predicted": predicted, **arrays})
    else:
        columns = {"predicted": predicted} | ({} if of.y is None else {"label": of.y})
        shares = zip(classes, predictions.probabilities.T, strict=True)
        write_table(out, columns | {f"p({c})": share for c, share in shares})
