"""The classifiers that the tables compare, by name.

Each is made in one way for all data sets. RSR is the plain form of the paper, whatever the defaults of the
classifier are.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import Method, Setting

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


def made(home: str, name: str, **parameters: Any) -> Make:
    """Return a function that imports ``spdatoms.<home>.<name>`` and makes one with the parameters."""

    def make(setting: Setting) -> Any:
        kind = getattr(import_module(f"spdatoms.{home}"), name)
        return kind(**parameters, n_jobs=setting.n_jobs)

    return make


def plain_sparse(metric: str, rule: str = "residual") -> Make:
    """Return what makes the paper's classifier: training matrices as atoms, automatic β and α."""
    plain = {"metric": metric, "beta": "auto", "alpha": "auto", "correction": "clip", "rule": rule}
    return made("classification", "SPDSparseClassifier", **plain, ridge=0.0, whitening=None)


def alpha_chosen(make: Make, alphas: tuple[float, ...], queries: int = 200) -> Make:
    """Return what makes a classifier whose α is chosen on training samples; of equal α the first is taken."""

    def chosen(setting: Setting) -> Any:
        from spdatoms.paper.experiments.methods.chosen_alpha import ChosenAlpha

        return ChosenAlpha(make(setting), alphas, queries)

    return chosen


def _atoms_per_class(setting: Setting) -> Any:
    from spdatoms.classification.sparse import SPDSparseClassifier

    return SPDSparseClassifier(
        "stein", n_atoms_per_class=2, random_state=setting.seed, n_jobs=setting.n_jobs
    )


def _sparse_chosen(metric: str) -> Make:
    """Return what makes the paper's classifier with several β and α, without a ridge and without whitening."""
    plain = {"metrics": metric, "cv": "loo", "correction": "clip", "rules": "residual"}
    grid = {"alphas": (0.003, 0.01, 0.03, 0.1), "ridges": (0.0,)}
    return made("classification", "SPDSparseClassifierCV", **plain, **grid)


def _nearest(metric: str) -> Make:
    return made("classification", "SPDKNeighborsClassifier", metric=metric)


def _ranked(metric: str) -> Make:
    return made("paper.experiments.methods.nearest_class", "NearestClass", metric=metric)


def _projected(metric: str) -> Make:
    def make(setting: Setting) -> Any:
        from sklearn.pipeline import make_pipeline

        from spdatoms.paper.baselines import RiemannianLPP
        from spdatoms.paper.experiments.methods.nearest_class import NearestVectorClass

        return make_pipeline(RiemannianLPP(n_jobs=setting.n_jobs), NearestVectorClass(metric))

    return make


def _codes_and_svm(setting: Setting) -> Any:
    from sklearn.pipeline import make_pipeline

    from spdatoms.paper.experiments.methods.kernel_machines import vector_classifier
    from spdatoms.paper.experiments.methods.left_out_codes import LeftOutCodes

    return make_pipeline(LeftOutCodes(n_jobs=setting.n_jobs), vector_classifier("LinearSVC"))


def in_tangent_space(model: str) -> Make:
    """Return what makes a classifier of tangent vectors, see `vector_classifier`."""

    def make(setting: Setting) -> Any:
        from sklearn.pipeline import make_pipeline

        from spdatoms.paper.experiments.methods.kernel_machines import vector_classifier
        from spdatoms.paper.experiments.methods.tangent_vectors import TangentVectors

        return make_pipeline(TangentVectors(), vector_classifier(model))

    return make


def tangent(model: str, note: str, make: Make | None = None) -> Method:
    """Return a method for tangent vectors; ``model`` names it, and what makes it if nothing else does."""
    return Method(
        f"tangent space + {model}",
        make or in_tangent_space(model),
        note=f"tangent vectors at the mean (pyRiemann), {note}",
        kind="external",
    )


