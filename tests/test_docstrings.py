"""Every public parameter, attribute and return is documented, and matches the signature; examples run."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.base import clone

import spdatoms
from conformance.estimators import every_estimator, targets

#: The modules whose names are public: those in ``__all__`` or, without one, those defined there.
PUBLIC_MODULES = [
    "spdatoms",
    "spdatoms.base",
    "spdatoms.classification",
    "spdatoms.clustering",
    "spdatoms.coding",
    "spdatoms.datasets",
    "spdatoms.descriptors",
    "spdatoms.dictionary",
    "spdatoms.divergences",
    "spdatoms.exceptions",
    "spdatoms.geometry",
    "spdatoms.interop",
    "spdatoms.kernels",
    "spdatoms.lasso",
    "spdatoms.paper.baselines",
    "spdatoms.paper.datasets",
    "spdatoms.paper.experiments",
    "spdatoms.paper.plotting",
    "spdatoms.plotting",
    "spdatoms.regression",
    "spdatoms.scale",
    "spdatoms.storage",
]
#: Those that need another library.
WITH_OTHERS = {"spdatoms.interop.jax": "jax", "spdatoms.interop.torch": "torch"}
PUBLIC_MODULES += [name for name, other in WITH_OTHERS.items() if importlib.util.find_spec(other)]


def section(docstring: str, title: str) -> str:
    """Return the text of a section of a numpydoc docstring, empty if there is none."""
    found = re.search(
        rf"^{title}\n-+\n(.*?)(?=^\w[^\n]*\n-{{3,}}$|\Z)", docstring, flags=re.S | re.M
    )
    return found.group(1) if found else ""


def documented(docstring: str, title: str) -> list[str]:
    """Return the names in a section of a numpydoc docstring."""
    heads = re.findall(r"^([*\w][^:\n]*?)(?: ?:.*)?$", section(docstring, title), flags=re.M)
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def test_the_parser_of_docstrings():
    docstring = inspect.cleandoc(
        """d(X, Y).

        Parameters
        ----------
        X, Y : array
            Text: more.

        Z
            Text.
        *args : int

        Returns
        -------
        W : int
        """
    )
    assert documented(docstring, "Parameters") == ["X", "Y", "Z", "args"]
    assert documented(docstring, "Returns") == ["W"]


def public_things() -> Iterator[Any]:
    """Yield ``(qualified name, function or class)`` for all public functions and classes."""
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        own = [name for name, thing in vars(module).items() if defined_in(thing, module_name)]
        for name in getattr(module, "__all__", own):
            thing = getattr(module, name)
            if not name.startswith("_") and (inspect.isclass(thing) or inspect.isfunction(thing)):
                yield pytest.param(thing, id=f"{module_name}.{name}")


def defined_in(thing: Any, module_name: str) -> bool:
    return getattr(thing, "__module__", "") == module_name


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def is_exception(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseException)


PUBLIC = list(public_things())


@pytest.mark.parametrize("thing", PUBLIC)
def test_parameters_are_documented_as_they_are(thing):
    docstring = inspect.getdoc(thing) or ""
    assert docstring
    if is_exception(thing):
        return  # takes a message
    fields = getattr(thing, "__dataclass_fields__", None)
    names = documented(docstring, "Parameters")
    if (
        fields is not None and not names
    ):  # a record, made by a function: what it holds is documented
        assert set(fields) <= {*documented(docstring, "Attributes"), *described(thing)}
    else:
        assert sorted(names) == sorted(parameters(thing))


@pytest.mark.parametrize("thing", PUBLIC)
def test_defaults_are_documented(thing):
    if is_exception(thing):
        return  # takes a message
    text = section(inspect.getdoc(thing) or "", "Parameters")
    for name, parameter in inspect.signature(thing).parameters.items():
        found = re.search(rf"^(?:\w+, )*{name}(?:, \w+)* : (.*)$", text, flags=re.M)
        if found and parameter.default is not parameter.empty:
            assert "default=" in found.group(1), name


def described(record: Any) -> set[str]:
    """Return the fields of a dataclass that have a comment ``#:`` above them."""
    return set(re.findall(r"#: [^\n]*\n\s+(\w+):", inspect.getsource(record)))


@pytest.mark.parametrize("thing", PUBLIC)
def test_returns_are_documented(thing):
    if not inspect.isclass(thing):
        assert tells_what_it_returns(thing, inspect.getdoc(thing) or "")
        return
    for name, method in vars(thing).items():
        if is_public_method(name, method):
            function = getattr(method, "__func__", method)
            assert tells_what_it_returns(function, told(thing, name)), name


def tells_what_it_returns(function: Any, docstring: str) -> bool:
    """Return whether there is a section, or a sentence; that fit returns the estimator is known."""
    returns = str(inspect.signature(function).return_annotation)
    if returns == "None" or function.__name__ in ("fit", "partial_fit"):
        return True
    tells = section(docstring, "Returns") or section(docstring, "Yields")
    return bool(tells or re.search(r"\b([Rr]eturn|[Yy]ield|[Gg]ive|[Ss]ay|[Mm]ake)", docstring))


@pytest.mark.parametrize("thing", [p for p in PUBLIC if inspect.isclass(p.values[0])])
def test_methods_tell_what_their_parameters_are(thing):
    """In a section, or in a sentence that names them; scikit-learn's ignored y needs no words."""
    for name, method in vars(thing).items():
        if not is_public_method(name, method):
            continue
        function = getattr(method, "__func__", method)
        docstring = told(thing, name)
        assert docstring, name
        named = documented(docstring, "Parameters")
        if named:
            assert sorted(named) == sorted(parameters(function)), name
        else:
            missing = [
                p for p in parameters(function) if not re.search(rf"\b{p}(?![^\W_])", docstring)
            ]
            assert set(missing) <= {"y", "sample_weight", "n_jobs", "input_features"}, name


def told(thing: type, name: str) -> str:
    """Return the docstrings of a method, here and in the classes it comes from."""
    methods = [vars(base)[name] for base in thing.__mro__ if name in vars(base)]
    return "\n".join(inspect.getdoc(getattr(m, "__func__", m)) or "" for m in methods)


def is_public_method(name: str, method: Any) -> bool:
    method = getattr(method, "__func__", method)
    return not name.startswith("_") and inspect.isfunction(method)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@every_estimator
def test_fitted_attributes_are_documented(estimator, labelled):
    X, y = labelled
    model = clone(estimator).fit(X, targets(estimator, y))
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert fitted <= set(documented(inspect.getdoc(estimator) or "", "Attributes"))


def modules_with_examples() -> list[str]:
    """Return the modules of the package."""
    names = [module.name for module in pkgutil.walk_packages(spdatoms.__path__, "spdatoms.")]
    return [
        "spdatoms",
        *(name for name in names if not name.endswith(("__main__", "native._build"))),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name):
    if name in WITH_OTHERS:
        pytest.importorskip(WITH_OTHERS[name])
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0
