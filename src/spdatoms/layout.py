"""What fitted objects hold: each class declares it, and model files are checked by it.

    class SPDSparseCoder(SPDEstimator):
        _stored = holds("atoms_ alpha_", kernel_=Part(Kernel))

    @dataclass
    class Whitening:
        shrinkage: Annotated[float, SHARE]
        _stored = part()

An attribute is an array whose axes have names, a number or another object. An axis is a letter: N atoms, matrices of
n×n, their half-vectors of length h, C classes. All that belongs to one object must agree about how long it is.
Names of attributes are part of the format of model files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from typing import Any, Protocol, TypeAlias, get_type_hints

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.parameters import Allowed, shown
from spdatoms._utils.text import check_characters
from spdatoms._utils.typing import Array
from spdatoms.geometry.semidefinite import is_semidefinite
from spdatoms.geometry.triangles import matrix_size
from spdatoms.geometry.validation import find_unfit

_WORDS = {
    "N": "atoms",
    "C": "classes",
    "L": "landmarks",
    "r": "features",
    "k": "components",
    "f": "features",
    "p": "cells",
    "t": "textons",
}


@dataclass
class Sizes:
    """How long the axes are, with the attribute that has shown it first.

    Attributes
    ----------
    found : dict
        The length of an axis, and the name of the attribute.
    names : dict
        The letters by which the owner of an object calls its axes.
    """

    found: dict[str, tuple[int, str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def agree(self, axis: str, length: int, name: str) -> None:
        """Note the length of an axis, or refuse another one than was noted."""
        axis = self.names.get(axis, axis)
        if axis == "h":  # half-vectors of n×n matrices
            axis, n = "n", matrix_size(length)
            if not n:
                raise ValueError(f"{name} holds no half-vectors: their length is {length}")
            length = n
        known, first = self.found.setdefault(axis, (length, name))
        if length == known:
            return
        if axis == "n":
            raise ValueError(f"{name} is for {length}×{length} matrices, not {known}×{known}")
        word = _WORDS.get(axis, "entries")
        raise ValueError(f"{name} is for {length} {word}, but {first} for {known}")

    def of_part(self, letters: Mapping[str, str]) -> Sizes:
        """Return the same sizes for a part that has other letters for them."""
        ours = {inner: self.names.get(outer, outer) for inner, outer in letters.items()}
        return Sizes(self.found, {**self.names, **ours})


class Held(Protocol):
    """What an attribute may hold."""

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse a value that is something else.

        ``own`` is False where the object that holds it was checked before, and only sizes are compared.
        """


@dataclass(frozen=True)
class Numbers:
    """An array of finite numbers, such as ``Numbers("N r")``, of types of some kinds."""

    axes: str
    kinds: str = "f"
    least: float = -np.inf
    most: float = np.inf

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse another shape or type, and what is not finite."""
        check_array(name, value, self.axes, self.kinds)
        if own and not np.isfinite(value).all():
            raise ValueError(f"{name} is not finite")
        if own and self.least > -np.inf and (value < self.least).any():
            raise ValueError(f"{name} must be numbers ≥ {self.least:g}")
        if own and self.most < np.inf and (np.abs(value) > self.most).any():
            raise ValueError(f"{name} must be numbers of at most {self.most:g}")
        _agree(name, value, self.axes, sizes)


@dataclass(frozen=True)
class Targets:
    """A finite number for each matrix, or several."""

    axis: str

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse another shape or type, and what is not finite."""
        several = isinstance(value, np.ndarray) and value.ndim == 2
        Numbers(f"{self.axis} targets" if several else self.axis).check(name, value, sizes, own)


@dataclass(frozen=True)
class Matrices:
    """SPD matrices, real or Hermitian, and how many; some are in double precision always."""

    axis: str
    double: bool = False

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse matrices that are not SPD."""
        check_stack(name, value)
        if self.double and value.dtype not in (np.float64, np.complex128):
            raise ValueError(f"{name} is not in double precision")
        if own and (unfit := find_unfit(value)).count:
            raise ValueError(f"{name}[{unfit.first}] {unfit.complaint}")
        _agree(name, value, f"{self.axis} n n", sizes)


@dataclass(frozen=True)
class Gram:
    """A symmetric and, up to rounding, positive semidefinite matrix; that of a kernel is not far from one."""

    axis: str
    of_kernel: bool = True

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse a matrix that is not positive semidefinite, and what codes would be beyond all range of."""
        Numbers(f"{self.axis} {self.axis}").check(name, value, sizes, own)
        if own and not is_semidefinite(value):
            raise ValueError(f"{name} is not symmetric and positive semidefinite")
        greatest = float(np.max(np.diagonal(value), initial=0.0))  # a float32 has no such limits
        if own and self.of_kernel and not 1e-100 < greatest < 1e100:
            raise ValueError(f"{name} does not hold values of a kernel")


