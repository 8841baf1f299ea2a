"""Models and checkpoints that earlier versions wrote: they load, say the same, and learning goes on."""

from __future__ import annotations

import inspect
import json
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.extmath import softmax

import spdatoms
from _write_models import MODELS, bag_estimators, estimators, image_estimators, outputs
from spdatoms import load
from spdatoms.paper import baselines
from spdatoms.storage._earlier import of_today

pytestmark = [
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning"),
]

VERSIONS = sorted(folder for folder in MODELS.iterdir() if folder.is_dir())


def files(pattern: str) -> pytest.MarkDecorator:
    """Run a test for every such file of every version."""
    paths = sorted(path for folder in VERSIONS for path in folder.glob(pattern))
    assert paths, f"there is no {pattern} in {MODELS}"
    return pytest.mark.parametrize("path", paths, ids=lambda p: f"{p.parent.name}-{p.stem}")


@cache
def record(folder: Path) -> dict[str, np.ndarray]:
    """Return the data of a version, and what its models said."""
    with np.load(folder / "outputs.npz", allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def recorded(path: Path, kind: str) -> dict[str, np.ndarray]:
    """Return what is recorded of this kind of the model in a file, by method or attribute."""
    prefix = f"{kind} {path.stem} "
    return {
        k.removeprefix(prefix): v for k, v in record(path.parent).items() if k.startswith(prefix)
    }


def assert_close(found: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    """Compare with what another machine has computed; labels must be the same."""
    assert (found.dtype.kind, found.shape) == (expected.dtype.kind, expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def tolerance(path: Path, queries: np.ndarray) -> float:
    """Return how far results of different machines may be apart."""
    if queries.dtype == np.float32:
        # Kernel values were in single precision: scores differ by 2e-5, and probabilities by ten times that.
        return 2e-4
    # Interior-point methods stop where their gap is small enough, which is not the same point everywhere.
    return 1e-6 if path.stem.startswith(("tensor", "riemannian")) else 1e-9


def version_of_scikit_learn(path: Path) -> str | None:
    """Return with which version a model was written that has parts of scikit-learn."""
    with np.load(path, allow_pickle=False) as file:
        written: str | None = json.loads(file["metadata"].tobytes())["scikit-learn"]
    return written


_SOFTMAX = ("classifier-", "log-euclidean-classifier")


@files("*.spdatoms")
def test_a_model_says_what_it_said(path) -> None:
    written = version_of_scikit_learn(path)
    if written in (None, sklearn.__version__):
        model = load(path)
    else:
        with pytest.warns(InconsistentVersionWarning):
            model = load(path)
    queries = record(path.parent)[f"data {record(path.parent)[f'queries {path.stem}']}"]
    expected = recorded(path, "output")
    found = outputs(model, queries)
    assert found.keys() == expected.keys()
    if path.stem.startswith(_SOFTMAX):
        # Probabilities were shares of the scores; now they are the softmax of ten times the scores.
        expected["predict_proba"] = softmax(10.0 * expected["decision_function"])
    for method, values in expected.items():
        assert_close(found[method], values, tolerance(path, queries))


@files("online-*.spdatoms")
def test_learning_from_batches_goes_on(path) -> None:
    """What a file of before remembers of the past is not used any more, but its kernel stays, and the loss falls."""
    batch = record(path.parent)["data batch"]
    model = load(path)
    before, beta, alpha = model.score(batch), model.beta_, model.alpha_
    assert model.partial_fit(batch).score(batch) > before
    assert (model.beta_, model.alpha_) == (beta, alpha)


@files("*.checkpoint")
def test_a_fit_goes_on_from_its_checkpoint(path, tmp_path) -> None:
    checkpoint = shutil.copy(path, tmp_path)
    learner = load(path.with_suffix(".learner")).set_params(checkpoint=checkpoint)
    learner.fit(record(path.parent)["data stopped"])
    before = recorded(path, "stopped")["objective_"]
    assert 0 < len(before) < 2 * learner.n_iter_
    np.testing.assert_array_equal(learner.objective_[: len(before)], before)
    for attribute, values in recorded(path, "learned").items():
        assert_close(getattr(learner, attribute), values, rtol=1e-6)


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_no_file_is_missing(folder) -> None:
    names = {name.split()[1] for name in record(folder) if name.startswith(("queries", "stopped"))}
    assert names == {path.stem for path in folder.iterdir()} - {"outputs"}


def test_every_estimator_that_can_be_saved_fitted_is_written() -> None:
    public = {getattr(home, name) for home in (spdatoms, baselines) for name in home.__all__}
    classes = {c for c in public if inspect.isclass(c) and issubclass(c, BaseEstimator)}
    every = estimators() | image_estimators() | bag_estimators()
    written = {type(estimator) for estimator in every.values()}
    assert classes - written == {baselines.Cov3DJClassifier}  # it holds a machine with a kernel


def test_the_ridge_of_a_descriptor_is_its_shrinkage() -> None:
    name, parameters, _ = of_today("TextureCovariance", {"block": 8, "ridge": 0.1}, {})
    assert (name, parameters) == ("TextureCovariance", {"block": 8, "shrinkage": 0.1})
