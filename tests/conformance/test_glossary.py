"""A parameter has one name, meaning, default and place in all estimators: those of the glossary in the guide.

What estimators share is written once, in the glossary that completes their docstrings.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import spdatoms
from spdatoms import descriptors
from spdatoms._utils import glossary as words
from spdatoms._utils.estimator import StackEstimator
from spdatoms.base import SPDEstimator
from spdatoms.kernels.base import Kernel
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


@every
def test_everything_allowed_is_told(cls: type) -> None:
    """A description from the glossary must fit what the class allows, too."""
    entries = section(inspect.getdoc(cls), "Parameters")
    for name, allowed in cls._parameters.items():  # type: ignore[attr-defined]
        for word in allowed.words:
            if word == "None" or word.startswith("'"):
                assert word.replace("'", '"') in entries[name], name


def section(docstring: str | None, title: str) -> dict[str, str]:
    """Return the entries of a section by name."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\w[\w ]*\n---|\Z)", docstring or "", re.S | re.M)
    return words.entries(found[1] if found else "")


def descendants(cls: type) -> Iterator[type]:
    """Yield the classes of the package that derive from one."""
    for child in cls.__subclasses__():
        if child.__module__.startswith("spdatoms."):
            yield child
            yield from descendants(child)


@cache
def sources(module: str) -> dict[str, ast.ClassDef]:
    """Return the classes of a module by name, as they are written."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def sections() -> Iterator[tuple[str, str, dict[str, str], dict[str, str]]]:
    """Yield for each section to complete: whose it is, a glossary, the entries as written and as completed."""
    for cls in sorted(set(descendants(StackEstimator)), key=lambda cls: cls.__qualname__):
        tree = sources(cls.__module__)[cls.__name__]
        wanted = [(cls, tree, "Attributes", words.ATTRIBUTES)]
        if any("with_parameters" in ast.unparse(one) for one in tree.decorator_list):
            wanted.append((cls, tree, "Parameters", words.PARAMETERS))
        for node in tree.body:
            method = vars(cls)[node.name] if isinstance(node, ast.FunctionDef) else None
            if inspect.isfunction(method) and hasattr(method, "__wrapped__"):
                wanted.append((method, node, "Parameters", words.ARGUMENTS))
                wanted.append((method, node, "Parameters", words.OPTIONS))
                if method.__name__ in ("fit", "partial_fit"):
                    wanted.append((method, node, "Returns", words.ITSELF))
        for thing, node, title, glossary in wanted:
            written = section(ast.get_docstring(node), title)
            yield thing.__qualname__, glossary, written, section(inspect.getdoc(thing), title)


def told(entry: str) -> str:
    """Return the words of an entry, without the default."""
    return " ".join(re.sub(r", default=.*", "", entry, count=1).split())


def test_nobody_writes_again_what_the_glossary_says() -> None:
    again = [
        (who, name)
        for who, glossary, written, _ in sections()
        for name, entry in words.entries(glossary).items()
        if told(entry) == told(written.get(name, ""))
    ]
    assert not again, "leave these out (attributes: name them alone)"


def test_the_glossary_describes_what_several_share() -> None:
    uses = Counter(
        (glossary, name)
        for _, glossary, written, whole in sections()
        for name, entry in words.entries(glossary).items()
        if not written.get(name) and told(entry) == told(whole.get(name, ""))
    )
    texts = [words.PARAMETERS, words.ATTRIBUTES, words.ARGUMENTS, words.OPTIONS, words.ITSELF]
    rare = [name for text in texts for name in words.entries(text) if uses[text, name] < 2]
    assert not rare, "these are used less than twice"


def test_estimators_of_other_things_describe_their_items() -> None:
    """The X of the glossary is matrices."""
    others = {
        cls for cls in descendants(StackEstimator) if not issubclass(cls, SPDEstimator | Kernel)
    }
    assert others
    for cls in others:
        assert "SPD matrices" not in "".join(str(method.__doc__) for method in vars(cls).values())


def test_every_name_has_a_description() -> None:
    bare = [(who, name) for who, _, _, whole in sections() for name in whole if not whole[name]]
    assert not bare, "the glossary does not have these"
