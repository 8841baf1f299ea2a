"""Data that are not perfect: what is changed at each level, and the experiment on drawn matrices."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd, wishart_classes
from spdatoms import SPDSparseClassifier
from spdatoms.paper.experiments import LabelledViews, get_experiment, run
from spdatoms.paper.experiments.protocols._corruption import FAULTS, with_faults
from spdatoms.paper.experiments.protocols.imperfect import KINDS
from spdatoms.paper.experiments.reporting import tables

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_are_where_the_mask_says(kind) -> None:
    X = random_spd(6, 5)
    spoilt, bad = with_faults(X, kind, 2, np.random.default_rng(0))
    assert (bad.sum(axis=1) == 2).all()
    for A, B, mask in zip(X, spoilt, bad, strict=True):
        kept = np.ix_(~mask, ~mask)
        np.testing.assert_array_equal(A[kept], B[kept])
        ratio = B.diagonal()[mask] / A.diagonal()[mask]
        if kind == "swapped":
            np.testing.assert_array_equal(B.diagonal()[mask], A.diagonal()[mask][::-1])
        else:
            times = {"gain": 10.0, "noise": 3.0, "weak noise": 1.0, "flat": 1e-4}[kind]
            np.testing.assert_allclose(ratio, times)
        np.linalg.cholesky(B)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_level_is_the_data_as_they_are(kind) -> None:
    X, y = wishart_classes(2, 15, n=5)
    samples = LabelledViews(y, {"covariances": X})
    train, test = samples.take(slice(20)), samples.take(slice(20, None))
    found = KINDS[kind](train, test, np.random.default_rng(0))
    easy, asked = next(iter(found.values()))
    np.testing.assert_array_equal(easy.views["covariances"], train.views["covariances"])
    if "BrokenChannels" not in kind and "variance" not in kind:
        np.testing.assert_array_equal(asked.views["covariances"], test.views["covariances"])
    assert len(found) >= 3


def test_experiment(tmp_path) -> None:
    (tmp_path / "covariances").mkdir()
    y = np.arange(90) % 2
    gains = np.where(y[:, None], np.linspace(1, 3, 5), np.linspace(3, 1, 5))
    X = wishart_classes(1, 90, n=5)[0] * gains[:, :, None] * gains[:, None]
    g = np.repeat([0, 1], [60, 30])
    np.savez(tmp_path / "covariances" / "japanese_vowels.npz", X=X, y=y, g=g)
    experiment = get_experiment("imperfect")
    results = run(experiment, tmp_path, repeats=1, methods=["RSR-S", "1-NN Stein", "MDM"])
    assert results.parts() == [f"vowels: {kind}" for kind in KINDS]
    (row,) = results.of("vowels: missing (refitted)", "RSR-S")
    assert list(row.scores) == ["0%", "10%", "25%", "50%", "75%"]
    data = experiment.load(tmp_path)["vowels: missing (refitted)"]
    task = experiment.task(data, 0, np.random.default_rng(row.seed))
    train, test = task.parameters["levels"]["50%"]
    model = SPDSparseClassifier().fit(train.views["covariances"], train.y)
    expected = 100 * model.score(test.views["covariances"], test.y)
    assert row.scores["50%"] == pytest.approx(expected)
    shown = tables(experiment, results)
    means = [table.title.partition(":")[0].lower() for table in shown if ": mean" in table.title]
    assert means == [kind.lower() for kind in KINDS]
