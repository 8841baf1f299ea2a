"""Checkpoint files of dictionary learning: arrays and JSON in an .npz file, no pickle.

A file is written whole or not at all: to a neighbour first, down to the disk, then renamed over the
last one. Whoever is killed meanwhile leaves the last one as it was.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from spdatoms._blocks import block_slices
from spdatoms._dictionary_problem import Problem
from spdatoms._learning import State
from spdatoms.divergences import Divergence
from spdatoms.validation import FloatArray

_FORMAT = "spdatoms dictionary checkpoint 1"
_HASH_BYTES = 1 << 22


def fingerprint(X: FloatArray, parameters: dict[str, Any]) -> str:
    """Return a digest of the data and of the parameters that the learned atoms depend on."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    digest.update(repr((X.shape, X.dtype.str)).encode())
    for part in block_slices(len(X), max(1, _HASH_BYTES // X[0].nbytes)):
        digest.update(X[part].tobytes())
    return digest.hexdigest()


class Checkpoint:
    """A file that holds the state of one problem, told by its fingerprint.

    Parameters
    ----------
    path : path-like
        The file; its directory must exist.
    mark : str
        The `fingerprint` of the problem.
    """

    def __init__(self, path: str | os.PathLike[str], mark: str) -> None:
        self.path, self.mark = Path(path), mark
        if not self.path.parent.is_dir():
            raise ValueError(f"The directory of checkpoint={str(path)!r} does not exist.")

    def write(self, state: State, problem: Problem) -> None:
        """Replace the file by one with this state, all at once."""
        header = {
            "format": _FORMAT,
            "fingerprint": self.mark,
            "beta": problem.beta,
            "alpha": problem.alpha,
            "ridge": problem.ridge,
            "margin": problem.margin,
        }
        buffer = io.BytesIO()
        np.savez(
            buffer,
            header=np.array(json.dumps(header)),
            atoms=state.atoms,
            gram=state.gram,
            code_values=state.codes.data,
            code_atoms=state.codes.indices,
            code_starts=state.codes.indptr,
            objective=np.array(state.objective),
        )
        replace_file(self.path, buffer.getbuffer())

    def read(self, divergence: Divergence) -> tuple[State, Problem] | None:
        """Return what the file holds, or None if there is none; ValueError if it is not of use."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                header = json.loads(str(file["header"]))
                arrays = {name: file[name] for name in file.files}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is not a checkpoint, or was cut short. It is left as "
                "it is: move it away, or give another name, to learn from the start."
            ) from error
        if header.get("format") != _FORMAT or header.get("fingerprint") != self.mark:
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to other data or other parameters. It is left "
                "as it is: move it away, or give another name, to learn from the start."
            )
        return _state(arrays), Problem(
            divergence, header["beta"], header["alpha"], header["ridge"], header["margin"]
        )


def _state(arrays: dict[str, Any]) -> State:
    starts = arrays["code_starts"]
    codes = scipy.sparse.csr_array(
        (arrays["code_values"], arrays["code_atoms"], starts),
        shape=(len(starts) - 1, len(arrays["atoms"])),
    )
    return State(arrays["atoms"], arrays["gram"], codes, tuple(arrays["objective"].tolist()))


def replace_file(path: Path, content: memoryview) -> None:
    """Write a file so that at every moment the path holds the old content or the new."""
    neighbour = path.with_name(f"{path.name}.part")
    try:
        with open(neighbour, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(neighbour, path)
    except BaseException:
        neighbour.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Let the new name survive a power failure, too, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
