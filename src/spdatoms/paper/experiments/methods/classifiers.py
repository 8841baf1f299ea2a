"""The classifiers that the tables compare, by name.

Each is made in one way for all data sets. RSR is the plain form of the paper, whatever the defaults of the
classifier are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from spdatoms.classification import (
    MinimumDistanceToMean,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
)
from spdatoms.paper import baselines
from spdatoms.paper.experiments.method import Method, Setting, by_name
from spdatoms.paper.experiments.methods.chosen_alpha import ChosenAlpha
from spdatoms.paper.experiments.methods.kernel_machines import PrecomputedSVM, vector_classifier
from spdatoms.paper.experiments.methods.left_out_codes import LeftOutCodes
from spdatoms.paper.experiments.methods.nearest_class import NearestClass, NearestVectorClass
from spdatoms.paper.experiments.methods.tangent_vectors import TangentVectors

Make = Callable[[Setting], Any]
C_CHOSEN = "C chosen by cross-validation"
ALPHA_CHOSEN = "α chosen by cross-validation"
#: The α of the peers to choose from, first the one that an estimator has by default. The penalties of tensor codes and
#: of codes in tangent spaces have other units.
_ALPHAS, _TENSOR_ALPHAS, _TANGENT_ALPHAS = (
    (0.01, 0.001, 0.1),
    (0.01, 0.1, 1.0),
    (0.1, 0.01, 1.0, 10.0),
)
#: Left-out queries where each takes long.
_FEW = 60


def made(kind: Callable[..., Any], **parameters: Any) -> Make:
    """Return a function that makes an estimator with the parameters."""
    return lambda setting: kind(**parameters, n_jobs=setting.n_jobs)


def plain_sparse(metric: str, rule: str = "residual") -> Make:
    """Return what makes the paper's classifier: training matrices as atoms, automatic β and α."""
    plain = {"metric": metric, "beta": "auto", "alpha": "auto", "correction": "clip", "rule": rule}
    return made(SPDSparseClassifier, **plain, ridge=0.0, whitening=None)


def alpha_chosen(make: Make, alphas: tuple[float, ...], queries: int = 200) -> Make:
    """Return what makes a classifier whose α is chosen on training samples; of equal α the first is taken."""
    return lambda setting: ChosenAlpha(make(setting), alphas, queries)


def _atoms_per_class(setting: Setting) -> Any:
    seed, jobs = setting.seed, setting.n_jobs
    return SPDSparseClassifier("stein", n_atoms_per_class=2, random_state=seed, n_jobs=jobs)


def _sparse_chosen(metric: str) -> Make:
    """Return what makes the paper's classifier with several β and α, without a ridge and without whitening."""
    plain = {"metrics": metric, "cv": "loo", "correction": "clip", "rules": "residual"}
    return made(SPDSparseClassifierCV, **plain, alphas=(0.003, 0.01, 0.03, 0.1), ridges=(0.0,))


def _projected(metric: str) -> Make:
    projection = made(baselines.RiemannianLPP)
    return lambda setting: make_pipeline(projection(setting), NearestVectorClass(metric))


def _codes_and_svm(setting: Setting) -> Any:
    return make_pipeline(LeftOutCodes(n_jobs=setting.n_jobs), vector_classifier("LinearSVC"))


def in_tangent_space(model: str) -> Make:
    """Return what makes a classifier of tangent vectors, see `vector_classifier`."""
    return lambda setting: make_pipeline(TangentVectors(), vector_classifier(model))


def tangent(model: str, note: str, make: Make | None = None) -> Method:
    """Return a method for tangent vectors; ``model`` names it, and what makes it if nothing else does."""
    name, note = f"tangent space + {model}", f"tangent vectors at the mean (pyRiemann), {note}"
    return Method(name, make or in_tangent_space(model), note, "external")


_RSR = "the paper's sparse representation"
_RSR_S = Method("RSR-S", plain_sparse("stein"), f"{_RSR}, Stein kernel")
_RSR_J = Method("RSR-J", plain_sparse("jeffrey"), f"{_RSR}, Jeffrey kernel")
_LOG_EUCLIDEAN = Method(
    "logEuc-SC",
    plain_sparse("logeuclid"),
    "sparse representation, Gaussian kernel on logarithms, as in the paper's comparisons",
)
_LOG_EUCLIDEAN_LINEAR = Method(
    "logEuc-SC linear",
    alpha_chosen(made(baselines.LogEuclideanSparseClassifier), _ALPHAS),
    f"sparse representation, linear on logarithms, {ALPHA_CHOSEN}",
)
_RLPP = Method(
    "RLPP",
    _projected("cosine"),
    "Riemannian locality preserving projection, nearest neighbour by cosine",
)

