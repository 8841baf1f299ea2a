"""The command line: results against the library, files of all kinds, and what it says when it cannot."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import typer
from typer.testing import CliRunner

from _matrices import random_spd
from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    check_spd,
    load,
    save,
)
from spdatoms.cli import app
from spdatoms.cli._arrays import as_stack, read_labels, read_matrices, write_arrays
from spdatoms.cli._errors import one_line_errors
from spdatoms.exceptions import IndefiniteKernelWarning


def run(*arguments: object, code: int = 0) -> str:
    """Run a command; return what it prints on both streams, with single spaces."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    if code == 1 and result.exception is not None:
        assert isinstance(result.exception, SystemExit), result.exception
    return " ".join(result.output.split())


def two_classes(seed: int = 0, m: int = 40) -> tuple[np.ndarray, np.ndarray]:
    samples = np.random.default_rng(seed).standard_normal((m, 4, 12))
    samples[m // 2 :, :2] *= 3.0
    return 1e-12 * samples @ samples.swapaxes(1, 2) / 12, np.repeat(["left", "right"], m // 2)


@pytest.fixture
def files(tmp_path) -> Path:
    X, y = two_classes()
    Z, z = two_classes(seed=1)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Z.npy", Z)
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(y) + "\n")
    (tmp_path / "z.txt").write_text("\n".join(z))
    np.savez(tmp_path / "data.npz", X=X, y=y, extra=np.arange(3))
    scipy.io.savemat(
        tmp_path / "data.mat", {"X": X.transpose(1, 2, 0), "y": (y == "right").astype(float) + 1}
    )
    return tmp_path


def bad_matrices() -> np.ndarray:
    X, _ = two_classes()
    X[3] *= -1
    X[9] = np.outer(X[9][0], X[9][0])
    X[11, 0, 1] *= 1.5
    return X


# --- reading and writing -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["X.npy", "data.npz", "data.mat"])
def test_read_matrices(files, name):
    np.testing.assert_array_equal(read_matrices(files / name), two_classes()[0])
    if not name.endswith("npy"):
        np.testing.assert_array_equal(read_matrices(files / name, "X"), two_classes()[0])
        with pytest.raises(ValueError, match=r"no array 'W'; it holds X"):
            read_matrices(files / name, "W")


@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (4, 4), (1, 3)])
def test_both_layouts(m, n):
    X = random_spd(m, n)
    path = Path("x.mat")
    np.testing.assert_array_equal(as_stack(X, path), X)
    np.testing.assert_array_equal(as_stack(np.ascontiguousarray(X.transpose(1, 2, 0)), path), X)


def test_other_shapes():
    X = random_spd(3, 4)
    path = Path("x.mat")
    np.testing.assert_array_equal(as_stack(X[0], path), X[:1])
    cells = np.empty((1, 3), dtype=object)
    cells[0] = list(X)
    np.testing.assert_array_equal(as_stack(cells, path), X)
    cells[0, 1] = np.eye(3)
    with pytest.raises(ValueError, match="differ in size"):
        as_stack(cells, path)
    with pytest.raises(ValueError, match=r"neither \(m, n, n\) nor MATLAB's"):
        as_stack(np.zeros((2, 3, 4)), path)
    with pytest.raises(ValueError, match="not one of matrices"):
        as_stack(np.zeros(3), path)


def test_matlab_cells_on_disk(tmp_path):
    X = random_spd(3, 4)
    cells = np.empty(3, dtype=object)
    cells[:] = list(X)
    scipy.io.savemat(tmp_path / "c.mat", {"covs": cells})
    np.testing.assert_array_equal(read_matrices(tmp_path / "c.mat"), X)


