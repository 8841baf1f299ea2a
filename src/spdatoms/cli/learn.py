"""``spdatoms learn``: a dictionary from matrices."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from spdatoms._utils.progress import showing_progress
from spdatoms._utils.text import counted
from spdatoms.cli import options as opt
from spdatoms.cli.labelled_files import common_range, on_range
from spdatoms.cli.outputs import check_outputs
from spdatoms.cli.show import INTERRUPTED, record, say, show_table, wants_progress

#: The first atoms.
Init = Literal["kmeans", "kmeans-riemann", "random"]


def learn(
    matrices: opt.MatricesArgument,
    out: Annotated[
        Path,
        opt.out(
            "Where to put the dictionary: a model for 'code' (.spdatoms), its atoms with β, α and the metric "
            "(.npz, .mat), or its atoms alone (.npy).",
            *(".spdatoms", ".npz", ".mat", ".npy"),
        ),
    ],
    key: opt.KeyOption = None,
    mask: opt.MaskOption = None,
    components: opt.ComponentsOption = None,
    covariance: opt.CovarianceOption = None,
    atoms: Annotated[int, opt.method_option("The number of atoms.", "--atoms", "-n")] = 64,
    metric: opt.LearningMetricOption = "stein",
    beta: opt.BetaOption = "auto",
    alpha: opt.AlphaOption = "auto",
    init: Annotated[Init, opt.method_option("The first atoms.")] = "kmeans",
    iterations: Annotated[int, opt.run_option("The greatest number of iterations.")] = 50,
    tol: Annotated[
        float, opt.run_option("Stop when the objective falls by less than this share.")
    ] = 1e-4,
    seed: opt.SeedOption = 0,
    jobs: opt.JobsOption = None,
    checkpoint: Annotated[
        Path | None,
        opt.run_option("A file written after every iteration; the same command goes on from it."),
    ] = None,
    report: opt.ReportOption = None,
    force: opt.ForceOption = False,
    verbose: opt.VerboseOption = False,
    as_json: opt.JsonOption = False,
) -> None:
    """Learn a dictionary of atoms from matrices.

    \b
    Examples:
      spdatoms learn X.npy --atoms 64 --out model.spdatoms -v
      spdatoms learn data.mat --key covs --metric jeffrey --out atoms.npz
      spdatoms learn dti.nii.gz --mask mask.nii.gz --components fsl --out m.spdatoms
      spdatoms learn X.npy --iterations 500 --checkpoint run.ckpt --out m.spdatoms
    """
    check_outputs([matrices, mask, checkpoint], [out, report], force=force)
    if checkpoint is not None:  # it goes on from one that exists
        check_outputs([matrices, mask], [checkpoint], force=True)
    from spdatoms.cli.formats.matrices import complaints_about, read_matrices
    from spdatoms.cli.models import save_model
    from spdatoms.dictionary import SPDDictionaryLearning

    read = read_matrices(matrices, key, mask, components, covariance)
    reach = common_range(read.X, matrices)
    X = read.X if reach is None else on_range(read, matrices, reach).X
    learner = SPDDictionaryLearning(
        atoms,
        metric=metric,
        beta=beta,
        alpha=alpha,
        init=init,
        max_iter=iterations,
        tol=tol,
        random_state=seed,
        checkpoint=checkpoint,
        n_jobs=jobs,
    )
    if checkpoint is not None and checkpoint.exists():
        say(f"note: {checkpoint} exists: learning goes on from it")
    shown = showing_progress("learning", wants_progress(verbose))
    with complaints_about(matrices, read.options), _resumed_later(checkpoint), shown:
        learner.fit(X)
    if out.suffix.lower() == ".spdatoms":
        save_model(out, learner, reach, read.channels)
    else:
        _write_atoms(learner, out, reach)
    title = f"{counted(len(learner.atoms_), 'atom')} of {counted(len(X), 'matrix', 'matrices')}"
    objective, iterations_done = learner.objective_, counted(learner.n_iter_, "iteration")
    summary = [
        ("objective", f"{objective[0]:.6g} → {objective[-1]:.6g} in {iterations_done}"),
        ("β, α", f"{learner.beta_:.4g}, {learner.alpha_:.4g}"),
        *([("ridge", f"{learner.ridge_:.3g}")] if learner.ridge_ else []),
        ("written to", str(out)),
    ]
    if report is not None:
        from spdatoms.cli.report.learning import write_learning_report

        said = [("learned", title), *summary]
        write_learning_report(report, learner, X, said, read)
        summary.append(("report", str(report)))
    show_table(summary, title=title)
    record("atoms", len(learner.atoms_))
    record("objective", objective)
    for name in ("beta", "alpha", "ridge"):
        record(name, getattr(learner, f"{name}_"))
    record("out", out)


@contextmanager
def _resumed_later(checkpoint: Path | None) -> Iterator[None]:
    """If there is a checkpoint, let Ctrl-C end the command; else the atoms so far are the result."""
    if checkpoint is None:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*Learning was interrupted", UserWarning)
        try:
            yield
        except UserWarning as warning:
            say(f"interrupted: the same command goes on from {checkpoint}")
            raise typer.Exit(INTERRUPTED) from warning


def _write_atoms(learner: Any, out: Path, reach: Any) -> None:
    """Write the atoms, and what 'code' needs to give the codes of the model over them."""
    from spdatoms.cli.formats.writing import write_arrays
    from spdatoms.kernels.landmarks import LandmarkKernel

    numbers = {"beta": learner.beta_, "alpha": learner.alpha_, "ridge": learner.ridge_}
    settings = numbers | {"metric": learner.metric}
    atoms = learner.atoms_ if reach is None else reach.inverse_transform(learner.atoms_)
    arrays = {"atoms": atoms, "objective": learner.objective_}
    write_arrays(out, arrays | {name: np.asarray(value) for name, value in settings.items()})
    if out.suffix.lower() == ".npy":
        say(
            f"note: {out} has the atoms only. Give "
            + "".join(f"--{name} {value!r} " for name, value in numbers.items())
            + f"--metric {learner.metric} to 'code', or write .npz, which keeps them."
        )
    if isinstance(learner.kernel_, LandmarkKernel):
        say(
            "note: this model codes in the span of landmarks. Codes over its atoms alone differ a little: "
            "write a model (.spdatoms) to get the same."
        )
