"""Which channels a matrix knows: those that are missing are filled in."""

from spdatoms.channels.imputation import SPDImputer

__all__ = ["SPDImputer"]
