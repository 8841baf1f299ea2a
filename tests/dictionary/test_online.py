"""Online learning: batches come close to the whole, and bad ones change nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from _matrices import wishart_classes
from spdatoms import SPDDictionaryLearning, sparse_code
from spdatoms.divergences import PowerEuclidean

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")

METRICS = ["stein", "jeffrey", "logeuclid"]


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_online_learning_comes_close_to_batch_learning(metric, init) -> None:
    X, _ = wishart_classes(12, 250)
    X, held_out = X[:2400], X[2400:]
    learner = SPDDictionaryLearning(24, metric, alpha=0.05, init=init, random_state=0).fit(X)
    online = SPDDictionaryLearning(
        24, metric, beta=learner.beta_, alpha=0.05, init=init, random_state=0
    )
    # The ridge of an indefinite kernel depends on how many matrices settle it, so the first batch
    # is as large as the subsample that batch learning takes.
    edges = [0, *range(500, len(X) + 1, 190)]
    for start, stop in pairwise(edges):
        online.partial_fit(X[start:stop])

    def loss(atoms: np.ndarray) -> float:
        """The loss by the kernel of batch learning."""
        kernel = learner._problem.kernel(metric, None).fit(atoms)
        cross, norms = kernel.cross_and_norms(held_out)
        _, certificate = sparse_code(
            kernel.gram_, cross, 0.05, query_norm=norms, return_certificate=True
        )
        return certificate.objective.mean()

    assert loss(online.atoms_) <= 1.05 * loss(learner.atoms_)
    assert online.batch_losses_.shape == (len(edges) - 1,)


def test_partial_fit_goes_on_from_fit_and_survives_bad_batches() -> None:
    X, _ = wishart_classes(6, 40)
    learner = SPDDictionaryLearning(8, alpha=0.05, random_state=0, max_iter=2).fit(X[:100])
    before = {k: np.copy(v) for k, v in vars(learner).items() if isinstance(v, np.ndarray)}
    bad = X[100:150].copy()
    bad[7, 0, 0] = np.nan
    for batch in (bad, -X[:3], X[:5, :3, :3], X[:0]):
        with pytest.raises(ValueError, match=r"X|positive|seen in fit"):
            learner.partial_fit(batch)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(learner, name), value)
    score = learner.score(X[200:])
    for start in range(100, 200, 25):
        learner.partial_fit(X[start : start + 25])
    assert learner.score(X[200:]) > score - 0.01
    assert learner.n_features_in_ == 5
    first = SPDDictionaryLearning(8)
    with pytest.raises(ValueError, match="fewer than n_atoms=8"):
        first.partial_fit(X[:5])
    assert not hasattr(first, "atoms_")


@pytest.mark.parametrize(
    ("metric", "changed", "message"),
    [
        ("stein", {"n_atoms": 5}, "n_atoms=4 again"),
        ("stein", {"metric": "jeffrey"}, "learned with, stein"),
        ("jeffrey", {"metric": "stein"}, "learned with, jeffrey"),
        (PowerEuclidean(0.5), {"metric": PowerEuclidean(2.0)}, "other parameters"),
    ],
)
def test_the_problem_cannot_change_between_batches(metric, changed, message) -> None:
    X, _ = wishart_classes(4, 20)
    learner = SPDDictionaryLearning(4, metric, alpha=0.05, random_state=0).partial_fit(X[:40])
    before, kernel = learner.atoms_.copy(), learner.kernel_
    learner.set_params(**changed)
    with pytest.raises(ValueError, match="call fit to begin anew") as error:
        learner.partial_fit(X[40:])
    assert message in str(error.value)
    np.testing.assert_array_equal(learner.atoms_, before)
    assert learner.kernel_ is kernel


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_another_name_of_the_same_metric_goes_on(metric) -> None:
    X, _ = wishart_classes(4, 20)
    for data in (X, X.astype(complex)):
        learner = SPDDictionaryLearning(4, metric, alpha=0.05, random_state=0).fit(data[:40])
        learner.set_params(metric={"stein": "logdet", "jeffrey": "kullback_sym"}[metric])
        learner.partial_fit(data[40:])
        assert learner.batch_losses_.shape == (1,)
