"""Classification of SPD matrices: by sparse codes, nearest neighbours, and class means."""

from spdatoms.classification.audit import SuspectLabels, suspect_labels
from spdatoms.classification.cross_validation import SPDSparseClassifierCV
from spdatoms.classification.ensemble import SPDEnsembleClassifier
from spdatoms.classification.explanation import Explanation, Explanations
from spdatoms.classification.nearest_mean import MinimumDistanceToMean
from spdatoms.classification.neighbors import SPDKNeighborsClassifier
from spdatoms.classification.relevance import ChannelRelevance
from spdatoms.classification.sparse import SPDSparseClassifier

__all__ = [
    "ChannelRelevance",
    "Explanation",
    "Explanations",
    "MinimumDistanceToMean",
    "SPDEnsembleClassifier",
    "SPDKNeighborsClassifier",
    "SPDSparseClassifier",
    "SPDSparseClassifierCV",
    "SuspectLabels",
    "suspect_labels",
]
