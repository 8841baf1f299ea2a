"""The ensemble of regressors: against refitting, scikit-learn, and targets whose truth is known."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import KernelCenterer

from _hermitian import random_hpd
from _matrices import random_spd
from spdatoms import SPDEnsembleRegressor, pairwise_divergence
from spdatoms._utils.folds import Fold
from spdatoms.classification.kernel_ensemble import References
from spdatoms.geometry import expm, logm, vech
from spdatoms.regression._left_out import RIDGES, CentredKernel, half_widths, stack, stacked_errors
from spdatoms.regression.average import LINEAR, RIDGE, SPARSE, TargetCell, fitted_average

pytestmark = pytest.mark.slow


def drawn(m: int, n: int, kind: str, seed: int = 0):
    """Return matrices exp(S) and targets that are linear or curved in S, with noise."""
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((m, n, n)) * np.exp(-np.arange(n))
    S = 0.5 * (S + S.swapaxes(1, 2))
    f, g = (np.einsum("ij,mij->m", rng.standard_normal((n, n)), S) for _ in range(2))
    t = f if kind == "linear" else np.sin(f) + 0.5 * f * g
    return expm(S), 5.0 + t / t.std() + 0.2 * rng.standard_normal(m)


def left_out_folds(m: int, kind: str) -> list[Fold]:
    everything = np.arange(m)
    if kind == "loo":
        return [Fold(everything, everything, exclude=everything)]
    return [Fold(train, test) for train, test in KFold(4).split(everything)]


def ridge_with_a_free_mean(K, k, t, w, ridge):
    """Minimise Σ w (t − b − Ka)² + ρ aᵀKa: K a + ρ a/w + b = t, Σ a = 0."""
    m = len(K)
    system = np.block([[K + ridge * np.diag(1.0 / w), np.ones((m, 1))], [np.ones((1, m)), 0.0]])
    solution = np.linalg.solve(system, np.concatenate([t, np.zeros((1, t.shape[1]))]))
    return k @ solution[:-1] + solution[-1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["loo", "folds"])
def test_left_out_errors_are_those_of_refitting(kind, weighted) -> None:
    rng = np.random.default_rng(0)
    X, t = random_spd(24, 3), rng.standard_normal((24, 2))
    K = np.exp(-0.3 * pairwise_divergence(X, metric="logeuclid"))
    w = rng.uniform(0.2, 2.0, 24) if weighted else np.ones(24)
    w /= w.mean()
    folds = left_out_folds(24, kind)
    kernel = CentredKernel(K, w if weighted else None)
    found = kernel.left_out(t - np.average(t, axis=0, weights=w), folds)
    singles = [(np.delete(np.arange(24), i), np.array([i])) for i in range(24)]
    splits = singles if kind == "loo" else [(fold.train, fold.test) for fold in folds]
    for r in (2, 8, 14):
        expected = np.concatenate(
            [
                t[test]
                - ridge_with_a_free_mean(
                    K[np.ix_(train, train)],
                    K[np.ix_(test, train)],
                    t[train],
                    w[train],
                    RIDGES[r] * kernel.unit,
                )
                for train, test in splits
            ]
        )
        np.testing.assert_allclose(found[r], expected, rtol=1e-7, atol=1e-9)


def one_cell(kind: str, X, t, weights=None):
    references = References.of(X, ("logeuclid",), weights)
    cell = TargetCell(0, kind, 1.0, 0.5)
    average, _, _ = fitted_average(
        references.among(), t[:, None], weights, (cell,), left_out_folds(len(X), "loo")
    )
    return references, average


def test_the_linear_cell_is_ridge_regression_on_tangent_vectors() -> None:
    X, t = drawn(60, 3, "linear")
    w = np.random.default_rng(1).uniform(0.3, 2.0, 40)
    for weights in (None, w / w.mean()):
        references, average = one_cell(LINEAR, X[:40], t[:40], weights)
        L = np.linalg.inv(references.factor)
        vectors = vech(logm(L @ X @ L.T), weighted=True)
        ridge = Ridge(alpha=average.ridges[0, 0] / 0.5)  # the kernel has β = ½
        ridge.fit(vectors[:40], t[:40], sample_weight=weights)
        found = average.predict(references.divergences(X[40:]))[:, 0]
        np.testing.assert_allclose(found, ridge.predict(vectors[40:]), rtol=1e-8)


def test_a_smooth_cell_is_kernel_ridge_regression_with_a_centred_kernel() -> None:
    X, t = drawn(60, 3, "curved")
    references, average = one_cell(RIDGE, X[:40], t[:40])
    [among], [cross] = references.among(), references.divergences(X[40:])
    centre = KernelCenterer().fit(np.exp(-0.5 * among))
    ridge = KernelRidge(alpha=average.ridges[0, 0], kernel="precomputed")
    ridge.fit(centre.transform(np.exp(-0.5 * among)), t[:40] - t[:40].mean())
    expected = t[:40].mean() + ridge.predict(centre.transform(np.exp(-0.5 * cross)))
    np.testing.assert_allclose(average.predict([cross])[:, 0], expected, rtol=1e-8)


def test_the_sparse_cell_is_left_out_by_refitting() -> None:
    X, t = drawn(20, 3, "curved")
    [among] = References.of(X, ("logeuclid",)).among()
    cells = (TargetCell(0, SPARSE, 1.0, 0.5),)
    average, errors, _ = fitted_average(
        (among,), t[:, None], None, cells, left_out_folds(20, "loo")
    )
    np.testing.assert_array_equal(average.shares, 1.0)
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        refitted, _, _ = fitted_average(
            (among[np.ix_(rest, rest)],), t[rest, None], None, cells, left_out_folds(19, "loo")
        )
        [[predicted]] = refitted.predict([among[i : i + 1, rest]])
        assert errors[i, 0] == pytest.approx(t[i] - predicted, abs=1e-6)


def test_weights_of_cells_minimise_the_squared_error() -> None:
    rng = np.random.default_rng(0)
    errors = rng.standard_normal((4, 1, 50)) * np.array([0.5, 1.0, 1.2, 3.0])[:, None, None]
    errors[2] += errors[1]
    shares = rng.uniform(0.5, 1.5, 50)
    _, weights = stack(list(errors), shares)
    E, s = errors[:, 0], shares / shares.sum()
    drawn_together = 3.0 / 50 * (E**2 @ s).min()
    found = minimize(
        lambda w: (w @ E) ** 2 @ s + drawn_together * w @ w,
        np.full(4, 0.25),
        bounds=[(0.0, 1.0)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(weights, found.x, atol=1e-5)
    assert weights.sum() == pytest.approx(1.0)


def test_honest_errors_are_larger_than_those_that_were_minimised() -> None:
    rng = np.random.default_rng(0)
    errors = list(rng.standard_normal((8, 10, 40)))  # which is best is chance
    shares = np.full(40, 1 / 40)
    best, weights, honest = stacked_errors(errors, shares, np.arange(40))
    minimised = sum(w * e[i] for e, i, w in zip(errors, best, weights, strict=True))
    assert (honest**2).mean() > (minimised**2).mean()


def test_constant_targets_are_predicted() -> None:
    model = SPDEnsembleRegressor().fit(random_spd(12, 3), np.full(12, 7.0))
    np.testing.assert_allclose(model.predict(random_spd(4, 3, seed=1)), 7.0)
    np.testing.assert_allclose(model.predict_interval(random_spd(4, 3, seed=1)), 7.0)


@pytest.mark.parametrize(("kind", "least"), [("linear", 0.94), ("curved", 0.8)])
def test_it_learns_and_intervals_cover(kind, least) -> None:
    X, t = drawn(500, 4, kind)
    model = SPDEnsembleRegressor().fit(X[:150], t[:150])
    assert model.score(X[150:], t[150:]) > least
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[150:], coverage).T
        held = ((low <= t[150:]) & (t[150:] <= high)).mean()
        assert abs(held - coverage) < 0.08
    by_kind = {
        k: model.cv_results_["weight"][model.cv_results_["param_kind"] == k]
        for k in (LINEAR, RIDGE)
    }
    assert (by_kind[LINEAR].sum() > by_kind[RIDGE].sum()) == (kind == "linear")


def test_the_width_of_an_interval_by_its_definition() -> None:
    rng = np.random.default_rng(0)
    errors = rng.standard_normal((19, 2))
    found = half_widths(errors, np.full(19, 1 / 19), 0.9)  # 0.9·20 = 18
    np.testing.assert_array_equal(found, np.sort(np.abs(errors), axis=0)[17])
    np.testing.assert_array_equal(half_widths(errors, np.full(19, 1 / 19), 0.96), np.inf)
    copies = rng.integers(1, 4, 19)
    np.testing.assert_allclose(
        half_widths(errors, copies / copies.sum(), 0.5),
        np.quantile(
            np.repeat(np.abs(errors), copies, axis=0), 0.5 * 20 / 19, axis=0, method="inverted_cdf"
        ),
    )


def test_intervals_of_several_targets_and_words_of_bad_coverage() -> None:
    X, t = drawn(40, 3, "linear")
    model = SPDEnsembleRegressor().fit(X, np.stack([t, 10.0 * t], axis=1))
    found = model.predict_interval(X[:5])
    assert found.shape == (5, 2, 2)
    np.testing.assert_allclose(found.mean(axis=2), model.predict(X[:5]))
    widths = np.diff(found, axis=2)[:, :, 0]
    np.testing.assert_allclose(widths[:, 1], 10.0 * widths[:, 0])
    lazy = model.predict_interval(dask.array.from_array(X[:5], chunks=(2, 3, 3)), coverage=0.8)
    np.testing.assert_array_equal(lazy.compute(), model.predict_interval(X[:5], 0.8))
    with pytest.raises(ValueError, match="coverage must be"):
        model.predict_interval(X, 1.0)


def test_groups_are_left_out_together() -> None:
    """Targets that only a copy of a matrix could know: with copies on both sides they seem to be learned."""
    rng = np.random.default_rng(0)
    X, t = np.repeat(random_spd(30, 3), 2, axis=0), np.repeat(rng.standard_normal(30), 2)
    alone = SPDEnsembleRegressor().fit(X, t)
    together = SPDEnsembleRegressor(cv=GroupKFold(5)).fit(X, t, groups=np.repeat(np.arange(30), 2))
    assert np.mean(alone.left_out_errors_**2) < 0.6 * t.var()
    assert np.mean(together.left_out_errors_**2) > 0.8 * t.var()
    assert sorted(together.left_out_rows_) == list(range(60))


def test_folds_are_predicted_from_all_other_matrices() -> None:
    X, t = drawn(20, 3, "linear")
    splits = list(KFold(4).split(X))
    gaps = [(train[2:-2], test) for train, test in splits]
    first, second = (SPDEnsembleRegressor(cv=cv).fit(X, t) for cv in (splits, gaps))
    np.testing.assert_array_equal(first.left_out_errors_, second.left_out_errors_)


def test_more_matrices_than_atoms() -> None:
    X, t = drawn(90, 3, "linear")
    bounded = SPDEnsembleRegressor(max_atoms=30).fit(X, t)
    np.testing.assert_array_equal(bounded.atom_indices_, np.arange(0, 90, 3))
    assert len(SPDEnsembleRegressor(max_atoms=80).fit(X, t).atoms_) == 80
    expected = SPDEnsembleRegressor().fit(X[::3], t[::3]).predict(X)
    np.testing.assert_array_equal(bounded.predict(X), expected)
    streamed = SPDEnsembleRegressor(max_atoms=30).fit(
        dask.array.from_array(X, chunks=(20, 3, 3)), t
    )
    np.testing.assert_array_equal(streamed.predict(X), expected)


def test_hermitian_matrices_with_a_real_copy() -> None:
    rng = np.random.default_rng(0)
    X, t = random_hpd(40, 3), rng.standard_normal(40)
    model = SPDEnsembleRegressor("logeuclid").fit(X, t)
    real = np.block([[X.real, -X.imag], [X.imag, X.real]])
    expected = SPDEnsembleRegressor("logeuclid").fit(real, t)
    np.testing.assert_allclose(model.predict(X), expected.predict(real), rtol=1e-6)


def test_only_kernels_that_are_definite_have_small_betas_and_a_linear_cell() -> None:
    X, t = drawn(20, 3, "linear")
    kinds = {
        metric: SPDEnsembleRegressor(metric).fit(X, t).cv_results_["param_kind"].tolist()
        for metric in ("stein", "logeuclid")
    }
    assert kinds == {
        "stein": [*[RIDGE] * 3, SPARSE],
        "logeuclid": [LINEAR, *[RIDGE] * 5, SPARSE],
    }


@pytest.mark.parametrize("cv", ["loo", 3])
def test_one_matrix_is_refused(cv) -> None:
    with pytest.raises(ValueError, match="n_samples=1"):
        SPDEnsembleRegressor(cv=cv).fit(random_spd(1, 3), [1.0])
