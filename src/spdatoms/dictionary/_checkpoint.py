"""Checkpoint files of dictionary learning: the state between two iterations, in a sealed container."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from spdatoms._utils.locks import locked
from spdatoms._utils.sealed_archive import StorageError, read_container, write_container
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import Floats
from spdatoms._utils.writing import check_target, remove_parts
from spdatoms.dictionary._loop import State
from spdatoms.dictionary.problem import AnyProblem, LandmarkProblem, Problem
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import divergence_parameters
from spdatoms.geometry.hermitian import as_double
from spdatoms.geometry.semidefinite import is_semidefinite
from spdatoms.kernels.landmarks import LandmarkSpace
from spdatoms.layout import Held, Matrices, Numbers, Sizes, held_by
from spdatoms.scale.parts import block_digest

_FORMAT = "spdatoms dictionary checkpoint 1"
_HASH_BYTES = 1 << 22
#: The arrays that a map φ consists of.
_SPACE = ("landmarks", "roots", "eigenvalues", "discarded")
#: What the entries of a file hold, as far as they are there.
_HELD: dict[str, Held] = {
    **held_by(LandmarkSpace),
    **held_by(Problem),
    "atoms": Matrices("N", double=True),
    "gram": Numbers("N N"),
    "features": Numbers("N r"),
    "code_values": Numbers("nonzeros"),
    "objective": Numbers("half-steps"),
}


def fingerprint(X: Any, parameters: dict[str, Any]) -> str:
    """Return a digest of the data and of the parameters that the learned atoms depend on.

    It is a digest of the digests of parts, which a `spdatoms.scale.Stream` computes where its data is.

    Parameters
    ----------
    X : ndarray or Stream of shape (m, n, n)
        The data.
    parameters : dict
        The parameters, as JSON can hold them.

    Returns
    -------
    str
        The digest, in hexadecimal digits.
    """
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    digest.update(repr((tuple(X.shape), X.dtype.str)).encode())
    rows = max(1, _HASH_BYTES // (X.dtype.itemsize * X.shape[-1] ** 2))
    parts = list(block_slices(len(X), rows))
    digests = map(block_digest, (X[part] for part in parts))
    for part in digests if isinstance(X, np.ndarray) else X.digests(parts):
        digest.update(part)
    return digest.hexdigest()


@contextmanager
def held(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let no other fit go on with a checkpoint, and remove what killed ones left beside it.

    Parameters
    ----------
    path : path-like or None
        The checkpoint, if there is to be one.
    """
    if path is None:
        yield
        return
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"The directory of checkpoint={str(path)!r} does not exist.")
    check_target(path)
    with locked(path, "learns with this checkpoint"):
        remove_parts(path)
        yield


class Checkpoint:
    """A file that holds the state of one problem, which its fingerprint identifies.

    Parameters
    ----------
    path : path-like
        The file; its directory must exist.
    mark : str
        The `fingerprint` of the problem.
    X : ndarray or Stream of shape (m, n, n)
        The data: its shape, and whether it is complex.
    """

    def __init__(self, path: str | os.PathLike[str], mark: str, X: Any) -> None:
        self.path, self.mark = Path(path), mark
        self.shape, self.complex = tuple(X.shape), X.dtype.kind == "c"

    def write(self, problem: AnyProblem, state: State, codes: scipy.sparse.csr_array) -> None:
        """Replace the file by one with this state and codes (m, N), atomically."""
        header = {"format": _FORMAT, "fingerprint": self.mark, "positive": problem.positive}
        header |= {"beta": problem.beta, "alpha": problem.alpha}
        arrays = {
            "atoms": state.atoms,
            "code_values": codes.data,
            "code_atoms": codes.indices,
            "code_starts": codes.indptr,
            "objective": np.array(state.objective),
        }
        if isinstance(problem, LandmarkProblem):
            arrays["features"] = state.images
            arrays |= {name: getattr(problem.space, name) for name in _SPACE}
        else:
            arrays["gram"] = state.images
            header |= {"ridge": problem.ridge, "margin": problem.margin}
        write_container(self.path, header, arrays)

    def read(
        self, divergence: Divergence
    ) -> tuple[State, scipy.sparse.csr_array, AnyProblem] | None:
        """Return what the file holds, or None if there is no file.

        Raises
        ------
        ValueError
            If the file is damaged, or belongs to other data or parameters.
        """
        if not self.path.exists():
            return None
        try:
            header, arrays = read_container(self.path, self._check)
        except (StorageError, OSError) as error:
            raise self._refused("is not a checkpoint, or was cut short") from error
        try:
            self._check_entries({**header, **arrays})
            return *_state(arrays, self.shape[0]), _problem(header, arrays, divergence)
        except (LookupError, TypeError, ValueError) as error:
            raise self._refused("is damaged: its parts do not belong together") from error

    def _check(self, header: dict[str, Any]) -> None:
        if header.get("format") != _FORMAT or header.get("fingerprint") != self.mark:
            raise self._refused("belongs to other data or other parameters")

    def _check_entries(self, entries: dict[str, Any]) -> None:
        """Look at all that compiled code will trust."""
        sizes = Sizes()
        sizes.agree("n", self.shape[-1], "X")
        for name in _HELD.keys() & entries.keys():
            value = entries[name]
            _HELD[name].check(name, value, sizes, True)
            if isinstance(value, np.ndarray):
                _require(value.dtype.char == ("D" if value.ndim == 3 and self.complex else "d"))

    def _refused(self, reason: str) -> ValueError:
        return ValueError(
            f"checkpoint={str(self.path)!r} {reason}. It is left as it is: move it away, or give another "
            "name, to learn from the start."
        )


