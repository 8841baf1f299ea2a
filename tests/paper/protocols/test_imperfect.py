"""Data that are not perfect: what is changed at each level, and the experiment on drawn matrices."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd, wishart_classes
from spdatoms import SPDSparseClassifier, suspect_labels
from spdatoms.paper.experiments import LabelledViews, Results, Row, get_experiment, run
from spdatoms.paper.protocols._corruption import FAULTS, with_faults
from spdatoms.paper.protocols._imperfections import IMPERFECTIONS, UnusualVariance
from spdatoms.paper.reporting import pictures, remarks, tables

pytest.importorskip("matplotlib", reason="needs the extra plot")

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


def test_faults_in_a_few_sets_of_channels() -> None:
    bad = with_faults(random_spd(6, 5), "gain", 2, np.random.default_rng(0), sets=3)[1]
    np.testing.assert_array_equal(bad[:3], bad[3:])
    assert len(np.unique(bad, axis=0)) > 1


def _division() -> tuple[LabelledViews, LabelledViews]:
    X, y = wishart_classes(2, 15, n=5)
    samples = LabelledViews(y, {"covariances": X})
    return samples.take(slice(20)), samples.take(slice(20, None))


@pytest.mark.parametrize("imperfection", ["missing channels", "missing everywhere"])
def test_a_share_of_channels_is_missing(imperfection) -> None:
    train, test = _division()
    cases = IMPERFECTIONS[imperfection](train, test, np.random.default_rng(0))
    for (treatment, level), (easy, asked) in cases.items():
        X, Q = easy.views["covariances"], asked.views["covariances"]
        if level == "0%":
            np.testing.assert_array_equal(X, train.views["covariances"])
            np.testing.assert_array_equal(Q, test.views["covariances"])
        lost = np.isnan(Q.diagonal(axis1=1, axis2=2)).sum(axis=1)
        share = {"0%": 0, "10%": 0, "25%": 1, "50%": 2, "75%": 4}[level]
        assert (lost == (share if treatment == "refitted" else 0)).all()
        np.linalg.cholesky(X)


def test_the_right_channels_are_told() -> None:
    train, test = _division()
    cases = IMPERFECTIONS["broken channels"](train, test, np.random.default_rng(0))
    clean = test.views["covariances"]
    for level in ("gain × 1", "noise × 3", "swapped × 2"):
        told = cases["told", level][1].views["covariances"]
        known = ~np.isnan(told)
        assert (np.isnan(told.diagonal(axis1=1, axis2=2)).sum(axis=1) == int(level[-1])).all()
        np.testing.assert_array_equal(told[known], clean[known])
        assert not np.isnan(cases["untreated", level][1].views["covariances"]).any()


def test_unusual_variances() -> None:
    X = np.exp(np.random.default_rng(0).standard_normal((500, 3)))[:, :, None] * np.eye(3)
    detector = UnusualVariance().fit(X)
    assert detector.predict(X).any(axis=1).mean() == pytest.approx(0.01)
    X[7, 1, 1] *= 1e6
    assert detector.predict(X)[7].tolist() == [False, True, False]
    X[7] *= 1e6  # most channels: no variance is usual, and nothing is left out
    assert not detector.predict(X)[7].any()


def test_wrong_labels_are_left_out() -> None:
    train, test = _division()
    cases = IMPERFECTIONS["wrong labels"](train, test, np.random.default_rng(0))
    assert len(cases["told", "30%"][0]) == 14
    given = cases["as they are", "30%"][0]
    assert np.mean(given.y != train.y) == 0.3
    suspects = suspect_labels(given.views["covariances"], given.y).above()
    assert len(cases["suspects removed", "30%"][0]) == 20 - len(suspects)


def test_ranks_on_the_common_range_are_the_originals_up_to_a_basis() -> None:
    train, test = _division()
    cases = IMPERFECTIONS["deficient ranks"](train, test, np.random.default_rng(0))
    sizes = {level: part[0].views["covariances"].shape[1] for (_, level), part in cases.items()}
    assert sizes == {"as they are": 5, "average reference": 5, "two copies": 7}  # of what is shrunk
    reached = cases["common range", "average reference"][0].views["covariances"]
    T = np.eye(5) - 0.2
    expected = [np.linalg.eigvalsh(T @ X @ T)[1:] for X in train.views["covariances"]]
    np.testing.assert_allclose(np.linalg.eigvalsh(reached), expected, rtol=1e-9)


def test_experiment(tmp_path) -> None:
    (tmp_path / "covariances").mkdir()
    y = np.arange(90) % 2
    gains = np.where(y[:, None], np.linspace(1, 3, 5), np.linspace(3, 1, 5))
    X = wishart_classes(1, 90, n=5)[0] * gains[:, :, None] * gains[:, None]
    g = np.repeat([0, 1], [60, 30])
    np.savez(tmp_path / "covariances" / "japanese_vowels.npz", X=X, y=y, g=g)
    experiment = get_experiment("imperfect")
    methods = ["RSR-S", "SPDEnsembleClassifier", "1-NN Stein", "MDM"]
    results = run(experiment, tmp_path, repeats=1, methods=methods)
    assert results.parts() == [f"vowels: {name}" for name in IMPERFECTIONS]
    (row,) = results.of("vowels: missing channels", "RSR-S")
    data = experiment.load(tmp_path)["vowels: missing channels"]
    task = experiment.task(data, 0, np.random.default_rng(row.seed))
    train, test = task.parameters["cases"]["refitted", "50%"]
    assert np.isnan(test.views["covariances"]).any()
    model = SPDSparseClassifier().fit(train.views["covariances"], train.y)
    hits = model.predict(test.views["covariances"]) == test.y  # it refits itself
    assert row.scores["refitted: 50%"] == pytest.approx(100 * hits.mean())
    assert row.extra["hits"]["refitted: 50%"] == "".join(str(int(hit)) for hit in hits)
    shown = tables(experiment, results)
    assert [table.title.partition(":")[0] for table in shown[::2]] == [
        f"{name[0].upper()}{name[1:]}" for name in IMPERFECTIONS
    ]
    names = [picture.name for picture in pictures(experiment, results)]
    assert names == ["overview", "missing-channels", "wrong-labels"]


def _row(part: str, method: str, repeat: int, **hits: str) -> Row:
    cases = {f"refitted: {level[1:]}%": bits for level, bits in hits.items()}
    scores = {case: 100.0 * bits.count("1") / len(bits) for case, bits in cases.items()}
    return Row(part, method, repeat, 0, "", scores, 0.0, 0.0, {"hits": cases})


def test_tables_pair_queries_of_repeats_that_all_methods_have() -> None:
    experiment, ours = get_experiment("imperfect"), "SPDEnsembleClassifier"
    rows = [
        _row("a: missing channels", ours, 0, s0="1111", s50="1101"),
        _row("a: missing channels", "MDM", 0, s0="1110", s50="0101"),
        _row("a: missing channels", ours, 1, s0="0000", s50="0000"),  # MDM lacks it
        _row("b: missing channels", ours, 0, s0="1111", s50="1111"),
        _row("b: missing channels", "MDM", 0, s0="1111", s50="0000"),
    ]
    means, data_sets = tables(experiment, Results({"data": "folder"}, rows))
    assert means.header == ("method", "treatment", "0%", "50%")
    assert [line.cells for line in means.lines] == [
        (ours, "refitted", "100.0", "87.5"),
        ("MDM", "refitted", "87.5", "25.0"),
    ]
    (_, best), (_, peer) = ((line.cells[0], line.cells[1:]) for line in data_sets.lines)
    assert best == ("75.0", "100.0", "–")
    assert peer == ("50.0 (-25.0 ± 25.0)", "0.0 (-100.0 ± 0.0)", "-62.5 ± 37.5")


def test_a_repeat_without_scores_of_a_method_is_not_compared() -> None:
    experiment, ours = get_experiment("imperfect"), "SPDEnsembleClassifier"
    assert experiment.errors_are_noted
    rows = [
        _row("a: missing channels", ours, 0, s0="1111", s50="1101"),
        _row("a: missing channels", "MDM", 0, s0="1110", s50="0101"),
        _row("a: missing channels", ours, 1, s0="0000", s50="0000"),
    ]
    note = "no accuracy in a division (ValueError: singular)"
    failed = Row("a: missing channels", "MDM", 1, 0, "", {}, 0.0, 0.0, note=note)
    results = Results({"data": "folder"}, [*rows, failed])
    means, _ = tables(experiment, results)
    assert means.row(ours) == {"treatment": "refitted", "0%": "100.0", "50%": "75.0"}
    assert remarks(experiment, results) == [f"MDM (a: missing channels): {note}"]
    nothing = Results({"data": "folder"}, [failed])
    assert tables(experiment, nothing) == []
    assert pictures(experiment, nothing) == []
