"""Sparse coding, dictionary learning and classification of SPD matrices.

The public names and modules are imported when they are first used: scikit-learn alone takes a second
to import, and a divergence does not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spdatoms._utils.lazy_imports import lazy_names
from spdatoms._utils.version import __version__ as __version__

if TYPE_CHECKING:
    from spdatoms import base as base
    from spdatoms import channels as channels
    from spdatoms import classification as classification
    from spdatoms import clustering as clustering
    from spdatoms import coding as coding
    from spdatoms import datasets as datasets
    from spdatoms import descriptors as descriptors
    from spdatoms import dictionary as dictionary
    from spdatoms import divergences as divergences
    from spdatoms import domains as domains
    from spdatoms import exceptions as exceptions
    from spdatoms import geometry as geometry
    from spdatoms import interop as interop
    from spdatoms import kernels as kernels
    from spdatoms import lasso as lasso
    from spdatoms import paper as paper
    from spdatoms import plotting as plotting
    from spdatoms import regression as regression
    from spdatoms import scale as scale
    from spdatoms import storage as storage
    from spdatoms.channels import BrokenChannels as BrokenChannels
    from spdatoms.channels import SPDImputer as SPDImputer
    from spdatoms.channels import SPDRange as SPDRange
    from spdatoms.classification import MinimumDistanceToMean as MinimumDistanceToMean
    from spdatoms.classification import SPDEnsembleClassifier as SPDEnsembleClassifier
    from spdatoms.classification import SPDKNeighborsClassifier as SPDKNeighborsClassifier
    from spdatoms.classification import SPDSparseClassifier as SPDSparseClassifier
    from spdatoms.classification import SPDSparseClassifierCV as SPDSparseClassifierCV
    from spdatoms.classification import suspect_labels as suspect_labels
    from spdatoms.clustering import SPDKMeans as SPDKMeans
    from spdatoms.coding import LogEuclideanSparseCoder as LogEuclideanSparseCoder
    from spdatoms.coding import SPDSparseCoder as SPDSparseCoder
    from spdatoms.dictionary import SPDDictionaryLearning as SPDDictionaryLearning
    from spdatoms.dictionary import SPDNovelty as SPDNovelty
    from spdatoms.dictionary import class_dictionary as class_dictionary
    from spdatoms.divergences import divergence as divergence
    from spdatoms.divergences import mean as mean
    from spdatoms.divergences import median as median
    from spdatoms.divergences import pairwise_divergence as pairwise_divergence
    from spdatoms.domains import SPDAlign as SPDAlign
    from spdatoms.domains import SPDRecentre as SPDRecentre
    from spdatoms.geometry import check_spd as check_spd
    from spdatoms.geometry import nearest_spd as nearest_spd
    from spdatoms.kernels import DivergenceKernel as DivergenceKernel
    from spdatoms.kernels import SPDNystroem as SPDNystroem
    from spdatoms.lasso import sparse_code as sparse_code
    from spdatoms.lasso import sparse_code_path as sparse_code_path
    from spdatoms.regression import SPDEnsembleRegressor as SPDEnsembleRegressor
    from spdatoms.regression import SPDKNeighborsRegressor as SPDKNeighborsRegressor
    from spdatoms.regression import SPDSparseRegressor as SPDSparseRegressor
    from spdatoms.storage import load as load
    from spdatoms.storage import save as save

#: Public modules, and the names of each that are public here, too.
_PUBLIC = {
    "base": "",
    "channels": "BrokenChannels SPDImputer SPDRange",
    "classification": "MinimumDistanceToMean SPDEnsembleClassifier SPDKNeighborsClassifier "
    "SPDSparseClassifier SPDSparseClassifierCV suspect_labels",
    "clustering": "SPDKMeans",
    "coding": "LogEuclideanSparseCoder SPDSparseCoder",
    "datasets": "",
    "descriptors": "",
    "dictionary": "SPDDictionaryLearning SPDNovelty class_dictionary",
    "divergences": "divergence mean median pairwise_divergence",
    "domains": "SPDAlign SPDRecentre",
    "exceptions": "",
    "geometry": "check_spd nearest_spd",
    "interop": "",
    "kernels": "DivergenceKernel SPDNystroem",
    "lasso": "sparse_code sparse_code_path",
    "paper": "",
    "plotting": "",
    "regression": "SPDEnsembleRegressor SPDKNeighborsRegressor SPDSparseRegressor",
    "scale": "",
    "storage": "load save",
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME, _PUBLIC)
