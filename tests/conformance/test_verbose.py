"""Every estimator shows its progress with ``verbose=1``, and computes the same."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import spdatoms
from conformance.estimators import assert_same, every_estimator, outputs
from spdatoms import SPDDictionaryLearning, SPDSparseClassifier, descriptors
from spdatoms.exceptions import ZeroCodeWarning
from spdatoms.paper import baselines

pytest.importorskip("tqdm")
pytestmark = [
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

#: Computes in one step what takes milliseconds.
QUICK = {"DivergenceKernel"}

RNG = np.random.default_rng(0)
IMAGES = RNG.random((6, 24, 24))
OF_IMAGES = [baselines.PixelSparseClassifier(), baselines.GaborSparseClassifier()]
OF_IMAGES += [baselines.TextonClassifier(3, 2, random_state=0)]
DESCRIPTORS = [
    (descriptors.TextureCovariance(8), IMAGES),
    (descriptors.FaceCovariance(), IMAGES),
    (descriptors.PersonCovariance(), RNG.random((3, 24, 16, 3))),
    (descriptors.RegionCovariance(), RNG.random((3, 9, 9, 2))),
    (descriptors.JointCovariance(), RNG.random((3, 12, 4, 3))),
    (descriptors.KinematicCovariance((3, 8, 8)), RNG.random((2, 9, 16, 16))),
    (descriptors.MaterialCovariance(), RNG.random((2, 32, 32, 3))),
]


def test_every_estimator_has_the_parameter() -> None:
    for home in (spdatoms, baselines, descriptors):
        for name in home.__all__:
            thing = getattr(home, name)
            if inspect.isclass(thing) and issubclass(thing, BaseEstimator) and name not in QUICK:
                assert "verbose" in thing().get_params(), name


@pytest.mark.slow
@every_estimator
def test_verbose_shows_progress_and_changes_no_result(estimator, labelled, capsys) -> None:
    X, y = labelled
    quiet = clone(estimator).fit(X, y)
    expected = outputs(quiet, X)
    assert capsys.readouterr().err == ""
    verbose = clone(estimator).set_params(verbose=1).fit(X, y)
    in_fit = capsys.readouterr().err
    if hasattr(estimator, "max_iter"):
        assert "%" in in_fit
    assert_same(expected, outputs(verbose, X))
    assert f"{len(X)}/{len(X)}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("estimator", OF_IMAGES, ids=lambda e: type(e).__name__)
def test_classifiers_of_images(estimator, capsys) -> None:
    y = [0, 1] * 3
    expected = clone(estimator).fit(IMAGES, y).decision_function(IMAGES)
    verbose = clone(estimator).set_params(verbose=1).fit(IMAGES, y)
    np.testing.assert_array_equal(verbose.decision_function(IMAGES), expected)
    if (
        type(estimator) is not baselines.PixelSparseClassifier
    ):  # its codes of six images take no time
        assert "%" in capsys.readouterr().err


def test_classifiers_of_sequences_and_bags(labelled, capsys) -> None:
    X = labelled[0]
    bags = [X[i : i + 3] for i in range(8)]
    learner = SPDDictionaryLearning(3, max_iter=2, random_state=0)
    cases = [
        (baselines.Cov3DJClassifier(), RNG.random((8, 10, 4, 3)), None),
        (baselines.MaxPoolingClassifier(learner), bags, "bags"),
    ]
    for estimator, items, named in cases:
        expected = clone(estimator).fit(items, [0, 1] * 4).decision_function(items)
        assert capsys.readouterr().err == ""
        verbose = clone(estimator).set_params(verbose=1).fit(items, [0, 1] * 4)
        np.testing.assert_array_equal(verbose.decision_function(items), expected)
        assert (named or "descriptors") in capsys.readouterr().err


@pytest.mark.parametrize(("descriptor", "items"), DESCRIPTORS, ids=lambda d: type(d).__name__)
def test_descriptors(descriptor, items, capsys) -> None:
    expected = clone(descriptor).transform(items)
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(descriptor.set_params(verbose=1).transform(items), expected)
    assert f"transform: 100%|██████████| {len(items)}/{len(items)}" in capsys.readouterr().err


def test_progress_of_what_an_estimator_uses(labelled, capsys) -> None:
    X, y = labelled
    SPDDictionaryLearning(3, max_iter=3, tol=0.0, random_state=0, verbose=1).fit(X)
    shown = capsys.readouterr().err
    assert shown.index("k-means++:") < shown.index("k-means:") < shown.index("dictionary:")
    SPDSparseClassifier("stein", n_atoms_per_class=2, random_state=0, verbose=1).fit(X, y)
    assert "class dictionaries: 100%" in capsys.readouterr().err


def test_a_bad_matrix_is_named_by_its_index_in_the_whole(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier("stein", verbose=1).fit(X, y)
    bad = X.copy()
    bad[17, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"^X\[17\]"):
        model.predict(bad)


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.OtherUnitsWarning")
def test_zero_codes_are_counted_over_all_blocks(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier("stein", alpha=1.9, verbose=1).fit(X, y)
    far = X.copy()
    far[::3] *= 1e6
    with pytest.warns(ZeroCodeWarning, match=r"^SPDSparseClassifier: 8 of 24 queries") as caught:
        model.predict(far)
    assert len([one for one in caught if one.category is ZeroCodeWarning]) == 1
