"""Models of earlier versions, in the words of this one."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

State: TypeAlias = tuple[str, dict[str, Any], dict[str, Any]]

#: Parameters of `SPDSparseClassifierCV` that have another name now.
_RENAMED = {"metric": "metrics", "rule": "rules", "whitening": "whitenings"}
#: What `SPDEnsembleClassifier` has of the parameters of classifiers that averaged kernels.
_OF_ENSEMBLE = ("cv", "class_weight", "n_jobs", "verbose")
#: Classes whose objects are None now: sums over the past matrices of a stream, without which learning goes on.
DROPPED = ("Memory", "Statistics")

#: Attributes that classes do not keep any more.
_GONE = {
    "DivergenceKernel": ("min_eigenvalue_", "max_eigenvalue_"),  # its correction has them
    "KMeansSparseCoder": ("dictionary", "ridge", "normalise"),  # they are what they always were
}


def of_today(name: str, parameters: dict[str, Any], attributes: dict[str, Any]) -> State:
    """Return the class, parameters and attributes that an object of a file has today."""
    if name in ("SPDSparseClassifier", "SPDSparseClassifierCV") and "average_" in attributes:
        return _ensemble(name, parameters, attributes)
    if name.endswith("Covariance") and "ridge" in parameters:  # a descriptor
        renamed = {("shrinkage" if k == "ridge" else k): v for k, v in parameters.items()}
        return name, renamed, attributes
    if name in _GONE:
        return name, parameters, {k: v for k, v in attributes.items() if k not in _GONE[name]}
    if name == "GaborSparseClassifier" and "pooling" not in parameters:
        return name, parameters | {"pooling": False}, attributes
    if name == "SPDSparseClassifier" and _is_automatic(parameters.get("metric")):
        return name, parameters | {"metric": "stein"}, attributes
    if name == "SPDSparseClassifierCV" and "metrics" not in parameters:
        parameters = {_RENAMED.get(key, key): value for key, value in parameters.items()}
        if not isinstance(
            parameters.get("rules", ""), str
        ):  # that of class means is the ensemble's now
            parameters["rules"] = tuple(rule for rule in parameters["rules"] if rule != "mean")
        if "classifier_" in attributes:
            chosen = {
                "best_estimator_": attributes["classifier_"],
                "_usual": None,
                "_sharpness": None,
            }
            attributes = attributes | chosen
            del attributes["classifier_"]
    return name, parameters, attributes


def _is_automatic(metric: Any) -> bool:
    return isinstance(metric, str) and metric == "auto"


def _ensemble(name: str, parameters: dict[str, Any], attributes: dict[str, Any]) -> State:
    """Return an average of kernels as what it is: an ensemble."""
    kept = {key: parameters[key] for key in _OF_ENSEMBLE if key in parameters}
    weights = "cv" if name.endswith("CV") else "uniform"
    metrics = getattr(attributes.get("_references"), "metrics", ("stein", "logeuclid"))
    attributes = dict(attributes)
    labels = getattr(attributes["average_"], "labels", None)
    if isinstance(labels, np.ndarray):
        attributes |= {"_atom_classes": labels, "atom_indices_": np.arange(len(labels))}
    for gone in ("best_params_", "best_index_", "best_score_", "beta_", "alpha_"):
        attributes.pop(gone, None)
    return "SPDEnsembleClassifier", {"weights": weights, "metrics": metrics} | kept, attributes
