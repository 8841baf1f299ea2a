"""The door of estimators: parameters are checked once, and no estimator is fitted by half."""

from __future__ import annotations

import warnings

import pytest

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import StackEstimator, checked_fit, estimator_call
from spdatoms._utils.warning import warn_user


class Doubler(StackEstimator):
    """Keeps twice the number that it is given."""

    _parameters = allow.declare(least=allow.integer(0))
    checks = 0

    def __init__(self, least=0):
        self.least = least

    def check_parameters(self):
        type(self).checks += 1
        super().check_parameters()

    @checked_fit
    def fit(self, X, y=None):
        self.halfway_ = True
        if self.least > X:
            raise ValueError("too small")
        self.double_ = 2 * X
        return self

    @checked_fit
    def partial_fit(self, X, y=None):
        self.double_ = None
        self.double_ = 2 * X / X
        return self

    @estimator_call
    def score(self, X):
        warn_user("odd")
        return self.double_ == X


class Tripler(Doubler):
    """Calls the method of its base class."""

    checks = 0

    @checked_fit
    def fit(self, X, y=None):
        super().fit(X)
        self.triple_ = 3 * X
        return self


def test_a_subclass_checks_its_parameters_once() -> None:
    model = Tripler().fit(2)
    assert (model.double_, model.triple_, Tripler.checks) == (4, 6, 1)
    with pytest.raises(ValueError, match=r"^least must be"):
        Tripler(-1).fit(2)


def test_a_failed_fit_leaves_nothing_and_a_failed_partial_fit_everything() -> None:
    model = Doubler(1).fit(2)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit(0)
    assert model.double_ == 4
    with pytest.raises(ValueError, match="too small"):
        model.fit(0)
    assert vars(model) == {"least": 1}


def test_warnings_name_the_estimator() -> None:
    with pytest.warns(UserWarning, match="^Doubler: odd$"):
        assert Doubler().fit(1).score(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Doubler().fit(1)
