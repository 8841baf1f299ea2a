"""The glossary: what the parameters, fitted attributes and arguments that estimators share mean, written once.

Docstrings are completed when a class is created, so that ``help`` shows all there is. A class or a method describes
what is its own, or where it says more than the glossary:

- What a docstring leaves out of the parameters of an estimator, or of the arguments of a method, is inserted, in the
  order of the signature.
- Shared attributes are named alone: ``classes_, n_features_in_``.
- That ``fit`` and ``partial_fit`` return the estimator need not be written: it is inserted.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

#: Parameters of estimators; the default is that of the signature.
PARAMETERS = """
dictionary : array-like of shape (N, n, n)
    The atoms. Without them the matrices given to `fit` are the atoms.
n_atoms : int
    The number N of atoms.
n_neighbors : int
    The number k of neighbours.
n_nonzero : int
    The greatest number s of atoms per code.
metric : str or Divergence
    The divergence d of the kernel exp(−β·d), which must be symmetric: ``"stein"``, ``"jeffrey"``, ``"logeuclid"``,
    ``"riemann"``, ``"euclid"``.
metrics : str, Divergence or sequence of them
    The divergences of the kernels. Matrices are re-centred at their mean first, which changes nothing for
    those that are invariant under congruence.
alpha : float
    The penalty of ‖y‖₁.
ridge : float
    The penalty ρ of ‖y‖² (elastic net): similar atoms share a code instead of one taking it all.
    With ``alpha=0`` the codes are those of collaborative representation, (K + ρI)⁻¹k_X, which
    are quick and not sparse.
positive : bool
    Ask for y ≥ 0.
correction : {"clip", "flip", "shift", "none"}
    What to do with an indefinite Gram matrix, see `DivergenceKernel`.
max_iter : int
    The greatest number of iterations, each a coding and an update of all atoms.
tol : float
    Learning ends when an iteration lowers the objective by no more than this fraction of it.
class_weight : "balanced", dict or None
    A weight for each class, which the weights of its matrices are multiplied with, see `fit`. A class that a dict
    does not name has the weight 1. ``"balanced"`` gives all classes the same sum of weights.
normalise : bool
    Divide every code by its norm; a code of zeros stays one. The angle between codes tells more than their
    distance, so that nearest neighbours, linear classifiers and k-means want codes of norm one.
random_state : int, Generator, RandomState or None
    The source of randomness for the first atoms. An int gives the same result every time.
n_jobs : int
    The number of threads; None is 1, -1 all processors. The result does not depend on it.
verbose : int
    1 shows progress bars (needs tqdm).
"""

#: Fitted attributes.
ATTRIBUTES = """
classes_ : ndarray of shape (n_classes,)
    The labels.
atoms_ : ndarray of shape (N, n, n)
    The dictionary.
atom_labels_ : ndarray of shape (N,)
    The labels of the atoms.
atom_indices_ : ndarray of shape (N,)
    Which of the training matrices the atoms are.
atom_weights_ : ndarray of shape (N,) or None
    The weights of the atoms, relative to their mean. None if they are all the same.
targets_ : ndarray of shape (N,) or (N, q)
    The targets of the atoms.
kernel_ : DivergenceKernel
    The kernel over the atoms, with ``beta_`` and ``gram_``.
beta_ : float
    The β in use.
alpha_ : float
    The α in use.
average_ : object
    The cells and their weights.
n_iter_ : int
    The number of iterations.
objective_ : ndarray of shape (2 · n_iter_,)
    The objective after every half-step: coding, update, coding, update …
n_features_in_ : int
    The size n of the matrices.
"""

#: Arguments of methods that must be given.
ARGUMENTS = """
X : array-like of shape (m, n, n)
    SPD matrices.
y : array-like of shape (m,)
    Their labels.
"""

#: The same of methods that take matrices block by block.
STREAMED = ARGUMENTS.replace(
    "SPD matrices.", "SPD matrices. It may be a Dask array, see `spdatoms.scale`."
)

#: Arguments of methods that are None if they are not given.
OPTIONS = """
y : object
    Ignored.
groups : array-like of shape (m,)
    For the splitter: matrices of one group stay on one side of a split.
