"""Complex Hermitian matrices: every estimator handles or refuses them; Dask, files and checkpoints."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_outlier_detector

from _hermitian import random_hpd, two_hermitian_classes
from conformance.estimators import (
    ESTIMATORS,
    OF_MATRICES,
    ONE_OF_EACH,
    assert_same,
    one_line,
    outputs,
    targets,
)
from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDEnsembleClassifier,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDNystroem,
    SPDSparseClassifier,
    SPDSparseCoder,
    check_spd,
    load,
    pairwise_divergence,
    save,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=one_line)
def test_complex_matrices_are_handled_or_refused(estimator):
    """Never is an imaginary part dropped in silence. Here it alone tells the classes apart."""
    X, y = two_hermitian_classes()
    if not estimator.hermitian:
        with pytest.raises(
            ValueError, match=r"Complex data not supported: .* takes real matrices only"
        ):
            clone(estimator).fit(X, y)
        return
    fitted = clone(estimator).fit(X, y)
    assert fitted.n_features_in_ == 3
    if is_classifier(estimator):
        assert fitted.score(X, y) > 0.9
        values = fitted.predict_proba(X)
    else:
        values = outputs(fitted, X)[0]
    if is_outlier_detector(estimator):
        values = fitted.score_samples(X)
    assert values.dtype == (np.complex128 if isinstance(estimator, OF_MATRICES) else np.float64)
    single = clone(estimator).fit(X.astype(np.complex64), y)
    for name in ("atoms_", "cluster_centers_", "landmarks_", "means_"):
        if getattr(fitted, name, None) is not None:
            matrices = getattr(fitted, name)
            assert matrices.dtype == np.complex128
            assert getattr(single, name).dtype == np.complex64
            np.testing.assert_array_equal(matrices, matrices.conj().swapaxes(1, 2))
            check_spd(matrices)


LEARNERS = [
    SPDSparseCoder(),
    SPDKMeans(3, random_state=0),
    SPDNystroem(n_landmarks=8, random_state=0),
    SPDDictionaryLearning(4, max_iter=3, random_state=0),
    SPDDictionaryLearning(4, max_iter=3, random_state=0, metric="riemann"),
]


@pytest.mark.parametrize("estimator", LEARNERS, ids=one_line)
def test_files_and_dask_arrays(estimator, tmp_path):
    X, _ = two_hermitian_classes()
    fitted = clone(estimator).fit(X)
    expected = fitted.transform(X)
    save(fitted, tmp_path / "model.spdatoms")
    loaded = load(tmp_path / "model.spdatoms")
    np.testing.assert_array_equal(loaded.transform(X), expected)
    chunked = dask.array.from_array(X, chunks=(15, 3, 3))
    np.testing.assert_allclose(fitted.transform(chunked).compute(), expected, rtol=1e-9, atol=1e-12)
    streamed = clone(estimator).fit(chunked)
    assert np.isfinite(streamed.transform(X)).all()


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "riemann", "logeuclid"])
def test_dictionary_learning_goes_downhill(metric):
    X, _ = two_hermitian_classes()
    learner = SPDDictionaryLearning(4, metric=metric, max_iter=6, random_state=0).fit(X)
    assert (np.diff(learner.objective_) <= 1e-12).all()
    online = (
        SPDDictionaryLearning(4, metric=metric, random_state=0).partial_fit(X).partial_fit(X[:20])
    )
    assert online.atoms_.dtype == np.complex128


def test_checkpoint_goes_on_bit_for_bit(tmp_path):
    X, _ = two_hermitian_classes()
    options = {"n_atoms": 4, "tol": 0.0, "random_state": 0}
    whole = SPDDictionaryLearning(max_iter=6, **options).fit(X)
    checkpoint = str(tmp_path / "checkpoint")
    SPDDictionaryLearning(max_iter=3, checkpoint=checkpoint, **options).fit(X)
    resumed = SPDDictionaryLearning(max_iter=6, checkpoint=checkpoint, **options).fit(X)
    np.testing.assert_array_equal(resumed.atoms_, whole.atoms_)


def test_kernel_values_are_those_of_the_divergence():
    D, X = random_hpd(6, 3), random_hpd(4, 3, seed=1)
    kernel = DivergenceKernel("stein", beta=0.7).fit(D)
    np.testing.assert_allclose(kernel.gram_, np.exp(-0.7 * pairwise_divergence(D)), rtol=1e-12)
    np.testing.assert_allclose(
        kernel.cross(X), np.exp(-0.7 * pairwise_divergence(X, D)), rtol=1e-12
    )


#: A matrix counts for whitening with the n² dimensions of its space, which is half of them if it is real.
WHITENED = [
    ONE_OF_EACH[SPDEnsembleClassifier],
    SPDSparseClassifier("stein", whitening=0.3),
    SPDSparseClassifier("jeffrey", landmarks=12, whitening=0.3),
]
REAL_OR_COMPLEX = [
    *(estimator for cls, estimator in ONE_OF_EACH.items() if cls not in OF_MATRICES),
    SPDSparseClassifier("stein", landmarks=8),
    *WHITENED[1:],
]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", REAL_OR_COMPLEX, ids=one_line)
def test_a_real_matrix_is_a_hermitian_one_without_an_imaginary_part(estimator):
    X, y = two_hermitian_classes()
    X, y = X[:20], targets(estimator, y[:20])
    R, Z = np.ascontiguousarray(X.real), X[:9]
    real = clone(estimator).fit(R, y)
    expected = outputs(real, R[:9])
    assert_same(outputs(real, R[:9].astype(complex)), expected, rtol=1e-9)
    as_complex = clone(estimator).fit(R.astype(complex), y)
    if not estimator.hermitian:
        assert_same(outputs(as_complex, R[:9]), expected)
        with pytest.raises(ValueError, match="Complex data not supported"):
            outputs(real, Z)
        return
    found = outputs(real, Z)
    # Real matrices are as far from a matrix as from its conjugate, and nearly as far from one nearby.
    assert_same(outputs(real, Z.conj()), found, rtol=1e-9)
    assert_same(outputs(real, R[:9] + 1e-9j * Z.imag), expected, rtol=1e-6)
    if estimator not in WHITENED:
        assert_same(outputs(as_complex, Z), found, rtol=1e-7)
        assert_same(outputs(as_complex, R[:9]), expected, rtol=1e-7)


def test_neighbours_of_complex_queries_among_real_matrices():
    X, y = two_hermitian_classes()
    found, _ = SPDKNeighborsClassifier(40, "stein").fit(X.real, y).kneighbors(X[:4])
    expected = pairwise_divergence(X[:4], X.real.astype(complex))
    np.testing.assert_allclose(found, np.sort(expected, axis=1), rtol=1e-12)


def test_complex_batches_after_real_ones_are_refused():
    X, _ = two_hermitian_classes()
    learner = SPDDictionaryLearning(4, random_state=0).partial_fit(X.real)
    with pytest.raises(ValueError, match="X is complex, but the batches before it were real"):
        learner.partial_fit(X)
