"""Pictures of results: bars beside published values, curves over ranks and sizes.

They are displays like those of `spdatoms.plotting`.
"""

from spdatoms.paper.plotting._comparison import ComparisonDisplay
from spdatoms.paper.plotting._curves import AccuracyBySizeDisplay, CMCDisplay

__all__ = ["AccuracyBySizeDisplay", "CMCDisplay", "ComparisonDisplay"]
