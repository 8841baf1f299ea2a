"""The classifiers of SPD matrices that are compared over many data sets, each in its usual best form."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import make_pipeline

from spdatoms.classification import SPDEnsembleClassifier, SPDSparseClassifierCV
from spdatoms.kernels import SPDNystroem
from spdatoms.paper.experiments.method import Method, Setting, by_name
from spdatoms.paper.methods.chosen_parameters import KernelSVM, PrecomputedSVM, vector_classifier
from spdatoms.paper.methods.classifiers import classifiers, made, noted, tangent
from spdatoms.paper.methods.tangent_vectors import FilteredMeans, TangentDiscriminant

#: The classifiers of this library besides RSR.
CHOSEN, ENSEMBLE, WEIGHTED = "SPDSparseClassifierCV", "SPDEnsembleClassifier", "ensemble, cv"


def compared_classifiers() -> dict[str, Method]:
    """Return the classifiers of this library and their peers, by name."""
    return by_name(*_COMPARED)


def _behind_landmarks(model: str) -> Method:
    """Return a classifier of the vectors of `SPDNystroem`."""

    def make(setting: Setting) -> Any:
        landmarks = SPDNystroem(random_state=setting.seed, n_jobs=setting.n_jobs)
        return make_pipeline(landmarks, vector_classifier(model))

    return noted(f"SPDNystroem + {model}", make)


#: Those of the tables of the paper.
_PAPER = classifiers()

_COMPARED = (
    _PAPER["RSR-S"],
    _PAPER["RSR-J"],
    noted(CHOSEN, made(SPDSparseClassifierCV)),
    noted(ENSEMBLE, made(SPDEnsembleClassifier)),
    noted(WEIGHTED, made(SPDEnsembleClassifier, weights="cv")),
    _PAPER["MDM"],
    noted("FgMDM", made(FilteredMeans), "external"),
    _PAPER["tangent space + LR"],
    tangent("LinearSVC"),
    tangent("LDA"),
    tangent("LDA LW", lambda setting: TangentDiscriminant(pooled=False)),
    tangent("LDA pooled", lambda setting: TangentDiscriminant(pooled=True)),
    tangent("SVC"),
    noted("kernel SVM Stein", made(KernelSVM, metric="stein")),
    noted("kernel SVM logEuc", made(KernelSVM, metric="logeuclid")),
    noted("kernel SVM tangent", made(KernelSVM, metric="tangent"), "external"),
    _PAPER["1-NN AIRM"],
    _PAPER["1-NN Stein"],
    _behind_landmarks("LinearSVC"),
    _behind_landmarks("LR"),
    noted("DivergenceKernel + SVC", made(PrecomputedSVM)),
)