@dataclass(frozen=True)
class Classes:
    """The index of the class of each atom; every class has one at least."""

    axis: str

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse what is not an index, or others than that of the last class."""
        check_array(name, value, self.axis, "iu")
        _agree(name, value, self.axis, sizes)
        if not len(value) or value.min() < 0:
            raise ValueError(f"{name} does not hold indices of classes")
        sizes.agree("C", int(value.max()) + 1, name)


@dataclass(frozen=True)
class Labels:
    """Labels of any type."""

    axis: str

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse what is not an array of one dimension."""
        check_array(name, value, self.axis, "biufUSO")
        check_characters(value, name)
        _agree(name, value, self.axis, sizes)


@dataclass(frozen=True)
class Size:
    """A number that says how long an axis is."""

    axis: str

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse another length than arrays have."""
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be an integer ≥ 1, got {shown(value)}")
        sizes.agree(self.axis, int(value), name)


@dataclass(frozen=True)
class Value:
    """Something that could also be a parameter."""

    allowed: Allowed

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse what is not allowed."""
        self.allowed.check(name, value)


@dataclass(frozen=True)
class Each:
    """A tuple of such."""

    one: Held
    axis: str

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse what is not a tuple, and check its items."""
        if not isinstance(value, tuple) or not value:
            raise ValueError(f"{name} must be a tuple, got {shown(value)}")
        sizes.agree(self.axis, len(value), name)
        for i, item in enumerate(value):
            self.one.check(f"{name}[{i}]", item, sizes, own)


@dataclass(frozen=True)
class Maybe:
    """None, or such."""

    one: Held

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Check what is not None."""
        if value is not None:
            self.one.check(name, value, sizes, own)


def check_array(name: str, value: Any, axes: str, kinds: str) -> None:
    """Refuse what is not an array of as many dimensions, with a type of one of these kinds."""
    ndim = len(axes.split())
    if not isinstance(value, np.ndarray) or value.ndim != ndim or value.dtype.kind not in kinds:
        what = "indices" if kinds == "iu" else "labels" if "U" in kinds else "numbers"
        got = (
            f"{value.dtype} of shape {value.shape}"
            if isinstance(value, np.ndarray)
            else shown(value)
        )
        raise ValueError(f"{name} must be an array of {what} with {ndim} dimensions, got {got}")


def check_stack(name: str, matrices: Any) -> Array:
    """Return the matrices if they are an array of shape (m, n, n) of floats."""
    if (
        not isinstance(matrices, np.ndarray)
        or matrices.ndim != 3
        or matrices.dtype not in (np.float32, np.float64, np.complex64, np.complex128)
        or matrices.shape[1] != matrices.shape[2]
        or not matrices.size
    ):
        raise ValueError(f"{name} is not an array of matrices, of shape (m, n, n)")
    return matrices


def _agree(name: str, array: Array, axes: str, sizes: Sizes) -> None:
    for axis, length in zip(axes.split(), array.shape, strict=True):
        sizes.agree(axis, length, name)


class Part:
    """An object of one of some classes; ``axes`` are its letters, and those of its owner for the same."""

    def __init__(self, *classes: type, **axes: str) -> None:
        self.classes, self.axes = classes, axes

    def check(self, name: str, value: Any, sizes: Sizes, own: bool) -> None:
        """Refuse objects of other classes, and those of other sizes."""
        if not isinstance(value, self.classes):
            words = " or ".join(cls.__name__ for cls in self.classes)
            raise ValueError(f"{name} must be an object of {words}, got {shown(value)}")
        held, inner = held_by(type(value)), sizes.of_part(self.axes)
        for key, part in vars(value).items():
            if key in held:
                held[key].check(f"{name}.{key}", part, inner, False)


class PreparedFrom(Part):
    """What the divergence ``metric`` prepares from another attribute: computed again, and not stored."""

    def __init__(self, source: str, cls: type) -> None:
        super().__init__(cls)
        self.source = source


TINY = float(np.finfo(np.float64).tiny)
#: Features φ(X) have about unit length; products of several are finite within this.
FEATURE = 1e50


def _number(limits: Allowed) -> Value:
    """Return: such a number, but no integer that compiled code cannot hold."""

    def test(value: Any) -> bool:
        return limits.test(value) and (isinstance(value, float) or abs(int(value)) < 2**63)

    return Value(Allowed(limits.words, test))


ANY = _number(allow.real())
POSITIVE = _number(allow.real(above=0))
PENALTY = _number(allow.real(0))
SHARE = Value(allow.real(above=0, most=1))
BOOLEAN = Value(allow.BOOLEAN)
COUNT = Value(allow.integer(0))
_DTYPE = Value(Allowed(("a type",), lambda value: isinstance(value, np.dtype)))
_DICT = Value(Allowed(("a dict",), lambda value: isinstance(value, dict)))

