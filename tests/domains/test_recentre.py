"""`SPDRecentre`: centres, scales, new domains, drift, channels that lack and ranks that are low."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline

from _matrices import random_spd
from _model_files import round_trip
from spdatoms import MinimumDistanceToMean, SPDRange, SPDRecentre, divergence, mean
from spdatoms.geometry import geodesic, invsqrtm, logm, powm, sqrtm

N = 4
NAMES = np.repeat(["ann", "bob", "eve"], [12, 9, 10])


def subjects(seed: int = 0) -> np.ndarray:
    """Return 31 matrices of three subjects, each moved by a congruence of its own."""
    X = random_spd(len(NAMES), N, seed=seed)
    G = np.random.default_rng(seed).standard_normal((3, N, N)) + 2.0 * np.eye(N)
    at = np.unique(NAMES, return_inverse=True)[1]
    X = G[at] @ X @ G[at].swapaxes(1, 2)
    return 0.5 * (X + X.swapaxes(1, 2))


def of(name: str) -> np.ndarray:
    return name == NAMES


@pytest.mark.parametrize("metric", ["riemann", "logeuclid", "euclid", "stein"])
def test_the_formula(metric) -> None:
    X = subjects()
    Z = SPDRecentre(metric).fit_transform(X, domains=NAMES)
    for name in ("ann", "bob", "eve"):
        W = invsqrtm(mean(X[of(name)], metric))
        np.testing.assert_allclose(Z[of(name)], W @ X[of(name)] @ W, rtol=1e-9, atol=1e-12)


def test_it_agrees_with_pyriemann() -> None:
    transfer = pytest.importorskip("pyriemann.transfer")
    X = subjects()
    _, encoded = transfer.encode_domains(X, np.arange(len(X)) % 2, NAMES)
    for metric in ("riemann", "euclid", "logeuclid"):
        centred = transfer.TLCenter("eve", metric).fit_transform(X.copy(), encoded)
        ours = SPDRecentre(metric).fit(X, domains=NAMES)
        np.testing.assert_allclose(ours.transform(X, domains=NAMES), centred, rtol=1e-6, atol=1e-8)
    theirs = transfer.TLCenter("eve").fit(X, encoded).transform(X[:5])
    ours = SPDRecentre().fit(X, domains=NAMES)
    np.testing.assert_allclose(ours.transform(X[:5], "eve"), theirs, rtol=1e-6, atol=1e-8)
    centred = transfer.TLCenter("eve").fit_transform(X.copy(), encoded)
    scaled = transfer.TLScale("eve", centered_data=True).fit_transform(centred.copy(), encoded)
    ours = SPDRecentre(scale=True).fit_transform(X, domains=NAMES)
    np.testing.assert_allclose(ours, scaled, rtol=1e-6, atol=1e-8)


def test_centre_and_spread_are_one() -> None:
    Z = SPDRecentre(scale=True).fit_transform(subjects(), domains=NAMES)
    for name in set(NAMES):
        np.testing.assert_allclose(mean(Z[of(name)], "riemann"), np.eye(N), atol=1e-8)
        assert (logm(Z[of(name)]) ** 2).sum(axis=(1, 2)).mean() == pytest.approx(1.0)


def test_a_congruence_of_a_domain_changes_distances_not_at_all() -> None:
    X, G = subjects(), np.random.default_rng(1).standard_normal((N, N))
    moved = G @ X @ G.T
    moved = 0.5 * (moved + moved.swapaxes(1, 2))
    a = SPDRecentre(scale=True).fit_transform(X, domains=NAMES)
    b = SPDRecentre(scale=True).fit_transform(moved, domains=NAMES)
    own = of("bob")
    np.testing.assert_allclose(
        divergence(a[own][1:], a[own][:-1], "riemann"),
        divergence(b[own][1:], b[own][:-1], "riemann"),
        rtol=1e-7,
    )


@pytest.mark.parametrize("scale", [False, True])
def test_back_again(scale) -> None:
    X = subjects()
    model = SPDRecentre("stein", scale=scale).fit(X, domains=NAMES)
    Z = model.transform(X, NAMES)
    np.testing.assert_allclose(model.inverse_transform(Z, NAMES), X, rtol=1e-8)
    np.testing.assert_allclose(
        model.inverse_transform(np.eye(N)[None], "bob")[0], mean(X[of("bob")]), rtol=1e-8
    )
    with pytest.raises(ValueError, match=r"Nothing is known of the domain 'target'.*'ann'"):
        model.inverse_transform(Z)


def test_a_new_domain() -> None:
    X = subjects()
    old = ~of("eve")
    model = SPDRecentre().fit(X[old], domains=NAMES[old])
    own = SPDRecentre().fit_transform(X[of("eve")])
    for domains in (None, "eve", ["eve"] * 10):
        np.testing.assert_allclose(model.transform(X[of("eve")], domains), own, rtol=1e-9)
    mixed = model.transform(X, NAMES)
    np.testing.assert_array_equal(mixed[old], model.transform(X[old], NAMES[old]))
    np.testing.assert_allclose(mixed[of("eve")], own, rtol=1e-9)
    assert "eve" not in model.domains_
    with pytest.raises(ValueError, match="the domain 'eve', and one matrix has no centre"):
        model.transform(X[-1:], "eve")
    with pytest.raises(ValueError, match=r"Nothing is known of the domain 'eve'.*partial_fit"):
        model.set_params(adapt="none").transform(X[-5:], "eve")


def test_a_calibration_slice() -> None:
    X, new = subjects(), subjects()[of("eve")]
    old = ~of("eve")
    model = SPDRecentre().fit(X[old], domains=NAMES[old], X_target=new[:4])
    expected = SPDRecentre().fit(new[:4]).transform(new[4:])
    np.testing.assert_array_equal(model.transform(new[4:]), expected)
    np.testing.assert_array_equal(model.transform(new[4:5]), expected[:1])
    same = SPDRecentre().fit(X[old], domains=NAMES[old]).partial_fit(new[:4])
    np.testing.assert_array_equal(same.transform(new[4:]), expected)
    adaptive = model.set_params(adapt="all").transform(new[4:])
    np.testing.assert_allclose(  # the mean of all, up to the curvature of the cone
        adaptive, SPDRecentre().fit(new).transform(new[4:]), rtol=0.3, atol=0.1
    )
    assert not np.allclose(adaptive, expected)


def test_drift() -> None:
    """With forgetting the centre is the geodesic walk M ← M #_t X, t = 1/(ρw + 1)."""
    X = subjects()[:12]
    model = SPDRecentre(forgetting=0.8, scale=True).fit(X[:5])
    M, weight, square = model.centres_[0], 5.0, model.scales_[0] ** 2
    for x in X[5:]:
        model.partial_fit(x[None])
        weight = 0.8 * weight + 1.0
        M = geodesic(M, x, 1.0 / weight)
        W = invsqrtm(M)
        square += ((logm(W @ x @ W) ** 2).sum() - square) / weight
    np.testing.assert_allclose(model.centres_[0], M, rtol=1e-9)
    assert model.weights_[0] == pytest.approx(weight)
    assert model.scales_[0] == pytest.approx(np.sqrt(square))
    whole = SPDRecentre(forgetting=0.8).partial_fit(X)
    shares = 0.8 ** np.arange(11, -1, -1.0)
    np.testing.assert_allclose(whole.centres_[0], mean(X, "riemann", shares), rtol=1e-9)
    plain = SPDRecentre().partial_fit(X, domains="a")
    np.testing.assert_array_equal(plain.centres_, SPDRecentre().fit(X, domains="a").centres_)