_NEAREST_AIRM = "nearest neighbour, affine-invariant"
_NEAREST_STEIN = "nearest neighbour, Stein divergence"
_CHOSEN = "β and α by leave-one-out"
_COMPONENTS = (25, 50, 100, 200, 400)
_SUM, _MAX = "the class with the largest sum", "the class of the largest entry"
_CLASSIFIERS = (
    _RSR_S,
    _RSR_J,
    Method("RSR-S CV", _sparse_chosen("stein"), f"RSR-S, {_CHOSEN}", "variant"),
    Method("RSR-J CV", _sparse_chosen("jeffrey"), f"RSR-J, {_CHOSEN}", "variant"),
    Method("RSR-S sum", plain_sparse("stein", "sum"), f"RSR-S, {_SUM}", "variant"),
    Method("RSR-S max", plain_sparse("stein", "max"), f"RSR-S, {_MAX}", "variant"),
    Method("RSR-J sum", plain_sparse("jeffrey", "sum"), f"RSR-J, {_SUM}", "variant"),
    Method("RSR-J max", plain_sparse("jeffrey", "max"), f"RSR-J, {_MAX}", "variant"),
    Method(
        "RSR-S two atoms",
        _atoms_per_class,
        "RSR-S, two learned atoms per class (`n_atoms_per_class=2`) in place of its training matrices",
        "variant",
    ),
    _LOG_EUCLIDEAN,
    Method("logEuc-SC CV", _sparse_chosen("logeuclid"), f"logEuc-SC, {_CHOSEN}", "variant"),
    _LOG_EUCLIDEAN_LINEAR,
    Method(
        "kernel OMP",
        made(baselines.KernelPursuitClassifier, metric="stein"),
        "RSR-S with greedy codes of five atoms in place of the Lasso's",
        "variant",
    ),
    Method(
        "codes + SVM",
        _codes_and_svm,
        "sparse codes over the training matrices (Stein, α = 0.01), of a training matrix over the others; "
        f"linear SVM, {C_CHOSEN}",
        "variant",
    ),
    Method(
        "kernel + SVM",
        made(PrecomputedSVM),
        f"SVM on the Stein kernel itself with the automatic β, {C_CHOSEN}",
        "variant",
    ),
    Method(
        "TSC",
        alpha_chosen(made(baselines.TensorSparseClassifier, bounded=True), _TENSOR_ALPHAS, _FEW),
        f"tensor sparse coding as its authors have it, bounded: Σ_j y_j D_j ⪯ X, {ALPHA_CHOSEN}",
        "slow",
    ),
    Method(
        "TSC free",
        alpha_chosen(made(baselines.TensorSparseClassifier), _TENSOR_ALPHAS, _FEW),
        f"tensor sparse coding without the bound, {ALPHA_CHOSEN}",
        "slow",
    ),
    Method(
        "Riemannian SC",
        alpha_chosen(made(baselines.RiemannianSparseClassifier), _TANGENT_ALPHAS, _FEW),
        f"sparse coding in the tangent space of every query, {ALPHA_CHOSEN}",
        "slow",
    ),
    _RLPP,
    Method(
        "RLPP Euclidean",
        _projected("euclidean"),
        "RLPP, nearest neighbour by Euclidean distance",
        "variant",
    ),
    Method("1-NN AIRM", made(SPDKNeighborsClassifier, metric="riemann"), _NEAREST_AIRM),
    Method("1-NN Stein", made(SPDKNeighborsClassifier, metric="stein"), _NEAREST_STEIN),
    Method(
        "1-NN Jeffrey",
        made(SPDKNeighborsClassifier, metric="jeffrey"),
        "nearest neighbour, Jeffrey divergence",
    ),
    Method("MDM", made(MinimumDistanceToMean), "nearest mean, affine-invariant"),
    tangent("LR", f"logistic regression, {C_CHOSEN}"),
)


def classifiers(*more: Method) -> dict[str, Method]:
    """Return the methods for covariances, and those that an experiment adds, by name."""
    return by_name(*_CLASSIFIERS, *more)


def ranking_classifiers() -> dict[str, Method]:
    """Return the methods that give a score to every class."""
    nearest = (
        Method("1-NN AIRM", made(NearestClass, metric="riemann"), _NEAREST_AIRM),
        Method("1-NN Stein", made(NearestClass, metric="stein"), _NEAREST_STEIN),
    )
    return by_name(_RSR_S, _RSR_J, _LOG_EUCLIDEAN, _LOG_EUCLIDEAN_LINEAR, _RLPP, *nearest)


def src() -> list[Method]:
    """Return the method SRC, sparse representation of raw pixels, for several numbers of principal components."""
    note = f"sparse representation of pixels, all components, {ALPHA_CHOSEN}"
    found = [Method("SRC", _pixels(None), note, view="images")]
    for count in _COMPONENTS:
        note = f"SRC, {count} principal components"
        found.append(Method(f"SRC {count}", _pixels(count), note, "variant", "images"))
    return found


def _pixels(components: int | None) -> Make:
    return alpha_chosen(made(baselines.PixelSparseClassifier, n_components=components), _ALPHAS)


def textons() -> Method:
    """Return the method VZ: histograms of textons."""
    note = "histograms of textons of 7×7 pixels, ten per class (Varma and Zisserman), on the pixels themselves"
    return Method(
        "VZ",
        lambda setting: baselines.TextonClassifier(random_state=setting.seed),
        note,
        "slow",
        "images",
    )


def gabor_src() -> Method:
    """Return the method GSRC: sparse representation of Gabor magnitudes, with the usual width of the wavelets."""
    make = alpha_chosen(made(baselines.GaborSparseClassifier, sigma=2 * np.pi), _ALPHAS)
    note = f"sparse representation of pooled Gabor magnitudes, {ALPHA_CHOSEN}"
    return Method("GSRC", make, note, view="images")


def other_views(*names: str) -> list[Method]:
    """Return RSR-S and RSR-J on other views of the samples."""
    return [
        Method(f"{usual.name}, {view}", usual.make, f"{usual.name}: {view}", "variant", view)
        for view in names
        for usual in (_RSR_S, _RSR_J)
    ]


def cov3dj() -> Method:
    """Return the method Cov3DJ: covariances over a temporal hierarchy."""
    note = "covariances over a temporal hierarchy, linear SVM"
    return Method("Cov3DJ", lambda setting: baselines.Cov3DJClassifier(), note, view="sequences")
