"""Which channels a matrix knows: the common range of singular matrices, and broken channels."""

from spdatoms.channels.rank import SPDRange

__all__ = ["SPDRange"]
