"""What every estimator that takes queries without some of their channels must do."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector

from _matrices import random_spd
from conformance.estimators import ESTIMATORS, assert_same, one_line, targets
from spdatoms import (
    MinimumDistanceToMean,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    load,
    save,
)
from spdatoms.base import incomplete_queries
from spdatoms.exceptions import NoChannelWarning
from spdatoms.scale import block_budget

CUT = [estimator for estimator in ESTIMATORS if hasattr(estimator, "_cut")]
ONE_OF_EACH = {type(estimator): estimator for estimator in reversed(CUT)}
every_cut = pytest.mark.parametrize("estimator", CUT, ids=one_line)
every_cut_class = pytest.mark.parametrize("estimator", ONE_OF_EACH.values(), ids=one_line)
pytestmark = [
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning"),
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
]
METHODS = ("transform", "predict", "predict_proba", "decision_function", "predict_interval")
#: Channels that are missing in queries 0, 1, …; the other queries are complete.
MISSING = ([1], [0, 3], [1], [0, 1, 3])


def without(X: np.ndarray, channels: list[int]) -> np.ndarray:
    X = X.copy()
    X[..., channels, :] = np.nan
    X[..., :, channels] = np.nan
    return X


def cut(X: np.ndarray, missing: list[int]) -> np.ndarray:
    kept = np.setdiff1d(np.arange(X.shape[-1]), missing)
    return np.ascontiguousarray(X[:, kept][:, :, kept])


def incomplete(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return eight queries, and the same of which four lack channels."""
    complete = random_spd(8, n, seed=7)
    queries = complete.copy()
    for i, missing in enumerate(MISSING):
        queries[i] = without(complete[i], missing)
    return complete, queries


def answers(model: BaseEstimator, X: np.ndarray) -> list[np.ndarray]:
    found = [np.asarray(getattr(model, m)(X)) for m in METHODS if hasattr(model, m)]
    if hasattr(model, "kneighbors"):
        found += model.kneighbors(X)
    if hasattr(model, "explain"):  # sums of contributions are not the same to the last bit
        sums = [one.contributions.sum() for one in model.explain(X)]
        found += [np.round(sums, 6)]
    return found


