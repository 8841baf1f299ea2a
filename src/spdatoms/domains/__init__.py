"""Subjects, sessions, sites: matrices of several domains, brought to what they have in common."""

from spdatoms.domains.recentre import SPDRecentre

__all__ = ["SPDRecentre"]