#: Attributes of estimators that are the same wherever they occur.
_COMMON: dict[str, Held] = {
    "n_features_in_": Size("n"),
    "classes_": Labels("C"),
    "atoms_": Maybe(Matrices("N")),
    "atom_labels_": Labels("N"),
    "atom_weights_": Maybe(Numbers("N", least=TINY)),
    "atom_indices_": Numbers("N", "iu", least=0),
    "_atom_classes": Classes("N"),
    "domains_": Maybe(Labels("domains")),
    "_atom_domains": Maybe(Labels("N")),
    "_sides": Maybe(Numbers("folds matrices", "i")),
    "_labels": Classes("N"),
    "targets_": Targets("N"),
    "_weights": Maybe(Numbers("N", least=TINY)),
    "_dictionary": Matrices("N"),
    "_matrices": Matrices("N"),
    "landmarks_": Matrices("L"),
    "gram_": Gram("N"),
    "_gram": Gram("N"),
    "eigenvalues_": Numbers("r"),
    "discarded_": Numbers("discarded"),
    "landmark_indices_": Maybe(Numbers("L", "iu", least=0)),
    "labels_": Numbers("samples", "iu", least=0),
    "objective_": Numbers("iterations"),
    "batch_losses_": Numbers("batches"),
    "inertia_history_": Numbers("steps"),
    "left_out_rows_": Numbers("left", "iu", least=0),
    "left_out_errors_": Targets("left"),
    "left_out_probabilities_": Numbers("N C", least=0.0),
    "alpha_": PENALTY,
    "ridge_": PENALTY,
    "beta_": POSITIVE,
    "scale_": POSITIVE,
    "_sharpness": Maybe(POSITIVE),
    "_usual": Maybe(PENALTY),
    "_log_scale": ANY,
    "_dtype": _DTYPE,
    "corrected_": BOOLEAN,
    "n_iter_": COUNT,
    "n_samples_seen_": COUNT,
    "_due": COUNT,
    "inertia_": ANY,
    "best_index_": COUNT,
    "best_score_": ANY,
    "cv_results_": _DICT,
    "best_params_": _DICT,
}


#: Names the attributes that an object with these values does without, though its class needs them.
Spare: TypeAlias = Callable[[Mapping[str, Any]], str]
#: Classes that estimators are made of, by the names that files call them.
PARTS: dict[str, type] = {}
#: What estimators of scikit-learn hold, by the names of their classes.
OF_SCIKIT_LEARN: dict[str, Stored] = {}


@dataclass(frozen=True)
class Stored:
    """What the objects of a class hold beyond what its base classes declare; made by `holds` and `part`.

    Attributes
    ----------
    needed : tuple of str
        The attributes that every fitted object has.
    held : dict
        What attributes hold, by name.
    called : str or None, default=None
        What files call a part, an empty string for the name of the class; None for a public estimator.
    spare : callable or None, default=None
        Which attributes an object does without.
    """

    needed: tuple[str, ...]
    held: Mapping[str, Held]
    called: str | None = None
    spare: Spare | None = None

    def __set_name__(self, owner: type, attribute: str) -> None:
        if self.called is not None:
            PARTS[self.called or owner.__name__] = owner


def holds(needed: str = "", /, spare: Spare | None = None, **held: Held) -> Stored:
    """Declare what a fitted estimator holds: common attributes that it needs, and attributes of its own."""
    return Stored((*needed.split(), *held), held, spare=spare)


def part(needed: str = "", /, called: str = "", spare: Spare | None = None, **held: Held) -> Stored:
    """Declare the same of a class that estimators are made of: its objects may then be in a file.

    Fields of a dataclass declare what they hold with ``Annotated``.
    """
    return Stored((*needed.split(), *held), held, called, spare)


def held_by(cls: type) -> dict[str, Held]:
    """Return what the attributes of objects of a class may hold, as far as that is known."""
    is_own_estimator = hasattr(cls, "get_params") and not _is_of_scikit_learn(cls)
    held = dict(_COMMON) if is_own_estimator else {}
    for stored in _declared(cls):
        held |= stored.held
    return held | _of_fields(cls) if is_dataclass(cls) else held


@cache
def _of_fields(cls: type) -> dict[str, Held]:
    """Return what the fields of a dataclass may hold."""
    hints = get_type_hints(cls, include_extras=True)
    return {
        name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")
    }


def missing(cls: type, values: Mapping[str, Any]) -> list[str]:
    """Return which attributes a fitted object of a class lacks."""
    needed: dict[str, None] = {}
    for stored in _declared(cls):
        needed |= dict.fromkeys(stored.needed)
        for name in stored.spare(values).split() if stored.spare else ():
            needed.pop(name)
    return [name for name in needed if name not in values]


def _declared(cls: type) -> list[Stored]:
    if _is_of_scikit_learn(cls):
        return [OF_SCIKIT_LEARN[cls.__name__]] if cls.__name__ in OF_SCIKIT_LEARN else []
    return [vars(base)["_stored"] for base in reversed(cls.__mro__) if "_stored" in vars(base)]


def _is_of_scikit_learn(cls: type) -> bool:
    return cls.__module__.startswith("sklearn.")
