"""What fitted objects hold, by attribute. Names of attributes are part of the format of model files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spdatoms._utils import parameters as allow
from spdatoms._utils.parameters import shown
from spdatoms.channels import BrokenChannels
from spdatoms.classification import SPDSparseClassifier
from spdatoms.classification.average import KernelAverage
from spdatoms.classification.cells import Cell
from spdatoms.classification.references import References
from spdatoms.classification.scores import MEAN, RULES
from spdatoms.dictionary import SPDDictionaryLearning
from spdatoms.dictionary.features import Statistics
from spdatoms.dictionary.online import PastSums, Summary
from spdatoms.dictionary.problem import LandmarkProblem, Problem
from spdatoms.divergences import Divergence, PreparedSet
from spdatoms.divergences.registry import METRIC
from spdatoms.kernels import Kernel, landmarks
from spdatoms.kernels.correction import CORRECTION, CorrectedGram
from spdatoms.kernels.landmarks import LandmarkKernel, LandmarkSpace
from spdatoms.kernels.whitening import ClassicalScaling, Scatter, Whitening
from spdatoms.regression.average import KINDS, TargetAverage, TargetCell
from spdatoms.storage._parts import (
    Classes,
    Each,
    Gram,
    Held,
    Indices,
    Labels,
    Matrices,
    Maybe,
    Numbers,
    Size,
    Sizes,
    Targets,
    Value,
)


class Part:
    """An object of one of some classes; ``axes`` are its letters, and those of its owner for the same."""

    def __init__(self, *classes: type, **axes: str) -> None:
        self.classes, self.axes = classes, axes

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse objects of other classes, and those of other sizes."""
        if not isinstance(value, self.classes):
            words = " or ".join(cls.__name__ for cls in self.classes)
            raise ValueError(f"{name} must be an object of {words}, got {shown(value)}")
        held, inner = held_by(type(value)), sizes.of_part(self.axes)
        for key, part in vars(value).items():
            if key in held:
                held[key].check(f"{name}.{key}", part, inner, False)


