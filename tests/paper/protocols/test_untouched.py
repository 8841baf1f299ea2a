"""Data that nothing was settled on: divisions, matrices that are not definite, methods that fail; on drawn files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_rel

from _matrices import wishart_classes
from spdatoms import MinimumDistanceToMean, check_spd
from spdatoms.paper.experiments import Method, Results, Row, get_experiment, run
from spdatoms.paper.protocols.untouched import Untouched, safely_definite, shrunk
from spdatoms.paper.reporting import pictures, remarks, tables

PEER = "tangent space + LDA LW"


@pytest.fixture
def folder(tmp_path):
    """Takes of four frames, whose covariances are singular, and two files of definite matrices."""
    rng = np.random.default_rng(0)
    y = np.tile([1, 2, 10], 10)
    subjects = np.repeat(np.arange(10), 3)
    # Only the first two subjects make the third action: most divisions have none in training or none to recognise.
    kept = (y != 10) | (subjects < 2)
    y, subjects = y[kept], subjects[kept]
    takes = rng.standard_normal((len(y), 4, 6)) * np.where(y == 1, 1.0, 5.0)[:, None, None]
    takes[..., 5] = 0.0  # a joint that is the origin
    evaluation = tmp_path / "evaluation"
    evaluation.mkdir()
    X = np.stack([np.cov(take.T) for take in takes])
    np.savez(evaluation / "utkinect.npz", X=X, y=y, g=subjects)
    digits = np.tile([0, 1], 18)
    X = wishart_classes(1, 36, n=4)[0] * (1.0 + digits)[:, None, None] ** 2
    g = np.repeat([3, 5, 7], 12)
    np.savez(evaluation / "spoken_digits.npz", X=X.astype(np.float32), y=digits, g=g)
    np.savez(evaluation / "kth_tips2.npz", X=X, y=digits, g=np.repeat([0, 1], [24, 12]))
    return tmp_path


def test_columns_are_definite_and_in_double_precision(folder):
    columns = get_experiment("untouched").load(folder)
    assert list(columns) == ["UTKinect, shrunk", "spoken digits", "KTH-TIPS2"]
    for column in columns.values():
        X = column.samples.views["covariances"]
        assert X.dtype == np.float64
        check_spd(X)
    given = np.load(folder / "evaluation" / "kth_tips2.npz")["X"]
    np.testing.assert_array_equal(columns["KTH-TIPS2"].samples.views["covariances"], given)


def test_divisions(folder):
    experiment = get_experiment("untouched")
    columns = experiment.load(folder)

    def divisions(name):
        column = columns[name]
        # Whatever the seed of the run.
        found = [column.divide(r, np.random.default_rng(99 * r)) for r in range(column.repeats)]
        return [(a.views["groups"], b.views["groups"], a.y, b.y) for a, b in found]

    halves = divisions("UTKinect, shrunk")
    assert len(halves) == 10
    for train, test, _, _ in halves:
        assert len(set(train)) == len(set(test)) == 5
        assert not set(train) & set(test)
    assert len({tuple(sorted(set(train))) for train, *_ in halves}) > 5
    assert any(set(y) < set(asked) for _, _, y, asked in halves)  # an action that nobody showed
    left_out = [set(test) for _, test, _, _ in divisions("spoken digits")]
    assert left_out == [{3}, {5}, {7}]
    ((train, test, _, _),) = divisions("KTH-TIPS2")
    assert (set(train), set(test)) == ({0}, {1})


def test_shrinking_against_the_formula():
    X = np.array([[[4.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]])
    assert not safely_definite(X)
    assert not safely_definite(X[:1])
    assert safely_definite(np.diag([1.0, 1e-12])[None])  # scales of channels do not matter
    expected = X * np.where(np.eye(2, dtype=bool), 1.0, 1.0 - 1e-4)
    expected[1, 1, 1] = 1e-8 * 1.5  # mean variance 6/4
    np.testing.assert_allclose(shrunk(X), expected, rtol=1e-14)
    assert safely_definite(shrunk(X))


@pytest.mark.slow
def test_every_method_runs_on_every_column(folder):
    pytest.importorskip("pyriemann", reason="needs pyriemann")
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    experiment = get_experiment("untouched")
    results = run(experiment, folder, repeats=2)
    assert not results.problems
    assert not [row.note for row in results.rows if row.note]
    assert len(results.rows) == len(experiment.methods()) * (2 + 2 + 1)
    assert set(results.of("UTKinect, shrunk", PEER)[0].extra["units"]) <= set(map(str, range(10)))
    assert len(results.of("KTH-TIPS2", PEER)[0].extra["units"]) == 12
    assert f"Difference to {PEER}" in tables(experiment, results)[1].title
    assert [picture.name for picture in pictures(experiment, results)] == ["accuracy"]


class _Refuses:
    def fit(self, X, y):
        raise np.linalg.LinAlgError("did\nnot converge")


class _OneFails(Untouched):
    def methods(self):
        fails = Method("FgMDM", lambda setting: _Refuses())
        return super().methods() | {"FgMDM": fails}


def test_a_method_that_fails_is_said_to_and_the_others_go_on(folder):
    experiment = _OneFails()
    results = run(experiment, folder, methods=["FgMDM", "MDM"], repeats=1)
    assert len(results.rows) == 6
    said = "FgMDM (KTH-TIPS2): no accuracy in a division (LinAlgError: did not converge)"
    assert said in remarks(experiment, results)
    accuracies = tables(experiment, results)[0]
    assert accuracies.lines[-1].cells == ("FgMDM", "–", "–", "–", "–")
    column = experiment.load(folder)["KTH-TIPS2"]
    train, test = column.divide(0, np.random.default_rng(0))
    model = MinimumDistanceToMean().fit(train.views["covariances"], train.y)
    score = 100 * np.mean(model.predict(test.views["covariances"]) == test.y)
    assert results.of("KTH-TIPS2", "MDM")[0].scores["accuracy"] == pytest.approx(score)


def test_differences_to_the_named_peer():
    experiment = get_experiment("untouched")
    assert PEER in experiment.methods()
    assert PEER not in experiment.own
    hits = {"SPDEnsembleClassifier": (9, 7, 8), PEER: (8, 7, 5), "MDM": (10, 10, 10)}
    rows = [
        Row("a", name, r, 0, "", {"accuracy": 10.0 * h}, 0.0, 0.0, {"units": {str(r): [h, 10]}})
        for name, found in hits.items()
        for r, h in enumerate(found)
    ]
    rows += [replace(row, part="b") for row in rows]
    _, differences, *_ = tables(experiment, Results({}, rows))
    own, peer = (10.0 * np.array(hits[name]) for name in ("SPDEnsembleClassifier", PEER))
    low, high = ttest_rel(own, peer).confidence_interval(0.95)
    half = (high - low) / 2.0
    cell, both = (f"{(own - peer).mean():+.1f} ± {h:.1f}" for h in (half, half / np.sqrt(2.0)))
    assert [line.cells for line in differences.lines] == [
        ("SPDEnsembleClassifier", cell, cell, both)
    ]


def test_a_folder_without_these_files(tmp_path):
    X, y = wishart_classes(2, 3, n=3)
    np.savez(tmp_path / "other.npz", X=X, y=y)
    with pytest.raises(ValueError, match=r"has none of utkinect\.npz"):
        get_experiment("untouched").load(tmp_path)