def test_several_arrays_need_a_key(tmp_path):
    np.savez(tmp_path / "two.npz", A=random_spd(3, 2), B=random_spd(4, 2))
    with pytest.raises(ValueError, match="several arrays can be the matrices"):
        read_matrices(tmp_path / "two.npz")
    assert len(read_matrices(tmp_path / "two.npz", "B")) == 4
    np.savez(tmp_path / "none.npz", A=np.zeros(3))
    with pytest.raises(ValueError, match="no array can be the matrices"):
        read_matrices(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.npy", b"", "x.npy"),
        ("x.npy", b"\x93NUMPY\x01\x00 broken", "x.npy"),
        ("x.npz", b"PK broken", "not an .npz file"),
        ("x.mat", b"broken", "not a MATLAB file"),
        ("x.csv", b"1,2", "has the ending '.csv'"),
    ],
)
def test_damaged_files(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert words in run("inspect", tmp_path / name, code=1)


@pytest.mark.parametrize("name", ["y.csv", "z.txt"])
def test_labels_of_text_files(files, name):
    assert read_labels(files / name, None, 40).tolist() == two_classes()[1].tolist()


def test_labels_of_other_files(files, tmp_path):
    y = two_classes()[1]
    assert read_labels(files / "data.npz", "y", 40).tolist() == y.tolist()
    assert read_labels(files / "data.npz", None, 40).tolist() == y.tolist()
    assert read_labels(files / "data.mat", "y", 40).tolist() == [1] * 20 + [2] * 20
    names = np.array(["left", "right"], dtype=object)
    scipy.io.savemat(tmp_path / "cell.mat", {"names": names})
    assert read_labels(tmp_path / "cell.mat", "names", 2).tolist() == ["left", "right"]
    table = tmp_path / "table.csv"
    table.write_text("id,label\n1,7\n2,8\n")
    assert read_labels(table, "label", 2).tolist() == [7, 8]
    with pytest.raises(ValueError, match=r"several columns \(id, label\)"):
        read_labels(table, None, 2)
    with pytest.raises(ValueError, match="no column is called 'age'"):
        read_labels(table, "age", 2)
    with pytest.raises(ValueError, match="there are 2 labels for 5 matrices"):
        read_labels(table, "label", 5)
    with pytest.raises(ValueError, match="there are 2 labels for 1 matrix"):
        read_labels(table, "label", 1)
    table.write_text("007\n008\n")
    assert read_labels(table, None, 2).tolist() == ["007", "008"]


def test_one_label_too_many_is_no_header(tmp_path):
    path = tmp_path / "y.txt"
    path.write_text("a\na\nb\n")
    with pytest.raises(ValueError, match="there are 3 labels for 2 matrices"):
        read_labels(path, None, 2)
    path.write_text("class\na\nb\n")
    assert read_labels(path, None, 2).tolist() == ["a", "b"]
    assert read_labels(path, None, 3).tolist() == ["class", "a", "b"]


def test_bad_npy_files(files):
    np.save(files / "objects.npy", np.array([{}, []], dtype=object))
    (files / "broken.npy").write_bytes(b"nothing")
    (files / "empty.npy").write_bytes(b"")
    for name in ("objects.npy", "broken.npy", "empty.npy"):
        sentence = f"{files / name}: is not an .npy file of numbers, or a damaged one."
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            read_matrices(files / name)
    with pytest.raises(ValueError, match=r"holds one array: leave out the key 'X'\.$"):
        read_matrices(files / "X.npy", "X")


def test_write_arrays(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(3, 2), "b": np.array(["x", "y", "z"]), "c": np.zeros(9)}
    for suffix in (".npy", ".npz", ".csv"):
        write_arrays(tmp_path / f"o{suffix}", arrays)
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), arrays["a"])
    assert sorted(np.load(tmp_path / "o.npz")) == ["a", "b", "c"]
    with (tmp_path / "o.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["a_0", "a_1", "b"],
        ["0.0", "1.0", "x"],
        ["2.0", "3.0", "y"],
        ["4.0", "5.0", "z"],
    ]


# --- inspect -----------------------------------------------------------------------------------------


