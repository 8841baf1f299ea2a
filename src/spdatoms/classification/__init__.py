"""Classification of SPD matrices: by sparse codes, nearest neighbours, and class means.

The names are imported when they are first used: each classifier brings its own part of scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spdatoms._utils.lazy_imports import lazy_names

if TYPE_CHECKING:
    from spdatoms.classification.audit import SuspectLabels as SuspectLabels
    from spdatoms.classification.audit import suspect_labels as suspect_labels
    from spdatoms.classification.cross_validation import (
        SPDSparseClassifierCV as SPDSparseClassifierCV,
    )
    from spdatoms.classification.ensemble import SPDEnsembleClassifier as SPDEnsembleClassifier
    from spdatoms.classification.explanation import Explanation as Explanation
    from spdatoms.classification.explanation import Explanations as Explanations
    from spdatoms.classification.nearest_mean import (
        MinimumDistanceToMean as MinimumDistanceToMean,
    )
    from spdatoms.classification.neighbors import (
        SPDKNeighborsClassifier as SPDKNeighborsClassifier,
    )
    from spdatoms.classification.relevance import ChannelRelevance as ChannelRelevance
    from spdatoms.classification.sparse import SPDSparseClassifier as SPDSparseClassifier

_HOME = {
    "ChannelRelevance": "relevance",
    "Explanation": "explanation",
    "Explanations": "explanation",
    "MinimumDistanceToMean": "nearest_mean",
    "SPDEnsembleClassifier": "ensemble",
    "SPDKNeighborsClassifier": "neighbors",
    "SPDSparseClassifier": "sparse",
    "SPDSparseClassifierCV": "cross_validation",
    "SuspectLabels": "audit",
    "suspect_labels": "audit",
}

__all__ = [*_HOME]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
