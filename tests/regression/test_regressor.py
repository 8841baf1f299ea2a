"""Explanations of numbers: what training matrices contribute adds up to the prediction, for every regressor."""

from __future__ import annotations

import numpy as np
import pytest

from _hermitian import random_hpd
from _matrices import random_spd
from spdatoms import (
    SPDEnsembleRegressor,
    SPDKNeighborsRegressor,
    SPDSparseCoder,
    SPDSparseRegressor,
)

MODELS = [
    SPDSparseRegressor(),
    SPDSparseRegressor("logeuclid", alpha=0.0, ridge=0.1),
    SPDKNeighborsRegressor(),
    SPDKNeighborsRegressor(3, "stein", weights="distance"),
    SPDEnsembleRegressor(),
    SPDEnsembleRegressor("jeffrey", cv=3, max_atoms=20),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: " ".join(repr(m).split()))


def problem(outputs: tuple[int, ...] = (), make=random_spd):
    rng = np.random.default_rng(0)
    X = make(36, 3)
    t = np.linalg.slogdet(X)[1] + 0.1 * rng.standard_normal(36)
    t = t if not outputs else t[:, None] * rng.standard_normal(outputs) + 7.0
    return X, t, rng.uniform(0.2, 3.0, 36), make(7, 3, seed=1)


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("make", [random_spd, random_hpd])
@pytest.mark.parametrize("outputs", [(), (2,)])
@pytest.mark.parametrize("weighted", [False, True])
def test_contributions_add_up_to_the_prediction(model, outputs, weighted, make) -> None:
    X, t, w, queries = problem(outputs, make)
    model.fit(X, t, sample_weight=w if weighted else None)
    found, predicted = model.explain(queries), model.predict(queries)
    np.testing.assert_allclose(found.predictions, predicted, rtol=0, atol=1e-10 * abs(t).max())
    weights = model._weights if hasattr(model, "_weights") else model.atom_weights_
    mean = np.average(model.targets_, axis=0, weights=weights)
    for one, expected in zip(found, predicted, strict=True):
        np.testing.assert_allclose(one.offset, mean)
        np.testing.assert_allclose(
            one.offset + one.contributions.sum(axis=0), expected, atol=1e-10 * abs(t).max()
        )
        np.testing.assert_array_equal(one.targets, t[one.atoms])
        assert one.n_used == len(one.atoms)


def test_contributions_of_a_code_and_of_neighbours_by_their_definition() -> None:
    X, t, _, queries = problem()
    codes = SPDSparseCoder(beta=1.0, alpha=0.05).fit(X).transform(queries)
    for code, one in zip(
        codes, SPDSparseRegressor(beta=1.0, alpha=0.05).fit(X, t).explain(queries), strict=True
    ):
        assert sorted(one.atoms) == np.flatnonzero(code).tolist()
        np.testing.assert_allclose(
            one.contributions, (code * (t - t.mean()))[one.atoms], atol=1e-12
        )
    model = SPDKNeighborsRegressor(3).fit(X, t)
    for near, one in zip(model.kneighbors(queries)[1], model.explain(queries), strict=True):
        assert sorted(one.atoms) == sorted(near)
        np.testing.assert_allclose(one.contributions, (t[one.atoms] - t.mean()) / 3)


@every_model
def test_a_short_explanation_keeps_the_largest(model) -> None:
    X, t, _, queries = problem()
    model.fit(X, t)
    for whole, few in zip(model.explain(queries), model.explain(queries, n_atoms=2), strict=True):
        np.testing.assert_array_equal(few.atoms, whole.atoms[:2])
        assert few.prediction == whole.prediction
        assert few.n_used == whole.n_used
        assert (np.diff(np.abs(whole.contributions)) <= 0).all()


def test_words_and_tables() -> None:
    X, t, _, queries = problem()
    model = SPDKNeighborsRegressor(2).fit(X, t)
    names = [f"<b>{i}" for i in range(36)]
    [one] = model.explain(queries[:1], n_atoms=1, names=names)
    assert str(one).startswith(f"{one.prediction:.4g}: the mean {t.mean():.4g} and ")
    assert f"of 1 of 2 matrices: <b>{one.atoms[0]} ({one.targets[0]:.3g})" in str(one)
    page = one._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    with pytest.raises(ValueError, match="a name for each of the 36 atoms, got 3"):
        model.explain(queries, names=names[:3])
    with pytest.raises(ValueError, match="n_atoms must be"):
        model.explain(queries, n_atoms=0)


def test_one_of_several_targets() -> None:
    X, t, _, queries = problem((2,))
    model = SPDEnsembleRegressor().fit(X, t)
    [both] = model.explain(queries[:1])
    [second] = SPDEnsembleRegressor().fit(X, t[:, 1]).explain(queries[:1])
    assert both.of_target(1).prediction == pytest.approx(second.prediction)
    np.testing.assert_array_equal(both.of_target(1).atoms, second.atoms)
    assert str(both).splitlines()[1] == str(both.of_target(1))
    [short] = model.explain(queries[:1], n_atoms=2)
    assert [name.split("#")[0] for name, _ in short.named()] == ["target 0: "] * 2 + [
        "target 1: "
    ] * 2
    assert "target 1: #" in short._repr_html_()