def test_a_failed_partial_fit_changes_nothing() -> None:
    X = subjects()
    model = SPDRecentre().fit(X, domains=NAMES)
    before = model.centres_
    for bad in (-X, X[:, :2, :2]):
        with pytest.raises(ValueError, match="X"):
            model.partial_fit(bad, domains="ann")
    assert model.centres_ is before


def test_missing_channels() -> None:
    """They are completed by regression on M: the matrix nearest to M among all completions."""
    X = subjects()[:12]
    whole = SPDRecentre().fit(X)
    query = X[:1].copy()
    query[0, 1] = query[0, :, 1] = np.nan
    Z = whole.transform(query)
    assert np.isfinite(Z).all()
    filled = whole.inverse_transform(Z)
    kept = np.ix_([0], [0, 2, 3], [0, 2, 3])
    np.testing.assert_allclose(filled[kept], X[kept], rtol=1e-9)
    least = divergence(filled, whole.centres_, "riemann")[0]
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = filled[0].copy()
        step = 1e-3 * rng.standard_normal(N)
        other[1] += step
        other[:, 1] = other[1]
        assert divergence(other, whole.centres_[0], "riemann") >= least
    holes = X.copy()
    holes[::3, 2] = holes[::3, :, 2] = np.nan
    model = SPDRecentre("stein", scale=True).fit(holes)
    np.testing.assert_allclose(model.centres_[0], mean(holes), rtol=1e-6)
    assert model.scales_[0] == pytest.approx(
        SPDRecentre("stein", scale=True).fit(X).scales_[0], rel=0.2
    )
    assert model.partial_fit(holes[:2]).weights_[0] == 14.0
    holes[0] = np.nan
    with pytest.raises(ValueError, match=r"X\[0\] has no channel"):
        model.transform(holes)


