"""The common range: found, certified, or refused."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from fuzz.ranks import fuzzed_rank
from spdatoms import SPDRange, SPDSparseClassifier, check_spd, load, pairwise_divergence, save
from spdatoms.channels.rank import dependent_channels


def singular(m=12, n=6, rank=4, *, dtype=float, units=1.0, seed=0):
    """Return matrices with one range in common, and a basis of it."""
    rng = np.random.default_rng(seed)

    def normal(*shape):
        G = rng.standard_normal(shape)
        return G + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else G

    B = np.linalg.qr(normal(n, rank))[0]
    F = B @ normal(m, rank, 3 * rank)
    F = np.broadcast_to(units, n)[:, None] * F
    X = F @ F.conj().swapaxes(1, 2)
    return (0.5 * (X + X.conj().swapaxes(1, 2))).astype(dtype), B


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e30])
def test_there_and_back(dtype, scale) -> None:
    X, B = singular(dtype=dtype)
    X = X * X.real.dtype.type(scale)
    model = SPDRange().fit(X)
    assert model.rank_ == 4
    U = model.basis_
    np.testing.assert_allclose(U.conj().T @ U, np.eye(4), atol=1e-12)
    tolerance = 10 * np.finfo(X.dtype).eps
    np.testing.assert_allclose(U @ U.conj().T, B @ B.conj().T, atol=100 * tolerance)
    Z = check_spd(model.transform(X))
    assert Z.dtype == X.dtype
    back = model.inverse_transform(Z)
    assert back.dtype == X.dtype
    np.testing.assert_allclose(back, X, rtol=0, atol=tolerance * abs(X).max())


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "riemann"])
def test_divergences_do_not_depend_on_the_basis(metric) -> None:
    X, B = singular(30, 16, 11)
    found = pairwise_divergence(SPDRange().fit_transform(X), metric=metric)
    turned = np.linalg.qr(np.random.default_rng(1).standard_normal((11, 11)))[0]
    expected = pairwise_divergence((B @ turned).T @ X @ (B @ turned), metric=metric)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_units_of_channels_do_not_matter() -> None:
    """As of EEG in V beside MEG in T: the range is that of the matrix in common units."""
    units = np.array([1e-6, 1e-6, 1e-6, 1e-13, 1e-13, 1.0])
    plain, scaled = singular()[0], singular(units=units)[0]
    model = SPDRange().fit(scaled)
    assert model.rank_ == 4
    found = pairwise_divergence(model.transform(scaled), metric="riemann")
    expected = pairwise_divergence(SPDRange().fit_transform(plain), metric="riemann")
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_full_rank_stays_as_it_is() -> None:
    X, _ = singular(rank=6)
    model = SPDRange().fit(X)
    assert model.rank_ == 6
    assert model.transform(X) is X
    np.testing.assert_array_equal(model.basis_, np.eye(6))
    np.testing.assert_array_equal(model.inverse_transform(X), X)


def referenced(signals):
    return signals - signals.mean(axis=1, keepdims=True)


def cleaned(signals, count=3):
    """Remove the same components of all signals, as ICA does."""
    mixing = np.random.default_rng(5).standard_normal((8, 8))
    kept = mixing[:, count:] @ np.linalg.inv(mixing)[count:]
    return kept @ signals


def interpolated(signals):
    weights = np.array([0.4, 0.4, 0.2])
    signals = signals.copy()
    signals[:, 7] = np.einsum("k,mkt->mt", weights, signals[:, :3])
    signals[:, 6] = signals[:, 2]
    return signals


@pytest.mark.parametrize(("treatment", "rank"), [(referenced, 7), (cleaned, 5), (interpolated, 6)])
@pytest.mark.parametrize("stored", [np.float64, np.float32])
def test_treatments_of_signals(treatment, rank, stored) -> None:
    """What is lost is a direction, not the classes; signals stored in single precision are singular, too."""
    rng = np.random.default_rng(0)
    y = np.arange(60) // 2 % 2
    mixing = rng.standard_normal((8, 8))
    gains = np.where(y[:, None], np.linspace(0.5, 2.0, 8), np.linspace(2.0, 0.5, 8))
    sources = rng.standard_normal((60, 8, 200)) * gains[:, :, None]
    signals = treatment(mixing @ sources).astype(stored).astype(float)
    X = signals @ signals.swapaxes(1, 2) / 200
    model = make_pipeline(SPDRange(), SPDSparseClassifier()).fit(X[::2], y[::2])
    assert model[0].rank_ == rank
    assert model.score(X[1::2], y[1::2]) > 0.9
    with pytest.raises(ValueError, match=r"make_pipeline\(spdatoms\.SPDRange\(\), estimator\)"):
        SPDSparseClassifier().fit(X[::2] * 1.0, y[::2])


def test_another_range_is_refused_with_its_index() -> None:
    X, _ = singular()
    other, full = singular(seed=3)[0], singular(rank=6)[0]
    for odd, words in (
        (other, r"X\[7\] has another range than X\[0\]"),
        (full, r"the rank of X\[7\] is 6, that of 11 of 12 is 4"),
        (singular(rank=3)[0], r"the rank of X\[7\] is 3, that of 11 of 12 is 4"),
    ):
        mixed = X.copy()
        mixed[7] = odd[7]
        with pytest.raises(ValueError, match=words):
            SPDRange().fit(mixed)
    with pytest.raises(ValueError, match=r"X\[0\] has another range than most others"):
        SPDRange().fit(np.concatenate([other[:1], X]))
    model = SPDRange().fit(X)
    for queries, words in (
        (other, r"X\[5\] has another range .* \(6 more of the 12 matrices are unfit\)"),
        (full, r"X\[5\] has another range"),
        (np.tile(model.basis_[:, :1] @ model.basis_[:, :1].T, (12, 1, 1)), r"X\[5\] is unfit on"),
    ):
        with pytest.raises(ValueError, match=words):
            model.transform(np.concatenate([X[:5], queries[5:]]))


def test_a_range_that_is_not_clear_is_refused() -> None:
    X, B = singular()
    rest = np.linalg.svd(B)[0][:, 4:]
    noisy = X + 1e-12 * rest @ rest.T * abs(X).max()
    with pytest.raises(ValueError, match=r"not clear: eigenvalues 4 and 5 .* SPDRange\(rank=30\)"):
        SPDRange().fit(noisy)
    model = SPDRange(rank=4).fit(noisy)
    assert model.transform(noisy).shape == (12, 4, 4)
    with pytest.raises(ValueError, match="not clear: eigenvalues 3 and 4"):
        SPDRange(rank=3).fit(X)
    with pytest.raises(ValueError, match="rank is 7, but the matrices are 6×6"):
        SPDRange(rank=7).fit(X)


def test_a_zero_matrix_is_named() -> None:
    X, _ = singular()
    X[3] = 0.0
    with pytest.raises(ValueError, match=r"X\[3\] is zero"):
        SPDRange().fit(X)


def test_flat_channels_and_copies() -> None:
    X, _ = singular(rank=6)
    order = [0, 1, 2, 3, 4, 5, 1, 4, 1]
    X = X[:, order][:, :, order]
    X = np.pad(X, ((0, 0), (0, 1), (0, 1)))
    assert dependent_channels(X) == ([(1, 6, 8), (4, 7)], [9])
    assert SPDRange().fit(X).rank_ == 6


def test_dask_arrays_and_files(tmp_path) -> None:
    X, _ = singular()
    model = SPDRange().fit(X)
    expected = model.transform(X)
    chunked = dask.array.from_array(X, chunks=(5, 6, 6))
    found = model.transform(chunked)
    assert found.shape == (12, 4, 4)
    np.testing.assert_array_equal(found.compute(), expected)
    X[7] = np.eye(6)
    with pytest.raises(ValueError, match=r"X\[7\] has another range"):
        model.transform(dask.array.from_array(X, chunks=(5, 6, 6))).compute()
    save(model, tmp_path / "range.spdatoms")
    np.testing.assert_array_equal(load(tmp_path / "range.spdatoms").transform(X[:7]), expected[:7])


def test_no_silent_wrong_rank() -> None:
    for seed in range(150):
        fuzzed_rank(np.random.default_rng(seed))
