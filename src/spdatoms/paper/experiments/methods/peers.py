"""The classifiers of SPD matrices that are compared over many data sets, each in its usual best form."""

from __future__ import annotations

from typing import Any

from spdatoms.paper.experiments.experiment import Method, Setting
from spdatoms.paper.experiments.methods.classifiers import (
    C_CHOSEN,
    Make,
    classifiers,
    made,
    tangent,
)

#: The classifiers of this library besides RSR.
CHOSEN, ENSEMBLE, WEIGHTED = "SPDSparseClassifierCV", "SPDEnsembleClassifier", "ensemble, cv"


def compared_classifiers() -> dict[str, Method]:
    """Return the classifiers of this library and their peers, by name."""
    return {method.name: method for method in _COMPARED}


def _behind_landmarks(model: str) -> Make:
    """Return what makes a classifier of the vectors of `SPDNystroem`."""

    def make(setting: Setting) -> Any:
        from sklearn.pipeline import make_pipeline

        from spdatoms.kernels import SPDNystroem
        from spdatoms.paper.experiments.methods.kernel_machines import vector_classifier

        landmarks = SPDNystroem(random_state=setting.seed, n_jobs=setting.n_jobs)
        return make_pipeline(landmarks, vector_classifier(model))

    return make


def _discriminant(pooled: bool) -> Make:
    def make(setting: Setting) -> Any:
        from spdatoms.paper.experiments.methods.tangent_vectors import TangentDiscriminant

        return TangentDiscriminant(pooled)

    return make


def _machine(name: str, metric: str, note: str, kind: Any = "usual") -> Method:
    make = made("paper.experiments.methods.kernel_machines", "KernelSVM", metric=metric)
    note = f"SVM with the kernel exp(−β·d), {note}; C and β chosen by cross-validation"
    return Method(f"kernel SVM {name}", make, note=note, kind=kind)


#: Those of the tables of the paper.
_PAPER = classifiers()

_COMPARED = (
    _PAPER["RSR-S"],
    _PAPER["RSR-J"],
    Method(
        CHOSEN,
        made("classification", "SPDSparseClassifierCV"),
        note="one kernel and its penalties, chosen by cross-validation",
    ),
    Method(
        ENSEMBLE,
        made("classification", "SPDEnsembleClassifier"),
        note="sparse codes and class means under several kernels, averaged",
    ),
    Method(
        WEIGHTED,
        made("classification", "SPDEnsembleClassifier", weights="cv"),
        note="SPDEnsembleClassifier(weights='cv'), the same weighted by cross-validation",
    ),
    _PAPER["MDM"],
    Method(
        "FgMDM",
        made("paper.experiments.methods.tangent_vectors", "FilteredMeans"),
        note="nearest mean after a projection on discriminant directions of the tangent space (pyRiemann)",
        kind="external",
    ),
    _PAPER["tangent space + LR"],
    tangent("LinearSVC", f"linear SVM, {C_CHOSEN}"),
    tangent(
        "LDA",
        "linear discriminant, scikit-learn's shrinkage='auto' (of the covariance of each class)",
    ),
    tangent(
        "LDA LW",
        "linear discriminant, Ledoit and Wolf's shrinkage of the covariance of each class",
        _discriminant(pooled=False),
    ),
    tangent(
        "LDA pooled",
        "linear discriminant, Ledoit and Wolf's shrinkage of one covariance of all classes",
        _discriminant(pooled=True),
    ),
    tangent("SVC", f"SVM with a Gaussian kernel of the usual width, {C_CHOSEN}"),
    _machine("Stein", "stein", "Stein divergence"),
    _machine("logEuc", "logeuclid", "log-Euclidean"),
    _machine("tangent", "tangent", "squared distances of tangent vectors (pyRiemann)", "external"),
    _PAPER["1-NN AIRM"],
    _PAPER["1-NN Stein"],
    Method(
        "SPDNystroem + LinearSVC",
        _behind_landmarks("LinearSVC"),
        note=f"landmark vectors of the Stein kernel, linear SVM, {C_CHOSEN}",
    ),
    Method(
        "SPDNystroem + LR",
        _behind_landmarks("LR"),
        note=f"landmark vectors of the Stein kernel, logistic regression, {C_CHOSEN}",
    ),
    Method(
        "DivergenceKernel + SVC",
        made("paper.experiments.methods.kernel_machines", "PrecomputedSVM"),
        note=f"SVC(kernel='precomputed') on the Stein kernel with the automatic β, {C_CHOSEN}",
    ),
)
