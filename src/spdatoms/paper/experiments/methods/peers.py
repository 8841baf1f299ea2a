"""The classifiers of SPD matrices that are compared over many data sets, each in its usual best form."""

from __future__ import annotations

from sklearn.pipeline import make_pipeline

from spdatoms.classification import SPDEnsembleClassifier, SPDSparseClassifierCV
from spdatoms.kernels import SPDNystroem
from spdatoms.paper.experiments.method import Kind, Method, by_name
from spdatoms.paper.experiments.methods.classifiers import C_CHOSEN, classifiers, made, tangent
from spdatoms.paper.experiments.methods.kernel_machines import (
    KernelSVM,
    PrecomputedSVM,
    vector_classifier,
)
from spdatoms.paper.experiments.methods.tangent_vectors import FilteredMeans, TangentDiscriminant

#: The classifiers of this library besides RSR.
CHOSEN, ENSEMBLE, WEIGHTED = "SPDSparseClassifierCV", "SPDEnsembleClassifier", "ensemble, cv"


def compared_classifiers() -> dict[str, Method]:
    """Return the classifiers of this library and their peers, by name."""
    return by_name(*_COMPARED)


def _behind_landmarks(model: str, note: str) -> Method:
    """Return a classifier of the vectors of `SPDNystroem`."""
    return Method(
        f"SPDNystroem + {model}",
        lambda setting: make_pipeline(
            SPDNystroem(random_state=setting.seed, n_jobs=setting.n_jobs), vector_classifier(model)
        ),
        f"landmark vectors of the Stein kernel, {note}, {C_CHOSEN}",
    )


def _discriminant(name: str, pooled: bool, shrunk: str) -> Method:
    note = f"linear discriminant, Ledoit and Wolf's shrinkage of {shrunk}"
    return tangent(f"LDA {name}", note, lambda setting: TangentDiscriminant(pooled))


def _machine(name: str, metric: str, note: str, kind: Kind = "usual") -> Method:
    note = f"SVM with the kernel exp(−β·d), {note}; C and β chosen by cross-validation"
    return Method(f"kernel SVM {name}", made(KernelSVM, metric=metric), note, kind)


#: Those of the tables of the paper.
_PAPER = classifiers()

_COMPARED = (
    _PAPER["RSR-S"],
    _PAPER["RSR-J"],
    Method(
        CHOSEN,
        made(SPDSparseClassifierCV),
        "one kernel and its penalties, chosen by cross-validation",
    ),
    Method(
        ENSEMBLE,
        made(SPDEnsembleClassifier),
        "sparse codes and class means under several kernels, averaged",
    ),
    Method(
        WEIGHTED,
        made(SPDEnsembleClassifier, weights="cv"),
        "SPDEnsembleClassifier(weights='cv'), the same weighted by cross-validation",
    ),
    _PAPER["MDM"],
    Method(
        "FgMDM",
        made(FilteredMeans),
        "nearest mean after a projection on discriminant directions of the tangent space (pyRiemann)",
        "external",
    ),
    _PAPER["tangent space + LR"],
    tangent("LinearSVC", f"linear SVM, {C_CHOSEN}"),
    tangent(
        "LDA",
        "linear discriminant, scikit-learn's shrinkage='auto' (of the covariance of each class)",
    ),
    _discriminant("LW", False, "the covariance of each class"),
    _discriminant("pooled", True, "one covariance of all classes"),
    tangent("SVC", f"SVM with a Gaussian kernel of the usual width, {C_CHOSEN}"),
    _machine("Stein", "stein", "Stein divergence"),
    _machine("logEuc", "logeuclid", "log-Euclidean"),
    _machine("tangent", "tangent", "squared distances of tangent vectors (pyRiemann)", "external"),
    _PAPER["1-NN AIRM"],
    _PAPER["1-NN Stein"],
    _behind_landmarks("LinearSVC", "linear SVM"),
    _behind_landmarks("LR", "logistic regression"),
    Method(
        "DivergenceKernel + SVC",
        made(PrecomputedSVM),
        f"SVC(kernel='precomputed') on the Stein kernel with the automatic β, {C_CHOSEN}",
    ),
)