def test_inspect_good_matrices(files):
    said = run("inspect", files / "X.npy")
    assert "40 of 4×4, float64" in said
    assert "40 (all)" in said
    assert "4 (full)" in said
    for metric in ("stein", "jeffrey"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            kernel = DivergenceKernel(metric).fit(two_classes()[0])
        assert f"{metric} {kernel.beta_:.4g}" in said
        assert f"{kernel.min_eigenvalue_ / kernel.max_eigenvalue_:.2g}" in said
        assert not kernel.corrected_ or "indefinite" in said


def test_inspect_names_all_bad_matrices_and_repairs_them(tmp_path):
    X = bad_matrices()
    np.save(tmp_path / "X.npy", X)
    said = run("inspect", tmp_path / "X.npy", code=1)
    assert "37, 3 are not" in said
    assert "3 is not positive definite" in said
    assert "9 is singular to working precision" in said
    assert "11 is not symmetric" in said
    assert "1 to 4" in said  # ranks
    run("inspect", tmp_path / "X.npy", "--repaired", tmp_path / "R.npy")
    repaired = check_spd(np.load(tmp_path / "R.npy"))
    untouched = np.setdiff1d(np.arange(40), [3, 9, 11])
    np.testing.assert_array_equal(repaired[untouched], X[untouched])
    np.testing.assert_array_equal(repaired[11], (X[11] + X[11].T) / 2)


def test_inspect_not_finite(tmp_path):
    X = two_classes()[0]
    X[7, 0, 0] = np.nan
    np.save(tmp_path / "X.npy", X)
    assert "7 is not finite: its entry (0, 0) is nan" in run("inspect", tmp_path / "X.npy", code=1)
    said = run("inspect", tmp_path / "X.npy", "--repaired", tmp_path / "R.npy", code=1)
    assert "error: X.npy[7] is not finite" in said
    assert "cannot be repaired" in said
    assert not (tmp_path / "R.npy").exists()


def test_inspect_zero_matrix(tmp_path):
    X = two_classes()[0]
    X[5] = 0.0
    np.save(tmp_path / "X.npy", X)
    said = run("inspect", tmp_path / "X.npy", code=1)
    assert "39, 1 is not" in said
    assert "1 is zero leave it out" in said
    assert "project" not in said
    said = run("inspect", tmp_path / "X.npy", "--repaired", tmp_path / "R.npy", code=1)
    assert "error: X.npy[5] is zero; it cannot be repaired" in said


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((0, 3, 3)), "holds no matrix"),
        (np.zeros((3, 0, 0)), "holds no matrix"),
        (np.zeros((2, 3, 3), complex), "is complex"),
        (np.zeros((2, 3)), "neither"),
        (np.full((1, 3, 3), np.inf), "0, 1 is not"),
    ],
)
def test_inspect_odd_arrays(tmp_path, array, words):
    np.save(tmp_path / "X.npy", array)
    assert words in run("inspect", tmp_path / "X.npy", code=1)


# --- learn, code -------------------------------------------------------------------------------------


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


def test_learn_goes_on_from_a_checkpoint(files):
    begin = ("learn", files / "X.npy", "--atoms", 4, "--tol", 0, "--checkpoint", files / "run.ckpt")
    run(*begin, "--iterations", 2, "--out", files / "a.npy")
    run(*begin, "--iterations", 4, "--out", files / "b.npy")
    run(*begin[:-2], "--iterations", 4, "--out", files / "c.npy")
    np.testing.assert_array_equal(np.load(files / "b.npy"), np.load(files / "c.npy"))
    assert (np.load(files / "a.npy") != np.load(files / "b.npy")).any()
    said = run(*begin, "--seed", 9, "--out", files / "d.npy", code=1)
    assert said.startswith("error: ")


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


def test_code_refuses_other_models_and_sizes(files):
    save(SPDSparseClassifier().fit(*two_classes()), files / "k.spdatoms")
    options = ("--model", files / "k.spdatoms", "--out", files / "c.npy")
    said = run("code", files / "Z.npy", *options, code=1)
    assert "holds a SPDSparseClassifier, which cannot give codes" in said
    np.save(files / "W.npy", random_spd(3, 5))
    options = ("--atoms", files / "X.npy", "--out", files / "c.npy")
    assert "5×5 matrices, but those seen in fit are 4×4" in run(
        "code", files / "W.npy", *options, code=1
    )
    (files / "broken.spdatoms").write_bytes(b"nothing")
    options = ("--model", files / "broken.spdatoms", "--out", files / "c.npy")
    assert "broken.spdatoms" in run("code", files / "Z.npy", *options, code=1)


# --- classify ----------------------------------------------------------------------------------------


