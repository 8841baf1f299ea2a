"""``spdatoms classify``: train on labelled matrices, predict the labels of others."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from spdatoms._utils.typing import Array
from spdatoms.cli._options import (
    AlphaOption,
    BetaOption,
    JobsOption,
    KeyOption,
    LearningMetric,
    Metric,
    MetricOption,
    SeedOption,
    VerboseOption,
    output,
    refuse_beside_model,
)
from spdatoms.cli._outputs import ForceOption, check_outputs

#: Options that a trained model does not take.
_METHOD = ("metric", "beta", "alpha", "rule", "atoms_per_class", "choose", "seed")
#: The greatest number of classes whose accuracies are listed.
_LISTED = 30


class Rule(StrEnum):
    """How classes are judged."""

    residual = "residual"
    sum = "sum"
    max = "max"


def _file(help_text: str) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Files", show_default=False)


def classify(
    context: typer.Context,
    train: Annotated[Path | None, _file("Training matrices: .npy, .npz or .mat.")] = None,
    train_labels: Annotated[
        Path | None, _file("Their labels: .csv or .txt, one per line, or an array. May be --train.")
    ] = None,
    test: Annotated[Path | None, _file("The matrices to classify.")] = None,
    test_labels: Annotated[Path | None, _file("Their labels, to compute the accuracy.")] = None,
    key: KeyOption = None,
    label_key: Annotated[
        str | None, _file("Which array of an .npz or .mat file, or column, has the labels.")
    ] = None,
    model: Annotated[Path | None, _file("A trained model, in place of --train.")] = None,
    out: Annotated[
        Path | None,
        output("Where to put predictions and probabilities.", ".csv", ".npy", ".npz"),
    ] = None,
    save_model: Annotated[
        Path | None,
        output("Where to put the trained model.", ".spdatoms", names=("--save-model",)),
    ] = None,
    metric: MetricOption = Metric.stein,
    beta: BetaOption = "auto",
    alpha: AlphaOption = "auto",
    rule: Annotated[
        Rule,
        typer.Option(
            help="Judge a class by the residual of its part of the code, or its sum or maximum.",
            rich_help_panel="The method",
        ),
    ] = Rule.residual,
    atoms_per_class: Annotated[
        int | None,
        typer.Option(
            help="The number of atoms to learn per class, instead of all training matrices.",
            rich_help_panel="The method",
        ),
    ] = None,
    choose: Annotated[
        bool,
        typer.Option(
            "--choose",
            help="Choose β and α by leave-one-out on the training matrices.",
            rich_help_panel="The method",
        ),
    ] = False,
    force: ForceOption = False,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Classify matrices by their sparse codes over labelled ones.

    \b
    Examples:
      spdatoms classify --train X.npy --train-labels y.csv --test Z.npy
      spdatoms classify --train a.mat --train-labels a.mat --key X --label-key y
          --test b.mat --test-labels b.mat --out predicted.csv
      spdatoms classify --train X.npy --train-labels y.txt --choose
          --save-model m.spdatoms
      spdatoms classify --model m.spdatoms --test Z.npy --out predicted.csv
    """
    _check_usage(train, train_labels, test, test_labels, model, out, save_model)
    if model is not None:
        refuse_beside_model(context, "train_labels", *_METHOD)
    _check_method(metric, atoms_per_class, choose)
    reads = [train, train_labels, test, test_labels, model]
    check_outputs(reads, [out, save_model], force=force)
    from spdatoms.cli._arrays import read_labels, read_matrices
    from spdatoms.cli._models import load_model
    from spdatoms.cli._show import in_blocks

    queries = None if test is None else _checked(read_matrices(test, _key(key, test, train)), test)
    truth = None
    if test_labels is not None and queries is not None:
        truth = read_labels(test_labels, _key(label_key, test_labels, train_labels), len(queries))
    if model is not None:
        classifier = load_model(model, ("classes_", "predict_proba"), "classify", jobs)
    elif train is not None and train_labels is not None:
        X = _checked(read_matrices(train, _key(key, train, test)), train)
        y = read_labels(train_labels, _key(label_key, train_labels, test_labels), len(X))
        parameters = {"rule": rule.value, "n_jobs": jobs}
        classifier = _classifier(metric, beta, alpha, atoms_per_class, choose, seed, parameters)
        classifier.fit(X, y)
        _show_training(classifier, len(X))
    if save_model is not None:
        from spdatoms.storage import save

        save(classifier, save_model)
        typer.echo(f"Model: {save_model}", err=True)
    if queries is None:
        return
    probabilities = in_blocks(classifier.predict_proba, queries, "classifying", shown=verbose)
    predicted = classifier.classes_[probabilities.argmax(axis=1)]
    if out is not None:
        _write(out, predicted, probabilities, classifier.classes_, truth)
        typer.echo(f"Predictions: {out}")
    if truth is not None:
        _show_accuracy(truth, predicted)
    elif out is None:
        typer.echo("\n".join(map(str, predicted)))


