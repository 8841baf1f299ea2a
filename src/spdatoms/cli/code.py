"""``spdatoms code``: sparse codes of matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from spdatoms.cli._options import (
    AlphaOption,
    BetaOption,
    JobsOption,
    KeyOption,
    MatricesArgument,
    Metric,
    MetricOption,
    VerboseOption,
    output,
    refuse_beside_model,
)
from spdatoms.cli._outputs import ForceOption, check_outputs


def code(
    context: typer.Context,
    matrices: MatricesArgument,
    out: Annotated[Path, output("Where to put the codes, (m, atoms).", ".npy", ".npz", ".csv")],
    model: Annotated[
        Path | None,
        typer.Option(help="A dictionary made by 'learn'.", rich_help_panel="Files"),
    ] = None,
    atoms: Annotated[
        Path | None,
        typer.Option(help="Or a file of atoms, (N, n, n).", rich_help_panel="Files"),
    ] = None,
    key: KeyOption = None,
    atoms_key: Annotated[
        str | None,
        typer.Option(help="Which array of the file of atoms.", rich_help_panel="Files"),
    ] = None,
    metric: MetricOption = Metric.stein,
    beta: BetaOption = "auto",
    alpha: AlphaOption = "auto",
    positive: Annotated[
        bool, typer.Option("--positive", help="Ask for y ≥ 0.", rich_help_panel="The method")
    ] = False,
    force: ForceOption = False,
    jobs: JobsOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Write the sparse codes of matrices over a dictionary.

    A model has its own metric, β and α; the options of the method are for --atoms.

    \b
    Examples:
      spdatoms code X.npy --model model.spdatoms --out codes.npy
      spdatoms code X.npy --atoms D.npy --metric jeffrey --out codes.csv
    """
    if (model is None) == (atoms is None):
        raise typer.BadParameter("give either --model or --atoms")
    if model is not None:
        refuse_beside_model(context, "atoms_key", "metric", "beta", "alpha", "positive")
    check_outputs([matrices, model, atoms], [out], force=force)
    from spdatoms.cli._arrays import read_matrices, write_arrays
    from spdatoms.cli._models import load_model
    from spdatoms.cli._show import counted, in_blocks, show_table
    from spdatoms.coding import SPDSparseCoder
    from spdatoms.geometry import check_spd

    if model is not None:
        coder = load_model(model, ("atoms_", "transform"), "give codes", jobs)
    elif atoms is not None:
        coder = SPDSparseCoder(
            metric=metric.value, beta=beta, alpha=alpha, positive=positive, n_jobs=jobs
        ).fit(check_spd(read_matrices(atoms, atoms_key), name=atoms.name))
    X = check_spd(read_matrices(matrices, key), name=matrices.name)
    codes = in_blocks(coder.transform, X, "coding", shown=verbose)
    write_arrays(out, {"codes": codes})
    nonzeros = np.count_nonzero(codes, axis=1)
    show_table(
        [
            ("codes", f"{len(codes)} over {counted(codes.shape[1], 'atom')}"),
            ("non-zeros", f"{nonzeros.mean():.1f} per code"),
            ("all zero", counted(int(np.count_nonzero(nonzeros == 0)), "code")),
            ("written to", out),
        ]
    )
