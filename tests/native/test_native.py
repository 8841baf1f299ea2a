"""How the library is chosen, and how its functions are called."""

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from spdatoms import native


def run(isa, *command):
    return subprocess.run(
        [sys.executable, *command],
        env=os.environ | {"SPDATOMS_ISA": isa},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("isa", [isa for isa in native.usable() if isa != native.ISA])
def test_all_kernels_with_every_other_instruction_set(isa):
    if "SPDATOMS_ISA" in os.environ:
        pytest.skip("the tests are told which instruction set they use")
    done = run(isa, "-m", "pytest", os.path.dirname(__file__))
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_instruction_set_that_is_missing():
    done = run("v9", "-c", "import spdatoms.native")
    assert "no native library for the instruction set 'v9'" in done.stderr
    assert f"{native.usable()[-1]}" in done.stderr


@pytest.mark.parametrize(
    "array", [np.zeros(4, np.float32), np.zeros(8)[::2], np.zeros(4, ">f8"), np.zeros(4, np.int64)]
)
def test_an_array_that_a_kernel_cannot_read(array):
    with pytest.raises(TypeError, match="scaled_exp: an array must be C-contiguous"):
        native.kernel("scaled_exp", "Dqd")(array, len(array), 1.0)


def test_arguments_are_counted():
    with pytest.raises(ValueError, match="zip"):
        native.kernel("scaled_exp", "Dqd")(np.zeros(4), 4)


def test_a_function_that_the_library_does_not_have():
    with pytest.raises(ImportError, match="no missing_kernel: it is older than this version"):
        native.kernel("missing_kernel", "")


@pytest.mark.parametrize("n", [1, 2, 24, 25, 100, 256])
def test_lapack_by_its_address(n):
    A = np.cov(np.random.default_rng(n).standard_normal((n, 3 * n))).reshape(n, n)
    factor = A.copy()
    assert native.Lapack("dpotrf")(b"U", n, factor, n) == 0
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(A), rtol=1e-10, atol=1e-12)


def test_lapack_says_where_it_failed():
    assert native.Lapack("dpotrf")(b"U", 3, np.diag([1.0, -1.0, 1.0]), 3) == 2


def test_lapack_does_not_share_how_capsules_are_read(monkeypatch):
    """Others may have set what the functions of `ctypes.pythonapi` take and return."""
    for name in ("PyCapsule_GetName", "PyCapsule_GetPointer"):
        monkeypatch.setattr(getattr(ctypes.pythonapi, name), "argtypes", [])
    assert native.Lapack("dpotrf")(b"U", 1, np.eye(1), 1) == 0


@pytest.mark.parametrize("word", ["int", "int64_t"])
def test_lapack_with_integers_of_either_size(word, monkeypatch):
    """SciPy says in the signature which they are."""
    integer = ctypes.c_int64 if word == "int64_t" else ctypes.c_int
    pointer = ctypes.POINTER(integer)

    @ctypes.CFUNCTYPE(None, ctypes.c_char_p, pointer, ctypes.c_void_p, pointer, pointer)
    def function(uplo, n, A, lda, info):
        info[0] = n[0] + (lda[0] << 8 * ctypes.sizeof(integer) - 8)

    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    name = f"void (char *, {word} *, double *, {word} *, {word} *)".encode()
    capsule = new(ctypes.cast(function, ctypes.c_void_p), name, None)
    lapack = SimpleNamespace(__pyx_capi__={"dpotrf": capsule})
    monkeypatch.setattr(native, "cython_lapack", lapack)
    found = native.Lapack("dpotrf")(b"U", 7, np.eye(1), 3)
    assert found == 7 + (3 << 8 * ctypes.sizeof(integer) - 8)
