"""min_y  yᵀKy − 2 yᵀk + α‖y‖₁  for many k on one K (feature_sign.cpp), and what is reported of each y."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spdatoms.native import kernel

SOLVED = -1  # what `code_block` returns when no query met an indefinite block

# Columns of a report (m, REPORT), in the order of feature_sign.hpp.
#: The largest violation of optimality in h = k − Ky.
VIOLATION = 0
#: yᵀk, yᵀKy and ‖y‖₁.
LINEAR, QUADRATIC, NORM = 1, 2, 3
#: The largest h, |h| unless codes are positive.
PEAK = 4
#: The number of rounds.
ROUNDS = 5
#: The largest violation of optimality in h_j/√K_jj.
EXCESS = 6
#: The number of entries of y that are not zero.
NONZEROS = 7
REPORT = 8

_code_rows = kernel("code_rows", "DDqDDqqDqddIqIqDD")


class AtomScales(NamedTuple):
    """1/√K_jj of every atom; whether all are the same; and limits of squared pivots, as multiples of K_jj.

    A pivot under the first of the limits is rounding error, one under the second is negative.
    """

    inverse: NDArray[np.float64]
    uniform: bool
    limits: tuple[float, float]


def code_block(
    gram: NDArray[np.float64],
    cross: NDArray[np.float64],
    tau: NDArray[np.float64],
    tolerance: NDArray[np.float64],
    positive: bool,
    max_rounds: int,
    scales: AtomScales,
    excluded: NDArray[np.int64],
    warm: bool,
    codes: NDArray[np.float64],
    report: NDArray[np.float64],
    rows: NDArray[np.int64] | None = None,
) -> int:
    """Code rows of `cross`; return SOLVED, or the number of the one for which K_AA turned out indefinite.

    Parameters
    ----------
    gram : (N, N), cross : (m, N)
        K and the k of each query.
    tau, tolerance : (m,)
        α/2, and the error allowed in h_j/√K_jj.
    positive : bool
        Whether y ≥ 0 is asked for.
    max_rounds : int
        Rounds after which a query is given up.
    scales : AtomScales
        The scales of the atoms.
    excluded : (m,)
        An atom that the query must not use, −1 for none.
    warm : bool
        Whether `codes` holds codes to start from.
    codes : (m, N)
        Overwritten by the solutions.
    report : (m, REPORT)
        Overwritten.
    rows : (q,)
        Which rows are coded, one after the other; None for all. What a query needs of K may still be in the cache
        if the one before is like it.
    """
    order = np.arange(len(cross), dtype=np.int64) if rows is None else rows
    return _code_rows(
        gram, cross, len(gram), tau, tolerance, positive, max_rounds, scales.inverse, scales.uniform, *scales.limits,
        excluded, warm, order, len(order), codes, report,
    )  # fmt: skip
