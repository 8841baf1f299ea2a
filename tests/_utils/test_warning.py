"""Warnings: they name the estimator, come once per fit, and point to the caller."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from _matrices import wishart_classes
from spdatoms import DivergenceKernel, SPDSparseClassifier, SPDSparseClassifierCV, SPDSparseCoder
from spdatoms._utils.warning import warn_user, warnings_of
from spdatoms.exceptions import IndefiniteKernelWarning, ZeroCodeWarning


def caught_in(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return caught


@pytest.mark.slow
def test_a_fit_of_many_parts_warns_once_and_names_the_estimator():
    """Jeffrey's kernel is indefinite in every class and over all atoms: five times before, now once."""
    X, y = wishart_classes(4, 30)
    model = SPDSparseClassifier("jeffrey", n_atoms_per_class=8, random_state=0)
    caught = caught_in(lambda: model.fit(X, y))
    kinds = [warning.category for warning in caught]
    assert kinds.count(IndefiniteKernelWarning) == 1
    assert str(caught[0].message).startswith("SPDSparseClassifier: ")
    assert caught[0].filename == __file__
    assert len(caught_in(lambda: model.fit(X, y))) == len(caught)  # once per fit, not once for all


def test_predictions_name_the_estimator(labelled):
    X, y = labelled
    model = SPDSparseClassifier("stein", beta=1e6).fit(X[::2], y[::2])
    (caught,) = caught_in(lambda: model.predict(X[1::2]))
    assert caught.category is ZeroCodeWarning
    assert str(caught.message).startswith("SPDSparseClassifier: 12 of 12 queries")


def test_the_estimator_that_was_called_is_named_not_those_that_it_uses():
    def call():
        with warnings_of(SPDSparseClassifierCV()), warnings_of(SPDSparseCoder()):
            warn_user("something")

    (caught,) = caught_in(call)
    assert str(caught.message) == "SPDSparseClassifierCV: something"


def test_functions_are_not_named():
    X, _ = wishart_classes(4, 30)
    (caught,) = caught_in(lambda: DivergenceKernel("jeffrey").fit(X))
    assert str(caught.message).startswith(("DivergenceKernel: ", "The jeffrey kernel"))
    (caught,) = caught_in(lambda: warn_user("something"))
    assert str(caught.message) == "something"


def test_different_kinds_are_all_given():
    def call():
        with warnings_of(SPDSparseCoder()):
            for message, category in [
                ("one", UserWarning),
                ("two", UserWarning),
                ("one", UserWarning),
                ("three", ZeroCodeWarning),
                ("four", ZeroCodeWarning),
            ]:
                warn_user(message, category)

    assert [str(caught.message) for caught in caught_in(call)] == [
        "SPDSparseCoder: one",
        "SPDSparseCoder: two",
        "SPDSparseCoder: three",
    ]


def test_an_error_ends_the_call():
    with pytest.raises(ValueError, match="square"):
        SPDSparseCoder().fit(np.zeros((2, 3)))
    (caught,) = caught_in(lambda: warn_user("later"))
    assert str(caught.message) == "later"
