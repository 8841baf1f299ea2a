"""Which channels a matrix knows: the common range of singular matrices, and broken channels."""

from spdatoms.channels.broken import BrokenChannel, BrokenChannels
from spdatoms.channels.rank import SPDRange

__all__ = ["BrokenChannel", "BrokenChannels", "SPDRange"]
