"""Classifiers that know domains: folds leave them out, cells are others, explanations name them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

from _domains import subjects_with_labels
from _model_files import round_trip
from spdatoms import SPDEnsembleClassifier, SPDRecentre, SPDSparseClassifierCV
from spdatoms._utils.folds import domain_folds

X, Y, NAMES = subjects_with_labels(4)
MODELS = [
    SPDEnsembleClassifier(),
    SPDEnsembleClassifier("cv", "stein"),
    SPDSparseClassifierCV("stein", alphas=[0.1], ridges=[0.1, 1.0], whitenings=[0.3, 1.0]),
]
every = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def test_folds_leave_out_domains() -> None:
    for cv, count in ((2, 2), (5, 4), ("loo", 4)):
        folds = domain_folds(cv, NAMES)
        assert len(folds) == count
        for train, test in folds:
            assert not set(NAMES[train]) & set(NAMES[test])
            assert len(train) + len(test) == len(NAMES)
    splitter = GroupKFold(2)
    assert domain_folds(splitter, NAMES) is splitter
    with pytest.raises(ValueError, match="two domains at least"):
        domain_folds(5, np.repeat("a", 3))


@every
def test_explanations_name_domains(model) -> None:
    Z = SPDRecentre(scale=True).fit_transform(X, domains=NAMES)
    fitted = round_trip(clone(model).fit(Z, Y, domains=NAMES))
    for one in fitted.explain(Z[:3]):
        assert one.domains == tuple(NAMES[one.atoms])
        assert sum(one.domain_shares.values()) == pytest.approx(one.share)
        assert "By domain: " in str(one)
    assert fitted.explain(Z[:1], 3)[0].domains is not None
    plain = clone(model).fit(Z, Y)
    assert plain.explain(Z[:1])[0].domains is None
    assert plain.explain(Z[:1])[0].domain_shares == {}


@every
def test_sides_weights_and_splitters(model) -> None:
    Z = SPDRecentre(scale=True).fit_transform(X, domains=NAMES)
    fitted = clone(model).fit(Z, Y, domains=NAMES)
    for side in fitted._sides:
        assert not set(NAMES[side > 0]) & set(NAMES[side < 0])
    by_groups = clone(model).set_params(cv=GroupKFold(4)).fit(Z, Y, domains=NAMES)
    assert len(by_groups._sides) == 4
    weights = np.ones(len(Y))
    weights[:3] = 0.0
    weighted = clone(model).fit(Z, Y, sample_weight=weights, domains=NAMES)
    assert weighted.explain(Z[:1])[0].domains is not None
    query = Z[:2].copy()
    query[0, 1] = query[0, :, 1] = np.nan
    assert fitted.predict(query).shape == (2,)
    assert fitted.explain(query)[0].domains is not None


def test_cells_are_not_whitened_and_have_strong_ridges() -> None:
    Z = SPDRecentre(scale=True).fit_transform(X, domains=NAMES)
    cells = SPDEnsembleClassifier().fit(Z, Y, domains=NAMES).cv_results_
    assert all(one is None for one in cells["param_whitening"])
    codes = cells["param_rule"] == "sum"
    np.testing.assert_allclose(cells["param_ridge"][codes], 1.0 - np.exp(-3.0))
    grid = SPDSparseClassifierCV("stein", cv=2).fit(Z, Y, domains=NAMES).cv_results_
    assert max(grid["param_ridge"]) > 5.0
    assert None in grid["param_whitening"]


def test_a_pipeline_routes_domains_to_both() -> None:
    new = NAMES == "kim"
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(SPDRecentre(scale=True), SPDEnsembleClassifier())
        model.fit(X[~new], Y[~new], domains=NAMES[~new])
        assert set(model[-1].domains_) == {"ann", "bob", "eve"}
        assert model.score(X[new], Y[new]) > 0.8
