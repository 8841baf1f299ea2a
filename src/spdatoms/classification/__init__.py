"""Classification of SPD matrices: by sparse codes, and by nearest neighbours."""

from spdatoms.classification.cross_validation import SPDSparseClassifierCV
from spdatoms.classification.explanation import Explanation
from spdatoms.classification.neighbors import SPDKNeighborsClassifier
from spdatoms.classification.sparse import SPDSparseClassifier

__all__ = ["Explanation", "SPDKNeighborsClassifier", "SPDSparseClassifier", "SPDSparseClassifierCV"]
