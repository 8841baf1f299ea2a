"""The base class of all estimators on stacks of SPD matrices, also for estimators of your own.

An estimator derives from `SPDEstimator`, checks its matrices with `SPDEstimator.check_training_matrices`
and `SPDEstimator.check_queries`, and marks each method that has one result per matrix with `per_matrix`.
If it can say what it would be for fewer channels, queries may lack some.
"""

from spdatoms._utils.estimator import checked_fit, estimator_call
from spdatoms.base.estimator import SPDEstimator, check_streamable
from spdatoms.base.incomplete_queries import by_channels, per_matrix
from spdatoms.base.labels import check_labels, check_targets

__all__ = [
    "SPDEstimator",
    "by_channels",
    "check_labels",
    "check_streamable",
    "check_targets",
    "checked_fit",
    "estimator_call",
    "per_matrix",
]
