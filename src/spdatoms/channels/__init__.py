"""Which channels a matrix knows: missing ones are filled in, broken ones found, and ranks that others determine."""

from spdatoms.channels.broken import BrokenChannel, BrokenChannels
from spdatoms.channels.imputation import SPDImputer
from spdatoms.channels.rank import SPDRange

__all__ = ["BrokenChannel", "BrokenChannels", "SPDImputer", "SPDRange"]
