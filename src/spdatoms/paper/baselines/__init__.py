"""The methods that sparse coding of SPD matrices is compared with, one file or folder each.

The names are imported when they are first used, like those of `spdatoms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spdatoms._utils.lazy_imports import lazy_names

if TYPE_CHECKING:
    from spdatoms.paper.baselines.cov3dj import Cov3DJClassifier as Cov3DJClassifier
    from spdatoms.paper.baselines.frobenius import (
        FrobeniusDictionaryLearning as FrobeniusDictionaryLearning,
    )
    from spdatoms.paper.baselines.frobenius import FrobeniusSparseCoder as FrobeniusSparseCoder
    from spdatoms.paper.baselines.gabor import GaborSparseClassifier as GaborSparseClassifier
    from spdatoms.paper.baselines.intrinsic import KMeansSparseCoder as KMeansSparseCoder
    from spdatoms.paper.baselines.intrinsic import (
        riemannian_nearest_neighbour as riemannian_nearest_neighbour,
    )
    from spdatoms.paper.baselines.log_euclidean.classification import (
        LogEuclideanSparseClassifier as LogEuclideanSparseClassifier,
    )
    from spdatoms.paper.baselines.log_euclidean.classification import (
        kernel_log_euclidean_classifier as kernel_log_euclidean_classifier,
    )
    from spdatoms.paper.baselines.log_euclidean.ksvd import LogEuclideanKSVD as LogEuclideanKSVD
    from spdatoms.paper.baselines.lpp import RiemannianLPP as RiemannianLPP
    from spdatoms.paper.baselines.pixels import PixelSparseClassifier as PixelSparseClassifier
    from spdatoms.paper.baselines.pooling import MaxPoolingClassifier as MaxPoolingClassifier
    from spdatoms.paper.baselines.pursuit import KernelPursuitClassifier as KernelPursuitClassifier
    from spdatoms.paper.baselines.pursuit import KernelPursuitCoder as KernelPursuitCoder
    from spdatoms.paper.baselines.tangent.coding import (
        RiemannianSparseClassifier as RiemannianSparseClassifier,
    )
    from spdatoms.paper.baselines.tangent.coding import (
        RiemannianSparseCoder as RiemannianSparseCoder,
    )
    from spdatoms.paper.baselines.tangent.learning import (
        RiemannianDictionaryLearning as RiemannianDictionaryLearning,
    )
    from spdatoms.paper.baselines.tensor.coding import (
        TensorSparseClassifier as TensorSparseClassifier,
    )
    from spdatoms.paper.baselines.tensor.coding import TensorSparseCoder as TensorSparseCoder
    from spdatoms.paper.baselines.tensor.learning import (
        TensorDictionaryLearning as TensorDictionaryLearning,
    )
    from spdatoms.paper.baselines.textons import TextonClassifier as TextonClassifier

_HOME = {
    "Cov3DJClassifier": "cov3dj",
    "FrobeniusDictionaryLearning": "frobenius",
    "FrobeniusSparseCoder": "frobenius",
    "GaborSparseClassifier": "gabor",
    "KMeansSparseCoder": "intrinsic",
    "KernelPursuitClassifier": "pursuit",
    "KernelPursuitCoder": "pursuit",
    "LogEuclideanKSVD": "log_euclidean.ksvd",
    "LogEuclideanSparseClassifier": "log_euclidean.classification",
    "MaxPoolingClassifier": "pooling",
    "PixelSparseClassifier": "pixels",
    "RiemannianDictionaryLearning": "tangent.learning",
    "RiemannianLPP": "lpp",
    "RiemannianSparseClassifier": "tangent.coding",
    "RiemannianSparseCoder": "tangent.coding",
    "TensorDictionaryLearning": "tensor.learning",
    "TensorSparseClassifier": "tensor.coding",
    "TensorSparseCoder": "tensor.coding",
    "TextonClassifier": "textons",
    "kernel_log_euclidean_classifier": "log_euclidean.classification",
    "riemannian_nearest_neighbour": "intrinsic",
}

__all__ = [*_HOME]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
