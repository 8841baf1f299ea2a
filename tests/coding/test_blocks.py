"""Coder, classifier and learner code a block of matrices at a time."""

from __future__ import annotations

import gc
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _matrices import random_spd
from spdatoms import SPDDictionaryLearning, SPDSparseClassifier, SPDSparseCoder
from spdatoms.coding.blocks import coded_feature_blocks, for_coded_blocks
from spdatoms.exceptions import ZeroCodeWarning
from spdatoms.lasso import sparse_code


@pytest.fixture
def X():  # noqa: N802
    return random_spd(50, 3, seed=0)


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a block hold the codes of 7 matrices over 20 atoms."""
    monkeypatch.setattr("spdatoms.coding.blocks._BLOCK_BYTES", 7 * 160 + 8)


def fitted(X):
    y = np.arange(20) % 3
    yield SPDSparseCoder().fit(X[:20])
    yield SPDSparseCoder(metric="logeuclid", positive=True).fit(X[:20])
    yield SPDSparseClassifier().fit(X[:20], y)
    yield SPDSparseClassifier(rule="max").fit(X[:20], y)
    yield SPDSparseClassifier(landmarks=8).fit(X[:20], y)
    yield SPDDictionaryLearning(6, init="random", random_state=0, max_iter=2).fit(X)


def results(model, X):
    names = ("transform", "decision_function", "predict_proba", "predict")
    found = [np.asarray(getattr(model, name)(X)) for name in names if hasattr(model, name)]
    if isinstance(model, SPDDictionaryLearning):
        found.append(model._losses(X, model.kernel_, model.alpha_))
    return found


def test_blocks_are_consecutive_and_hold_what_coding_finds_out(X, small_blocks):
    coder = SPDSparseCoder().fit(X[:20])
    blocks = []
    for_coded_blocks(blocks.append, X, coder.kernel_, coder.alpha_)
    assert [(b.rows.start, b.rows.stop) for b in blocks] == [
        *((i, i + 7) for i in range(0, 49, 7)),
        (49, 50),
    ]
    cross = coder.kernel_.cross(X)
    codes, certificate = sparse_code(
        coder.kernel_.gram_, cross, coder.alpha_, return_certificate=True
    )
    np.testing.assert_array_equal(np.concatenate([b.cross for b in blocks]), cross)
    np.testing.assert_array_equal(np.concatenate([b.codes for b in blocks]), codes)
    np.testing.assert_array_equal(np.concatenate([b.losses for b in blocks]), certificate.objective)


@pytest.mark.slow
def test_results_do_not_depend_on_the_blocks(X, monkeypatch):
    for model in fitted(X):
        whole = results(model, X)
        with monkeypatch.context() as patch:
            for size in (1, 7 * 160, 30 * 160):
                patch.setattr("spdatoms.coding.blocks._BLOCK_BYTES", size)
                for a, b in zip(whole, results(model, X), strict=True):
                    if a.dtype.kind == "f":
                        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-10)
                    else:
                        np.testing.assert_array_equal(b, a)


def test_results_do_not_depend_on_threads(X, monkeypatch):
    monkeypatch.setattr("spdatoms.coding.blocks._LEAST_BLOCK_WORK", 0)
    for model in fitted(X):
        alone = results(model, X)
        for n_jobs in (2, 3):
            for a, b in zip(alone, results(model.set_params(n_jobs=n_jobs), X), strict=True):
                np.testing.assert_array_equal(b, a)


def test_explanations_are_in_order_with_threads(X, monkeypatch):
    monkeypatch.setattr("spdatoms.coding.blocks._LEAST_BLOCK_WORK", 0)
    model = SPDSparseClassifier("stein").fit(X[:20], np.arange(20) % 3)
    alone = model.explain(X)
    for a, b in zip(alone, model.set_params(n_jobs=2).explain(X), strict=True):
        np.testing.assert_array_equal(b.atoms, a.atoms)
        np.testing.assert_array_equal(b.contributions, a.contributions)


def test_few_queries_are_one_block_for_threads(X):
    """Threads share the work on each of them."""
    kernel, blocks = SPDSparseCoder().fit(X[:20]).kernel_, []
    for_coded_blocks(blocks.append, X, kernel, 0.1, n_jobs=2)
    assert [len(block.codes) for block in blocks] == [50]


def test_single_precision_stays(X, small_blocks):
    X = X.astype(np.float32)
    assert SPDSparseCoder().fit(X[:20]).transform(X).dtype == np.float32


def test_zero_codes_are_counted_over_all_blocks(X, small_blocks):
    model = SPDSparseClassifier(beta=1e6).fit(X[:20], np.arange(20) % 3)
    with pytest.warns(ZeroCodeWarning, match="30 of 50 queries") as caught:
        model.predict(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__


class SmallKernel:
    """Kernel values with two atoms that are the same: those of query i are given, and X[i] is full of i."""

    def __init__(self, cross, has_gram=True):
        self.cross, self.space, self.features_ = cross, self, np.eye(2)
        if has_gram:
            self.gram_ = np.ones((2, 2))

    def cross_and_norms(self, X):
        return self.cross[X[:, 0, 0].astype(int)], 1.0

    def features(self, X, n_jobs):
        return self.cross_and_norms(X)[0]


def code_by_cross(kernel, X, **options):
    for_coded_blocks(lambda block: None, X, kernel, 0.1, **options)


def code_by_features(kernel, X, **options):
    for _ in coded_feature_blocks(X, kernel, 0.1, **options):
        pass


@pytest.fixture
def numbered(monkeypatch, small_blocks):
    """50 queries in four blocks or more, each query full of its index."""
    monkeypatch.setattr("spdatoms.coding.blocks._LEAST_BLOCK_WORK", 0)
    return np.broadcast_to(np.arange(50.0)[:, None, None], (50, 3, 3)).copy()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("code", [code_by_cross, code_by_features])
def test_codes_that_are_not_optimal_are_counted_over_all_blocks(code, n_jobs, numbered):
    """For values that differ between equal atoms there is no minimum. The worst is named by its index."""
    cross = np.full((50, 2), 0.5)
    cross[[3, 31, 32, 47]] = [[1.0, -1.0], [1.0, -1.0], [3.0, -3.0], [2.0, -2.0]]
    message = r"^4 of 50 codes violate .*, query 32 the most: by .* max_rounds=500 "
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        code(SmallKernel(cross), numbered, n_jobs=n_jobs)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("code", "has_gram"), [(code_by_cross, True), (code_by_features, False)])
def test_errors_give_the_index_among_all_queries(code, has_gram, numbered):
    cross = np.full((50, 2), 0.5)
    cross[[32, 40]] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity, first in row 32\."):
        code(SmallKernel(cross, has_gram), numbered)


def test_an_indefinite_gram_matrix_is_met_at_the_index_among_all_queries(numbered):
    cross = np.zeros((50, 2))
    cross[32] = 1.0, 0.9
    kernel = SmallKernel(cross)
    kernel.gram_ = np.array([[1.0, -2.0], [-2.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semidefinite, met at query 32,"):
        code_by_cross(kernel, numbered)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_memory_of_predict_does_not_grow_with_the_queries(monkeypatch, metric):
    """Nothing of a block is kept, not even until the next garbage collection."""
    monkeypatch.setattr("spdatoms.coding.blocks._BLOCK_BYTES", 1 << 16)
    X = random_spd(4000, 3, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = SPDSparseClassifier(metric).fit(X[:64], np.arange(64) % 4)

    def peak(count: int) -> int:
        classifier.predict(X[:count])  # everything is compiled and cached
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            classifier.predict(X[:count])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            gc.enable()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, many = peak(1000), peak(4000)
    # The labels themselves, and what is as small; the codes of 3000 queries would take 1.5 MB.
    assert many - few < 300_000
