"""Checkpoints: killed at any moment, it goes on as if nothing had happened; nothing is ever lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from _matrices import random_spd
from _model_files import pack, unpack
from spdatoms import SPDDictionaryLearning
from spdatoms.dictionary._checkpoint import checkpoint_of, fingerprint
from spdatoms.divergences import Hermitian, PowerEuclidean, Stein

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")

SETTINGS = {"n_atoms": 24, "alpha": 0.02, "max_iter": 25, "tol": 0.0, "random_state": 0}
# A learner that kills itself so many calls after its first checkpoint: between or within iterations, or while
# a checkpoint is written, as fast as the machine may be.
SCRIPT = f"""
import os, signal, sys, warnings
import numpy as np
from spdatoms import SPDDictionaryLearning
warnings.simplefilter("ignore")
data, metric, checkpoint, left = *sys.argv[1:4], int(sys.argv[4])
replace = os.replace

def count(*event):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

def replace_and_count(*paths):
    replace(*paths)
    sys.setprofile(count)

os.replace = replace_and_count
SPDDictionaryLearning(metric=metric, checkpoint=checkpoint, **{SETTINGS!r}).fit(np.load(data))
"""


def learner(checkpoint: Path | None = None, **parameters) -> SPDDictionaryLearning:
    settings = {"max_iter": 6, "alpha": 0.05, "random_state": 0, "tol": 0.0, **parameters}
    return SPDDictionaryLearning(5, checkpoint=checkpoint, **settings)


@pytest.fixture(name="X")
def matrices() -> np.ndarray:
    return random_spd(60, 3, seed=0)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a matter of POSIX")
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_killed_at_several_points_it_ends_with_the_same_bits(metric, tmp_path) -> None:
    X, data, checkpoint = random_spd(500, 5, seed=1), tmp_path / "X.npy", tmp_path / "state.npz"
    np.save(data, X)
    iterations = []
    for calls in (0, 300, 5000):
        arguments = [str(data), metric, str(checkpoint), str(calls)]
        killed = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], check=False)
        assert killed.returncode == -signal.SIGKILL
        with np.load(checkpoint) as state:
            iterations.append(len(state["objective"]))
    assert iterations == sorted(set(iterations))  # every run gets a little further
    whole = SPDDictionaryLearning(metric=metric, **SETTINGS).fit(X)
    resumed = SPDDictionaryLearning(metric=metric, checkpoint=checkpoint, **SETTINGS).fit(X)
    np.testing.assert_array_equal(whole.atoms_, resumed.atoms_)
    np.testing.assert_array_equal(whole.objective_, resumed.objective_)


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid"])
def test_going_on_equals_not_having_stopped(metric, X, tmp_path) -> None:
    path = tmp_path / "state"
    whole = learner(metric=metric).fit(X)
    learner(path, metric=metric, max_iter=2).fit(X)
    resumed = learner(path, metric=metric).fit(X)
    np.testing.assert_array_equal(resumed.atoms_, whole.atoms_)
    np.testing.assert_array_equal(resumed.objective_, whole.objective_)
    assert (resumed.beta_, resumed.alpha_, resumed.ridge_) == (
        whole.beta_,
        whole.alpha_,
        whole.ridge_,
    )
    finished = path.read_bytes()
    again = learner(path, metric=metric).fit(X)
    np.testing.assert_array_equal(again.atoms_, whole.atoms_)
    assert path.read_bytes() == finished


@pytest.mark.parametrize(
    "other",
    [
        {"alpha": 0.06},
        {"random_state": 1},
        {"metric": "jeffrey"},
        {"update": "gradient"},
        {"beta": 1.0},
    ],
)
def test_a_checkpoint_of_other_parameters_is_left_alone(other, X, tmp_path) -> None:
    path = tmp_path / "state"
    learner(path, max_iter=1).fit(X)
    content = path.read_bytes()
    with pytest.raises(ValueError, match="other data or other parameters"):
        learner(path, **other).fit(X)
    assert path.read_bytes() == content


@pytest.mark.parametrize("turn", [1.0, np.exp(0.3j)])
def test_a_checkpoint_of_a_metric_with_other_parameters_is_left_alone(turn, X, tmp_path) -> None:
    path = tmp_path / "state"
    if turn != 1.0:
        phases = turn ** np.arange(3)
        X = X * np.outer(phases, phases.conj())
    learner(path, metric=PowerEuclidean(0.5), max_iter=1).fit(X)
    content = path.read_bytes()
    with pytest.raises(ValueError, match="other data or other parameters"):
        learner(path, metric=PowerEuclidean(2.0)).fit(X)
    assert path.read_bytes() == content
    learner(path, metric=PowerEuclidean(0.5), max_iter=2).fit(X)


def test_files_from_before_parameters_of_metrics_are_still_read(X) -> None:
    parameters = {
        "n_atoms": 5,
        "metric": "stein",
        "beta": "auto",
        "alpha": "0.05",
        "init": "kmeans",
        "random_state": 0,
        "update": "centre",
        "block_size": None,
    }
    for divergence in (Stein(), Hermitian(Stein())):
        learner = SPDDictionaryLearning(5, alpha=0.05, random_state=0, checkpoint="state")
        checkpoint = checkpoint_of(learner, X, divergence, None)
        assert checkpoint is not None
        assert checkpoint.mark == fingerprint(X, parameters)


def test_a_checkpoint_of_other_data_is_left_alone(X, tmp_path) -> None:
    path = tmp_path / "state"
    learner(path, max_iter=1).fit(X)
    content = path.read_bytes()
    changed = X.copy()
    changed[3] *= 1.0 + 1e-15
    for data in (changed, X[:-1], X.astype(np.float32)):
        with pytest.raises(ValueError, match="other data or other parameters"):
            learner(path).fit(data)
    assert path.read_bytes() == content


def test_a_damaged_checkpoint_is_left_alone(X, tmp_path) -> None:
    path = tmp_path / "state"
    learner(path, max_iter=1).fit(X)
    content = path.read_bytes()
    spoilt = bytearray(content)
    spoilt[len(content) // 2] ^= 0xFF
    for damaged in (content[:-100], content[: len(content) // 2], b"", b"notes", bytes(spoilt)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="not a checkpoint, or was cut short"):
            learner(path).fit(X)
        assert path.read_bytes() == damaged


def test_a_checkpoint_whose_parts_are_not_those_of_learning_is_left_alone(X, tmp_path) -> None:
    path = tmp_path / "state"
    learner(path, max_iter=1).fit(X)
    metadata, arrays = unpack(path.read_bytes())
    for content, message in (
        (pack(metadata, {**arrays, "atoms": arrays["atoms"].astype(complex)}), "is damaged"),
        (pack({**metadata, "notes": [[]] * 70_000}, arrays), "not a checkpoint"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"state' .*{message}|state' {message}"):
            learner(path).fit(X)
        assert path.read_bytes() == content


def test_the_last_checkpoint_survives_a_failed_write(X, tmp_path, monkeypatch) -> None:
    path = tmp_path / "state"
    learner(path, max_iter=2).fit(X)
    content = path.read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match="No space"):
            learner(path).fit(X)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["state"]
    np.testing.assert_array_equal(learner(path).fit(X).atoms_, learner().fit(X).atoms_)


def test_no_pickle_in_the_file(X, tmp_path) -> None:
    path = tmp_path / "state"
    learner(path, max_iter=1).fit(X)
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
