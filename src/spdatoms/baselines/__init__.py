"""The methods that sparse coding of SPD matrices is compared with, one file or folder each.

The names are imported when they are first used, like those of `spdatoms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spdatoms._utils.lazy import lazy_names

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
    from spdatoms.baselines.log_euclidean.coding import (
        LogEuclideanSparseClassifier as LogEuclideanSparseClassifier,
    )
    from spdatoms.baselines.log_euclidean.coding import (
        LogEuclideanSparseCoder as LogEuclideanSparseCoder,
    )
    from spdatoms.baselines.log_euclidean.coding import (
        kernel_log_euclidean_classifier as kernel_log_euclidean_classifier,
    )
    from spdatoms.baselines.log_euclidean.ksvd import LogEuclideanKSVD as LogEuclideanKSVD
    from spdatoms.baselines.lpp import RiemannianLPP as RiemannianLPP
    from spdatoms.baselines.pixels import PixelSparseClassifier as PixelSparseClassifier
    from spdatoms.baselines.pooling import MaxPoolingClassifier as MaxPoolingClassifier
    from spdatoms.baselines.pursuit import KernelPursuitClassifier as KernelPursuitClassifier
    from spdatoms.baselines.pursuit import KernelPursuitCoder as KernelPursuitCoder
    from spdatoms.baselines.tangent.coding import (
        RiemannianSparseClassifier as RiemannianSparseClassifier,
    )
    from spdatoms.baselines.tangent.coding import RiemannianSparseCoder as RiemannianSparseCoder
    from spdatoms.baselines.tangent.learning import (
        RiemannianDictionaryLearning as RiemannianDictionaryLearning,
    )
    from spdatoms.baselines.tensor.coding import TensorSparseClassifier as TensorSparseClassifier
    from spdatoms.baselines.tensor.coding import TensorSparseCoder as TensorSparseCoder
    from spdatoms.baselines.tensor.learning import (
        TensorDictionaryLearning as TensorDictionaryLearning,
    )
    from spdatoms.baselines.textons import TextonClassifier as TextonClassifier

_HOME = {
    "Cov3DJClassifier": "cov3dj",
    "FrobeniusDictionaryLearning": "frobenius",
    "FrobeniusSparseCoder": "frobenius",
    "GaborSparseClassifier": "gabor",
    "KMeansSparseCoder": "intrinsic",
    "KernelPursuitClassifier": "pursuit",
    "KernelPursuitCoder": "pursuit",
    "LogEuclideanKSVD": "log_euclidean.ksvd",
    "LogEuclideanSparseClassifier": "log_euclidean.coding",
    "LogEuclideanSparseCoder": "log_euclidean.coding",
    "MaxPoolingClassifier": "pooling",
    "MinimumDistanceToMean": "intrinsic",
    "PixelSparseClassifier": "pixels",
    "RiemannianDictionaryLearning": "tangent.learning",
    "RiemannianLPP": "lpp",
    "RiemannianSparseClassifier": "tangent.coding",
    "RiemannianSparseCoder": "tangent.coding",
    "TensorDictionaryLearning": "tensor.learning",
    "TensorSparseClassifier": "tensor.coding",
    "TensorSparseCoder": "tensor.coding",
    "TextonClassifier": "textons",
    "kernel_log_euclidean_classifier": "log_euclidean.coding",
    "riemannian_nearest_neighbour": "intrinsic",
}

__all__ = [*_HOME]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
