"""Subjects, sessions, sites: matrices of several domains, brought to what they have in common."""

from spdatoms.domains.align import SPDAlign
from spdatoms.domains.recentre import SPDRecentre

__all__ = ["SPDAlign", "SPDRecentre"]