def test_classify(files):
    Z, z = two_classes(seed=1)
    expected = SPDSparseClassifier().fit(*two_classes())
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    test = ("--test", files / "Z.npy", "--test-labels", files / "z.txt")
    said = run(
        "classify", *train, *test, "--out", files / "p.csv", "--save-model", files / "m.spdatoms"
    )
    assert "40 matrices of 2 classes" in said
    assert f"all 40 {expected.score(Z, z):.2%}" in said
    with (files / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["predicted"] for row in rows] == expected.predict(Z).tolist()
    assert [row["label"] for row in rows] == z.tolist()
    np.testing.assert_allclose(
        [float(row["p(left)"]) for row in rows], expected.predict_proba(Z)[:, 0]
    )
    run(
        "classify",
        "--model",
        files / "m.spdatoms",
        "--test",
        files / "Z.npy",
        "-o",
        files / "p.npz",
    )
    with np.load(files / "p.npz") as arrays:
        assert arrays["predicted"].tolist() == expected.predict(Z).tolist()
        np.testing.assert_array_equal(arrays["probabilities"], expected.predict_proba(Z))


def test_classify_from_one_file_and_print(files):
    said = run(
        *("classify", "--train", files / "data.mat", "--train-labels", files / "data.mat"),
        *("--key", "X", "--label-key", "y", "--test", files / "data.mat", "--verbose"),
        *("--metric", "jeffrey", "--rule", "max", "--beta", 0.2, "--alpha", 0.3),
    )
    X, y = two_classes()
    with pytest.warns(IndefiniteKernelWarning):
        classifier = SPDSparseClassifier("jeffrey", 0.2, 0.3, rule="max").fit(X, y == "right")
    assert "warning: The jeffrey kernel" in said
    assert said.endswith(" ".join(str(int(label) + 1) for label in classifier.predict(X)))


