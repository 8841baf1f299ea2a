"""The comparison of classifiers: its columns on made folders, and its tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from _folders import noise, save_image, skeletons
from _matrices import wishart_classes
from spdatoms import SPDSparseClassifier
from spdatoms.paper.experiments import NoDataError, Results, Row, get_experiment, run
from spdatoms.paper.experiments.runner import seed_of
from spdatoms.paper.protocols.classifiers import calibration_bins
from spdatoms.paper.reporting import tables
from spdatoms.paper.reporting.comparison import (
    accuracies_of_units,
    calibration_error,
    mean_and_error,
    paired,
)
from spdatoms.paper.reporting.pages import page
from spdatoms.paper.reporting.record import record_of

pytest.importorskip("matplotlib", reason="needs the extra plot")


def save_covariances(folder: Path, name: str, y: np.ndarray, g: np.ndarray) -> None:
    X, _ = wishart_classes(1, len(y), n=3)
    scaled = X * (1.0 + np.unique(y, return_inverse=True)[1])[:, None, None] ** 2
    folder.mkdir(exist_ok=True)
    np.savez(folder / f"{name}.npz", X=scaled, y=y, g=g)


@pytest.fixture
def folder(tmp_path):
    """Two subjects with eight trials each, 45 trials of one subject, and 33 vowels of each of two speakers."""
    ready = tmp_path / "covariances"
    save_covariances(ready, "ssvep", np.arange(16) % 2, np.repeat([3, 7], 8))
    save_covariances(ready, "eeg_s001_left_right", np.arange(45) % 2, np.zeros(45, int))
    published = np.repeat([0, 1], [60, 6])
    save_covariances(ready, "japanese_vowels", np.arange(66) % 2, published)
    return tmp_path


def test_ready_covariances_are_divided_as_they_should_be(folder):
    experiment = get_experiment("classifiers")
    columns = experiment.load(folder)
    assert {name: column.repeats for name, column in columns.items()} == {
        "EEG left/right": 25,
        "SSVEP": 8,
        "vowels": 10,
    }

    def divisions(name, repeats):
        tasks = [experiment.task(columns[name], r, np.random.default_rng(r)) for r in repeats]
        return [(task.train, task.tests["accuracy"]) for task in tasks]

    # Four folds of both subjects: every trial is tested once, and nobody else's trials train.
    tested = []
    for train, test in divisions("SSVEP", range(8)):
        assert len(set(train.views["groups"]) | set(test.views["groups"])) == 1
        assert np.bincount(test.y.astype(int)).tolist() == [1, 1]
        tested.append(test.views["covariances"][:, 0, 0])
    assert len(np.unique(np.concatenate(tested))) == 16
    # Five folds, five times over: the second five are other folds.
    first, second = (
        [len(t) for _, t in divisions("EEG left/right", r)] for r in ((range(5)), range(5, 10))
    )
    assert sum(first) == sum(second) == 45
    (_, test), (_, other) = divisions("EEG left/right", (0, 5))
    assert not np.array_equal(test.views["covariances"], other.views["covariances"])
    # Standard errors are over epochs, each of which is tested once in every five folds.
    epochs = [test.views["units"] for _, test in divisions("EEG left/right", range(25))]
    assert np.bincount(np.concatenate(epochs)).tolist() == [5] * 45
    (train, _), (drawn, rest) = divisions("vowels", (0, 1))
    assert set(train.views["groups"]) == {0}
    assert np.bincount(drawn.y.astype(int)).tolist() == [30, 30]
    assert len(rest) == 6


@pytest.mark.slow
def test_other_columns_are_those_of_their_experiments(tmp_path):
    from spdatoms.paper.datasets.brodatz import MOSAICS

    skeletons(tmp_path / "hdm05" / "joints.npz")
    for plate in {plate for mosaic in MOSAICS.values() for plate in mosaic}:
        save_image(tmp_path / "brodatz" / f"D{plate}.png", noise(64, 64, seed=plate))
    experiment = get_experiment("classifiers")
    columns = experiment.load(tmp_path)
    assert list(columns) == ["Brodatz 10", "Brodatz 16c", "HDM05"]
    for name, other, part in (
        ("Brodatz 10", "textures", "10"),
        ("HDM05", "actions", "as captured"),
    ):
        ours = experiment.task(columns[name], 1, np.random.default_rng(4))
        original = get_experiment(other)
        theirs = original.task(original.load(tmp_path)[part], 1, np.random.default_rng(4))
        np.testing.assert_array_equal(ours.train.y, theirs.train.y)
        np.testing.assert_allclose(
            ours.tests["accuracy"].views["covariances"],
            theirs.tests["accuracy"].views["covariances"],
        )


@pytest.mark.slow
def test_faces_are_units(tmp_path):
    from scipy.io import savemat

    (tmp_path / "feret_b").mkdir()
    for pose in ("ba", "bd", "be", "bf", "bg", "bj", "bk"):
        X = wishart_classes(1, 3, n=3, seed=ord(pose[1]))[0]
        savemat(tmp_path / "feret_b" / f"{pose}.mat", {"features": X.transpose(1, 2, 0)})
    with pytest.warns(UserWarning, match="people: 200 were expected"):
        results = run(get_experiment("classifiers"), tmp_path, on_error="warn", methods=["RSR-S"])
    (row,) = results.rows
    units = row.extra["units"]
    assert [total for _, total in units.values()] == [4, 4, 4]
    hits = sum(hits for hits, _ in units.values())
    assert row.scores["accuracy"] == pytest.approx(100 * hits / 12)


@pytest.mark.slow
def test_run_continues_and_reports(folder, tmp_path):
    experiment = get_experiment("classifiers")
    methods = ["RSR-S", "ensemble, cv", "MDM", "1-NN Stein"]
    options = {"methods": methods, "repeats": 9, "out": tmp_path / "out"}
    results = run(experiment, folder, **options)
    again = run(experiment, folder, **options)
    assert list(again.rows) == list(results.rows)
    counts = {part: len(results.of(part, "MDM")) for part in results.parts()}
    assert counts == {"EEG left/right": 9, "SSVEP": 8, "vowels": 9}
    # One number against a direct loop.
    column = experiment.load(folder)["vowels"]
    train, test = column.divide(2, np.random.default_rng(seed_of(0, 2)))
    model = SPDSparseClassifier().fit(train.views["covariances"], train.y)
    expected = 100 * model.score(test.views["covariances"], test.y)
    assert results.of("vowels", "RSR-S")[2].scores["accuracy"] == pytest.approx(expected)
    accuracies, named, differences, seconds = tables(experiment, results)
    assert accuracies.header == ("method", "EEG left/right", "SSVEP", "vowels", "mean")
    assert "tangent space + LDA LW" in named.title
    assert [line.cells[0] for line in differences.lines] == [*results.parts(), "mean"]
    assert {line.cells[3] for line in differences.lines[:-1]} <= {"MDM", "1-NN Stein"}
    assert len(seconds.lines) == 4
    assert "# Classifiers side by side\n" in page(record_of(experiment, results))
    with pytest.raises(ValueError, match="at most 25, got 26"):
        run(experiment, folder, methods=["MDM"], repeats=26)


def test_a_folder_without_data(tmp_path):
    with pytest.raises(NoDataError, match="none of the folders brodatz, feret_b"):
        get_experiment("classifiers").load(tmp_path)


# --- numbers of the tables ---------------------------------------------------------------------------


def row(method: str, repeat: int, score: float, part: str = "a", **extra: object) -> Row:
    return Row(part, method, repeat, 0, "", {"accuracy": score}, 0.0, 0.0, extra)


def test_units_are_pooled_over_rows():
    rows = [
        row("m", 0, 75.0, units={"anna": [3, 4], "ben": [1, 4]}),
        row("m", 1, 50.0, units={"anna": [1, 4]}),
    ]
    assert accuracies_of_units(rows) == {"anna": 50.0, "ben": 25.0}
    assert accuracies_of_units([row("m", 0, 75.0), row("m", 1, 50.0, units={})]) == {
        "0": 75.0,
        "1": 50.0,
    }
    assert mean_and_error([1.0, 3.0, 5.0]) == (3.0, pytest.approx(2.0 / np.sqrt(3)))
    assert mean_and_error([4.0]) == (4.0, None)
    assert paired({"anna": 5.0, "ben": 1.0}, {"ben": 3.0, "carl": 2.0}) == [-2.0]


def test_differences_are_paired():
    experiment = get_experiment("classifiers")
    scores = {"ensemble, cv": (80, 60), "MDM": (79, 57), "1-NN AIRM": (50, 20)}
    rows = [row(m, r, s) for m, both in scores.items() for r, s in enumerate(both)]
    rows += [row(m, r, 90.0, "b") for m in scores for r in range(2)]
    _, _, differences, _ = tables(experiment, Results({}, rows))
    assert [line.cells for line in differences.lines] == [
        ("a", "70.0", "68.0", "MDM", "+2.0 ± 1.0"),
        ("b", "90.0", "90.0", "MDM", "+0.0 ± 0.0"),
        ("mean", "", "", "", "+1.0 ± 0.5"),
    ]


def test_calibration_error_against_a_loop():
    rng = np.random.default_rng(0)
    confidence = np.append(rng.uniform(0.2, 1.0, 400), [1.0, 0.0])
    hits = rng.uniform(size=402) < confidence**2
    halves = [calibration_bins(confidence[i::2], hits[i::2]) for i in range(2)]
    found = calibration_error([row("m", i, 0.0, calibration=h) for i, h in enumerate(halves)])
    expected = 0.0
    for low in np.arange(15) / 15:
        inside = (confidence >= low) & ((confidence < low + 1 / 15) | (low > 0.93))
        if inside.any():
            gap = abs(hits[inside].mean() - confidence[inside].mean())
            expected += 100 * inside.mean() * gap
    assert found == pytest.approx(expected)
    assert calibration_error([row("m", 0, 0.0)]) is None
