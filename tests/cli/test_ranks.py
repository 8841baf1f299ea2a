"""Singular matrices: commands work on their common range, and say so."""

from __future__ import annotations

import numpy as np
import pytest

from _commands import run, two_classes
from spdatoms import SPDDictionaryLearning, SPDEnsembleClassifier, SPDRange, load


@pytest.fixture
def referenced(tmp_path):
    """Return a folder with covariances of average-referenced signals."""
    P = np.eye(4) - 0.25
    for name, seed in (("X", 0), ("Z", 1)):
        X, y = two_classes(seed)
        np.save(tmp_path / f"{name}.npy", P @ X @ P)
        (tmp_path / f"{name}.csv").write_text("label\n" + "\n".join(y) + "\n")
    return tmp_path


NOTE = "the rank of the matrices in {} is 3, not 4: their common range is used"


def test_learn_and_code(referenced) -> None:
    X, Z = (np.load(referenced / name) for name in ("X.npy", "Z.npy"))
    reach = SPDRange().fit(X)
    learner = SPDDictionaryLearning(5, max_iter=2, random_state=0).fit(reach.transform(X))
    learn = ("learn", referenced / "X.npy", "--atoms", 5, "--iterations", 2, "--out")
    model, atoms = referenced / "m.spdatoms", referenced / "atoms.npz"
    assert NOTE.format(referenced / "X.npy") in run(*learn, model)
    run(*learn, atoms)
    np.testing.assert_allclose(
        np.load(atoms)["atoms"], reach.inverse_transform(learner.atoms_), rtol=1e-12, atol=1e-24
    )
    codes = learner.transform(reach.transform(Z))
    for options in (("--model", model), ("--dictionary", atoms)):
        run("code", referenced / "Z.npy", *options, "--out", referenced / "c.npy", "--force")
        np.testing.assert_allclose(np.load(referenced / "c.npy"), codes, rtol=1e-5, atol=1e-6)
    full = referenced / "full.npy"
    np.save(full, two_classes(2)[0])
    said = run("code", full, "--model", model, "--out", referenced / "d.npy", code=1)
    assert "full.npy[0] has another range than the matrices seen in fit" in said


def test_classify(referenced) -> None:
    X, Z = (np.load(referenced / name) for name in ("X.npy", "Z.npy"))
    y = two_classes()[1]
    out, model = referenced / "p.npz", referenced / "c.spdatoms"
    train = ("--train", referenced / "X.npy", "--train-labels", referenced / "X.csv")
    said = run(
        *("classify", *train, "--test", referenced / "Z.npy", "--test-labels"),
        *(referenced / "Z.csv", "--out", out, "--save-model", model),
    )
    assert NOTE.format(referenced / "X.npy") in said
    reach = SPDRange().fit(X)
    expected = SPDEnsembleClassifier().fit(reach.transform(X), y)
    predicted = expected.predict(reach.transform(Z))
    np.testing.assert_array_equal(np.load(out)["predicted"], predicted)
    np.testing.assert_array_equal(load(model).predict(Z), predicted)
    run("classify", "--model", model, "--test", referenced / "Z.npy", "--out", out, "--force")
    np.testing.assert_array_equal(np.load(out)["predicted"], predicted)


def test_inspect_tells_rank_range_and_copies(referenced, tmp_path) -> None:
    said = run("inspect", referenced / "X.npy", code=1)
    assert "common range" in said
    assert "dimension 3 of 4; 'learn', 'code' and 'classify' use it" in said
    order = [0, 1, 2, 3, 1]
    X = two_classes()[0][:, order][:, :, order]
    X[:, :, 2] = X[:, 2] = 0.0
    np.save(tmp_path / "copied.npy", X)
    said = run("inspect", tmp_path / "copied.npy", code=1)
    assert "channels 1 and 4" in said
    assert "flat" in said
    assert "dimension 3 of 5" in said
    X[7] = np.eye(5) * X[0].max()
    np.save(tmp_path / "odd.npy", X[:9])
    said = run("inspect", tmp_path / "odd.npy", code=1)
    assert "none: The matrices have no range in common: the rank of X[7] is 5" in said


def test_singular_matrices_without_a_common_range_are_refused(tmp_path) -> None:
    factors = np.random.default_rng(0).standard_normal((9, 4, 2))
    np.save(tmp_path / "X.npy", factors @ factors.swapaxes(1, 2))
    said = run("learn", tmp_path / "X.npy", "--atoms", 2, "--out", tmp_path / "m.npz", code=1)
    assert "X.npy: The matrices have no range in common" in said or "X.npy: The rank" in said