def test_singular_matrices() -> None:
    """Outside the range of a domain Z is the identity, and on it what definite matrices give."""
    rng = np.random.default_rng(0)
    X, full = subjects(), of("ann")
    B = {name: np.linalg.qr(rng.standard_normal((N, 3)))[0] for name in ("bob", "eve")}
    own = random_spd(len(X), 3, seed=5)
    for name, U in B.items():
        X[of(name)] = U @ own[of(name)] @ U.T
    X = 0.5 * (X + X.swapaxes(1, 2))
    model = SPDRecentre(scale=True).fit(X, domains=NAMES)
    assert model.ranks_.tolist() == [4, 3, 3]
    Z = model.transform(X, NAMES)
    for name, U in B.items():
        on_range = SPDRecentre().fit_transform(U.T @ X[of(name)] @ U)
        power = 1.0 / model.scales_[model.domains_ == name][0]
        expected = U @ powm(on_range, power) @ U.T + np.eye(N) - U @ U.T
        np.testing.assert_allclose(Z[of(name)], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(Z, NAMES), X, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(
        Z[full], SPDRecentre(scale=True).fit(X[full], domains="a").transform(X[full], "a")
    )
    with pytest.raises(ValueError, match=r"'bob'.*X\[0\] has another range"):
        model.transform(X[of("eve")], ["bob"] * 10)
    again = clone(model).fit(X[of("bob")]).partial_fit(X[of("bob")][:2])
    assert again.ranks_.tolist() == [3]
    lazily = again.transform(dask.array.from_array(X[of("bob")], chunks=(4, N, N)))
    np.testing.assert_array_equal(lazily.compute(), again.transform(X[of("bob")]))
    reach = SPDRange().fit(X[of("bob")])
    same = SPDRecentre().fit_transform(reach.transform(X[of("bob")]))
    np.testing.assert_allclose(
        divergence(same[1:], same[:-1], "riemann"),
        divergence(*(SPDRecentre().fit_transform(X[of("bob")])[k] for k in (slice(1, None), slice(-1))), "riemann"),
        rtol=1e-6,
    )  # fmt: skip
    X[0] = X[-1]
    with pytest.raises(ValueError, match="domain 'ann': The matrices have no range in common"):
        SPDRecentre().fit(X, domains=NAMES)


def test_names_of_domains() -> None:
    X = subjects()
    numbers = np.unique(NAMES, return_inverse=True)[1]
    model = SPDRecentre().fit(X, domains=numbers)
    assert model.domains_.tolist() == ["0", "1", "2"]
    np.testing.assert_array_equal(model.transform(X, numbers), model.transform(X, list(numbers)))
    with pytest.raises(ValueError, match="31, one for every matrix"):
        SPDRecentre().fit(X, domains=NAMES[1:])
    with pytest.raises(ValueError, match="none may be missing"):
        SPDRecentre().fit(X, domains=[None, *NAMES[1:]])


def test_types_and_files() -> None:
    X = subjects()
    model = round_trip(SPDRecentre(scale=True).fit(X.astype(np.float32), domains=NAMES))
    Z = model.transform(X.astype(np.float32), NAMES)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(
        Z, SPDRecentre(scale=True).fit_transform(X, domains=NAMES), rtol=1e-3, atol=1e-4
    )
    tiny = SPDRecentre().fit_transform(1e-12 * X, domains=NAMES)
    np.testing.assert_allclose(tiny, SPDRecentre().fit_transform(X, domains=NAMES), rtol=1e-9)
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((N, N, 2)) @ [1, 1j])[0]
    turned = U @ X @ U.conj().T
    turned = 0.5 * (turned + turned.conj().swapaxes(1, 2))
    hermitian = SPDRecentre().fit_transform(turned, domains=NAMES)
    np.testing.assert_allclose(U.conj().T @ hermitian @ U, tiny, atol=1e-9)


def test_metadata_routing() -> None:
    X, y = subjects(), np.arange(31) % 2
    X[y == 1] = sqrtm(X[y == 1]) @ np.diag([3.0, 1.0, 1.0, 0.3]) @ sqrtm(X[y == 1])
    X = 0.5 * (X + X.swapaxes(1, 2))
    pipeline = make_pipeline(SPDRecentre(), MinimumDistanceToMean())
    with config_context(enable_metadata_routing=True):
        scores = cross_validate(
            pipeline, X, y, params={"domains": NAMES, "groups": NAMES}, cv=LeaveOneGroupOut(),
            return_estimator=True,
        )  # fmt: skip
        fitted = scores["estimator"][2]
        assert fitted[0].domains_.tolist() == ["ann", "bob"]
        eve = X[of("eve")]
        assert np.mean(fitted.predict(eve) == y[of("eve")]) == scores["test_score"][2]
        known = fitted.predict(X[:1], domains="ann")
        named = make_pipeline(
            SPDRecentre()
            .set_fit_request(domains="subjects", X_target="slice")
            .set_transform_request(domains="subjects"),
            MinimumDistanceToMean(),
        ).fit(X[:21], y[:21], subjects=NAMES[:21], slice=eve[:5])
        assert named[0].domains_.tolist() == ["ann", "bob", "target"]
        assert named.predict(eve[:1]).shape == known.shape
    by_step = pipeline.fit(X, y, spdrecentre__domains=NAMES)
    assert by_step[0].domains_.tolist() == ["ann", "bob", "eve"]