class LatePart(Part):
    """An object of a class in a module that few models need and that takes long to import."""

    def __init__(self, module: str, class_name: str) -> None:
        super().__init__()
        self.module, self.class_name = module, class_name

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse objects of other classes, and those of other sizes."""
        self.classes = (getattr(import_module(self.module), self.class_name),)
        super().check(name, value, sizes, own)


_TINY = float(np.finfo(np.float64).tiny)
#: Features φ(X) have about unit length; products of several are finite within this.
_FEATURE = 1e50


def _number(limits: allow.Allowed) -> Value:
    """Return: such a number, but no integer that compiled code cannot hold."""

    def test(value: Any) -> bool:
        return limits.test(value) and (isinstance(value, float) or abs(int(value)) < 2**63)

    return Value(allow.Allowed(limits.words, test))


_ANY = _number(allow.real())
_POSITIVE = _number(allow.real(above=0))
_PENALTY = _number(allow.real(0))
_BOOLEAN = Value(allow.BOOLEAN)
_COUNT = Value(allow.integer(0))
_DICT = Value(allow.Allowed(("a dict",), lambda value: isinstance(value, dict)))

#: Attributes that are the same wherever they occur.
_COMMON: dict[str, Held] = {
    "n_features_in_": Size("n"),
    "classes_": Labels("C"),
    "atoms_": Maybe(Matrices("N")),
    "atom_labels_": Labels("N"),
    "atom_weights_": Maybe(Numbers("N", least=_TINY)),
    "atom_indices_": Numbers("N", "iu", least=0),
    "_atom_classes": Classes("N"),
    "_sides": Maybe(Numbers("folds matrices", "i")),
    "_labels": Classes("N"),
    "targets_": Targets("N"),
    "_weights": Maybe(Numbers("N", least=_TINY)),
    "_dictionary": Matrices("N"),
    "_matrices": Matrices("N"),
    "_atoms": Part(PreparedSet),
    "_prepared": Part(PreparedSet),
    "cluster_centers_": Matrices("N"),
    "donors_": Matrices("N", double=True),
    "known_": Numbers("N n", "b"),
    "means_": Matrices("C"),
    "landmarks_": Matrices("L"),
    "log_atoms_": Numbers("N n n"),
    "gram_": Gram("N"),
    "_gram": Gram("N"),
    "features_": Numbers("N r", most=_FEATURE),
    "coefficients_": Numbers("N r"),
    "eigenvalues_": Numbers("r"),
    "discarded_": Numbers("discarded"),
    "landmark_indices_": Maybe(Indices("L")),
    "labels_": Indices("samples", "clusters"),
    "_vectors": Numbers("N h"),
    "objective_": Numbers("iterations"),
    "batch_losses_": Numbers("batches"),
    "inertia_history_": Numbers("steps"),
    "textons_": Numbers("t pixels"),
    "histograms_": Numbers("N t"),
    "kernel_": Part(Kernel),
    "average_": Part(KernelAverage),
    "left_out_rows_": Numbers("left", "iu", least=0),
    "left_out_errors_": Targets("left"),
    "_references": Part(References),
    "_correction": Part(CorrectedGram),
    "_whitening": Part(Whitening, L="N"),
    "_space": Part(LandmarkSpace),
    "space": Part(LandmarkSpace),
    "_problem": Part(Problem, LandmarkProblem),
    "_memory": Maybe(Part(Summary, PastSums, Statistics)),
    "detector_": Part(BrokenChannels),
    "learner_": Part(SPDDictionaryLearning),
    "classifier_": Part(BaseEstimator),
    "best_estimator_": Part(SPDSparseClassifier),
    "pca_": LatePart("sklearn.decomposition", "PCA"),
    "alpha_": _PENALTY,
    "ridge_": _PENALTY,
    "beta_": _POSITIVE,
    "scale_": _POSITIVE,
    "_sharpness": Maybe(_POSITIVE),
    "_usual": Maybe(_PENALTY),
    "left_out_probabilities_": Numbers("N C", least=0.0),
    "_log_scale": _ANY,
    "corrected_": _BOOLEAN,
    "n_iter_": _COUNT,
    "inertia_": _ANY,
    "best_index_": _COUNT,
    "best_score_": _ANY,
    "_dtype": Value(allow.Allowed(("a type",), lambda value: isinstance(value, np.dtype))),
    "image_shape_": Each(_COUNT, "dimensions"),
    "cv_results_": _DICT,
    "best_params_": _DICT,
}
_LOG_VECTORS: dict[str, Held] = {"_atoms": Numbers("N h")}
_RANK_ONE: dict[str, Held] = {"atoms_": Numbers("N n n")}
_IMAGES: dict[str, Held] = {"atoms_": Numbers("N k")}
#: Attributes of some classes, and the arguments of those that are not estimators.
_OF_CLASS: dict[str, dict[str, Held]] = {
    "LogEuclideanKSVD": _LOG_VECTORS,
    "FrobeniusSparseCoder": _LOG_VECTORS,
    "FrobeniusDictionaryLearning": _LOG_VECTORS | _RANK_ONE,
    "TensorDictionaryLearning": _RANK_ONE,
    "KMeansSparseCoder": {
        "ridge": _PENALTY,
        "dictionary": Value(allow.NONE),
        "normalise": _BOOLEAN,
    },
    "PixelSparseClassifier": _IMAGES,
    "GaborSparseClassifier": _IMAGES,
    "BrokenChannels": {"shift_": Numbers("two three"), "threshold_": _POSITIVE},
    "SPDRange": {
        "rank_": Size("r"),
        "basis_": Numbers("n r", "fc"),
        "spectrum_": Numbers("n"),
        "_null": Numbers("n v", "fc"),
        "_outside": _PENALTY,
    },
    "SPDImputer": {"mean_": Numbers("n n", "fc")},
    "SPDEnsembleRegressor": {"average_": Part(TargetAverage, q="targets")},
    "Cell": {
        "metric": _COUNT,
        "shrinkage": Value(allow.real(above=0, most=1)),
        "factor": _POSITIVE,
        "alpha": _PENALTY,
        "ridge": _PENALTY,
        "rule": Value(allow.choice(*RULES, MEAN)),
        "beta": Maybe(_POSITIVE),
        "correction": Value(CORRECTION),
    },
    "KernelAverage": {
        "divergences": Each(Numbers("N N"), "metrics"),
        "labels": Classes("N"),
        "dimension": Value(allow.integer(1)),
        "cells": Each(Part(Cell), "p"),
        "medians": Numbers("p", least=_TINY),
        "usual": Numbers("p", least=0.0),
        "gains": Numbers("p"),
        "weights": Maybe(Numbers("N", least=_TINY)),
    },
    "TargetCell": {
        "metric": _COUNT,
        "kind": Value(allow.choice(*KINDS)),
        "factor": _POSITIVE,
        "beta": _POSITIVE,
    },
    "TargetAverage": {
        "divergences": Each(Numbers("N N"), "metrics"),
        "targets": Numbers("N q"),
        "cells": Each(Part(TargetCell), "p"),
        "ridges": Numbers("p q", least=0.0),
        "shares": Numbers("p q", least=0.0),
        "duals": Numbers("p N q"),
        "offsets": Numbers("q"),
        "weights": Maybe(Numbers("N", least=_TINY)),
    },
    "References": {
        "metrics": Each(Value(METRIC), "metrics"),
        "matrices": Matrices("N", double=True),
        "factor": Numbers("n n", "fc"),
    },
    "CorrectedGram": {
        "gram": Gram("N"),
        "min_eigenvalue": Maybe(_ANY),
        "max_eigenvalue": Maybe(_ANY),
        "indefinite": _BOOLEAN,
        "projection": Maybe(Numbers("N N")),
        "basis": Maybe(Numbers("N q")),
        "identity_share": _ANY,
        "basis_share": _ANY,
    },
    "LandmarkSpace": {
        "divergence": Part(Divergence),
        "beta": _POSITIVE,
        "landmarks": Matrices("L", double=True),
        "roots": Numbers("L r", most=_FEATURE),
        "eigenvalues": Numbers("r"),
        "discarded": Numbers("discarded"),
        "whitening": Maybe(Part(Whitening)),
    },
    "ClassicalScaling": {"divergences": Numbers("L L"), "coordinates": Numbers("L q")},
    "Scatter": {"squares": Gram("q", of_kernel=False), "freedom": _COUNT},
    "Whitening": {
        "scaling": Part(ClassicalScaling),
        "scatter": Part(Scatter),
        "dimension": Value(allow.integer(1)),
        "shrinkage": Value(allow.real(above=0, most=1)),
    },
    "Problem": {
        "divergence": Part(Divergence),
        "beta": _POSITIVE,
        "alpha": _PENALTY,
        "ridge": _PENALTY,
        "margin": Maybe(_ANY),
        "positive": _BOOLEAN,
    },
    "LandmarkProblem": {
        "space": Part(LandmarkSpace),
        "alpha": _PENALTY,
        "positive": _BOOLEAN,
    },
    "PastSums": {"sums": Numbers("N sums"), "products": Numbers("N N"), "weight": _POSITIVE},
    "Summary": {
        "centres": Matrices("c"),
        "weights": Numbers("c", least=_TINY),
        "count": _COUNT,
        "started": _COUNT,
    },
    "Statistics": {"code_gram": Numbers("N N"), "products": Numbers("N r")},
    "Hermitian": {"divergence": Part(Divergence)},
}
_LINEAR: dict[str, Held] = {
    "n_features_in_": Size("f"),
    "classes_": Labels("C"),
    "coef_": Numbers("rows f"),
    "intercept_": Numbers("rows"),
}
#: Attributes of estimators of scikit-learn.
_OF_SCIKIT_LEARN: dict[str, dict[str, Held]] = {
    "LogisticRegression": _LINEAR,
    "LinearSVC": _LINEAR,
    "LinearDiscriminantAnalysis": {
        **_LINEAR,
        "means_": Numbers("C f"),
        "priors_": Numbers("C"),
        "scalings_": Numbers("f k"),
        "xbar_": Numbers("f"),
    },
    "PCA": {
        "n_features_in_": Size("f"),
        "n_components_": Size("k"),
        "components_": Numbers("k f"),
        "mean_": Numbers("f"),
        "explained_variance_": Numbers("k"),
        "singular_values_": Numbers("k"),
    },
    "StandardScaler": {
        "n_features_in_": Size("f"),
        "mean_": Maybe(Numbers("f")),
        "var_": Maybe(Numbers("f")),
        "scale_": Maybe(Numbers("f")),
    },
}
#: What prediction needs; where a class may be fitted in several ways, one of them.
_KERNEL = "n_features_in_ corrected_"
_EXPONENTIAL = f"{_KERNEL} _dictionary _atoms beta_ gram_"
_CODER = "n_features_in_ atoms_ kernel_ alpha_"
_CLASSIFIER = "n_features_in_ classes_ atoms_ atom_labels_"
_OWN_ATOMS = "n_features_in_ atoms_"
_LABELLED = f"{_OWN_ATOMS} classes_ _atom_classes"
_IMAGE_CLASSIFIER = "classes_ _atom_classes image_shape_ alpha_ pca_ atoms_ _gram"
_NEEDED: dict[str, tuple[str, ...]] = {
    "DivergenceKernel": (f"{_EXPONENTIAL} _correction",),
    "RidgeKernel": (_EXPONENTIAL,),
    "WhitenedKernel": (f"{_EXPONENTIAL} _whitening",),
    "LandmarkKernel": (f"{_KERNEL} features_ beta_ gram_",),  # up to `LARGEST_GRAM` atoms
    "LogCosineKernel": (f"{_KERNEL} _vectors _log_scale gram_",),
    "SPDSparseCoder": (_CODER,),
    "LogEuclideanSparseCoder": (_CODER,),
    "KMeansSparseCoder": (_CODER,),
    "SPDDictionaryLearning": (f"{_CODER} beta_ ridge_ _problem _memory batch_losses_",),
    "SPDSparseClassifier": (f"{_CLASSIFIER} _atom_classes kernel_ alpha_",),
    "LogEuclideanSparseClassifier": (f"{_CLASSIFIER} _atom_classes kernel_ alpha_",),
    "SPDSparseClassifierCV": ("n_features_in_ classes_ best_estimator_ _usual _sharpness",),
    "SPDEnsembleClassifier": (f"{_CLASSIFIER} atom_indices_ _atom_classes average_ _references",),
    "SPDKNeighborsClassifier": ("n_features_in_ classes_ _labels _matrices _prepared",),
    "SPDSparseRegressor": (f"{_CODER} targets_ atom_weights_",),
    "SPDEnsembleRegressor": (
        f"{_OWN_ATOMS} targets_ atom_indices_ atom_weights_ average_ _references "
        "left_out_rows_ left_out_errors_",
    ),
    "SPDKNeighborsRegressor": ("n_features_in_ targets_ _matrices _prepared",),
    "SPDImputer": ("n_features_in_ donors_ known_ mean_",),
    "SPDNystroem": ("n_features_in_ _space _dtype eigenvalues_",),
    "BrokenChannels": ("n_features_in_ _matrices shift_ threshold_",),
    "SPDRange": ("n_features_in_ rank_ basis_ spectrum_ _null _outside",),
    "SPDKMeans": ("n_features_in_ cluster_centers_",),
    "LogEuclideanKSVD": ("n_features_in_ _log_scale _atoms log_atoms_",),
    "FrobeniusSparseCoder": (f"{_OWN_ATOMS} alpha_ scale_ _atoms",),
    "FrobeniusDictionaryLearning": (f"{_OWN_ATOMS} alpha_ scale_ _atoms",),
    "KernelPursuitCoder": (f"{_OWN_ATOMS} kernel_",),
    "KernelPursuitClassifier": (f"{_LABELLED} kernel_",),
    "RiemannianLPP": ("n_features_in_ kernel_ eigenvalues_ coefficients_",),
    "MinimumDistanceToMean": ("n_features_in_ classes_ means_",),
    "TensorSparseCoder": (_OWN_ATOMS,),
    "TensorSparseClassifier": (_LABELLED,),
    "TensorDictionaryLearning": (_OWN_ATOMS,),
    "RiemannianSparseCoder": (_OWN_ATOMS,),
    "RiemannianSparseClassifier": (_LABELLED,),
    "RiemannianDictionaryLearning": (_OWN_ATOMS,),
    "PixelSparseClassifier": (_IMAGE_CLASSIFIER,),
    "GaborSparseClassifier": (_IMAGE_CLASSIFIER,),
    "TextonClassifier": ("classes_ _labels textons_ histograms_",),
    "MaxPoolingClassifier": ("classes_ learner_ classifier_",),
    "LogisticRegression": ("n_features_in_ classes_ coef_ intercept_",),
    "LinearSVC": ("n_features_in_ classes_ coef_ intercept_",),
    "LinearDiscriminantAnalysis": ("n_features_in_ classes_ coef_ intercept_",),
    "PCA": ("n_features_in_ components_ mean_ explained_variance_",),
    "StandardScaler": ("n_features_in_ mean_ scale_",),
}


def held_by(cls: type) -> Mapping[str, Held]:
    """Return what the attributes of objects of a class may hold, as far as that is known."""
    if cls.__module__.startswith("sklearn."):
        return _OF_SCIKIT_LEARN.get(cls.__name__, {})
    own = _OF_CLASS.get(cls.__name__, {})
    return {**_COMMON, **own} if issubclass(cls, BaseEstimator) else own


def missing(cls: type, values: Mapping[str, Any]) -> list[str]:
    """Return which attributes a fitted object of a class lacks."""
    ways = [needed.split() for needed in _NEEDED.get(cls.__name__, ())]
    if cls is LandmarkKernel and _count(values.get("features_")) > landmarks.LARGEST_GRAM:
        ways = [[name for name in needed if name != "gram_"] for needed in ways]
    lacking = [[name for name in needed if name not in values] for needed in ways]
    return min(lacking, key=len, default=[])


def _count(value: Any) -> int:
    return len(value) if isinstance(value, np.ndarray) and value.ndim else 0