_RSR_S = Method(
    "RSR-S", plain_sparse("stein"), note="the paper's sparse representation, Stein kernel"
)
_RSR_J = Method(
    "RSR-J", plain_sparse("jeffrey"), note="the paper's sparse representation, Jeffrey kernel"
)
_LOG_EUCLIDEAN = Method(
    "logEuc-SC",
    plain_sparse("logeuclid"),
    note="sparse representation, Gaussian kernel on logarithms, as in the paper's comparisons",
)
_LOG_EUCLIDEAN_LINEAR = Method(
    "logEuc-SC linear",
    alpha_chosen(made("paper.baselines", "LogEuclideanSparseClassifier"), _ALPHAS),
    note=f"sparse representation, linear on logarithms, {ALPHA_CHOSEN}",
)
_RLPP = Method(
    "RLPP",
    _projected("cosine"),
    note="Riemannian locality preserving projection, nearest neighbour by cosine",
)

_NEAREST_AIRM = "nearest neighbour, affine-invariant"
_NEAREST_STEIN = "nearest neighbour, Stein divergence"
_CHOSEN = "β and α by leave-one-out"
#: Numbers of principal components for SRC.
_COMPONENTS = (25, 50, 100, 200, 400)
_SUM, _MAX = "the class with the largest sum", "the class of the largest entry"

_CLASSIFIERS = (
    _RSR_S,
    _RSR_J,
    Method("RSR-S CV", _sparse_chosen("stein"), note=f"RSR-S, {_CHOSEN}", kind="variant"),
    Method("RSR-J CV", _sparse_chosen("jeffrey"), note=f"RSR-J, {_CHOSEN}", kind="variant"),
    Method("RSR-S sum", plain_sparse("stein", "sum"), note=f"RSR-S, {_SUM}", kind="variant"),
    Method("RSR-S max", plain_sparse("stein", "max"), note=f"RSR-S, {_MAX}", kind="variant"),
    Method("RSR-J sum", plain_sparse("jeffrey", "sum"), note=f"RSR-J, {_SUM}", kind="variant"),
    Method("RSR-J max", plain_sparse("jeffrey", "max"), note=f"RSR-J, {_MAX}", kind="variant"),
    Method(
        "RSR-S two atoms",
        _atoms_per_class,
        note="RSR-S, two learned atoms per class (`n_atoms_per_class=2`) in place of its training matrices",
        kind="variant",
    ),
    _LOG_EUCLIDEAN,
    Method(
        "logEuc-SC CV", _sparse_chosen("logeuclid"), note=f"logEuc-SC, {_CHOSEN}", kind="variant"
    ),
    _LOG_EUCLIDEAN_LINEAR,
    Method(
        "kernel OMP",
        made("paper.baselines", "KernelPursuitClassifier", metric="stein"),
        note="RSR-S with greedy codes of five atoms in place of the Lasso's",
        kind="variant",
    ),
    Method(
        "codes + SVM",
        _codes_and_svm,
        note="sparse codes over the training matrices (Stein, α = 0.01), of a training matrix over the others; "
        f"linear SVM, {C_CHOSEN}",
        kind="variant",
    ),
    Method(
        "kernel + SVM",
        made("paper.experiments.methods.kernel_machines", "PrecomputedSVM"),
        note=f"SVM on the Stein kernel itself with the automatic β, {C_CHOSEN}",
        kind="variant",
    ),
    Method(
        "TSC",
        alpha_chosen(
            made("paper.baselines", "TensorSparseClassifier", bounded=True), _TENSOR_ALPHAS, _FEW
        ),
        note=f"tensor sparse coding as its authors have it, bounded: Σ_j y_j D_j ⪯ X, {ALPHA_CHOSEN}",
        kind="slow",
    ),
    Method(
        "TSC free",
        alpha_chosen(made("paper.baselines", "TensorSparseClassifier"), _TENSOR_ALPHAS, _FEW),
        note=f"tensor sparse coding without the bound, {ALPHA_CHOSEN}",
        kind="slow",
    ),
    Method(
        "Riemannian SC",
        alpha_chosen(made("paper.baselines", "RiemannianSparseClassifier"), _TANGENT_ALPHAS, _FEW),
        note=f"sparse coding in the tangent space of every query, {ALPHA_CHOSEN}",
        kind="slow",
    ),
    _RLPP,
    Method(
        "RLPP Euclidean",
        _projected("euclidean"),
        note="RLPP, nearest neighbour by Euclidean distance",
        kind="variant",
    ),
    Method("1-NN AIRM", _nearest("riemann"), note=_NEAREST_AIRM),
    Method("1-NN Stein", _nearest("stein"), note=_NEAREST_STEIN),
    Method("1-NN Jeffrey", _nearest("jeffrey"), note="nearest neighbour, Jeffrey divergence"),
    Method(
        "MDM",
        made("classification", "MinimumDistanceToMean"),
        note="nearest mean, affine-invariant",
    ),
    tangent("LR", f"logistic regression, {C_CHOSEN}"),
)