def _check_usage(
    train: Path | None,
    train_labels: Path | None,
    test: Path | None,
    test_labels: Path | None,
    model: Path | None,
    out: Path | None,
    save_model: Path | None,
) -> None:
    if (train is None) == (model is None):
        raise typer.BadParameter("give either --train or --model")
    if train is not None and train_labels is None:
        raise typer.BadParameter("--train needs --train-labels")
    if test is None and save_model is None:
        raise typer.BadParameter("give --test, or --save-model to train only")
    if test is None and (test_labels is not None or out is not None):
        raise typer.BadParameter("--test-labels and --out need --test")


def _check_method(metric: Metric, atoms_per_class: int | None, choose: bool) -> None:
    if atoms_per_class is None:
        return
    if choose:
        raise typer.BadParameter("--choose does not go with --atoms-per-class")
    if metric.value not in tuple(LearningMetric):
        names = ", ".join(LearningMetric)
        raise typer.BadParameter(f"--atoms-per-class needs one of the metrics {names}")


def _key(key: str | None, path: Path, other: Path | None) -> str | None:
    """Return the key for a file; an .npy file needs none if the key is for the other file."""
    single = path.suffix.lower() == ".npy"
    return None if single and other is not None and other.suffix.lower() != ".npy" else key


def _classifier(
    metric: Metric,
    beta: Any,
    alpha: Any,
    atoms_per_class: int | None,
    choose: bool,
    seed: int,
    parameters: dict[str, Any],
) -> Any:
    from spdatoms.classification import SPDSparseClassifier, SPDSparseClassifierCV

    if choose:
        betas, alphas = (None if v == "auto" else [v] for v in (beta, alpha))
        return SPDSparseClassifierCV(metric.value, betas=betas, alphas=alphas, **parameters)
    return SPDSparseClassifier(
        metric.value,
        beta=beta,
        alpha=alpha,
        n_atoms_per_class=atoms_per_class,
        random_state=seed,
        **parameters,
    )


def _checked(X: Array, path: Path) -> Array:
    """Return the matrices, or refuse them with the index of the first bad one in the file."""
    from spdatoms.geometry import check_spd

    return check_spd(X, name=path.name)


def _show_training(classifier: Any, count: int) -> None:
    """Print a summary of the training on stderr, because stdout is for predictions."""
    from spdatoms.cli._show import counted, show_table

    fitted = getattr(classifier, "classifier_", classifier)
    matrices = counted(count, "matrix", "matrices")
    rows = [
        ("trained on", f"{matrices} of {counted(len(classifier.classes_), 'class', 'classes')}"),
        ("β, α", f"{fitted.kernel_.beta_:.4g}, {fitted.alpha_:.4g}"),
    ]
    if hasattr(classifier, "best_score_"):
        rows.append(("in cross-validation", f"{classifier.best_score_:.2%}"))
    show_table(rows, stderr=True)


def _write(
    out: Path, predicted: Array, probabilities: Array, classes: Array, truth: Array | None
) -> None:
    from spdatoms.cli._arrays import write_arrays, write_table

    if out.suffix.lower() != ".csv":
        arrays = {"predicted": predicted, "probabilities": probabilities, "classes": classes}
        write_arrays(out, arrays)
        return
    columns = {"predicted": predicted.tolist()}
    if truth is not None:
        columns["label"] = truth.tolist()
    columns |= {f"p({c})": p.tolist() for c, p in zip(classes, probabilities.T, strict=True)}
    write_table(out, columns)


def _show_accuracy(truth: Array, predicted: Array) -> None:
    from spdatoms.cli._show import show_table

    truth, predicted = truth.astype(str), predicted.astype(str)
    right = truth == predicted
    rows = [("all", len(right), f"{right.mean():.2%}")]
    classes = np.unique(truth)
    if len(classes) <= _LISTED:
        rows += [(c, int((truth == c).sum()), f"{right[truth == c].mean():.2%}") for c in classes]
    show_table(rows, header=("class", "matrices", "accuracy"))