def test_classify_prints_nothing_but_predictions_on_stdout(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    options = ("--test", files / "Z.npy", "--save-model", files / "m.spdatoms")
    result = CliRunner().invoke(app, [str(word) for word in ("classify", *train, *options)])
    predicted = SPDSparseClassifier().fit(*two_classes()).predict(two_classes(seed=1)[0])
    assert result.stdout.split() == predicted.tolist()
    assert "40 matrices of 2 classes" in result.stderr


def test_classify_with_keys_for_one_of_two_files(files):
    X, y = two_classes()
    np.save(files / "y.npy", y)
    train = ("--train", files / "data.mat", "--key", "X", "--train-labels", files / "data.npz")
    test = ("--test", files / "X.npy", "--test-labels", files / "y.npy", "--label-key", "y")
    expected = SPDSparseClassifier().fit(X, y).score(X, y)
    assert f"all 40 {expected:.2%}" in run("classify", *train, *test)
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv", "--key", "X")
    said = run("classify", *train, "--test", files / "Z.npy", code=1)
    assert "leave out the key 'X'" in said


def test_classify_with_choice(files):
    X, y = two_classes()
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    said = run("classify", *train, "--choose", "--save-model", files / "m.spdatoms")
    chosen = SPDSparseClassifierCV().fit(X, y)
    assert f"{chosen.beta_:.4g}, {chosen.alpha_:.4g}" in said
    assert f"in cross-validation {chosen.best_score_:.2%}" in said
    assert load(files / "m.spdatoms").beta_ == chosen.beta_


def test_classify_with_atoms_per_class(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    run("classify", *train, "--atoms-per-class", 3, "--save-model", files / "m.spdatoms")
    assert len(load(files / "m.spdatoms").atoms_) == 6


def test_classify_wrong_data(files):
    np.save(files / "bad.npy", bad_matrices())
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    said = run("classify", *train, "--test", files / "bad.npy", code=1)
    assert said.startswith("error: bad.npy[3] is not positive definite")
    assert "Traceback" not in said
    (files / "short.csv").write_text("a\nb\n")
    train = ("--train", files / "X.npy", "--train-labels", files / "short.csv")
    said = run("classify", *train, "--test", files / "Z.npy", code=1)
    assert "there are 2 labels for 40 matrices" in said
    train = ("--train", files / "X.npy", "--train-labels", files / "nothing.csv")
    assert "nothing.csv" in run("classify", *train, "--test", files / "Z.npy", code=1)


# --- usage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn", "X.npy"],
        ["learn", "X.npy", "--out", "m.txt"],
        ["learn", "X.npy", "--out", "nowhere/m.spdatoms"],
        ["learn", "X.npy", "--out", "m.spdatoms", "--beta", "big"],
        ["learn", "X.npy", "--out", "m.spdatoms", "--metric", "burg"],
        ["learn", "X.npy", "--out", "m.spdatoms", "--metric", "riemann"],
        ["code", "X.npy", "--out", "c.npy"],
        ["code", "X.npy", "--out", "c.npy", "--model", "m.spdatoms", "--atoms", "D.npy"],
        ["classify", "--test", "Z.npy"],
        ["classify", "--train", "X.npy", "--test", "Z.npy"],
        ["classify", "--train", "X.npy", "--train-labels", "y.csv"],
        ["classify", "--model", "m.spdatoms", "--save-model", "n.spdatoms", "--out", "p.csv"],
        ["no-such-command"],
    ],
)
def test_wrong_usage_is_2(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run(*arguments, code=2)
    assert "Traceback" not in said


def test_choose_excludes_atoms_per_class(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    options = ("--choose", "--atoms-per-class", 2, "--save-model", files / "m.spdatoms")
    assert "does not go with" in run("classify", *train, *options, code=2)


def test_atoms_are_learned_with_three_metrics(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv", "--metric", "riemann")
    options = ("--atoms-per-class", 2, "--save-model", files / "m.spdatoms")
    assert "needs one of the metrics stein, jeffrey" in run("classify", *train, *options, code=2)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("code", ["--metric", "stein"]),
        ("code", ["--alpha", "0.1", "--positive"]),
        ("code", ["--atoms-key", "X"]),
        ("classify", ["--rule", "residual"]),
        ("classify", ["--choose"]),
        ("classify", ["--atoms-per-class", "3", "--beta", "auto"]),
        ("classify", ["--train-labels", "y.csv"]),
        ("classify", ["--seed", "0"]),
    ],
)
def test_a_model_has_its_own_method(files, command, options):
    begin = {"code": ("code", files / "Z.npy"), "classify": ("classify", "--test", files / "Z.npy")}
    model = ("--model", files / "m.spdatoms", "--out", files / "o.npy")
    said = run(*begin[command], *model, *options, code=2)
    names = [option for option in options if option.startswith("--")]
    assert all(name in said for name in names)
    assert f"{'does' if len(names) == 1 else 'do'} not go with --model" in said


@pytest.mark.parametrize("command", ["inspect", "learn", "code", "classify"])
def test_help_shows_examples(command):
    said = run(command, "--help")
    assert "Examples:" in said
    assert f"spdatoms {command}" in said
    assert "Files" in said


def spdatoms(*arguments: object, code: int, before: str = "") -> tuple[str, str]:
    """Run the command line in a process of its own."""
    program = f"{before}\nimport runpy; runpy.run_module('spdatoms', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_process(files):
    assert spdatoms("--version", code=0)[0].startswith("spdatoms ")
    np.save(files / "bad.npy", bad_matrices())
    out, err = spdatoms("learn", files / "bad.npy", "--out", files / "m.spdatoms", code=1)
    assert out == ""
    assert err.startswith("error: X[3] is not positive definite")
    assert err.count("\n") == 1


def test_terminal_without_greek(files, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert "suggested ?" in spdatoms("inspect", files / "X.npy", code=0)[0]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("two\n lines"), 1, "error: two lines\n"),
        (TypeError("is complex"), 1, "error: is complex\n"),
        (ImportError("needs x"), 1, "error: needs x\n"),
        (FileNotFoundError(2, "No such file", "x.npy"), 1, "error: x.npy: No such file\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_one_line_errors(error, code, line, capsys):
    with pytest.raises(typer.Exit) as ended, one_line_errors():
        raise error
    assert ended.value.exit_code == code
    assert capsys.readouterr().err == line


def test_bugs_keep_their_traceback():
    with pytest.raises(KeyError), one_line_errors():
        raise KeyError("a bug")
    with pytest.raises(BrokenPipeError), one_line_errors():
        raise BrokenPipeError


def test_help_is_light():
    before = "import sys, atexit; atexit.register(lambda: print(*sys.modules))"
    loaded = spdatoms("--help", code=0, before=before)[0].split()
    assert {"sklearn", "scipy", "numba", "matplotlib", "skimage"}.isdisjoint(loaded)


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra(missing):
    before = f"import sys; sys.modules[{missing!r}] = None"
    out, err = spdatoms("--help", code=1, before=before)
    assert out == ""
    assert f"needs '{missing}'" in err
    assert "pip install 'spdatoms[cli]'" in err
    assert err.count("\n") == 1
