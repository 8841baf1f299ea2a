"""The classifiers of SPD matrices that are compared over many data sets, each in its usual best form."""

from __future__ import annotations

from spdatoms.experiments.experiment import Method
from spdatoms.experiments.methods.classifiers import made

#: The classifier that chooses its parameters by cross-validation.
CHOSEN = "SPDSparseClassifierCV"


def compared_classifiers() -> dict[str, Method]:
    """Return the classifiers of this library and their peers, by name."""
    return {method.name: method for method in _COMPARED}


_COMPARED = (
    Method(
        "RSR-S",
        made("classification", "SPDSparseClassifier", metric="stein"),
        note="the paper's sparse representation, Stein kernel",
    ),
    Method(
        "RSR-J",
        made("classification", "SPDSparseClassifier", metric="jeffrey"),
        note="the paper's sparse representation, Jeffrey kernel",
    ),
    Method(
        "SPDSparseClassifier",
        made("classification", "SPDSparseClassifier"),
        note="with its defaults",
    ),
    Method(
        CHOSEN,
        made("classification", "SPDSparseClassifierCV"),
        note="with its defaults: parameters chosen by cross-validation",
    ),
    Method(
        "MDM", made("baselines", "MinimumDistanceToMean"), note="nearest mean, affine-invariant"
    ),
)