def own_targets(estimator: BaseEstimator, labelled: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return targets(estimator, labelled[1]) if labelled[1].dtype.kind == "U" else labelled[1]


def fitted(estimator: BaseEstimator, labelled: tuple[np.ndarray, np.ndarray]) -> BaseEstimator:
    return clone(estimator).fit(labelled[0], own_targets(estimator, labelled))


def learns(model: BaseEstimator) -> bool:
    """Return whether atoms or centres are learned, so that they are cut, and not learned again."""
    return hasattr(model, "n_clusters") or hasattr(model, "n_atoms")


def test_the_estimators_of_the_library_are_here() -> None:
    names = {type(estimator).__name__ for estimator in CUT}
    assert names >= {
        *(
            "SPDSparseCoder",
            "SPDSparseClassifier",
            "SPDSparseClassifierCV",
            "SPDEnsembleClassifier",
        ),
        *("SPDSparseRegressor", "SPDEnsembleRegressor", "SPDKNeighborsClassifier"),
        *("SPDKNeighborsRegressor", "SPDKMeans", "SPDDictionaryLearning"),
        "MinimumDistanceToMean",
    }


@pytest.mark.slow
@every_cut
def test_complete_queries_do_not_notice_incomplete_ones(estimator, labelled) -> None:
    model = fitted(estimator, labelled)
    complete, queries = incomplete(labelled[0].shape[-1])
    alone, together = answers(model, complete), answers(model, queries)
    assert_same([one[4:] for one in together], [one[4:] for one in alone])


@pytest.mark.slow
@every_cut
def test_permuted_queries_have_permuted_results(estimator, labelled) -> None:
    model = fitted(estimator, labelled)
    queries = incomplete(labelled[0].shape[-1])[1]
    order = np.array([5, 0, 3, 7, 2, 6, 1, 4])
    expected = [one[order] for one in answers(model, queries)]
    assert_same(answers(model, queries[order]), expected)
    assert_same(answers(model, queries[order][:3]), [one[:3] for one in expected])


def refitted(
    model: BaseEstimator, X: np.ndarray, y: np.ndarray, missing: list[int]
) -> BaseEstimator:
    """Return the estimator that was fitted to the channels at hand from the beginning."""
    if isinstance(model, SPDSparseClassifierCV):
        # The cell that was chosen stays: its row of the table has the β of the smaller cone.
        table = clone(model).fit(cut(X, missing), y).cv_results_["params"][model.best_index_]
        grid = {f"{name}s": [value] for name, value in table.items() if name != "metric"}
        grid["whitenings"], grid["rules"] = [table["whitening"] or 1.0], table["rule"]
        return clone(model).set_params(metrics=table["metric"], **grid).fit(cut(X, missing), y)
    if isinstance(model, SPDSparseClassifier) and model.get_params().get("n_atoms_per_class"):
        learned = clone(model).set_params(n_atoms_per_class=None)
        return learned.fit(cut(model.atoms_, missing), model.atom_labels_)
    if isinstance(model, MinimumDistanceToMean):  # it keeps its means only
        return clone(model).fit(cut(model.means_, missing), model.classes_)
    if hasattr(model, "atom_indices_"):
        X, y = X[model.atom_indices_], y[model.atom_indices_]
    return clone(model).fit(cut(X, missing), y)


@pytest.mark.slow
@every_cut
def test_it_is_the_estimator_refitted_to_the_channels_at_hand(estimator, labelled) -> None:
    model = fitted(estimator, labelled)
    X, y = labelled[0], own_targets(estimator, labelled)
    complete = incomplete(X.shape[-1])[0]
    if learns(model):
        return  # see below
    for missing in ([1], [0, 2]):
        expected = answers(refitted(model, X, y, missing), cut(complete, missing))
        assert_same(answers(model, without(complete, missing)), expected, rtol=1e-9)


def test_learned_atoms_and_centres_are_cut(labelled) -> None:
    X, queries = labelled[0], incomplete(labelled[0].shape[-1])[0]
    kmeans = SPDKMeans(3, n_init=1, random_state=0).fit(X)
    own = SPDKMeans(3, init=cut(kmeans.cluster_centers_, [1]), max_iter=1, tol=1e9)
    own.fit(cut(X, [1])).cluster_centers_ = cut(kmeans.cluster_centers_, [1])
    np.testing.assert_array_equal(
        kmeans.transform(without(queries, [1])), own.transform(cut(queries, [1]))
    )
    learner = SPDDictionaryLearning(5, max_iter=2, init="random", random_state=0, beta=0.7).fit(X)
    coder = SPDSparseCoder(cut(learner.atoms_, [1]), beta=0.7, alpha=learner.alpha_)
    np.testing.assert_allclose(
        learner.transform(without(queries, [1])), coder.transform(cut(queries, [1])), atol=1e-12
    )


@pytest.mark.slow
@every_cut_class
def test_channels_may_be_named(estimator, labelled) -> None:
    model = fitted(estimator, labelled)
    complete, queries = incomplete(labelled[0].shape[-1])
    n = complete.shape[-1]
    method = "predict" if hasattr(model, "predict") else "transform"
    ask = getattr(model, method)
    kept = np.setdiff1d(np.arange(n), [0, 3])
    expected = ask(without(complete, [0, 3]))
    np.testing.assert_array_equal(ask(complete, channels=kept), expected)
    np.testing.assert_array_equal(ask(complete, channels=np.isin(np.arange(n), kept)), expected)
    cut_alone = cut(complete, [0, 3])
    np.testing.assert_array_equal(ask(cut_alone, channels=kept), expected)
    turned = cut_alone[:, ::-1, ::-1]
    np.testing.assert_array_equal(ask(turned, channels=kept[::-1]), expected)
    each = ~np.isnan(queries.diagonal(axis1=1, axis2=2))
    np.testing.assert_array_equal(ask(complete, channels=each), ask(queries))
    np.testing.assert_array_equal(ask(complete, channels=range(n)), ask(complete))
    for wrong in ([0, 0], [n], [-1], [0.5], np.ones(n + 1, bool), [[0]]):
        with pytest.raises(ValueError, match="channels must be"):
            ask(complete, channels=wrong)


@every_cut_class
def test_nan_in_a_part_of_a_channel_is_refused_with_its_index(estimator, labelled) -> None:
    model = fitted(estimator, labelled)
    complete, queries = incomplete(labelled[0].shape[-1])
    method = "predict" if hasattr(model, "predict") else "transform"
    for X in (complete, queries):
        for i, j in ((2, 2), (2, 3)):
            spoilt = X.copy()
            spoilt[5, i, j] = spoilt[5, j, i] = np.nan
            with pytest.raises(
                ValueError, match=rf"X\[5\] is not finite: its entry \({i}, {j}\) is NaN"
            ):
                getattr(model, method)(spoilt)
    spoilt = queries.copy()
    spoilt[1, 2, 2] = -1.0  # it knows the channels 1 and 2
    with pytest.raises(ValueError, match=r"X\[1\] is not positive definite: its entry \(2, 2\)"):
        getattr(model, method)(spoilt)
    with pytest.raises(ValueError, match=r"3×3 matrices, but those seen in fit are"):
        getattr(model, method)(queries[:, :3, :3])


@every_cut_class
def test_training_matrices_must_be_complete(estimator, labelled) -> None:
    X, y = labelled
    with pytest.raises(ValueError, match=r"X\[1\] .* missing channel: .*SPDImputer"):
        clone(estimator).fit(np.concatenate([X[:1], without(X[1:], [2])]), y)


@pytest.mark.slow
@every_cut_class
def test_a_matrix_without_channels(estimator, labelled) -> None:
    model = fitted(estimator, labelled)
    queries = incomplete(labelled[0].shape[-1])[1]
    queries[6] = np.nan
    if isinstance(model, SPDKMeans):
        with pytest.raises(ValueError, match=r"X\[6\] has no channel"):
            model.predict(queries)
        return
    method = "predict_proba" if is_classifier(model) else "predict"
    ask = getattr(model, method if hasattr(model, method) else "transform")
    with pytest.warns(NoChannelWarning, match="1 of 8 matrices have no channel"):
        found = ask(queries)[6]
    if is_classifier(model):
        labels = labelled[1]
        shares = np.unique(labels, return_counts=True)[1] / len(labels)
        np.testing.assert_allclose(found, shares, atol=0.02)
        with pytest.warns(NoChannelWarning):
            assert model.predict(queries)[6] == model.classes_[found.argmax()]
    elif is_outlier_detector(model):
        assert found == 1  # nothing is known against it
    elif hasattr(model, "predict"):
        assert found == pytest.approx(model.targets_.mean(axis=0))
    else:
        assert not found.any()
    if hasattr(model, "explain"):
        with pytest.raises(ValueError, match=r"X\[6\] has no channel"):
            model.explain(queries)


@pytest.mark.slow
@every_cut_class
def test_models_for_fewer_channels_are_kept_and_belong_to_the_fit(
    estimator, labelled, monkeypatch, tmp_path
) -> None:
    made = []
    original = type(estimator)._cut
    monkeypatch.setattr(
        type(estimator), "_cut", lambda self, known: made.append(1) or original(self, known)
    )
    X = labelled[0]
    model = fitted(estimator, labelled)
    before = set(vars(model))
    ask = "predict" if hasattr(model, "predict") else "transform"
    queries = incomplete(X.shape[-1])[1]
    expected = getattr(model, ask)(queries)
    count = len(made)
    assert count >= 3
    np.testing.assert_array_equal(getattr(model, ask)(queries), expected)
    assert len(made) == count
    assert set(vars(model)) == before
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(getattr(other, ask)(queries), expected)
    if not type(model).__module__.startswith("spdatoms.paper"):
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(getattr(load(tmp_path / "model"), ask)(queries), expected)
    count = len(made)
    model.fit(X[::-1], own_targets(model, labelled)[::-1])
    getattr(model, ask)(queries)
    assert len(made) > count


def test_few_models_are_kept(monkeypatch, labelled) -> None:
    monkeypatch.setattr(incomplete_queries, "_MOST_KEPT", 2)
    model = SPDSparseClassifier().fit(*labelled)
    queries = incomplete(labelled[0].shape[-1])[1]
    model.predict(queries)
    kept = incomplete_queries._CUT_MODELS[model]._kept
    assert len(kept) == 2
    monkeypatch.setattr(incomplete_queries, "_MOST_BYTES", 1)
    model.predict(queries)
    assert len(kept) == 1


@pytest.mark.slow
@every_cut_class
def test_complex_and_single_precision(estimator, labelled) -> None:
    if not estimator.hermitian:
        pytest.skip("real matrices only")
    X, y = labelled[0], own_targets(estimator, labelled)
    queries, missing = incomplete(X.shape[-1])[0], [0, 2]
    rng = np.random.default_rng(0)
    turn = np.exp(1j * rng.uniform(0.0, 2.0 * np.pi, (X.shape[-1], 1)))
    for change, rtol in ((turn * turn.conj().T, 1e-9), (np.float32(1.0), 1e-4)):
        kind = np.result_type(change, np.float32) if rtol > 1e-9 else np.complex128
        Z, Q = (X * change).astype(kind), (queries * change).astype(kind)
        model = clone(estimator).fit(Z, y)
        found = answers(model, without(Q, missing))
        assert all(np.isfinite(one).all() for one in found if one.dtype.kind == "f")
        if not learns(model):
            assert_same(found, answers(refitted(model, Z, y, missing), cut(Q, missing)), rtol)


@pytest.mark.slow
@every_cut_class
def test_streams_may_lack_channels(estimator, labelled, tmp_path) -> None:
    da = pytest.importorskip("dask.array")
    model = fitted(estimator, labelled)
    complete, queries = incomplete(labelled[0].shape[-1])
    ask = getattr(model, "predict" if hasattr(model, "predict") else "transform")
    expected, known = ask(queries), ~np.isnan(queries.diagonal(axis1=1, axis2=2))
    chunked = da.from_array(queries, chunks=(3, -1, -1))
    np.testing.assert_array_equal(ask(chunked).compute(scheduler="sync"), expected)
    whole = da.from_array(complete, chunks=(3, -1, -1))
    lazy = ask(whole, channels=known)
    np.testing.assert_array_equal(lazy.compute(scheduler="sync"), expected)
    spoilt = queries.copy()
    spoilt[7, 2, 2] = np.nan
    with pytest.raises(ValueError, match=r"X\[7\] is not finite"):
        ask(da.from_array(spoilt, chunks=(3, -1, -1))).compute(scheduler="sync")


def test_long_memory_maps_may_lack_channels(labelled, tmp_path) -> None:
    model = SPDSparseClassifier().fit(*labelled)
    complete, queries = (np.tile(X, (1000, 1, 1)) for X in incomplete(labelled[0].shape[-1]))
    expected, known = model.predict(queries), ~np.isnan(queries.diagonal(axis1=1, axis2=2))
    for name, X, channels in (("a", queries, None), ("b", complete, known)):
        np.save(tmp_path / f"{name}.npy", X)
        mapped = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
        with block_budget(1_000_000):
            found = model.predict(mapped, channels=channels)
        np.testing.assert_array_equal(found, expected)