def _state(arrays: dict[str, Any], n_samples: int) -> tuple[State, scipy.sparse.csr_array]:
    atoms = arrays["atoms"]
    codes = scipy.sparse.csr_array(
        (arrays["code_values"], arrays["code_atoms"], arrays["code_starts"]),
        shape=(n_samples, len(atoms)),
    )
    codes.check_format(full_check=True)
    _require((np.diff(codes.indptr) >= 0).all())  # SciPy does not look if the last one is negative
    images = arrays["gram"] if "gram" in arrays else arrays["features"]
    return State(atoms, images, tuple(arrays["objective"].tolist())), codes


def _problem(header: dict[str, Any], arrays: dict[str, Any], divergence: Divergence) -> AnyProblem:
    positive = header.get("positive", False)  # files from before know nothing of it
    beta, alpha = float(header["beta"]), float(header["alpha"])
    if "gram" not in arrays:
        space = LandmarkSpace(divergence, beta, *(arrays[name] for name in _SPACE))
        return LandmarkProblem(space, alpha, positive)
    margin = None if header["margin"] is None else float(header["margin"])
    problem = Problem(divergence, beta, alpha, float(header["ridge"]), margin, positive)
    gram = problem.ridged(arrays["gram"])
    _require(is_semidefinite(gram) and (gram.diagonal() > 0).all())
    if margin is not None:
        np.linalg.cholesky(gram - margin * np.eye(len(gram)))
    return problem


def _require(condition: Any) -> None:
    if not condition:
        raise ValueError("not what learning writes")


def checkpoint_of(
    learner: Any, X: Any, divergence: Divergence, weights: Floats | None
) -> Checkpoint | None:
    """Return the checkpoint of a learner with these data, None if it asks for none.

    Parameters that do not move the atoms, such as ``n_jobs``, have no part in its fingerprint, nor have
    those that only say when to stop.
    """
    if learner.checkpoint is None:
        return None
    init, landmarks, seed = learner.init, learner.landmarks, learner.random_state
    parameters = {
        "n_atoms": int(learner.n_atoms),
        "metric": divergence.name,
        "beta": str(learner.beta),
        "alpha": str(learner.alpha),
        "init": init if isinstance(init, str) else _digest(init),
        "random_state": int(seed) if isinstance(seed, Integral) else type(seed).__name__,
        "update": learner.update,
        "block_size": learner.block_size and int(learner.block_size),
    }
    # What is automatic, or not there, is not named: files from before know nothing of it.
    if not isinstance(landmarks, str):
        parameters["landmarks"] = _digest(landmarks) if np.ndim(landmarks) else landmarks
    if own := divergence_parameters(divergence):
        parameters["metric_parameters"] = own
    if learner.positive:
        parameters["positive"] = True
    if weights is not None:
        parameters["weights"] = _digest(weights)
    return Checkpoint(learner.checkpoint, fingerprint(X, parameters), X)


def _digest(matrices: ArrayLike) -> str:
    return hashlib.sha256(as_double(np.asarray(matrices)).tobytes()).hexdigest()
