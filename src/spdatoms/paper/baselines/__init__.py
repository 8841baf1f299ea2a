"""The methods that sparse coding of SPD matrices is compared with, one file or folder each."""

from spdatoms.paper.baselines.cov3dj import Cov3DJClassifier
from spdatoms.paper.baselines.frobenius import FrobeniusDictionaryLearning, FrobeniusSparseCoder
from spdatoms.paper.baselines.images import GaborSparseClassifier, PixelSparseClassifier
from spdatoms.paper.baselines.intrinsic import (
    KMeansSparseCoder,
    LogEuclideanSparseClassifier,
    kernel_log_euclidean_classifier,
    riemannian_nearest_neighbour,
)
from spdatoms.paper.baselines.ksvd import LogEuclideanKSVD
from spdatoms.paper.baselines.lpp import RiemannianLPP
from spdatoms.paper.baselines.pooling import MaxPoolingClassifier
from spdatoms.paper.baselines.pursuit import KernelPursuitClassifier, KernelPursuitCoder
from spdatoms.paper.baselines.tangent.coding import (
    RiemannianSparseClassifier,
    RiemannianSparseCoder,
)
from spdatoms.paper.baselines.tangent.learning import RiemannianDictionaryLearning
from spdatoms.paper.baselines.tensor.coding import TensorSparseClassifier, TensorSparseCoder
from spdatoms.paper.baselines.tensor.learning import TensorDictionaryLearning
from spdatoms.paper.baselines.textons import TextonClassifier

__all__ = [
    "Cov3DJClassifier",
    "FrobeniusDictionaryLearning",
    "FrobeniusSparseCoder",
    "GaborSparseClassifier",
    "KMeansSparseCoder",
    "KernelPursuitClassifier",
    "KernelPursuitCoder",
    "LogEuclideanKSVD",
    "LogEuclideanSparseClassifier",
    "MaxPoolingClassifier",
    "PixelSparseClassifier",
    "RiemannianDictionaryLearning",
    "RiemannianLPP",
    "RiemannianSparseClassifier",
    "RiemannianSparseCoder",
    "TensorDictionaryLearning",
    "TensorSparseClassifier",
    "TensorSparseCoder",
    "TextonClassifier",
    "kernel_log_euclidean_classifier",
    "riemannian_nearest_neighbour",
]
