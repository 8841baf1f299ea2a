"""What parameters may be, and the error that refuses everything else."""

from __future__ import annotations

import inspect
import pickle
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from _hostile import HOSTILE
from _matrices import random_spd
from spdatoms import SPDDictionaryLearning, SPDKNeighborsClassifier, class_dictionary
from spdatoms._utils import parameters as allow

NUMBERS = [
    allow.integer(1),
    allow.integer(0, 5),
    allow.real(),
    allow.real(0, 1),
    allow.real(above=0, below=1),
    allow.ALPHA,
    allow.BETA,
    allow.TOLERANCE,
    allow.VERBOSE,
    allow.BOOLEAN,
    allow.RANDOM_STATE,
    allow.N_JOBS,
    allow.choice("a", "b"),
    allow.reals(0),
]


@pytest.mark.parametrize("allowed", NUMBERS, ids=lambda allowed: allowed.words[0])
def test_nothing_hostile_is_a_number_or_a_name(allowed: allow.Allowed) -> None:
    for value in HOSTILE:
        if isinstance(value, int) and allowed.words == ("an integer ≥ 1",):
            continue  # a huge integer is one
        if allowed in (allow.VERBOSE, allow.N_JOBS) and isinstance(value, int):
            continue
        if isinstance(value, np.ndarray) and value.size and value.ndim and allowed is NUMBERS[-1]:
            continue
        with pytest.raises(ValueError, match=r"^name must be .*, got .*\.$"):
            allowed.check("name", value)


@pytest.mark.parametrize(
    ("allowed", "values"),
    [
        (allow.integer(1), [1, 5, np.int32(2), np.uint8(1), 10**30]),
        (allow.integer(0, 2), [0, 2]),
        (allow.real(), [-1, 0.0, np.float32(0.5), Fraction(1, 3), np.longdouble(2)]),
        (allow.real(0, 1), [0, 1, 5e-324]),
        (allow.real(above=0, below=1), [5e-324, 0.5]),
        (allow.ALPHA, ["auto", 0, 1.5]),
        (allow.BETA, ["auto", 1e-300]),
        (allow.VERBOSE, [True, False, 0, 3]),
        (allow.BOOLEAN, [True, np.bool_(False)]),
        (allow.RANDOM_STATE, [None, 0, 2**32 - 1, np.random.default_rng(0)]),
        (allow.N_JOBS, [None, 1, -1, -64, np.int64(3)]),
        (allow.reals(0), [[0.0], (1, 2), np.ones(3)]),
        (allow.MATRICES, [np.eye(2)[None], [[[1.0]]]]),
        (allow.PATH, ["x", b"x".decode()]),
    ],
)
def test_what_is_allowed(allowed: allow.Allowed, values: list) -> None:
    for value in values:
        allowed.check("name", value)


@pytest.mark.parametrize(
    ("allowed", "values"),
    [
        (allow.integer(1), [True, False, 0, -1, 2.0, "3", None, np.bool_(True)]),
        (allow.integer(0, 2), [3, -1]),
        (allow.real(0, 1), [-5e-324, 1.0 + 2e-16, True, None]),
        (allow.real(above=0, below=1), [0, 1, 0.0]),
        (allow.BETA, [0, "Auto"]),
        (allow.BOOLEAN, [0, 1, None, "True"]),
        (allow.RANDOM_STATE, [-1, 2**32, 0.5, True]),
        (allow.N_JOBS, [0, True, 1.0, "all"]),
        (allow.reals(0), [[], [1.0, -1.0], [[1.0]], [np.nan], "12", 1.0]),
        (allow.MATRICES, ["x", 3, None, np.array(1.0), {}]),
        (allow.PATH, [None, 3, b"x"]),
    ],
)
def test_what_is_refused(allowed: allow.Allowed, values: list) -> None:
    for value in values:
        with pytest.raises(ValueError, match=r"^name must be .*, got .*\.$"):
            allowed.check("name", value)


@pytest.mark.parametrize(
    ("allowed", "value", "message"),
    [
        (allow.AUTO | allow.integer(1), 0, "name must be 'auto' or an integer ≥ 1, got 0."),
        (allow.choice("a", "b", "c"), "d", "name must be 'a', 'b' or 'c', got 'd'."),
        (allow.real(0, below=1), 1.0, "name must be a number ≥ 0 and < 1, got 1.0."),
        (allow.reals(above=0), [0.0], "name must be a list of numbers > 0, got [0.0]."),
        (allow.ALPHA, np.ones((2, 3)), "name must be 'auto' or a number ≥ 0, got an array of shape (2, 3)."),
        (allow.BOOLEAN, "x" * 1000, None),
    ],
)  # fmt: skip
def test_messages(allowed: allow.Allowed, value: object, message: str | None) -> None:
    with pytest.raises(ValueError, match="must be") as error:
        allowed.check("name", value)
    assert len(str(error.value)) < 120
    assert message is None or str(error.value) == message


