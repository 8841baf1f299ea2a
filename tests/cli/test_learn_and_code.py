"""The commands that learn dictionaries and code over them, against the library."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from _commands import run, two_classes
from _matrices import random_spd
from spdatoms import SPDDictionaryLearning, SPDSparseClassifier, SPDSparseCoder, load, save
from spdatoms.dictionary._loop import State


def test_learn_and_code(files):
    X, Z = two_classes()[0], two_classes(seed=1)[0]
    model = files / "m.spdatoms"
    said = run("learn", files / "X.npy", "--atoms", 5, "--iterations", 3, "--seed", 2, "-o", model)
    learner = SPDDictionaryLearning(5, max_iter=3, random_state=2).fit(X)
    assert f"→ {learner.objective_[-1]:.6g} in {learner.n_iter_} iterations" in said
    np.testing.assert_array_equal(load(model).atoms_, learner.atoms_)
    for name in ("c.npy", "c.npz", "c.csv"):
        assert "40 over 5 atoms" in run(
            "code", files / "Z.npy", "--model", model, "-o", files / name
        )
    codes = learner.transform(Z)
    np.testing.assert_array_equal(np.load(files / "c.npy"), codes)
    np.testing.assert_array_equal(np.load(files / "c.npz")["codes"], codes)
    table = np.loadtxt(files / "c.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table, codes)


@pytest.mark.slow
def test_learn_options_reach_the_learner(files):
    out = files / "atoms.npz"
    run(
        *("learn", files / "data.mat", "--key", "X", "--out", out, "--atoms", 4, "--verbose"),
        *("--metric", "logeuclid", "--beta", 0.3, "--alpha", 0.2, "--init", "random"),
        *("--iterations", 2, "--tol", 0, "--jobs", 2),
    )
    learner = SPDDictionaryLearning(
        4, "logeuclid", 0.3, 0.2, init="random", max_iter=2, tol=0.0, random_state=0
    ).fit(two_classes()[0])
    with np.load(out) as arrays:
        np.testing.assert_array_equal(arrays["atoms"], learner.atoms_)
        np.testing.assert_array_equal(arrays["objective"], learner.objective_)


@pytest.mark.slow
def test_learn_goes_on_from_a_checkpoint(files):
    begin = ("learn", files / "X.npy", "--atoms", 4, "--tol", 0, "--checkpoint", files / "run.ckpt")
    run(*begin, "--iterations", 2, "--out", files / "a.npy")
    run(*begin, "--iterations", 4, "--out", files / "b.npy")
    run(*begin[:-2], "--iterations", 4, "--out", files / "c.npy")
    np.testing.assert_array_equal(np.load(files / "b.npy"), np.load(files / "c.npy"))
    assert (np.load(files / "a.npy") != np.load(files / "b.npy")).any()
    said = run(*begin, "--seed", 9, "--out", files / "d.npy", code=1)
    assert " error: " in said


def test_messages_name_options(files):
    learn = ("learn", files / "X.npy", "--out", files / "m.spdatoms", "--iterations")
    assert "error: --iterations must be an integer ≥ 1, got 0." in run(*learn, 0, code=1)
    assert "error: --atoms must be an integer ≥ 1, got 0." in run(*learn, 1, "--atoms", 0, code=1)
    named = ("inspect", "folder/n_jobs=2.npy")
    assert "folder/n_jobs=2.npy: there is no such file" in run(*named, code=1)


def test_code_over_atoms(files):
    X, Z = two_classes()[0], two_classes(seed=1)[0]
    options = (
        "--atoms",
        files / "data.npz",
        "--atoms-key",
        "X",
        "--alpha",
        0.1,
        "--positive",
        "-v",
    )
    run("code", files / "Z.npy", *options, "--out", files / "c.npy")
    codes = SPDSparseCoder(alpha=0.1, positive=True).fit(X).transform(Z)
    np.testing.assert_array_equal(np.load(files / "c.npy"), codes)


@pytest.mark.slow
def test_atoms_keep_the_settings_of_the_model(files):
    """Codes over the atoms in an .npz or .mat file are those of the model; of an .npy file that is said."""
    learn = ("learn", files / "X.npy", "--atoms", 5, "--iterations", 3, "--out")
    for name in ("m.spdatoms", "a.npz", "a.mat"):
        assert "note:" not in run(*learn, files / name)
    said = run(*learn, files / "a.npy")
    model = load(files / "m.spdatoms")
    settings = {"--beta": model.beta_, "--alpha": model.alpha_, "--ridge": model.ridge_}
    given = [str(word) for pair in settings.items() for word in pair]
    assert model.ridge_ > 0.0
    assert f"Give {' '.join(given)} --metric stein" in said
    codes = model.transform(two_classes(seed=1)[0])
    begin = ("code", files / "Z.npy", "--dictionary")
    for name in ("a.npz", "a.mat"):
        run(*begin, files / name, "--out", files / "c.npy", "--force")
        np.testing.assert_allclose(np.load(files / "c.npy"), codes, atol=1e-9)
    run("code", files / "Z.npy", "--atoms", files / "a.npy", *given, "--out", files / "d.npy")
    np.testing.assert_allclose(np.load(files / "d.npy"), codes, atol=1e-9)
    run(*begin, files / "a.npz", "--alpha", 0.5, "--out", files / "e.npy")
    assert (np.load(files / "e.npy") != codes).any()


def test_models_with_landmarks_say_that_their_atoms_are_not_all(files):
    learn = ("learn", files / "X.npy", "--atoms", 3, "--iterations", 1, "--metric", "jeffrey")
    assert "span of landmarks" in run(*learn, "--out", files / "a.npz")


def test_code_refuses_other_models_and_sizes(files):
    save(SPDSparseClassifier().fit(*two_classes()), files / "k.spdatoms")
    options = ("--model", files / "k.spdatoms", "--out", files / "c.npy")
    said = run("code", files / "Z.npy", *options, code=1)
    assert "holds an SPDSparseClassifier, which cannot give codes: make a" in said
    np.save(files / "W.npy", random_spd(3, 5))
    options = ("--atoms", files / "X.npy", "--out", files / "c.npy")
    said = run("code", files / "W.npy", *options, code=1)
    assert f"error: {files / 'W.npy'} has 5×5 matrices, but {files / 'X.npy'} has 4×4." in said
    (files / "broken.spdatoms").write_bytes(b"nothing")
    options = ("--model", files / "broken.spdatoms", "--out", files / "c.npy")
    assert "broken.spdatoms" in run("code", files / "Z.npy", *options, code=1)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_learning_goes_on_after_ctrl_c(files, monkeypatch, no_collection):
    """With a checkpoint the same command goes on, and ends as if it had not been interrupted."""
    options = ("--atoms", 4, "--tol", 0, "--iterations", 5)
    run("learn", files / "X.npy", *options, "--out", files / "straight.npz")
    original, calls = State.next, []

    def iterated(self, data, moves):
        calls.append(self.n_iter)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, data, moves)

    monkeypatch.setattr(State, "next", iterated)
    again = (*options, "--checkpoint", files / "run.ckpt", "--out", files / "resumed.npz")
    said = run("learn", files / "X.npy", *again, code=130)
    assert f"interrupted: the same command goes on from {files / 'run.ckpt'}" in said
    assert not (files / "resumed.npz").exists()
    assert "goes on from it" not in said
    assert f"{files / 'run.ckpt'} exists: learning goes on from it" in run(
        "learn", files / "X.npy", *again
    )
    with np.load(files / "resumed.npz") as resumed, np.load(files / "straight.npz") as straight:
        np.testing.assert_array_equal(resumed["atoms"], straight["atoms"])
