"""The automatic penalty α of the codes."""

from __future__ import annotations

#: α where the Gram matrix is positive definite, and where it had to be corrected.
_ALPHA, _ALPHA_CORRECTED = 0.01, 0.05


def automatic_alpha(corrected: bool) -> float:
    """Return the α that ``alpha="auto"`` stands for: 0.01, or 0.05 over a corrected Gram matrix.

    Kernel values lie between 0 and 1, so α has a scale of its own: an atom enters a code when its
    kernel value with what is left of the query exceeds α/2. Where the kernel was indefinite, the
    correction moves the values by more than 0.01, and codes should not follow such small details.
    """
    return _ALPHA_CORRECTED if corrected else _ALPHA


def choose_alpha(alpha: float | str, corrected: bool) -> float:
    """Return the α that was given, or the automatic one."""
    return automatic_alpha(corrected) if isinstance(alpha, str) else float(alpha)
