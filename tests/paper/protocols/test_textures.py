"""The embedded experiment on textures: imperfect queries beside perfect ones."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms.geometry.channels import known_channels
from spdatoms.paper.experiments import get_experiment, run
from spdatoms.paper.experiments.task import ACCURACY, COVARIANCES
from spdatoms.paper.protocols.textures import PARTS, spoilt

pytest.importorskip("skimage")


def test_spoilt_queries():
    Q = np.tile(np.eye(7) + 1.0, (20, 1, 1))
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(spoilt(Q, "none", rng), Q)
    missing = ~known_channels(spoilt(Q, "missing", rng))
    np.testing.assert_array_equal(missing.sum(axis=1), 3)
    assert 1 < len(np.unique(missing, axis=0)) <= 5
    broken = spoilt(Q, "broken", rng)
    variances = np.einsum("mii->mi", broken)
    np.testing.assert_array_equal((variances > 5).sum(axis=1), 1)
    np.testing.assert_allclose(variances.max(axis=1), 20.0)
    assert (np.linalg.eigvalsh(broken) > 0).all()


@pytest.mark.slow
def test_parts_of_the_embedded_data():
    experiment = get_experiment("textures")
    assert experiment.default_methods(embedded=True)[:3] == [
        "SPDEnsembleClassifier",
        "RSR-S",
        "RSR-J",
    ]
    data = experiment.load(None)
    assert list(data) == ["photographs", *PARTS]
    task = experiment.task(data["half missing"], 0, np.random.default_rng(0))
    assert len(task.train) == 6 * 15
    known = known_channels(task.tests[ACCURACY].views[COVARIANCES])
    assert known.shape == (100, 13)
    np.testing.assert_array_equal(known.sum(axis=1), 7)


@pytest.mark.slow
def test_what_is_left_of_accuracies():
    """A broken channel costs a nearest neighbour much, and RSR-S behind the detector little."""
    options = {"methods": ["RSR-S", "1-NN Jeffrey"], "repeats": 1}
    found = run(get_experiment("textures"), **options).summaries()
    accuracy = {(one.method, one.part): one.scores[ACCURACY] for one in found}
    perfect, broken = "13 filters", "one broken"
    assert accuracy["RSR-S", broken] > accuracy["RSR-S", perfect] - 6
    assert accuracy["1-NN Jeffrey", broken] < accuracy["1-NN Jeffrey", perfect] - 6
    assert accuracy["RSR-S", "half missing"] > accuracy["RSR-S", perfect] - 8
