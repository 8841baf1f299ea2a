"""`SPDAlign`: domains turned onto each other, with and without labels of the target."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from _domains import subjects_with_labels
from _model_files import round_trip
from spdatoms import MinimumDistanceToMean, SPDAlign, SPDRecentre, mean
from spdatoms.geometry import logm, vech

X, Y, NAMES = subjects_with_labels()
NEW = NAMES == "kim"


def accuracy(A: np.ndarray, y: np.ndarray, B: np.ndarray) -> float:
    return float(np.mean(MinimumDistanceToMean().fit(A, y).predict(B) == Y[NEW]))


def gaps(Z: np.ndarray) -> float:
    """Return how far the class means of subjects are from those of all."""
    v = vech(logm(Z), weighted=True)
    own = [
        [v[(s == NAMES) & (c == Y)].mean(axis=0) for c in np.unique(Y)] for s in np.unique(NAMES)
    ]
    return float(np.linalg.norm(np.array(own) - np.mean(own, axis=0)))


def test_class_means_of_domains_come_nearer() -> None:
    centred = SPDRecentre(scale=True).fit_transform(X, domains=NAMES)
    turned = SPDAlign().fit_transform(X, Y, domains=NAMES)
    assert gaps(turned) < 0.6 * gaps(centred)
    for name in np.unique(NAMES):  # a turn about the centre keeps it
        np.testing.assert_allclose(mean(turned[name == NAMES], "logeuclid"), np.eye(3), atol=0.1)


def test_a_new_domain_without_labels_and_with_some() -> None:
    align = SPDAlign()
    A = align.fit_transform(X[~NEW], Y[~NEW], domains=NAMES[~NEW])
    B = align.transform(X[NEW])
    np.testing.assert_array_equal(B, align.transform(X[NEW], "somebody"))
    recentre = SPDRecentre(scale=True)
    plain = recentre.fit_transform(X[~NEW], domains=NAMES[~NEW])
    unturned = accuracy(plain, Y[~NEW], recentre.transform(X[NEW]))
    assert accuracy(A, Y[~NEW], B) >= unturned
    known, rest = X[NEW][:6], X[NEW][6:]
    labels = np.append(Y[~NEW], Y[NEW][:6])
    names = np.append(NAMES[~NEW], ["target"] * 6)
    some = SPDAlign()
    own = some.fit_transform(np.concatenate([X[~NEW], known]), labels, domains=names, X_target=rest)
    model = MinimumDistanceToMean().fit(own, labels)
    assert model.score(some.transform(rest), Y[NEW][6:]) >= unturned
    labelled = SPDAlign().fit(X[~NEW], Y[~NEW], NAMES[~NEW], X[NEW], Y[NEW])
    assert accuracy(A, Y[~NEW], labelled.transform(X[NEW])) >= unturned
    assert set(labelled.turned_) == {"ann", "bob", "eve", "target"}
    with pytest.raises(ValueError, match="y_target has a label that y does not have"):
        SPDAlign().fit(X[~NEW], Y[~NEW], NAMES[~NEW], X[NEW], ["none", *Y[NEW][1:]])
    with pytest.raises(ValueError, match="Nothing is known of the domain 'kim'"):
        align.set_params(adapt="none").transform(X[NEW], "kim")


def test_one_domain_is_centred_and_scaled_only() -> None:
    Z = SPDAlign().fit_transform(X[NEW], Y[NEW])
    expected = SPDRecentre(scale=True).fit_transform(X[NEW])
    np.testing.assert_allclose(Z, expected, rtol=1e-6, atol=1e-9)


def test_known_domains_files_precision_and_streams() -> None:
    align = SPDAlign().fit(X, Y, domains=NAMES)
    Z = align.transform(X, NAMES)
    np.testing.assert_allclose(Z, SPDAlign().fit_transform(X, Y, domains=NAMES), rtol=1e-12)
    np.testing.assert_array_equal(round_trip(align).transform(X, NAMES), Z)
    np.testing.assert_array_equal(align.transform(X[NEW], "kim"), Z[NEW])
    lazily = align.transform(dask.array.from_array(X[NEW], chunks=(9, 3, 3)), "kim")
    np.testing.assert_array_equal(lazily.compute(), Z[NEW])
    single = align.transform(X.astype(np.float32), NAMES)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, Z, rtol=1e-3, atol=1e-4)
    fewer = SPDAlign(max_atoms=30).fit(X[~NEW], Y[~NEW], domains=NAMES[~NEW])
    assert len(fewer._vectors) == 30
    assert fewer.transform(X[NEW]).shape == X[NEW].shape


def test_drift_moves_the_centre_and_keeps_the_turn() -> None:
    align = SPDAlign().fit(X, Y, domains=NAMES)
    before = align.recentre_
    for x in 4.0 * X[NEW]:
        align.partial_fit(x[None], domains="kim")
    assert align.recentre_ is not before
    assert align.transform(4.0 * X[NEW], "kim").trace(axis1=1, axis2=2).mean() < (
        SPDAlign()
        .fit(X, Y, domains=NAMES)
        .transform(4.0 * X[NEW], "kim")
        .trace(axis1=1, axis2=2)
        .mean()
    )
    with pytest.raises(ValueError, match=r"X\[0\]"):
        align.partial_fit(-X[:1], domains="kim")


def test_missing_channels() -> None:
    holes = X.copy()
    holes[::7, 1] = holes[::7, :, 1] = np.nan
    align = SPDAlign()
    A = align.fit_transform(holes[~NEW], Y[~NEW], domains=NAMES[~NEW])
    assert accuracy(A, Y[~NEW], align.transform(holes[NEW])) > 0.8


def test_in_a_pipeline() -> None:
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(SPDAlign(), MinimumDistanceToMean())
        model.fit(X[~NEW], Y[~NEW], domains=NAMES[~NEW])
        assert model.score(X[NEW], Y[NEW]) > 0.8
