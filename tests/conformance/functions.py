"""Every public function with arguments that it takes, for those who try other ones."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib import pyplot
from sklearn.base import BaseEstimator

import spdatoms
from _matrices import random_spd
from _toy_experiment import Toy
from spdatoms import (
    base,
    datasets,
    descriptors,
    divergences,
    geometry,
    kernels,
    paper,
    plotting,
    scale,
    storage,
)

X = random_spd(6, 3, seed=0)
V = 0.5 * (X[:2] - X[2:4])
K = X[0] / X[0].max()
IMAGE = np.random.default_rng(0).uniform(0.0, 255.0, (24, 24))
COLOURS = np.stack([IMAGE, IMAGE.T, IMAGE[::-1]], axis=-1)
NOWHERE = {"folder": "nowhere"}
MODEL = Path(__file__).parents[1] / "storage/models/0.1.0.dev0/kmeans.spdatoms"
CODER = spdatoms.SPDSparseCoder(alpha=0.1).fit(X)
CLASSIFIER = spdatoms.SPDSparseClassifier(alpha=0.1).fit(X, [0, 1] * 3)
NOVELTY = spdatoms.SPDNovelty(alpha=0.1).fit(X)
KMEANS = spdatoms.SPDKMeans(2, n_init=1, random_state=0).fit(X)

#: Arguments of public functions, and of classes that are no estimators.
CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (spdatoms.check_spd, {"X": X}),
    (
        spdatoms.class_dictionary,
        {"X": X, "y": [0, 1] * 3, "n_atoms_per_class": 1, "max_iter": 1, "random_state": 0},
    ),
    (spdatoms.divergence, {"A": X, "B": X[0]}),
    (spdatoms.mean, {"X": X, "sample_weight": np.ones(6), "axis": 0, "max_iter": 3, "tol": 1.0}),
    (spdatoms.median, {"X": X}),
    (spdatoms.suspect_labels, {"X": X, "y": np.arange(len(X)) % 2}),
    (spdatoms.nearest_spd, {"X": X}),
    (spdatoms.pairwise_divergence, {"X": X, "Y": X[:2]}),
    (spdatoms.sparse_code, {"gram": K, "cross": K, "alpha": 0.1}),
    (spdatoms.sparse_code_path, {"gram": K, "cross": K, "alphas": [0.2, 0.1]}),
    (geometry.exp_map, {"V": V, "base": X[0]}),
    (geometry.expm, {"X": X}),
    (geometry.geodesic, {"A": X[0], "B": X[1], "t": 0.5}),
    (geometry.geometric_mean, {"A": X[0], "B": X[1]}),
    (geometry.inner_product, {"V": V, "W": V, "base": X[0]}),
    (geometry.invsqrtm, {"X": X}),
    (geometry.is_spd, {"X": X}),
    (geometry.log_map, {"X": X, "base": X[0]}),
    (geometry.logm, {"X": X}),
    (geometry.norm, {"V": V, "base": X[0]}),
    (geometry.parallel_transport, {"V": V, "A": X[0], "B": X[1]}),
    (geometry.powm, {"X": X, "exponent": 0.5}),
    (geometry.regularise, {"X": X}),
    (geometry.shrink, {"X": X}),
    (geometry.sqrtm, {"X": X}),
    (geometry.unvech, {"v": np.ones((2, 6))}),
    (geometry.vech, {"X": X}),
    (kernels.correct_gram, {"gram": K}),
    (divergences.Burg, {}),
    (divergences.PowerEuclidean, {}),
    (divergences.Hermitian, {"divergence": divergences.Stein()}),
    (divergences.get_divergence, {"metric": "stein"}),
    (divergences.register_divergence, {"divergence": divergences.Stein}),
    (descriptors.face_features, {"image": IMAGE}),
    (descriptors.gabor_bank, {}),
    (descriptors.gabor_magnitudes, {"image": IMAGE, "scales": 1, "orientations": 2}),
    (descriptors.kinematic_features, {"video": np.stack([IMAGE] * 4)}),
    (descriptors.material_features, {"image": COLOURS, "mask": IMAGE > 0, "spacing": 8}),
    (descriptors.person_features, {"image": COLOURS}),
    (descriptors.region_covariances, {"features": COLOURS, "block": 8, "step": 8}),
    (descriptors.region_covariances, {"features": COLOURS, "rectangles": [[0, 0, 9, 9]]}),
    (descriptors.region_covariances, {"features": COLOURS, "masks": [IMAGE > 100]}),
    (descriptors.texture_features, {"image": IMAGE}),
    (paper.datasets.load_brodatz, NOWHERE),
    (paper.datasets.load_brodatz_mosaics, NOWHERE),
    (paper.datasets.load_covariances, NOWHERE),
    (paper.datasets.load_ethz, NOWHERE),
    (paper.datasets.load_feret, NOWHERE),
    (paper.datasets.load_flickr_materials, NOWHERE),
    (paper.datasets.load_hdm05, NOWHERE),
    (paper.datasets.load_randen, NOWHERE),
    (datasets.load_textures, {"per_class": 1}),
    (datasets.load_folder, NOWHERE),
    (paper.datasets.load_ucf_sports, NOWHERE),
    (
        paper.plotting.AccuracyBySizeDisplay,
        {"sizes": {"a": [1, 2]}, "accuracies": {"a": [0.5, 0.6]}},
    ),
    (plotting.AtomUsageDisplay, {"usage": [0.1, 0.2]}),
    (plotting.AtomsDisplay, {"atoms": X}),
    (paper.plotting.CMCDisplay, {"curves": {"a": [0.5, 1.0]}}),
    (plotting.CodesDisplay, {"codes": np.eye(3), "y": [0, 1, 1]}),
    (paper.plotting.ComparisonDisplay, {"accuracies": {"a": 0.5}}),
    (plotting.DriftDisplay, {"novel": [False, True]}),
    (plotting.LearningCurveDisplay, {"objective": [3.0, 2.0]}),
    (plotting.RegularisationPathDisplay, {"alphas": [0.2, 0.1], "codes": np.eye(2)}),
    (scale.block_budget, {"size": 1_000_000}),
    (scale.open_stream, {"X": X}),
    (scale.worker_timeout, {"seconds": 1.0}),
    (scale.is_streamed, {"X": X}),
    (base.check_labels, {"y": [0, 1], "count": 2}),
    (base.check_targets, {"y": [0.5, 1.5], "count": 2}),
    (base.check_streamable, {"X": X}),
    (base.by_channels, {"method": len}),
    (base.per_matrix, {"method": len}),
    (base.checked_fit, {"method": len}),
    (base.estimator_call, {"method": len}),
    (paper.baselines.riemannian_nearest_neighbour, {}),
    (storage.save, {"estimator": KMEANS, "path": "model"}),
    (storage.load, {"path": MODEL}),
    (paper.experiments.get_experiment, {"name": "textures"}),
    (paper.experiments.read_results, {"path": "nowhere"}),
    (paper.experiments.run, {"experiment": Toy(), "methods": ["RSR-S"], "repeats": 1}),
    (plotting.ChannelRelevanceDisplay, {"relevance": CLASSIFIER.explain(X[:1])[0].channels}),
    (plotting.ChannelRelevanceDisplay.from_estimator, {"estimator": CLASSIFIER, "X": X[:1]}),
    (plotting.ExplanationDisplay, {"explanation": CLASSIFIER.explain(X[:1])[0]}),
    (plotting.AtomUsageDisplay.from_codes, {"codes": np.eye(3)}),
    (plotting.AtomUsageDisplay.from_estimator, {"estimator": CODER, "X": X}),
    (plotting.AtomsDisplay.from_estimator, {"estimator": KMEANS}),
    (plotting.CodesDisplay.from_codes, {"codes": np.eye(3)}),
    (plotting.CodesDisplay.from_estimator, {"estimator": CODER, "X": X}),
    (plotting.DriftDisplay.from_estimator, {"estimator": NOVELTY, "X": X}),
    (plotting.ExplanationDisplay.from_estimator, {"estimator": CLASSIFIER, "x": X[0]}),
    (plotting.LearningCurveDisplay.from_estimator, {"estimator": KMEANS}),
    (plotting.RegularisationPathDisplay.from_estimator, {"estimator": CODER, "X": X[0]}),
]

#: Rooms of public functions, and what is public there, but made by the package itself or for any object.
ROOMS = (
    spdatoms,
    base,
    datasets,
    descriptors,
    divergences,
    geometry,
    kernels,
    paper.baselines,
    paper.datasets,
    paper.experiments,
    paper.plotting,
    plotting,
    scale,
    spdatoms.lasso,
    storage,
)
OTHERS = {
    *("Certificate", "CorrectedGram", "Dataset", "PreparedSet", "Samples", "SuspectLabels"),
    *("LabelledViews", "Method", "Outcome", "Published", "Results", "Row", "Setting", "Summary"),
    *("Stream", "Task"),
}


def public_calls() -> set[str]:
    """Return the names of all public functions, class methods, and classes with parameters, but estimators."""
    things = [getattr(room, name) for room in ROOMS for name in room.__all__]
    things = [
        thing
        for thing in things
        if callable(thing)
        and not (inspect.isclass(thing) and issubclass(thing, BaseEstimator | BaseException))
    ]
    constructors = [
        method
        for thing in things
        for name, method in inspect.getmembers(thing, inspect.ismethod)
        if not name.startswith("_")
    ]
    return {thing.__qualname__ for thing in [*things, *constructors] if parameters_of(thing)}


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters of a function, but of those that it only passes on."""
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]


def call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function in an empty folder; enter what it returns, if that is a context.

    A missing file is no fault of the arguments.
    """
    with warnings.catch_warnings(), TemporaryDirectory() as folder, chdir(folder):
        warnings.simplefilter("ignore")
        try:
            result = function(**arguments)
        except FileNotFoundError:
            return None
    if isinstance(result, AbstractContextManager):
        with result:
            return None
    if hasattr(result, "figure_"):
        pyplot.close(result.figure_)
    return result
