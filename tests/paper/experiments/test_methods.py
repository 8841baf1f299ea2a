"""The methods that experiments compare: nearest classes, codes over dictionaries, pooled codes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from _toy_experiment import two_kinds
from spdatoms import SPDDictionaryLearning, SPDKMeans, sparse_code
from spdatoms.divergences import get_divergence
from spdatoms.kernels import DivergenceKernel
from spdatoms.kernels.bandwidth import subsample_beta
from spdatoms.paper.baselines import LogEuclideanKSVD
from spdatoms.paper.experiments import get_experiment
from spdatoms.paper.experiments.division import halves
from spdatoms.paper.experiments.methods.dictionary_codes import (
    FIRST_LOOK,
    LANDMARKS,
    ChosenCodes,
    KernelDictionaryCodes,
    KSVDCodes,
    PeerCodes,
    matches,
    of_norm_one,
)
from spdatoms.paper.experiments.methods.kernel_machines import vector_classifier
from spdatoms.paper.experiments.methods.left_out_codes import LeftOutCodes
from spdatoms.paper.experiments.methods.nearest_class import NearestClass


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
@pytest.mark.parametrize("atoms", ["learned", "k-means", "random"])
def test_dictionary_codes_choose_on_what_they_learn_from(atoms, metric):
    data = two_kinds(count=24)
    X = data.views["covariances"]
    grid = {"beta_factors": (0.3, 1.0), "alphas": (0.01, 0.3), "max_iter": 3}
    coder = KernelDictionaryCodes(atoms, metric, 4, **grid).fit(X, data.y)
    assert coder.chosen_["beta_factor"] in grid["beta_factors"]
    assert coder.chosen_["alpha"] in grid["alphas"]
    codes = coder.transform(X)
    assert codes.shape == (48, 4)
    np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1.0)


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_learned_codes_are_those_of_the_learner(metric):
    data = two_kinds(count=24)
    X = data.views["covariances"]
    coder = KernelDictionaryCodes("learned", metric, 4, (0.3,), (0.01,), max_iter=3)
    coder.fit(X, data.y)
    starts = {
        "random": X[np.random.default_rng(0).choice(len(X), 4, replace=False)],
        "k-means": SPDKMeans(4, metric, random_state=0).fit(X).cluster_centers_,
    }
    first = starts[coder.chosen_["start"]]
    beta = 0.3 * subsample_beta(X, get_divergence(metric), "auto")
    learner = SPDDictionaryLearning(
        4, metric, beta, 0.01, init=first, max_iter=3, landmarks=LANDMARKS[metric]
    )
    expected = of_norm_one(learner.fit(X).transform(X))
    np.testing.assert_allclose(coder.transform(X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_random_atoms_are_training_matrices_and_coded_like_learned_ones(metric):
    data = two_kinds(count=24)
    X = data.views["covariances"]
    coder = KernelDictionaryCodes("random", metric, 4, (0.3,), (0.01,)).fit(X, data.y)
    atoms = X[np.random.default_rng(0).choice(len(X), 4, replace=False)]
    beta = 0.3 * subsample_beta(X, get_divergence(metric), "auto")
    learner = SPDDictionaryLearning(
        4, metric, beta, 0.01, init=atoms, max_iter=1, landmarks=LANDMARKS[metric]
    )
    learner.fit(X)
    learned, given = learner.kernel_, coder.coder_.kernel
    assert type(given) is type(learned)
    # The same kernel, so its values for other matrices over the same atoms agree.
    np.testing.assert_allclose(given.gram_, learned.fit_checked(atoms).gram_, rtol=1e-9)
    np.testing.assert_allclose(given.cross_checked(X), learned.cross_checked(X), rtol=1e-9)


class Tuned(ChosenCodes):
    """Codes that are the labels, mixed with noise that a choice has more or less of, early or late in learning."""

    random_state, max_iter = 0, 15

    def __init__(self, early, late, y):
        self.noise = {FIRST_LOOK: early, 15: late}
        self.y, self.asked = y, []

    def _choices(self):
        return [{"which": i} for i in range(len(self.noise[15]))]

    def _coders(self, X, choices, max_iter):
        self.asked.append((max_iter, len(choices)))
        return [self._coder(self.noise[max_iter][choice["which"]]) for choice in choices]

    def _coder(self, noise):
        def transform(X):
            return np.eye(2)[X] + noise * np.random.default_rng(0).standard_normal((len(X), 2))

        return SimpleNamespace(transform=transform)


def test_few_iterations_tell_which_choices_are_worth_all():
    y = np.repeat([0, 1], 60)
    early = [0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    late = [0.0, 0.9, 0.9, 0.9, 0.2, 0.9, 0.9, 0.9]
    coder = Tuned(early, late, y).fit(y, y)
    # The best in the end is not seen, because it was bad at first; of the others the best wins.
    assert coder.chosen_ == {"which": 4}
    assert coder.asked == [(FIRST_LOOK, 8)] * 2 + [(15, 6)] * 2 + [(15, 1)]
    few = Tuned(early[:6], late[:6], y).fit(y, y)
    assert few.chosen_ == {"which": 0}
    assert few.asked == [(15, 6)] * 2 + [(15, 1)]


def test_codes_of_norm_one_keep_zeros():
    codes = np.array([[3.0, -4.0], [0.0, 0.0], [0.0, 1e-200]])
    expected = [[0.6, -0.8], [0.0, 0.0], [0.0, 1.0]]
    np.testing.assert_allclose(of_norm_one(codes[:2]), expected[:2])
    np.testing.assert_allclose(of_norm_one(codes[2:] * 1e100), expected[2:])


def test_ksvd_codes():
    data = two_kinds(count=24)
    X = data.views["covariances"]
    coder = KSVDCodes(4, nonzeros=(1, 2, 8), alphas=(None,), max_iter=5).fit(X, data.y)
    assert coder.chosen_["n_nonzero"] in (1, 2)
    assert (coder.transform(X) != 0).sum(axis=1).max() <= coder.chosen_["n_nonzero"]


def test_ksvd_atoms_may_code_by_the_lasso():
    data = two_kinds(count=24)
    X = data.views["covariances"]
    coder = KSVDCodes(4, nonzeros=(2,), alphas=(0.01,), max_iter=5).fit(X, data.y)
    parameters = {"max_iter": 5, "random_state": 0}
    by_hand = LogEuclideanKSVD(4, 2, alpha=0.01, **parameters).fit(X)
    np.testing.assert_array_equal(coder.transform(X), of_norm_one(by_hand.transform(X)))


def test_first_look_at_embedded_data_takes_the_usual_methods():
    textures = get_experiment("textures")
    usual = textures.default_methods(embedded=True)
    assert usual == [name for name, m in textures.methods().items() if m.kind == "usual"]
    assert {"RSR-S", "MDM"} <= set(usual)
    assert {"RSR-S CV", "RSR-J max", "TSC", "tangent space + LR"}.isdisjoint(usual)
    assert textures.default_methods(embedded=False) == list(textures.methods())


@pytest.mark.parametrize("learner", ["tensor", "riemannian", "frobenius"])
def test_dictionaries_of_peers_choose_their_penalty(learner):
    data = two_kinds(count=12)
    X = data.views["covariances"]
    coder = PeerCodes(learner, n_atoms=3, alphas=(0.01, 0.1), max_iter=2).fit(X, data.y)
    assert coder.chosen_["alpha"] in (0.01, 0.1)
    assert type(coder.coder_).__name__ == f"{learner.capitalize()}DictionaryLearning"
    np.testing.assert_array_equal(coder.transform(X), of_norm_one(coder.coder_.transform(X)))


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
