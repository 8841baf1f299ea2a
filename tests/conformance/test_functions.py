"""Every public function refuses hostile arguments with a clear error that names the parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from _hostile import HOSTILE
from conformance.functions import CALLS, OTHERS, call, parameters_of, public_calls
from fuzz.campaign import clearly_refused, was_refused

VALUES = [*HOSTILE, True, -1, 0.5, None, [np.nan], np.zeros((2, 3, 3))]


def test_no_public_function_is_left_out() -> None:
    assert public_calls() - OTHERS == {function.__qualname__ for function, _ in CALLS}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "arguments"), CALLS, ids=lambda thing: getattr(thing, "__qualname__", "")
)
def test_hostile_arguments_are_refused_by_their_name(function: Any, arguments: dict) -> None:
    call(function, arguments)
    names = parameters_of(function)
    for name in names:
        for value in VALUES:
            result = clearly_refused(lambda n=name, v=value: call(function, arguments | {n: v}))
            if was_refused(result):
                said = str(result)
                assert any(name in said for name in names), f"{name}={value!r}: {said}"
