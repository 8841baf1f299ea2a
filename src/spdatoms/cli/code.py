"""``spdatoms code``: sparse codes of matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from spdatoms._utils.progress import showing_progress
from spdatoms._utils.text import counted
from spdatoms._utils.typing import FloatArray
from spdatoms.cli import options as opt
from spdatoms.cli.labelled_files import check_sizes, common_range, in_places, on_range
from spdatoms.cli.outputs import check_outputs
from spdatoms.cli.show import record, show_table, wants_progress


def code(
    context: typer.Context,
    matrices: opt.MatricesArgument,
    out: Annotated[
        Path,
        opt.out(
            "Where to put the codes, (m, atoms): .npy .npz .mat .csv, or a volume per atom (.nii.gz).",
            *opt.ARRAYS,
        ),
    ],
    model: Annotated[Path | None, opt.file_option("A dictionary made by 'learn'.")] = None,
    dictionary: Annotated[
        Path | None,
        opt.file_option(
            "Or a file of atoms, (N, n, n). One made by 'learn' also has β, α and the metric."
        ),
    ] = None,
    atoms: Annotated[Path | None, typer.Option("--atoms", hidden=True)] = None,
    key: opt.KeyOption = None,
    dictionary_key: Annotated[
        str | None,
        opt.file_option("Which array of the file of atoms.", "--dictionary-key", "--atoms-key"),
    ] = None,
    mask: opt.MaskOption = None,
    components: opt.ComponentsOption = None,
    covariance: opt.CovarianceOption = None,
    metric: opt.MetricOption = "stein",
    beta: opt.BetaOption = "auto",
    alpha: opt.AlphaOption = "auto",
    ridge: Annotated[
        float, opt.method_option("The penalty of a code's squared norm.", min=0.0)
    ] = 0.0,
    positive: Annotated[bool, opt.method_option("Ask for y ≥ 0.", "--positive")] = False,
    usage: Annotated[
        Path | None,
        opt.output(
            "Which atoms each matrix uses: the number of the largest (from 1 on, 0 if none), its share of the "
            "code, and how many; three maps in a volume (.nii.gz).",
            *opt.ARRAYS,
        ),
    ] = None,
    force: opt.ForceOption = False,
    jobs: opt.JobsOption = None,
    verbose: opt.VerboseOption = False,
    as_json: opt.JsonOption = False,
) -> None:
    """Write the sparse codes of matrices over a dictionary.

    A model has its own metric, β and α; the options of the method are for --dictionary.

    \b
    Examples:
      spdatoms code X.npy --model model.spdatoms --out codes.npy
      spdatoms code X.npy --dictionary D.npy --metric jeffrey --out codes.csv
      spdatoms code dti.nii.gz --components fsl --model m.spdatoms --out codes.nii.gz
          --usage usage.nii.gz
    """
    dictionary = dictionary or atoms
    opt.refuse_if((model is None) == (dictionary is None), "give either --model or --dictionary")
    if model is not None:
        opt.refuse_beside_model(
            context, "dictionary_key", "metric", "beta", "alpha", "ridge", "positive"
        )
    check_outputs([matrices, mask, model, dictionary], [out, usage], force=force)
    from spdatoms.cli.formats.matrices import read_matrices
    from spdatoms.cli.formats.writing import write_arrays
    from spdatoms.cli.models import load_model
    from spdatoms.coding import SPDSparseCoder
    from spdatoms.scale.blocks import blocks, gathered, of_blocks

    if model is not None:
        coder, reach, names = load_model(
            model, ("atoms_", "transform"), "give codes: make a dictionary by 'learn'", jobs
        )
    elif dictionary is not None:
        given = {"metric": metric, "beta": beta, "alpha": alpha, "ridge": ridge}
        kept = _kept_with_atoms(dictionary)
        settings = {
            name: kept.get(name, value) if not opt.is_given(context, name) else value
            for name, value in given.items()
        }
        coder = SPDSparseCoder(**settings, positive=positive, n_jobs=jobs)
        own = read_matrices(dictionary, dictionary_key)
        reach = common_range(own.X, dictionary)
        coder.fit(on_range(own, dictionary, reach).X)
        names = own.channels
    read = read_matrices(matrices, key, mask, components, covariance)
    read = in_places(read, names, matrices, whole=reach is not None)
    check_sizes(read.X, matrices, (reach or coder).n_features_in_, model or dictionary)
    read = on_range(read, matrices, reach, incomplete=True)
    with showing_progress("coding", wants_progress(verbose)):
        found = (codes for _, codes in of_blocks(coder.transform, read.X))
        codes = gathered(found, len(read.X))
    write_arrays(out, {"codes": codes}, read.volume)
    nonzeros = np.concatenate([np.count_nonzero(some, axis=1) for _, some in blocks(codes)])
    rows = [
        ("codes", f"{len(codes)} over {counted(codes.shape[1], 'atom')}"),
        ("non-zeros", f"{nonzeros.mean():.1f} per code"),
        ("all zero", counted(int(np.count_nonzero(nonzeros == 0)), "code")),
        ("written to", out),
    ]
    if usage is not None:
        used = np.concatenate([_usage(some) for _, some in blocks(codes)])
        write_arrays(usage, {"usage": used}, read.volume)
        rows.append(("usage", usage))
    show_table(rows)
    record("codes", len(codes))
    record("atoms", codes.shape[1])
    record("nonzeros_per_code", float(nonzeros.mean()))
    record("out", out)


def _usage(codes: FloatArray) -> FloatArray:
    """Return which atoms the codes use: the number of the largest, its share of ‖y‖₁, how many there are."""
    sizes = np.abs(codes)
    total = sizes.sum(axis=1)
    used = total > 0
    largest = np.where(used, sizes.argmax(axis=1) + 1, 0)
    share = sizes.max(axis=1) / np.where(used, total, 1.0)
    columns = [largest, share, np.count_nonzero(codes, axis=1)]
    return np.stack(columns, axis=1).astype(np.float32)


def _kept_with_atoms(path: Path) -> dict[str, Any]:
    """Return the metric, β, α and ridge that 'learn' has written beside the atoms, if it has."""
    from spdatoms.cli.formats.arrays import read_arrays

    if not path.is_file() or path.suffix.lower() not in (".npz", ".mat"):
        return {}
    arrays = read_arrays(path)
    if not {"atoms", "beta", "alpha", "metric"} <= set(arrays):
        return {}
    names = ("beta", "alpha", "ridge")  # earlier versions wrote no ridge
    numbers = {name: float(arrays[name].item()) for name in names if name in arrays}
    return {**numbers, "metric": str(arrays["metric"].item())}
