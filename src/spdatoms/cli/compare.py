"""``spdatoms compare``: classifiers of this library and the peers that are installed, in the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spdatoms._utils.progress import progress_bar
from spdatoms._utils.text import counted
from spdatoms.cli import options as opt
from spdatoms.cli.labelled_files import Files, Reader, with_own_labels
from spdatoms.cli.outputs import check_outputs
from spdatoms.cli.show import record, say, show_lines, show_table, wants_progress


def compare(
    matrices: opt.MatricesArgument,
    labels: Annotated[
        Path | None,
        typer.Argument(
            metavar="Y",
            help="Their labels: a column of .csv, .tsv, .txt or .parquet, or an array. Epochs (.fif) and folders have "
            "their own.",
            show_default=False,
            callback=opt.spooled,
        ),
    ] = None,
    key: opt.KeyOption = None,
    label_key: opt.LabelKeyOption = None,
    components: opt.ComponentsOption = None,
    covariance: opt.CovarianceOption = None,
    cv: Annotated[int, opt.method_option("The number of folds.", min=2)] = 5,
    repeats: Annotated[
        int, opt.method_option("How often the matrices are divided into folds anew.", min=1)
    ] = 1,
    report: opt.ReportOption = None,
    force: opt.ForceOption = False,
    seed: opt.SeedOption = 0,
    jobs: opt.JobsOption = None,
    verbose: opt.VerboseOption = False,
    as_json: opt.JsonOption = False,
) -> None:
    """Compare classifiers by cross-validation on your matrices: which is best, and is it certain?

    All methods see the same folds; RSR-S and RSR-J are the paper's. The difference is that of accuracies to the
    recommended classifier, SPDEnsembleClassifier, in points, with the 95 % interval of the corrected t-test for
    paired folds (Nadeau and Bengio). Seconds are processor time for the fit and the predictions of a fold.
    pyRiemann's methods are compared if it is installed.

    \b
    Examples:
      spdatoms compare X.npy y.csv
      spdatoms compare data.mat data.mat --key X --label-key y --cv 10 --repeats 3
      spdatoms compare subject-epo.fif --report compared.html
    """
    files = with_own_labels(Files(matrices, labels, None))
    unlabelled = matrices.exists() and files.labels is None
    opt.refuse_if(unlabelled, "give the file of labels after that of matrices")
    check_outputs([matrices, labels], [report], force=force)
    from spdatoms.cli.comparison import HEADER, compared, verdict, write_report
    from spdatoms.cli.formats.arrays import check_exist

    check_exist(*files)
    read = Reader(key, label_key, components, covariance)
    labelled, _ = read.training(files, Files(None, None, None))
    assert labelled is not None  # there are files
    X, y = labelled.X, labelled.y
    with progress_bar(cv * repeats, "comparing", wants_progress(verbose)) as advance:
        rows = compared(X, y, cv=cv, repeats=repeats, seed=seed, jobs=jobs, advance=advance)
    title = f"{counted(len(X), 'matrix', 'matrices')}, {cv} folds" + (
        f", {repeats} times" if repeats > 1 else ""
    )
    show_table([row.cells() for row in rows], header=HEADER, title=title)
    show_lines(verdict(rows))
    record("methods", [row.as_json() for row in rows])
    if report is not None:
        write_report(report, rows, [("compared", title), ("result", verdict(rows))])
        say(f"Report: {report}")
