"""Which channels decided: gradients of margins against differences, paths, and what the relevance says."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from spdatoms import SPDEnsembleClassifier, SPDSparseClassifier, divergence
from spdatoms.classification.relevance import Path
from spdatoms.classification.scores import ClassRule

SILENT = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")


def labelled(count=60, n=4, complex_=False):
    """Return matrices whose classes differ in channel 0 and in the covariance of channels 1 and 2."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((count, n, 15)) + (
        1j * rng.standard_normal((count, n, 15)) if complex_ else 0
    )
    y = np.arange(count) % 3
    A[y == 1, 0] *= 2.0
    A[y == 2, 1] += A[y == 2, 2]
    return A @ A.conj().swapaxes(1, 2) / 15, y


MODELS = [
    SPDEnsembleClassifier(),
    SPDEnsembleClassifier(metrics=("riemann", "euclid"), class_weight="balanced"),
    SPDSparseClassifier(),
    SPDSparseClassifier(rule="sum", whitening=0.3, ridge=0.1, class_weight={0: 1, 1: 2, 2: 3}),
    SPDSparseClassifier(rule="max"),
    SPDSparseClassifier(landmarks=12),
    SPDSparseClassifier(alpha=3.0),
    SPDSparseClassifier(alpha=3.0, landmarks=12),
]


@SILENT
@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_margins_and_their_slopes(model, complex_) -> None:
    """The margin at the query is that of its totals; slopes are those of differences."""
    X, y = labelled(complex_=complex_)
    found = model.fit(X[:48], y[:48]).explain(X[48:])
    margins = found[0]._relevance[0].margins
    rows = np.arange(12)
    values, G = margins.at(X[48:], rows)
    np.testing.assert_allclose(values, [one.margin for one in found], rtol=1e-6, atol=1e-9)
    H, step = X[:12] - X[12:24], 1e-6
    sides = [margins.at(X[48:] + t * H, rows)[0] for t in (step, -step)]
    numerical = (sides[0] - sides[1]) / (2 * step)
    slopes = np.einsum("mij,mji->m", G, H).real
    # Where a code changes its atoms within the step, both are right and differ.
    close = np.isclose(slopes, numerical, rtol=1e-4, atol=1e-5 * np.abs(slopes).max())
    assert close.mean() > 0.9


@pytest.mark.parametrize("rule", ["residual", "sum", "max"])
def test_slopes_of_class_scores(rule) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 20))
    gram, classes = A @ A.T, np.arange(9) % 3
    codes, cross, weights = (rng.standard_normal((4, k)) for k in (9, 9, 3))
    dy, dk = (1e-6 * rng.standard_normal((4, 9)) for _ in range(2))
    judge = ClassRule(rule, classes, 3)
    sides = [(weights * judge.scores(codes + s * dy, gram, cross + s * dk)).sum() for s in (1, -1)]
    in_codes, in_cross = judge.vjp(codes, gram, cross, weights)
    slope = (in_codes * dy).sum() + (in_cross * dk).sum()
    assert slope == pytest.approx(0.5 * (sides[0] - sides[1]), rel=1e-6)


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
def test_paths_are_geodesics(complex_) -> None:
    X, _ = labelled(complex_=complex_)
    M, Z = X[0], 1e-12 * X[1:4]
    path, rows = Path(M, Z), np.array([0, 1, 2])
    for t in (0.0, 0.3, 1.0):
        P, V = path.at(rows, np.full(3, t))
        whole = np.sqrt(divergence(M, Z, "riemann"))
        np.testing.assert_allclose(np.sqrt(divergence(M, P, "riemann")), t * whole, atol=1e-6)
        ahead, behind = (path.at(rows, np.full(3, t + s))[0] for s in (1e-6, -1e-6))
        np.testing.assert_allclose(
            V, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6 * np.abs(V).max()
        )
    np.testing.assert_allclose(path.at(rows, np.ones(3))[0], Z, rtol=1e-9)


@pytest.mark.slow
def test_the_channels_in_which_classes_differ_are_relevant() -> None:
    X, y = labelled(90)
    found = SPDEnsembleClassifier().fit(X[:66], y[:66]).explain(X[66:])
    right = found.predictions == y[66:]
    assert right.mean() > 0.8
    channels = found.channels.channels
    ones = channels[right & (y[66:] == 1)].mean(axis=0)
    assert ones.argmax() == 0
    twos = found.channels.pairs[right & (y[66:] == 2)].mean(axis=0)
    off_diagonal = np.where(np.eye(4, dtype=bool), -np.inf, twos)
    assert set(np.unravel_index(off_diagonal.argmax(), (4, 4))) == {1, 2}


@pytest.mark.slow
def test_it_is_computed_when_asked_for_and_kept(monkeypatch) -> None:
    X, y = labelled()
    model = SPDSparseClassifier().fit(X[:48], y[:48])
    found = model.explain(X[48:])
    relevance = found[0]._relevance[0]
    assert not relevance._kept
    one = found[3].channels
    assert list(relevance._kept) == [3]
    model.fit(2.0 * X[20:50], y[20:50])  # what was explained stays explained
    found = found[:5]
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy[3].channels.pairs, one.pairs)
    np.testing.assert_array_equal(copy.channels[4].pairs, found.channels[4].pairs)
    assert found[1:3].channels.pairs.shape == (2, 4, 4)


def test_matrices_that_lack_channels() -> None:
    X, y = labelled()
    model = SPDEnsembleClassifier().fit(X[:48], y[:48])
    Z = X[48:51].copy()
    Z[1, 2], Z[1, :, 2] = np.nan, np.nan
    found = model.explain(Z)
    assert found[0].channels.pairs.shape == (4, 4)
    assert found[1].channels.pairs.shape == (3, 3)
    with pytest.raises(ValueError, match="different channels"):
        _ = found.channels
