"""The methods that experiments compare: nearest classes, codes over dictionaries, pooled codes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from _toy_experiment import two_kinds
from spdatoms import SPDDictionaryLearning, SPDSparseClassifier, sparse_code
from spdatoms.divergences import get_divergence
from spdatoms.kernels import DivergenceKernel
from spdatoms.kernels.bandwidth import subsample_beta
from spdatoms.paper.baselines import (
    KernelPursuitClassifier,
    LogEuclideanKSVD,
    PixelSparseClassifier,
    RiemannianSparseClassifier,
    RiemannianSparseCoder,
    TensorSparseClassifier,
    TensorSparseCoder,
)
from spdatoms.paper.experiments import get_experiment
from spdatoms.paper.experiments.task import halves
from spdatoms.paper.methods.chosen_parameters import ChosenAlpha, vector_classifier
from spdatoms.paper.methods.codes import LeftOutCodes, mean_nonzeros, nonzeros_of
from spdatoms.paper.methods.dictionary_codes import (
    FIRST_LOOK,
    LANDMARKS,
    OWN,
    KernelDictionaryCodes,
    PeerCodes,
    SparseCodes,
    alpha_for,
    matches,
    of_norm_one,
)
from spdatoms.paper.methods.nearest_class import NearestClass


def test_nearest_class_scores_agree_with_the_nearest_matrix():
    data = two_kinds()
    X = data.views["covariances"]
    model = NearestClass("stein").fit(X[::2], data.y[::2])
    scores = model.decision_function(X[1::2])
    assert scores.shape == (20, 2)
    np.testing.assert_array_equal(model.predict(X[::2]), data.y[::2])
    np.testing.assert_allclose(model.decision_function(X[::2]).max(axis=1), 0, atol=1e-9)


def test_halves_are_balanced_and_disjoint():
    y = np.repeat(list("abc"), [6, 4, 5])
    first, second = halves(y, np.random.default_rng(0))
    assert sorted([*first, *second]) == list(range(15))
    assert [int((y[first] == label).sum()) for label in "abc"] == [3, 2, 2]


def test_matches_against_a_loop():
    rng = np.random.default_rng(1)
    codes, y = rng.standard_normal((25, 4)), rng.integers(0, 3, 25)
    hits = 0
    for i in range(25):
        distances = np.linalg.norm(codes - codes[i], axis=1)
        distances[i] = np.inf
        hits += y[distances.argmin()] == y[i]
    assert matches(codes, y) == pytest.approx(hits / 25)


# --- dictionaries at equal sparsity --------------------------------------------------------------------


def test_alpha_for_a_number_of_nonzeros():
    def count(alpha):
        return 40 / (1 + 300 * alpha)

    for wanted in (2, 5, 10, 20):
        assert count(alpha_for(count, wanted)) == pytest.approx(wanted, rel=0.021)
    assert alpha_for(count, 50) is None
    assert alpha_for(lambda alpha: 12.0, 10) is None
    assert alpha_for(lambda alpha: 10.5, 10) is not None


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
@pytest.mark.parametrize("atoms", ["learned", "k-means", "random"])
def test_codes_have_the_nonzeros_that_are_asked_for(atoms, metric):
    data = two_kinds(count=24)
    X = data.views["covariances"]
    coder = KernelDictionaryCodes(
        atoms, metric, (0.3, 1.0), n_atoms=8, nonzeros=(2, 4, 20), max_iter=2
    )
    coder.fit(X, data.y)
    assert {2, 4}.issuperset(coder.coders_)
    assert coder.chosen_ in coder.coders_
    for level, choice in coder.choices_.items():
        codes = coder.transform(X, level)
        assert mean_nonzeros(codes) == pytest.approx(level, rel=0.11)
        assert choice["beta_factor"] in (0.3, 1.0)
        np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1.0)
    np.testing.assert_array_equal(coder.transform(X), coder.transform(X, coder.chosen_))


def test_no_number_of_nonzeros_is_possible():
    data = two_kinds(count=6)
    with pytest.raises(ValueError, match="non-zeros: give other numbers"):
        KernelDictionaryCodes("random", "stein", n_atoms=4, nonzeros=(9,)).fit(
            data.views["covariances"], data.y
        )


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_learned_codes_are_those_of_the_learner(metric):
    data = two_kinds(count=24)
    X = data.views["covariances"]
    random, learned = (
        KernelDictionaryCodes(atoms, metric, (0.3,), n_atoms=6, nonzeros=(3,), max_iter=3).fit(
            X, data.y
        )
        for atoms in ("random", "learned")
    )
    first = X[np.random.default_rng(0).choice(len(X), 6, replace=False)]
    beta = 0.3 * subsample_beta(X, get_divergence(metric), "auto")
    parameters = {"init": first, "max_iter": 3, "landmarks": LANDMARKS[metric]}
    # Learning has the α of the random atoms, coding the α of the learned ones.
    learner = SPDDictionaryLearning(6, metric, beta, random.coders_[3].alpha, **parameters).fit(X)
    found = learned.coders_[3]
    expected = sparse_code(learner.kernel_.gram_, learner.kernel_.cross(X), found.alpha)
    np.testing.assert_allclose(found.transform(X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_random_atoms_are_training_matrices_and_coded_like_learned_ones(metric):
    data = two_kinds(count=24)
    X = data.views["covariances"]
    coder = KernelDictionaryCodes("random", metric, (0.3,), n_atoms=6, nonzeros=(3,)).fit(X, data.y)
    atoms = X[np.random.default_rng(0).choice(len(X), 6, replace=False)]
    beta = 0.3 * subsample_beta(X, get_divergence(metric), "auto")
    learner = SPDDictionaryLearning(
        6, metric, beta, 0.01, init=atoms, max_iter=1, landmarks=LANDMARKS[metric]
    )
    learned, given = learner.fit(X).kernel_, coder.coders_[3].kernel
    assert type(given) is type(learned)
    # The same kernel, so its values for other matrices over the same atoms agree.
    np.testing.assert_allclose(given.gram_, learned.fit_checked(atoms).gram_, rtol=1e-9)
    np.testing.assert_allclose(given.cross_checked(X), learned.cross_checked(X), rtol=1e-9)


class Tuned(SparseCodes):
    """Codes that are the labels, mixed with noise that a choice or a number of non-zeros has more or less of."""

    random_state, max_iter, nonzeros, n_atoms = 0, 15, (1, 2), 4

    def __init__(self, noise):
        self.noise, self.asked = noise, []

    def _choices(self):
        return [{"which": i} for i in range(3)]

    def _coder_of(self, X):
        def coder(level, max_iter, which):
            self.asked.append((level, max_iter, len(X)))
            noise = self.noise[level][which]
            if noise is None:
                return None
            rng = np.random.default_rng(0)
            return SimpleNamespace(
                transform=lambda Z: np.eye(2)[Z[:, 0, 0]] + noise * rng.standard_normal((len(Z), 2))
            )

        return coder


def test_choices_are_made_on_halves_and_for_every_number_of_nonzeros():
    y = np.repeat([0, 1], 30)
    X = np.tile(y[:, None, None], (1, 2, 2))
    coder = Tuned({1: [0.9, 0.05, None], 2: [None, 0.9, 0.3]}).fit(X, y)
    assert coder.choices_ == {1: {"which": 1}, 2: {"which": 2}}
    assert coder.chosen_ == 1
    assert coder.asked.count((1, FIRST_LOOK, 30)) == 6
    assert coder.asked.count((1, 15, 60)) == 1
    # A number that no choice reaches is left out.
    assert list(Tuned({1: [None] * 3, 2: [0.0] * 3}).fit(X, y).coders_) == [2]


def test_codes_of_norm_one_keep_zeros():
    codes = np.array([[3.0, -4.0], [0.0, 0.0], [0.0, 1e-200]])
    expected = [[0.6, -0.8], [0.0, 0.0], [0.0, 1.0]]
    np.testing.assert_allclose(of_norm_one(codes[:2]), expected[:2])
    np.testing.assert_allclose(of_norm_one(codes[2:] * 1e100), expected[2:])


def test_ksvd_codes_by_the_pursuit_or_by_the_lasso():
    data = two_kinds(count=24)
    X = data.views["covariances"]
    coder = PeerCodes("ksvd", n_atoms=8, nonzeros=(1, 2, 8), max_iter=5).fit(X, data.y)
    # Logarithms of 3×3 matrices have six dimensions.
    assert set(coder.coders_) <= {1, 2}
    for level, choice in coder.choices_.items():
        codes = coder.transform(X, level)
        if choice["pursuit"]:
            by_hand = LogEuclideanKSVD(8, level, max_iter=5, random_state=0).fit(X)
            np.testing.assert_array_equal(codes, of_norm_one(by_hand.transform(X)))
        assert mean_nonzeros(codes) == pytest.approx(level, rel=0.11)


def test_first_look_at_embedded_data_takes_the_usual_methods():
    textures = get_experiment("textures")
    usual = textures.default_methods(embedded=True)
    assert usual == [name for name, m in textures.methods().items() if m.kind == "usual"]
    assert {"RSR-S", "MDM"} <= set(usual)
    assert {"RSR-S CV", "RSR-J max", "TSC", "tangent space + LR"}.isdisjoint(usual)
    assert textures.default_methods(embedded=False) == list(textures.methods())


@pytest.mark.parametrize("learner", ["tensor", "riemannian", "frobenius"])
def test_dictionaries_of_peers(learner):
    data = two_kinds(count=12)
    X = data.views["covariances"]
    coder = PeerCodes(learner, (0.01, 0.1), n_atoms=6, nonzeros=(2, 3), max_iter=2).fit(X, data.y)
    assert type(coder.coders_[coder.chosen_]).__name__.startswith(learner.capitalize())
    if learner == "frobenius":
        for level in coder.coders_:
            assert mean_nonzeros(coder.transform(X, level)) == pytest.approx(level, rel=0.11)
    else:
        # Their penalty does not rule the number of non-zeros: it is chosen itself.
        assert list(coder.coders_) == [OWN]
        assert coder.choices_[OWN]["alpha"] in (0.01, 0.1)


# --- penalties and non-zeros of classifiers ------------------------------------------------------------


class Threshold(ClassifierMixin, BaseEstimator):
    """Is right if the number is above α."""

    def __init__(self, alpha=0.5):
        self.alpha = alpha

    def fit(self, X, y):
        self.classes_, self.alpha_ = np.unique(y), self.alpha
        return self

    def predict(self, X):
        return (X[:, 0] > self.alpha_).astype(int)

    def decision_function(self, X):
        return X[:, 0] - self.alpha_


def test_alpha_is_chosen_on_training_samples():
    X = np.linspace(0, 1, 40)[:, None]
    y = (X[:, 0] > 0.25).astype(int)
    model = ChosenAlpha(Threshold(), (0.5, 0.25, 0.9), queries=1000).fit(X, y)
    assert model.alpha_ == model.model_.alpha_ == 0.25
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_allclose(model.decision_function(X), X[:, 0] - 0.25)
    # Of equal ones the first is taken.
    assert ChosenAlpha(Threshold(), (0.26, 0.251), 1000).fit(X[::4], y[::4]).alpha_ == 0.26


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
def test_nonzeros_of_classifiers_are_those_of_their_codes():
    data = two_kinds(count=12)
    X, y = data.views["covariances"], data.y
    sparse = SPDSparseClassifier("stein").fit(X[::2], y[::2])
    kernel = sparse.kernel_
    codes = sparse_code(kernel.gram_, kernel.cross(X[1::2]), sparse.alpha_)
    assert nonzeros_of(sparse, X[1::2]) == pytest.approx(mean_nonzeros(codes))
    largest = sparse.set_params(rule="max")
    assert nonzeros_of(largest, X[1::2]) == pytest.approx(mean_nonzeros(codes))
    assert sparse.rule == "max"
    tensor = TensorSparseClassifier(bounded=True).fit(X[::2], y[::2])
    coder = TensorSparseCoder(X[::2], 0.01, bounded=True).fit(X)
    expected = mean_nonzeros(coder.transform(X[1::2]))
    assert nonzeros_of(tensor, X[1::2]) == expected
    assert nonzeros_of(ChosenAlpha(tensor, (0.01,)).fit(X[::2], y[::2]), X[1::2]) == expected
    tangent = RiemannianSparseClassifier().fit(X[::2], y[::2])
    coder = RiemannianSparseCoder(X[::2]).fit(X)
    assert nonzeros_of(tangent, X[1::2]) == mean_nonzeros(coder.transform(X[1::2]))
    assert nonzeros_of(KernelPursuitClassifier().fit(X, y), X) == 5
    assert nonzeros_of(NearestClass().fit(X, y), X) is None
    pipeline = make_pipeline(LeftOutCodes(), LinearSVC()).fit(X[::2], y[::2])
    assert nonzeros_of(pipeline, X[1::2]) == mean_nonzeros(pipeline[0].transform(X[1::2]))
    images = np.random.default_rng(0).random((6, 8, 8))
    pixels = PixelSparseClassifier().fit(images, [0, 1, 2, 3, 4, 5])
    assert nonzeros_of(pixels, images) == mean_nonzeros(pixels.codes(images))


def test_codes_of_training_matrices_leave_them_out():
    X = two_kinds(count=12).views["covariances"]
    codes = LeftOutCodes().fit(X).fit_transform(X)
    assert not codes.diagonal().any()
    kernel = DivergenceKernel("stein").fit(X)
    others = np.arange(1, len(X))
    gram = kernel.gram_[np.ix_(others, others)]
    np.testing.assert_allclose(
        codes[0, 1:], sparse_code(gram, kernel.gram_[:1, 1:], 0.01)[0], atol=1e-9
    )
    np.testing.assert_array_equal(
        LeftOutCodes().fit(X).transform(X[:2]), sparse_code(kernel.gram_, kernel.gram_[:2], 0.01)
    )


@pytest.mark.parametrize("model", ["LR", "LinearSVC", "SVC"])
def test_rows_do_not_depend_on_the_global_state_of_randomness(model):
    assert vector_classifier(model).estimator.random_state == 0