channels : array-like
    The channels that the matrices have: their indices, or a mask of shape (n,) or (m, n). None stands for all
    but those whose rows and columns are NaN.
"""

#: What ``fit`` and ``partial_fit`` return.
ITSELF = """
self : object
    The estimator itself.
"""

_TITLE = re.compile(r"^([A-Z]\w+(?: \w+)?)\n-{3,}\n", re.M)
_ENTRY = re.compile(r"^\S.*(?:\n+ .*)*", re.M)


def describe_parameters(cls: type, signature: inspect.Signature) -> None:
    """Complete the docstring of a class by the parameters of its constructor."""
    if cls.__doc__:  # python -OO has none
        sections = _sections(cls.__doc__)
        known = _known(signature, lambda parameter: PARAMETERS)
        _complete(sections, "Parameters", known, known)
        cls.__doc__ = _joined(sections)


def describe_members(cls: type) -> None:
    """Complete the docstring of a class by its attributes, and those of its decorated methods, which are for users."""
    if cls.__doc__ and "Attributes" in cls.__doc__:
        sections = _sections(cls.__doc__)
        _complete(sections, "Attributes", _entries_of(ATTRIBUTES))
        cls.__doc__ = _joined(sections)
    for method in vars(cls).values():
        if inspect.isfunction(method) and hasattr(method, "__wrapped__") and method.__doc__:
            _describe_method(method)


def _describe_method(method: Any) -> None:
    required = STREAMED if getattr(method, "takes_streams", False) else ARGUMENTS

    def glossary(argument: inspect.Parameter) -> str:
        return OPTIONS if argument.default is None else required

    sections = _sections(method.__doc__)
    known = _known(inspect.signature(method), glossary)
    _complete(sections, "Parameters", known, known)
    if method.__name__ in ("fit", "partial_fit"):
        sections.setdefault("Returns", ITSELF.strip("\n"))
    method.__doc__ = _joined(sections)


def _known(
    signature: inspect.Signature, glossary: Callable[[inspect.Parameter], str]
) -> dict[str, str]:
    """Return the entries of all parameters but ``self``, with defaults; '' where the glossary has none."""
    known = {}
    for name, parameter in signature.parameters.items():
        entry = _entries_of(glossary(parameter)).get(name, "")
        if parameter.default is not parameter.empty:
            default = repr(parameter.default).replace("'", '"')
            entry = entry.replace("\n", f", default={default}\n", 1)
        known[name] = entry
    known.pop("self", None)
    return known


def _complete(
    sections: dict[str, str], title: str, known: Mapping[str, str], names: Iterable[str] = ()
) -> None:
    """Give a section the known entries of these names, and of those that it has alone, if all of them are known."""
    own = entries(sections.get(title, ""))
    described = {name: own.get(name) or known.get(name, "") for name in [*names, *own]}
    if described != own and "" not in described.values():
        sections[title] = "\n".join(dict.fromkeys(described.values()))  # names may share an entry


def _sections(docstring: str) -> dict[str, str]:
    """Return the sections of a docstring by title; what comes before them is ''."""
    beginning, *others = _TITLE.split(inspect.cleandoc(docstring))
    texts = [beginning, *others[1::2]]
    return {title: text.strip("\n") for title, text in zip(["", *others[::2]], texts, strict=True)}


def _joined(sections: Mapping[str, str]) -> str:
    """Return a docstring of sections, with Parameters and Returns in their places."""
    first = [title for title in ("", "Parameters", "Returns") if title in sections]
    return "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{sections[title]}" if title else sections[title]
        for title in dict.fromkeys([*first, *sections])
    )


def entries(section: str) -> dict[str, str]:
    """Return the entries of a section by name; '' for names without a description."""
    found: dict[str, str] = {}
    for entry in _ENTRY.findall(section):
        names, _, kind = entry.partition("\n")[0].partition(" : ")
        described = entry if kind or "\n" in entry else ""
        found |= dict.fromkeys(names.replace("*", "").split(", "), described)
    return found


@cache
def _entries_of(glossary: str) -> Mapping[str, str]:
    """Return the entries of one of the texts above."""
    return entries(glossary)
