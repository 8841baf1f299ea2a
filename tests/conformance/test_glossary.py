"""A parameter has one name, meaning, default and place in all estimators: those of the glossary in the guide."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import spdatoms
from spdatoms import descriptors
from spdatoms.paper import baselines

GLOSSARY = Path(__file__).parents[2] / "docs" / "guide" / "glossary.md"
#: Parameters that come last, in this order.
LAST = ["random_state", "n_jobs", "verbose"]
PLURALS = {
    "metrics": "metric",
    "betas": "beta",
    "alphas": "alpha",
    "ridges": "ridge",
    "whitenings": "whitening",
    "rules": "rule",
}
#: At most this number of parameters can be given without a name.
POSITIONAL = 4

_NO_KERNEL = "it has no kernel, and the affine-invariant distance is the usual one"
_OTHER_OBJECTIVE = "its objective is not that of a kernel, and has another scale"
_SLOW = "every atom takes seconds"
#: Deviations from the glossary: what is different, and why.
DEVIATIONS = {
    ("SPDKMeans", "metric"): _NO_KERNEL,
    ("SPDAlign", "metric"): _NO_KERNEL,
    ("SPDRecentre", "metric"): _NO_KERNEL,
    ("SPDKNeighborsClassifier", "metric"): _NO_KERNEL,
    ("SPDKNeighborsRegressor", "metric"): _NO_KERNEL,
    ("MinimumDistanceToMean", "metric"): _NO_KERNEL,
    (
        "SPDNovelty",
        "n_atoms",
    ): "None stands for all training matrices, which are left out at no cost",
    ("SPDSparseClassifier", "max_atoms"): "in the method of the paper all of them are",
    ("SPDEnsembleRegressor", "cv"): "leaving out single matrices costs nothing there",
    ("LogEuclideanKSVD", "alpha"): "None stands for the pursuit, which has no penalty",
    ("RiemannianSparseCoder", "alpha"): _OTHER_OBJECTIVE,
    ("RiemannianSparseClassifier", "alpha"): _OTHER_OBJECTIVE,
    ("RiemannianDictionaryLearning", "alpha"): _OTHER_OBJECTIVE,
    ("TensorSparseCoder", "alpha"): _OTHER_OBJECTIVE,
    ("TensorSparseClassifier", "alpha"): _OTHER_OBJECTIVE,
    ("TensorDictionaryLearning", "alpha"): _OTHER_OBJECTIVE,
    ("RiemannianDictionaryLearning", "n_atoms"): _SLOW,
    ("TensorDictionaryLearning", "n_atoms"): _SLOW,
    ("RiemannianLPP", "ridge"): "the γ of its paper: there are no codes, and no covariance",
}
#: Estimators whose calls take milliseconds, and show no progress.
QUICK = {"DivergenceKernel"}


def glossary() -> dict[str, tuple[str, str]]:
    """Return meaning and default by parameter, in the order of the table."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) ?\| (.*?) ?\|$", GLOSSARY.read_text("utf-8"), re.M)
    return {name: (meaning, default.strip("`")) for name, meaning, default in rows}


TABLE = glossary()
EVERY = sorted(
    {
        getattr(home, name)
        for home in (spdatoms, baselines, descriptors)
        for name in home.__all__
        if inspect.isclass(getattr(home, name)) and issubclass(getattr(home, name), BaseEstimator)
    },
    key=lambda cls: cls.__name__,
)
every = pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)


def described(cls: type) -> dict[str, str]:
    """Return what the docstring says of each parameter."""
    section = re.search(
        r"Parameters\n-{10}\n(.*?)(?=\n\n[A-Z][A-Za-z ]+\n-+\n|\Z)", inspect.getdoc(cls) or "", re.S
    )
    assert section
    entries = re.split(r"(?m)^(?=\w+ : )", section[1])
    heads = [entry.partition("\n") for entry in entries if entry]
    return {head.split(" : ")[0]: " ".join(text.split()) for head, _, text in heads}


def test_the_table_is_read() -> None:
    assert list(TABLE)[-3:] == LAST
    assert set(PLURALS.values()) < set(TABLE)


@every
def test_meanings_and_defaults(cls: type) -> None:
    words = described(cls)
    for name, parameter in inspect.signature(cls).parameters.items():
        if name not in TABLE or (cls.__name__, name) in DEVIATIONS:
            continue
        meaning, default = TABLE[name]
        assert words[name].startswith(meaning), name
        if default:
            assert parameter.default == ast.literal_eval(default), name


@every
def test_order(cls: type) -> None:
    names = list(inspect.signature(cls).parameters)
    last = [name for name in names if name in LAST]
    assert last == [name for name in LAST if name in last]
    assert names[len(names) - len(last) :] == last
    own = [PLURALS.get(name, name) for name in names]
    known = [name for name in own if name in TABLE]
    kernel = list(TABLE)[list(TABLE).index("metric") : list(TABLE).index("tol") + 1]
    assert [n for n in known if n in kernel] == [n for n in kernel if n in known]


@every
def test_most_parameters_need_their_names(cls: type) -> None:
    parameters = inspect.signature(cls).parameters.values()
    free = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
    assert len(free) <= POSITIONAL


@every
def test_what_may_take_long_shows_progress(cls: type) -> None:
    assert ("verbose" in inspect.signature(cls).parameters) != (cls.__name__ in QUICK)


def test_deviations_are_such() -> None:
    """A deviation that no longer is one must go."""
    by_name = {cls.__name__: cls for cls in EVERY}
    for estimator, name in DEVIATIONS:
        cls, (meaning, default) = by_name[estimator], TABLE[name]
        same = inspect.signature(cls).parameters[name].default == ast.literal_eval(default)
        assert not same or not described(cls)[name].startswith(meaning), (estimator, name)
