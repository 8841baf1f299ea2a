"""The methods that sparse coding of SPD matrices is compared with, one file each.

The names are imported when they are first used, as those of `spdatoms`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spdatoms.baselines.cov3dj import Cov3DJClassifier as Cov3DJClassifier
    from spdatoms.baselines.frobenius import (
        FrobeniusDictionaryLearning as FrobeniusDictionaryLearning,
    )
    from spdatoms.baselines.frobenius import FrobeniusSparseCoder as FrobeniusSparseCoder
    from spdatoms.baselines.gabor import GaborSparseClassifier as GaborSparseClassifier
    from spdatoms.baselines.intrinsic import KMeansSparseCoder as KMeansSparseCoder
    from spdatoms.baselines.intrinsic import MinimumDistanceToMean as MinimumDistanceToMean
    from spdatoms.baselines.intrinsic import (
        riemannian_nearest_neighbour as riemannian_nearest_neighbour,
    )
    from spdatoms.baselines.ksvd import LogEuclideanKSVD as LogEuclideanKSVD
    from spdatoms.baselines.log_euclidean import (
        LogEuclideanSparseClassifier as LogEuclideanSparseClassifier,
    )
    from spdatoms.baselines.log_euclidean import LogEuclideanSparseCoder as LogEuclideanSparseCoder
    from spdatoms.baselines.log_euclidean import (
        kernel_log_euclidean_classifier as kernel_log_euclidean_classifier,
    )
    from spdatoms.baselines.lpp import RiemannianLPP as RiemannianLPP
    from spdatoms.baselines.pixels import PixelSparseClassifier as PixelSparseClassifier
    from spdatoms.baselines.riemannian import (
        RiemannianSparseClassifier as RiemannianSparseClassifier,
    )
    from spdatoms.baselines.riemannian import RiemannianSparseCoder as RiemannianSparseCoder
    from spdatoms.baselines.riemannian_learning import (
        RiemannianDictionaryLearning as RiemannianDictionaryLearning,
    )
    from spdatoms.baselines.tensor import TensorSparseClassifier as TensorSparseClassifier
    from spdatoms.baselines.tensor import TensorSparseCoder as TensorSparseCoder
    from spdatoms.baselines.tensor_learning import (
        TensorDictionaryLearning as TensorDictionaryLearning,
    )

_HOME = {
    "Cov3DJClassifier": "cov3dj",
    "FrobeniusDictionaryLearning": "frobenius",
    "FrobeniusSparseCoder": "frobenius",
    "GaborSparseClassifier": "gabor",
    "KMeansSparseCoder": "intrinsic",
    "LogEuclideanKSVD": "ksvd",
    "LogEuclideanSparseClassifier": "log_euclidean",
    "LogEuclideanSparseCoder": "log_euclidean",
    "MinimumDistanceToMean": "intrinsic",
    "PixelSparseClassifier": "pixels",
    "RiemannianDictionaryLearning": "riemannian_learning",
    "RiemannianLPP": "lpp",
    "RiemannianSparseClassifier": "riemannian",
    "RiemannianSparseCoder": "riemannian",
    "TensorDictionaryLearning": "tensor_learning",
    "TensorSparseClassifier": "tensor",
    "TensorSparseCoder": "tensor",
    "kernel_log_euclidean_classifier": "log_euclidean",
    "riemannian_nearest_neighbour": "intrinsic",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'spdatoms.baselines' has no attribute {name!r}")
    value = getattr(import_module(f"spdatoms.baselines.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
