"""What estimators say, by their definitions: brute force, loops over classes, and sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz import draws
from fuzz.campaign import expect
from fuzz.codes import violation
from fuzz.estimator_data import data, expect_close, kernel_of, relative, weights_of
from fuzz.formulas import PULLS, divergences, function, vectors
from fuzz.kernels import kernel_by_definition
from spdatoms import (
    LogEuclideanSparseCoder,
    MinimumDistanceToMean,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDKNeighborsRegressor,
    SPDSparseClassifier,
    SPDSparseCoder,
    SPDSparseRegressor,
    sparse_code,
)
from spdatoms.paper import baselines


def coder(rng: np.random.Generator) -> None:
    """The conditions of optimality, with the kernel of the definition."""
    metric, D, _, X = data(rng, draws.metrics(symmetric=True))
    parameters, K, k = kernel_of(rng, metric, D, X)
    options = {"alpha": float(rng.choice([0.01, 0.1, 0.5])), "positive": bool(rng.random() < 0.3)}
    options["ridge"] = float(rng.choice([0.0, 0.1]))
    codes = (
        SPDSparseCoder(**parameters, **options)
        .fit(draws.same_laid_out(rng, D))
        .transform(draws.same_laid_out(rng, X))
    )
    wrong = violation(K, k, codes, options)
    expect(wrong <= 1e-6 * (1.0 + np.abs(codes).sum()), f"a code of {metric} is not optimal")


def lengthened_codes(
    K: np.ndarray, k: np.ndarray, alpha: float, ridge: float, w: np.ndarray
) -> np.ndarray:
    """Return codes y with the penalties α|y_j|/√w_j and ρy_j²/w_j."""
    lengths = np.sqrt(w)
    return lengths * sparse_code(K * lengths * lengths[:, None], k * lengths, alpha, ridge=ridge)


def classifier(rng: np.random.Generator) -> None:
    """Scores of classes by loops, probabilities, labels, and explanations."""
    metric, D, y, X = data(rng, draws.metrics(symmetric=True))
    parameters, K, k = kernel_of(rng, metric, D, X)
    alpha, ridge = float(rng.choice([0.001, 0.05])), float(rng.choice([0.0, 0.2]))
    rule = draws.pick(rng, ["residual", "sum", "max"])
    weights = weights_of(rng, len(D))
    model = SPDSparseClassifier(**parameters, alpha=alpha, ridge=ridge, rule=rule)
    model.fit(draws.same_laid_out(rng, D), y, weights)
    codes = lengthened_codes(K, k, alpha, ridge, relative(weights, len(D)))
    used = codes.any(axis=1)
    scores = np.zeros((len(X), len(model.classes_)))
    for c, label in enumerate(model.classes_):
        own = y == label
        part = np.where(own, codes, 0.0)
        if rule == "residual":
            scores[:, c] = 2.0 * (part * k).sum(axis=1) - np.einsum("ij,jk,ik->i", part, K, part)
        else:
            scores[:, c] = codes[:, own].sum(axis=1) if rule == "sum" else codes[:, own].max(axis=1)
    found = model.decision_function(draws.same_laid_out(rng, X))
    binary = len(model.classes_) == 2
    decision = scores[:, 1] - scores[:, 0] if binary else scores
    expect_close(found[used], decision[used], f"scores of {metric}", 1e-5)
    shares = np.exp(10.0 * (scores - scores.max(axis=1, keepdims=True)))
    shares /= shares.sum(axis=1, keepdims=True)
    probabilities = model.predict_proba(X)
    expect_close(probabilities.sum(axis=1), np.ones(len(X)), "a sum of probabilities", 1e-12)
    expect_close(probabilities[used], shares[used], "probabilities", 1e-4)
    best = np.sort(probabilities, axis=1)
    clear = best[:, -1] - best[:, -2] > 1e-9
    labels = model.classes_[probabilities.argmax(axis=1)]
    expect(((model.predict(X) == labels) | ~clear).all(), "predict is not the best class")
    explained = model.explain(X)
    expect(explained.predictions == model.predict(X), "the explanation is not of the prediction")
    expect_close(explained.totals[used], scores[used], "totals", 1e-5)
    for one in explained:
        sums = [one.contribution_of(label) for label in one.classes]
        expect_close(np.array(sums), one.totals, "contributions", 1e-9 * (1.0 + np.abs(sums).max()))


def regressor(rng: np.random.Generator) -> None:
    """t̄ + Σ y_j (t_j − t̄), and with α = 0 kernel ridge regression."""
    metric, D, _, X = data(rng, draws.metrics(symmetric=True))
    parameters, K, k = kernel_of(rng, metric, D, X)
    t, w = rng.standard_normal((len(D), 2)), weights_of(rng, len(D))
    alpha, ridge = float(rng.choice([0.0, 0.05])), float(rng.choice([0.1, 1.0]))
    model = SPDSparseRegressor(**parameters, alpha=alpha, ridge=ridge).fit(
        draws.same_laid_out(rng, D), t, w
    )
    own = relative(w, len(D))
    mean = np.average(t, axis=0, weights=own)
    if alpha == 0.0:
        codes = np.linalg.solve(K + ridge * np.diag(1.0 / own), k.T).T
    else:
        codes = lengthened_codes(K, k, alpha, ridge, own)
    expect_close(
        model.predict(draws.same_laid_out(rng, X)), mean + codes @ (t - mean), "a prediction", 1e-5
    )


def neighbours(rng: np.random.Generator) -> None:
    """Neighbours, votes and predictions by brute force."""
    metric, D, y, X = data(rng, draws.metrics())
    every = divergences(metric, X, D)
    every[0, 0] = 0.0  # the first query is the first matrix
    k, votes = int(rng.integers(1, 5)), draws.pick(rng, ["uniform", "distance"])
    weights = weights_of(rng, len(D))
    classes: Any = draws.pick(rng, [SPDKNeighborsClassifier, SPDKNeighborsRegressor])
    t = np.unique(y, return_inverse=True)[1].astype(float)
    target = y if classes is SPDKNeighborsClassifier else t
    model = classes(k, metric, weights=votes).fit(draws.same_laid_out(rng, D), target, weights)
    d, indices = model.kneighbors(draws.same_laid_out(rng, X))
    expect_close(d, np.sort(every, axis=1)[:, :k], f"divergences of {metric}", 1e-8)
    ordered = np.sort(every, axis=1)
    gaps = np.diff(ordered, axis=1)[:, :k].min(axis=1) > 1e-7 * ordered.max()
    rows = np.flatnonzero(gaps)
    expect(indices[rows] == np.argsort(every[rows], axis=1)[:, :k], "other neighbours")
    own = np.ones(len(D)) if weights is None else weights
    for row in rows:
        near = indices[row]
        with np.errstate(divide="ignore"):
            counts = np.ones(k) if votes == "uniform" else 1.0 / np.sqrt(every[row, near])
        counts = np.where(np.isinf(counts), 1.0, 0.0) if np.isinf(counts).any() else counts
        counts = counts * own[near] / (counts * own[near]).sum()
        if classes is SPDKNeighborsRegressor:
            found = model.predict(X[row : row + 1])[0]
            expect(abs(found - counts @ t[near]) <= 1e-5, "a prediction is off")
        else:
            shares = np.array([counts[y[near] == label].sum() for label in model.classes_])
            expect_close(model.predict_proba(X[row : row + 1])[0], shares, "shares of votes", 1e-5)
            best = model.predict(X[row : row + 1])[0]
            expect(shares[model.classes_ == best] >= shares.max() - 1e-5, "another label")


def kmeans(rng: np.random.Generator) -> None:
    """Nearest centres, inertia, its descent, and centres that are the means of their clusters."""
    metric, X, _, _ = data(rng, [m for m in draws.metrics() if draws.has_mean(m)])
    weights = weights_of(rng, len(X))
    k = int(rng.integers(1, 4))
    model = SPDKMeans(k, metric, random_state=0, tol=1e-7).fit(
        draws.same_laid_out(rng, X), sample_weight=weights
    )
    d = divergences(metric, X, model.cluster_centers_)
    own = np.ones(len(X)) if weights is None else weights
    nearest = d.min(axis=1)
    expect(
        d[np.arange(len(X)), model.labels_] <= nearest + 1e-7 * d.max(), "not the nearest centre"
    )
    expect_close(model.inertia_, own @ nearest, "the inertia", 1e-6)
    expect_close(model.transform(X), d, f"divergences of {metric}", 1e-7)
    history = model.inertia_history_
    expect(np.diff(history) <= 1e-9 * history[0], "the inertia rises")
    for j, centre in enumerate(model.cluster_centers_):
        w = own * (model.labels_ == j)
        _, pulls = PULLS[metric](centre, X)
        size = w @ np.linalg.norm(pulls, axis=1) + 1e-12 * own.sum()
        if (model.labels_ == j).sum() > 1:
            rest = np.linalg.norm(w @ pulls)
            expect(rest <= 1e-4 * size, f"a centre of {metric} is no mean, by {rest / size:.3g}")


def dictionary(rng: np.random.Generator) -> None:
    """The objective by its definition, and its descent."""
    metric, X, _, _ = data(rng, [m for m in draws.metrics(symmetric=True) if draws.has_mean(m)])
    beta = kernel_by_definition(metric, X, X, "auto", "clip")[0]
    model = SPDDictionaryLearning(
        3,
        metric,
        beta=beta,
        alpha=0.1,
        init="random",
        max_iter=2,
        tol=0.0,
        random_state=0,
        landmarks=None,
        positive=bool(rng.random() < 0.3),
    ).fit(draws.same_laid_out(rng, X))
    history = model.objective_
    expect(np.diff(history) <= 1e-9 * np.abs(history).max(), "the objective rises")
    D, Y = model.atoms_, model.transform(X)
    K = np.exp(-beta * divergences(metric, D, D))
    np.fill_diagonal(K, 1.0 + model.ridge_)
    k = np.exp(-beta * divergences(metric, X, D))
    losses = (
        1.0
        - 2.0 * (Y * k).sum(axis=1)
        + np.einsum("ij,jk,ik->i", Y, K, Y)
        + 0.1 * np.abs(Y).sum(axis=1)
    )
    last = losses.sum()
    expect(last <= history[-1] + 1e-6 * len(X), f"codes of {metric} are worse than in learning")
    options = {"alpha": 0.1, "positive": model.positive}
    wrong = violation(K, k, Y, options)
    expect(wrong <= 1e-5 * (1.0 + np.abs(Y).sum()), f"a code of {metric} is not optimal")


def nearest_mean(rng: np.random.Generator) -> None:
    """Class means that meet their equations, and the nearest of them."""
    metric, X, y, queries = data(rng, [m for m in draws.metrics() if draws.has_mean(m)])
    weights = weights_of(rng, len(X))
    model = MinimumDistanceToMean(metric).fit(draws.same_laid_out(rng, X), y, weights)
    own = np.ones(len(X)) if weights is None else weights
    for label, centre in zip(model.classes_, model.means_, strict=True):
        some = y == label
        _, pulls = PULLS[metric](centre, X[some])
        size = own[some] @ np.linalg.norm(pulls, axis=1)
        rest = np.linalg.norm(own[some] @ pulls)
        expect((rest <= 1e-6 * size) | (some.sum() == 1), f"a class mean of {metric} is off")
    d = divergences(metric, queries, model.means_)
    shares = np.exp(d.min(axis=1, keepdims=True) - d)
    shares /= shares.sum(axis=1, keepdims=True)
    expect_close(
        model.predict_proba(draws.same_laid_out(rng, queries)), shares, "probabilities", 1e-6
    )


def log_euclidean(rng: np.random.Generator) -> None:
    """Codes of logarithms: the conditions of the Lasso on unit vectors."""
    _, D, _, X = data(rng, ["logeuclid"])
    D, X = D.real, X.real
    alpha = float(rng.choice([0.01, 0.1]))
    codes = (
        LogEuclideanSparseCoder(alpha=alpha, rescale=False)
        .fit(draws.same_laid_out(rng, D))
        .transform(X)
    )
    units = []
    for Z in (D, X):
        v = vectors(function(np.log, Z))
        units.append(v / np.linalg.norm(v, axis=1, keepdims=True))
    wrong = violation(
        units[0] @ units[0].T, units[1] @ units[0].T, codes, {"alpha": alpha, "positive": False}
    )
    expect(wrong <= 1e-6 * (1.0 + np.abs(codes).sum()), "a code is not optimal")


def pursuit(rng: np.random.Generator) -> None:
    """Codes of a pursuit: no more atoms than asked for, and what is left is orthogonal to them."""
    metric, D, _, X = data(rng, draws.metrics(symmetric=True))
    D, X = D.real, X.real
    parameters, K, k = kernel_of(rng, metric, D, X)
    s = int(rng.integers(1, 5))
    codes = (
        baselines.KernelPursuitCoder(**parameters, n_nonzero=s)
        .fit(draws.same_laid_out(rng, D))
        .transform(X)
    )
    expect((codes != 0).sum(axis=1) <= s, "there are too many atoms")
    left = k - codes @ K
    expect(
        np.abs(left[codes != 0]) <= 1e-6 * (1.0 + np.abs(codes).sum()),
        "the residual is not orthogonal",
    )
    largest = np.abs(k).argmax(axis=1)
    clear = np.sort(np.abs(k), axis=1)[:, -1] > 1e-9 + np.sort(np.abs(k), axis=1)[:, -2]
    chosen = codes[np.arange(len(X)), largest] != 0
    expect(chosen | ~clear | (np.abs(k).max(axis=1) < 1e-6), "the first atom is not the nearest")


#: What confirms estimators. The classes that are not here have laws only, see laws.py.
CONFIRMED: dict[Callable[[np.random.Generator], None], list[type]] = {
    coder: [SPDSparseCoder],
    classifier: [SPDSparseClassifier],
    regressor: [SPDSparseRegressor],
    neighbours: [SPDKNeighborsClassifier, SPDKNeighborsRegressor],
    kmeans: [SPDKMeans],
    dictionary: [SPDDictionaryLearning],
    nearest_mean: [MinimumDistanceToMean],
    log_euclidean: [LogEuclideanSparseCoder],
    pursuit: [baselines.KernelPursuitCoder],
}


def defined_estimators(rng: np.random.Generator) -> str:
    """An estimator on data of its own, with any metric, layout and weights."""
    draws.pick(rng, list(CONFIRMED))(rng)
    return "oracle"
