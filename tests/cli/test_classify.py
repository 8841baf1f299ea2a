"""The command that classifies, against the library."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score

from _commands import bad_matrices, invoke, run, two_classes
from spdatoms import (
    SPDEnsembleClassifier,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    load,
    save,
    suspect_labels,
)
from spdatoms.exceptions import IndefiniteKernelWarning


@pytest.mark.slow
def test_classify(files):
    Z, z = two_classes(seed=1)
    expected = SPDEnsembleClassifier().fit(*two_classes())
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


def test_suspects(files):
    X, y = two_classes()
    wrong = np.where(np.arange(len(y)) == 3, y[-1] if y[3] == y[0] else y[0], y)
    (files / "wrong.csv").write_text("label\n" + "\n".join(wrong) + "\n")
    train = ("--train", files / "X.npy", "--train-labels", files / "wrong.csv")
    said = run("classify", *train, "--suspects", files / "s.csv")
    expected = suspect_labels(X, wrong)
    with (files / "s.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["row"]) for row in rows] == expected.indices.tolist()
    assert [row["suggestion"] for row in rows] == expected.suggestions.tolist()
    np.testing.assert_allclose(
        [float(row["p(wrong)"]) for row in rows], expected.probabilities, atol=1e-12
    )
    assert int(rows[0]["row"]) == 3
    assert "1 label is more probably wrong than right" in said
    said = run("classify", *train, "--alpha", 0.1, "--suspects", files / "t.csv", code=2)
    assert "--suspects needs" in said


@pytest.mark.slow
def test_classify_from_one_file_and_print(files):
    said = run(
        *("classify", "--train", files / "data.mat", "--train-labels", files / "data.mat"),
        *("--key", "X", "--label-key", "y", "--test", files / "data.mat", "--verbose"),
        *("--metric", "jeffrey", "--rule", "max", "--beta", 0.2, "--alpha", 0.3),
    )
    X, y = two_classes()
    with pytest.warns(IndefiniteKernelWarning):
        classifier = SPDSparseClassifier("jeffrey", 0.2, 0.3, rule="max").fit(X, y == "right")
    assert "warning: SPDSparseClassifier: The jeffrey kernel" in said
    assert said.endswith(" ".join(str(int(label) + 1) for label in classifier.predict(X)))


def test_classify_prints_nothing_but_predictions_on_stdout(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    options = ("--test", files / "Z.npy", "--save-model", files / "m.spdatoms")
    result = invoke("classify", *train, *options)
    predicted = SPDEnsembleClassifier().fit(*two_classes()).predict(two_classes(seed=1)[0])
    assert result.stdout.split() == predicted.tolist()
    assert "40 matrices of 2 classes" in result.stderr


@pytest.mark.slow
def test_classify_with_keys_for_one_of_two_files(files):
    X, y = two_classes()
    np.save(files / "y.npy", y)
    train = ("--train", files / "data.mat", "--key", "X", "--train-labels", files / "data.npz")
    test = ("--test", files / "X.npy", "--test-labels", files / "y.npy", "--label-key", "y")
    expected = SPDEnsembleClassifier().fit(X, y).score(X, y)
    assert f"all 40 {expected:.2%}" in run("classify", *train, *test)
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv", "--key", "X")
    said = run("classify", *train, "--test", files / "Z.npy", code=1)
    assert "leave out --key X" in said


@pytest.mark.slow
def test_classify_with_choice(files):
    X, y = two_classes()
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    run("classify", *train, "--choose", "--save-model", files / "m.spdatoms")
    assert load(files / "m.spdatoms").weights == "cv"
    options = ("--choose", "--method", "sparse", "--force", "--save-model", files / "m.spdatoms")
    said = run("classify", *train, *options)
    chosen = SPDSparseClassifierCV().fit(X, y)
    assert f"best of {len(chosen.cv_results_['params'])}" in said
    assert f"in cross-validation {chosen.best_score_:.2%}" in said
    assert load(files / "m.spdatoms").best_params_ == chosen.best_params_


@pytest.mark.slow
def test_which_classifier_the_options_ask_for(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    out = ("--force", "--save-model", files / "m.spdatoms")

    def made(*options):
        run("classify", *train, *options, *out)
        return load(files / "m.spdatoms")

    assert isinstance(made(), SPDEnsembleClassifier)
    assert made("--method", "ensemble", "--metric", "jeffrey").metrics == "jeffrey"
    for options in (["--method", "sparse"], ["--metric", "stein"], ["--rule", "residual"]):
        assert isinstance(made(*options), SPDSparseClassifier)
    said = run("classify", *train, "--method", "ensemble", "--alpha", 0.1, *out, code=2)
    assert "are options of" in said


def test_classify_with_atoms_per_class(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    run("classify", *train, "--atoms-per-class", 3, "--save-model", files / "m.spdatoms")
    assert len(load(files / "m.spdatoms").atoms_) == 6


def test_classify_wrong_data(files):
    np.save(files / "bad.npy", bad_matrices())
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    said = run("classify", *train, "--test", files / "bad.npy", code=1)
    assert "error: bad.npy[3] is not positive definite" in said
    assert "Traceback" not in said
    (files / "short.csv").write_text("a\nb\n")
    train = ("--train", files / "X.npy", "--train-labels", files / "short.csv")
    said = run("classify", *train, "--test", files / "Z.npy", code=1)
    assert "there are 2 labels for 40 matrices" in said
    train = ("--train", files / "X.npy", "--train-labels", files / "nothing.csv")
    assert "nothing.csv" in run("classify", *train, "--test", files / "Z.npy", code=1)


def test_absent_files_are_noticed_before_others_are_read(files, monkeypatch):
    monkeypatch.chdir(files)
    train = ("--train", "X.npy", "--train-labels", "y.csv")
    for command in (
        ("classify", "--train", "no/", "--cv", 5),
        ("classify", "--train", "X.npy", "--train-labels", "no", "--cv", 5),
        ("classify", *train, "--test", "no"),
        ("classify", *train, "--test", "Z.npy", "--test-labels", "no"),
        ("compare", "no"),
        ("compare", "X.npy", "no"),
    ):
        assert run(*command, code=1) == "error: no: there is no such file."


def test_choose_excludes_atoms_per_class(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    options = ("--choose", "--atoms-per-class", 2, "--save-model", files / "m.spdatoms")
    assert "does not go with" in run("classify", *train, *options, code=2)


def test_atoms_are_learned_with_three_metrics(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv", "--metric", "riemann")
    options = ("--atoms-per-class", 2, "--save-model", files / "m.spdatoms")
    assert "needs one of the metrics stein, jeffrey" in run("classify", *train, *options, code=2)


def test_airm_is_another_name_of_riemann(files):
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    said = [
        run("classify", *train, "--test", files / "Z.npy", "--metric", metric)
        for metric in ("riemann", "airm")
    ]
    assert said[0] == said[1]


@pytest.mark.slow
def test_cross_validation(files):
    X, y = two_classes()
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    said = run("classify", *train, "--cv", 4, "--seed", 3, "-o", files / "p.csv", "-v")
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    scores = cross_val_score(SPDSparseClassifier(random_state=3), X, y, cv=folds)
    assert f"{scores.mean():.2%} ± {scores.std(ddof=1):.2%} (deviation of 4 folds)" in said
    assert "most frequent class alone 50.00%" in said
    expected = cross_val_predict(SPDSparseClassifier(random_state=3), X, y, cv=folds)
    with (files / "p.csv").open() as file:
        assert [row["predicted"] for row in csv.DictReader(file)] == expected.tolist()
    table = confusion_matrix(y, expected)
    assert f"left {table[0, 0]} {table[0, 1]} right {table[1, 0]} {table[1, 1]}" in said


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["left"] * 37 + ["right"] * 3, "the class right has 3. Give --cv 3 or less."),
        (["left"] * 39 + ["right"], "the class right has 1. Leave it out, or label more matrices."),
        (np.linspace(0.05, 0.9, 40), "These labels look like numbers, not classes;"),
        (range(40), "These labels look like numbers, not classes;"),
    ],
)
def test_classes_with_fewer_matrices_than_folds(files, labels, words):
    (files / "few.txt").write_text("\n".join(map(str, labels)))
    train = ("--train", files / "X.npy", "--train-labels", files / "few.txt")
    assert words in run("classify", *train, "--cv", 5, code=1)


def test_test_labels_that_no_training_matrix_has(files):
    command = ("classify", "--train", files / "X.npy", "--train-labels", files / "y.csv")
    command += ("--test", files / "Z.npy", "--test-labels", files / "other.txt")
    truth = (files / "z.txt").read_text().split()
    (files / "other.txt").write_text("\n".join(label.upper() for label in truth))
    said = run(*command)
    assert "warning: 40 of 40 test labels occur in no training matrix, as 'LEFT'" in said
    assert "the training labels are left, right" in said
    (files / "other.txt").write_text("\n".join(["foot", *truth[1:]]))
    assert "warning: 1 of 40 test labels occur in no training matrix, as 'foot'" in run(*command)
    (files / "other.txt").write_text("\n".join(truth))
    assert "warning" not in run(*command)


def test_errors_name_what_is_wrong_with_files(files):
    def refused(labels, matrices="X.npy", *options):
        given = ("--train", files / matrices, "--train-labels", files / labels, *options)
        return run("classify", *given, "--save-model", files / "m.spdatoms", code=1)

    X, y = two_classes()
    np.save(files / "y.npy", y.astype(object))
    assert "y.npy: holds Python objects: save numbers, or text, as y.astype(str)" in refused(
        "y.npy"
    )
    (files / "gap.txt").write_text("\n".join([*y[:7], "", *y[8:]]))
    assert "there are 39 labels for 40 matrices; line 8 is empty" in refused("gap.txt")
    (files / "index.csv").write_text(",label\n" + "\n".join(f"{i},{c}" for i, c in enumerate(y)))
    assert "several columns (one without a name, label)" in refused("index.csv")
    np.save(files / "small.npy", X[:, :3, :3])
    said = refused("y.csv", "X.npy", "--test", files / "small.npy")
    assert "small.npy has 3×3 matrices, but" in said
    assert "X.npy has 4×4" in said
    save(SPDSparseClassifier().fit(X, y), files / "k.spdatoms")
    model = ("--model", files / "k.spdatoms", "--test", files / "small.npy")
    said = run("classify", *model, code=1)
    assert "small.npy has 3×3 matrices, but" in said
    assert "k.spdatoms has 4×4" in said
    save(SPDSparseCoder().fit(X), files / "k.spdatoms")
    said = run("classify", *model, code=1)
    assert "holds an SPDSparseCoder, which cannot classify: make a classifier by" in said