def classifiers(*more: Method) -> dict[str, Method]:
    """Return the methods for covariances, and those that an experiment adds, by name."""
    return {method.name: method for method in (*_CLASSIFIERS, *more)}


def ranking_classifiers() -> dict[str, Method]:
    """Return the methods that give a score to every class."""
    nearest = (
        Method("1-NN AIRM", _ranked("riemann"), note=_NEAREST_AIRM),
        Method("1-NN Stein", _ranked("stein"), note=_NEAREST_STEIN),
    )
    found = (_RSR_S, _RSR_J, _LOG_EUCLIDEAN, _LOG_EUCLIDEAN_LINEAR, _RLPP, *nearest)
    return {method.name: method for method in found}


def src() -> list[Method]:
    """Return the method SRC, sparse representation of raw pixels, for several numbers of principal components."""
    kind = "PixelSparseClassifier"
    everything = Method(
        "SRC",
        alpha_chosen(made("paper.baselines", kind), _ALPHAS),
        "images",
        note=f"sparse representation of pixels, all components, {ALPHA_CHOSEN}",
    )
    return [
        everything,
        *(
            Method(
                f"SRC {count}",
                alpha_chosen(made("paper.baselines", kind, n_components=count), _ALPHAS),
                "images",
                note=f"SRC, {count} principal components",
                kind="variant",
            )
            for count in _COMPONENTS
        ),
    ]


def textons() -> Method:
    """Return the method VZ: histograms of textons."""

    def make(setting: Setting) -> Any:
        from spdatoms.paper.baselines import TextonClassifier

        return TextonClassifier(random_state=setting.seed)

    note = "histograms of textons of 7×7 pixels, ten per class (Varma and Zisserman), on the pixels themselves"
    return Method("VZ", make, "images", note=note, kind="slow")


def gabor_src() -> Method:
    """Return the method GSRC: sparse representation of Gabor magnitudes, with the usual width of the wavelets."""
    make = alpha_chosen(made("paper.baselines", "GaborSparseClassifier", sigma=2 * np.pi), _ALPHAS)
    note = f"sparse representation of pooled Gabor magnitudes, {ALPHA_CHOSEN}"
    return Method("GSRC", make, "images", note=note)


def other_views(*names: str) -> list[Method]:
    """Return RSR-S and RSR-J on other views of the samples."""
    return [
        Method(f"{usual.name}, {view}", usual.make, view, f"{usual.name}: {view}", "variant")
        for view in names
        for usual in (_RSR_S, _RSR_J)
    ]


def cov3dj() -> Method:
    """Return the method Cov3DJ: covariances over a temporal hierarchy."""

    def make(setting: Setting) -> Any:
        from spdatoms.paper.baselines import Cov3DJClassifier

        return Cov3DJClassifier()

    note = "covariances over a temporal hierarchy, linear SVM"
    return Method("Cov3DJ", make, "sequences", note=note)