def test_functions_check_what_they_are_given() -> None:
    @allow.checks(count=allow.integer(1))
    def repeat(word: str, count: int = 0) -> str:
        """Return the word, again and again."""
        return word * count

    assert repeat("a", 2) == repeat("a", count=2) == "aa"
    assert repeat("a") == ""  # the default is ours
    assert repeat.__doc__ == "Return the word, again and again."
    for wrong in (0, 1.5, "1"):
        with pytest.raises(ValueError, match="count must be an integer ≥ 1"):
            repeat("a", wrong)
    with pytest.raises(TypeError):
        repeat()


def test_a_boolean_is_no_number_of_atoms() -> None:
    X, y = random_spd(20, 3, seed=0), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"^n_atoms must be an integer ≥ 1, got True"):
        SPDDictionaryLearning(n_atoms=True).fit(X)
    with pytest.raises(ValueError, match=r"^n_atoms_per_class must be an integer ≥ 1, got True"):
        class_dictionary(X, y, True)
    with pytest.raises(
        ValueError, match="between 1 and the number of matrices, got 21 for n_samples=20"
    ):
        SPDKNeighborsClassifier(21).fit(X, y)


@allow.with_parameters
class Declared(BaseEstimator):
    """An estimator that declares its parameters."""

    width: float = allow.parameter(allow.real(above=0), default=1.0)
    _: KW_ONLY
    kind: str = allow.parameter(allow.choice("a", "b"), default="a")
    seen_ = 0


def test_a_declared_constructor_is_one_of_scikit_learn() -> None:
    assert str(inspect.signature(Declared)) == "(width: 'float' = 1.0, *, kind: 'str' = 'a')"
    assert Declared().get_params() == {"width": 1.0, "kind": "a"}
    wide = Declared(2.0, kind="b")
    assert vars(wide) == {"width": 2.0, "kind": "b"}
    assert vars(clone(wide)) == vars(pickle.loads(pickle.dumps(wide))) == vars(wide)
    assert set(Declared._parameters) == {"width", "kind"}  # and not seen_


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1.0, "b"), {}, "Declared: too many positional arguments"),
        ((), {"wdth": 1.0}, "Declared: got an unexpected keyword argument 'wdth'"),
        ((1.0,), {"width": 2.0}, "Declared: multiple values for argument 'width'"),
    ],
)
def test_a_declared_constructor_takes_nothing_else(args, kwargs, message) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        Declared(*args, **kwargs)


def test_a_subclass_with_its_own_constructor_has_the_defaults() -> None:
    class Narrow(Declared):
        def __init__(self, kind: str = "b") -> None:
            self.kind = kind

    assert (Narrow().width, Narrow().kind) == (1.0, "b")
    assert Narrow().get_params() == {"kind": "b"}


@allow.with_parameters
class Shared(BaseEstimator, ABC):
    """An abstract base class that declares parameters for others."""

    width: float = allow.parameter(allow.real(above=0), default=1.0)
    _: KW_ONLY
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @abstractmethod
    def smooth(self) -> None: ...


@allow.with_parameters
class Smoother(Shared):
    """Its own parameters come first; the width is declared anew, and stays where it was."""

    order: int = allow.parameter(allow.integer(1), default=2)
    width: float = allow.parameter(allow.real(above=1), default=3.0)
    _: KW_ONLY
    kind: str = allow.parameter(allow.choice("a", "b"), default="a")

    def smooth(self) -> None: ...


def test_parameters_of_an_abstract_base_class_are_inherited() -> None:
    assert list(inspect.signature(Smoother).parameters) == ["order", "width", "kind", "verbose"]
    assert vars(Smoother(1, 2.0)) == {"order": 1, "width": 2.0, "kind": "a", "verbose": 0}
    assert not Smoother._parameters["width"].test(1.0)
    with pytest.raises(TypeError, match="too many positional"):
        Smoother(1, 2.0, "b")


def test_estimators_with_the_same_parameters_are_not_the_same_to_dask() -> None:
    tokenize = pytest.importorskip("dask.base").tokenize
    one, other = Declared(), Declared()
    assert tokenize(one) == tokenize(other)
    other.seen_ = 3
    assert tokenize(one) != tokenize(other)
