"""How well the atoms of each class represent a query: 2 y_cᵀk − y_cᵀK y_c, over the non-zeros of its code alone."""

from __future__ import annotations

import numpy as np
from numba import types

from spdatoms._compiled.scan import LANES, indices_above
from spdatoms._compiled.translate import reordered, translated


def class_residuals(
    codes: np.ndarray,
    gram: np.ndarray,
    cross: np.ndarray,
    atom_classes: np.ndarray,
    most: int,
    scores: np.ndarray,
) -> np.ndarray:
    """Write 2 y_cᵀk − y_cᵀK y_c of every row y of ``codes`` (m, N) to ``scores`` (m, classes), y_c being y within c.

    Return which rows have more than ``most`` non-zeros, and are left out.
    """
    integers = np.empty((2, len(gram) + 1), np.int64)
    ends = np.empty(scores.shape[1] + 1, np.int64)
    many = np.zeros(len(codes), np.int64)
    _class_residuals(
        codes, gram, cross, atom_classes, most, integers, ends, np.empty(len(gram)), scores, many
    )
    return many > 0


def _nonzeros(code, found):
    """Write the places of non-zeros to `found`; return how many there are."""
    count = indices_above(code, -1.0, 0.0, found)
    for j in range(code.shape[0] - code.shape[0] % LANES, code.shape[0]):
        found[count] = j
        count += code[j] != 0.0
    return count


def _sort_by_class(found, count, atom_classes, ends, atoms):
    """Write the atoms found to `atoms`, class by class: those of class c from ``ends[c]`` to ``ends[c + 1]``."""
    for c in range(ends.shape[0]):
        ends[c] = 0
    for i in range(count):
        ends[atom_classes[found[i]] + 1] += 1
    for c in range(1, ends.shape[0]):
        ends[c] += ends[c - 1]
    for i in range(count - 1, -1, -1):
        # From the back: the end of a class moves to its beginning.
        c = atom_classes[found[i]] + 1
        ends[c] -= 1
        atoms[ends[c]] = found[i]
    for c in range(1, ends.shape[0]):
        ends[c - 1] = ends[c]
    ends[ends.shape[0] - 1] = count


@translated(types.void)
@reordered
def _class_residuals(codes, gram, cross, atom_classes, most, integers, ends, values, scores, many):
    found, atoms = integers[0], integers[1]
    for query in range(codes.shape[0]):
        code, correlation = codes[query], cross[query]
        count = _nonzeros(code, found)
        if count > most:
            many[query] = 1
            continue
        _sort_by_class(found, count, atom_classes, ends, atoms)
        for i in range(count):
            values[i] = code[atoms[i]]
        for c in range(scores.shape[1]):
            score = 0.0
            for a in range(ends[c], ends[c + 1]):
                row, rest = gram[atoms[a]], 2.0 * correlation[atoms[a]]
                for b in range(ends[c], ends[c + 1]):
                    rest -= row[atoms[b]] * values[b]
                score += values[a] * rest
            scores[query, c] = score
