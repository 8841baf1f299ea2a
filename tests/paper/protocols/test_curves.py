"""What makes classification hard: levels of difficulty, their experiment, its tables and figures."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd, wishart_classes
from spdatoms import SPDKNeighborsClassifier
from spdatoms.paper.experiments import LabelledViews, Results, Row, get_experiment, run
from spdatoms.paper.protocols._corruption import (
    mislabelled,
    some_per_class,
    with_noise,
    with_outlier_channel,
)
from spdatoms.paper.protocols.curves import KINDS, levels
from spdatoms.paper.reporting import tables, write_folder
from spdatoms.paper.reporting.curves import curve

pytest.importorskip("matplotlib", reason="needs the extra plot")

pytestmark = pytest.mark.slow


def test_first_of_every_class():
    y = np.array(list("babacb"))
    assert some_per_class(y, 1).tolist() == [0, 1, 4]
    assert some_per_class(y, 2).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_share_of_wrong_labels(share):
    y = np.repeat(["a", "b", "c"], 8)
    replaced = mislabelled(y, share, np.random.default_rng(0))
    assert np.mean(replaced != y) == share
    assert set(replaced) <= {"a", "b", "c"}


def test_corrupted_matrices():
    X = random_spd(5, 4)
    kept = X.copy()
    noisy = with_noise(X, 0.5)
    np.testing.assert_allclose(noisy - X, 0.5 * np.stack([np.diag(np.diag(A)) for A in X]))
    change = with_outlier_channel(X, 3.0, np.random.default_rng(0)) - X
    assert np.count_nonzero(change, axis=(1, 2)).tolist() == [1] * 5
    for A, C in zip(X, change, strict=True):
        ((j, k),) = np.argwhere(C)
        assert (j, C[j, j]) == (k, pytest.approx(3.0 * A[j, j]))
    np.testing.assert_array_equal(X, kept)


@pytest.mark.parametrize("kind", KINDS)
def test_levels_differ_in_one_thing(kind):
    X, y = wishart_classes(2, 12, n=3)
    samples = LabelledViews(y, {"covariances": X})
    train, test = samples.take(slice(12)), samples.take(slice(12, None))
    found = levels(kind, train, test, np.random.default_rng(0))
    assert len(found) >= 3
    trains = {id(of) for of, _ in found.values()}
    tests = {id(of) for _, of in found.values()}
    assert (len(trains) == 1) != (len(tests) == 1)
    if kind == "training size":
        assert [len(of) for of, _ in found.values()] == sorted(len(of) for of, _ in found.values())
    else:
        # The first level is the data as they are.
        easy, asked = next(iter(found.values()))
        np.testing.assert_array_equal(easy.y, train.y)
        np.testing.assert_array_equal(asked.views["covariances"], test.views["covariances"])


def test_experiment(tmp_path):
    (tmp_path / "covariances").mkdir()
    y = np.arange(66) % 2
    X = wishart_classes(1, 66, n=3)[0] * (1.0 + y)[:, None, None] ** 2
    g = np.repeat([0, 1], [60, 6])
    np.savez(tmp_path / "covariances" / "japanese_vowels.npz", X=X, y=y, g=g)
    experiment = get_experiment("curves")
    results = run(experiment, tmp_path, repeats=1, methods=["RSR-S", "1-NN Stein", "MDM"])
    assert results.parts() == [f"vowels: {kind}" for kind in KINDS]
    (row,) = results.of("vowels: training size", "1-NN Stein")
    assert list(row.scores) == ["1", "2", "5", "10", "20"]
    task = experiment.task(
        experiment.load(tmp_path)["vowels: training size"], 0, np.random.default_rng(row.seed)
    )
    train, test = task.parameters["levels"]["5"]
    assert len(train) == 10
    model = SPDKNeighborsClassifier(1, "stein").fit(train.views["covariances"], train.y)
    expected = 100 * model.score(test.views["covariances"], test.y)
    assert row.scores["5"] == pytest.approx(expected)
    shown = tables(experiment, results)
    assert list(dict.fromkeys(table.title.partition(":")[0] for table in shown)) == [
        "Training size",
        "Mislabelled",
        "Outlier channel",
        "Noise",
    ]
    assert shown[2].header == shown[3].header == ("method", "0%", "10%", "20%", "30%")
    names = {path.name for path in write_folder(experiment, results, tmp_path / "out")}
    assert {"accuracy-by-training-size.svg", "accuracy-by-noise.png"} <= names


def test_means_are_over_data_sets_with_all_levels():
    scores = {
        "a: training size": [{"1": 50.0, "2": 70.0}, {"1": 60.0, "2": 90.0}],
        "b: training size": [{"1": 10.0}],
    }
    rows = [
        Row(part, "MDM", i, 0, "", values, 0.0, 0.0)
        for part, several in scores.items()
        for i, values in enumerate(several)
    ]
    results = Results({}, rows)
    (table,) = tables(get_experiment("curves"), results)
    assert table.title == "Training size: mean accuracy (%) over a"
    assert [line.cells for line in table.lines] == [("MDM", "55.0", "80.0")]
    assert curve(results, "a: training size", "MDM")["1"] == (55.0, pytest.approx(5.0))


def test_differences_to_the_reference_are_paired_by_data_set():
    scores = {
        "RSR-S": {"a: noise": 50.0, "b: noise": 80.0},
        "MDM": {"a: noise": 56.0, "b: noise": 82.0},
        "FgMDM": {"a: noise": 40.0, "b: noise": 70.0},
    }
    rows = [
        Row(part, method, 0, 0, "", {"0": value} | ({"1": 0.0} if method != "FgMDM" else {}), 0, 0)
        for method, own in scores.items()
        for part, value in own.items()
    ]
    _, differences = tables(get_experiment("curves"), Results({}, rows))
    assert (
        differences.title == "Noise: difference to RSR-S in points ± standard error over data sets"
    )
    assert [line.cells for line in differences.lines] == [
        ("MDM", "+4.0 ± 2.0", "+0.0 ± 0.0"),
        ("FgMDM", "-10.0 ± 0.0", "–"),
    ]


def test_a_method_that_refuses_a_level_has_no_figure_there():
    scores = {"MDM": {"1": 50.0, "2": 70.0}, "FgMDM": {"2": 90.0}}
    rows = [Row("a: training size", m, 0, 0, "", values, 0.0, 0.0) for m, values in scores.items()]
    (table,) = tables(get_experiment("curves"), Results({}, rows))
    assert [line.cells for line in table.lines] == [("MDM", "50.0", "70.0"), ("FgMDM", "–", "90.0")]


def test_figures_show_methods_that_ran_though_others_are_usual(tmp_path):
    rows = [Row("a: noise", "RSR-J", 0, 0, "", {"0": 50.0, "1": 40.0}, 0.0, 0.0)]
    names = {
        path.name for path in write_folder(get_experiment("curves"), Results({}, rows), tmp_path)
    }
    assert "accuracy-by-noise.png" in names


def test_repeats_may_have_different_levels():
    several = [{"1": 50.0}, {"1": 60.0, "2": 90.0}]
    rows = [Row("", "MDM", i, 0, "", scores, 0.0, 0.0) for i, scores in enumerate(several)]
    (summary,) = Results({}, rows).summaries()
    assert summary.scores == {"1": 55.0, "2": 90.0}
