"""Sparse coding, dictionary learning and classification of SPD matrices.

The public names are imported when they are first used: scikit-learn alone takes a second to import,
and whoever only wants a divergence does not need it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spdatoms.classification import SPDSparseClassifier as SPDSparseClassifier
    from spdatoms.clustering import SPDKMeans as SPDKMeans
    from spdatoms.coding import SPDSparseCoder as SPDSparseCoder
    from spdatoms.dictionary import SPDDictionaryLearning as SPDDictionaryLearning
    from spdatoms.kernel import DivergenceKernel as DivergenceKernel
    from spdatoms.lasso import sparse_code as sparse_code
    from spdatoms.lasso import sparse_code_path as sparse_code_path
    from spdatoms.means import mean as mean
    from spdatoms.model_selection import SPDSparseClassifierCV as SPDSparseClassifierCV
    from spdatoms.neighbors import SPDKNeighborsClassifier as SPDKNeighborsClassifier
    from spdatoms.pairwise import pairwise_divergence as pairwise_divergence
    from spdatoms.repair import nearest_spd as nearest_spd
    from spdatoms.storage import load as load
    from spdatoms.storage import save as save
    from spdatoms.validation import check_spd as check_spd

__version__ = "0.1.0.dev0"

_HOME = {
    "DivergenceKernel": "kernel",
    "SPDDictionaryLearning": "dictionary",
    "SPDKMeans": "clustering",
    "SPDKNeighborsClassifier": "neighbors",
    "SPDSparseClassifier": "classification",
    "SPDSparseClassifierCV": "model_selection",
    "SPDSparseCoder": "coding",
    "check_spd": "validation",
    "load": "storage",
    "mean": "means",
    "nearest_spd": "repair",
    "pairwise_divergence": "pairwise",
    "save": "storage",
    "sparse_code": "lasso",
    "sparse_code_path": "lasso",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'spdatoms' has no attribute {name!r}")
    value = getattr(import_module(f"spdatoms.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
