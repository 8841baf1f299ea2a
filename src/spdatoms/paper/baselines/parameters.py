"""Parameters of estimators that are declared once: the type, the default, and what they may be."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from spdatoms._utils import parameters as allow

Estimator = TypeVar("Estimator", bound=type[Any])


def parameter(allowed: allow.Allowed, *, default: Any) -> Any:
    """Return the field of a parameter: what it may be, and what it is if it is not given."""
    return field(default=default, metadata={"allowed": allowed})


@dataclass_transform(eq_default=False, field_specifiers=(parameter,))
def estimator(cls: Estimator) -> Estimator:
    """Decorate a class whose fields are its parameters: write its ``__init__`` and what its parameters may be.

    @estimator
    class FrobeniusSparseCoder(Coder):
        dictionary: ArrayLike | None = parameter(allow.NONE | allow.MATRICES, default=None)
        alpha: float | str = parameter(allow.ALPHA, default="auto")
    """
    dataclass(eq=False, repr=False)(cls)
    cls._parameters = allow.declare(**{one.name: one.metadata["allowed"] for one in fields(cls)})
    return cls
