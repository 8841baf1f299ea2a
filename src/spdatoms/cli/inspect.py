"""``spdatoms inspect``: the properties of the matrices in a file, and how to repair them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from spdatoms._utils.progress import showing_progress
from spdatoms._utils.typing import Array
from spdatoms.cli import options as opt
from spdatoms.cli.outputs import check_outputs
from spdatoms.cli.show import record, say, show_lines, show_table, wants_progress

#: The greatest number of unfit matrices that are listed; the others are counted.
_LISTED = 10
#: The greatest numbers of matrices for spectra and for kernels, evenly spaced.
_SPECTRA, _KERNEL = 2000, 500

_ZERO, _EMPTY, _LACKS = "is zero", "has no channel", "lacks channel"
#: The complaints of `check_spd`, and that a matrix is zero or lacks channels, with advice.
_ADVICE = {
    _EMPTY: "leave it out, as --repaired with --drop-bad does",
    _LACKS: "classify or code it as it is; to train on it, fill it in with SPDImputer in Python",
    "is not finite": "leave it out, as --repaired with --drop-bad does, or estimate it anew",
    "is not symmetric": "symmetrise it, as --repaired does",
    "is not Hermitian": "symmetrise it, as --repaired does",
    _ZERO: "leave it out, as --repaired with --drop-bad does, or estimate it anew",
    "is not positive definite": "project it, as --repaired does",
    "is singular": "work on the common range if there is one, or add a ridge, as --repaired does",
}

_LOST = ("is not finite", _ZERO, _EMPTY, _LACKS)  # what cannot be repaired


def inspect(
    matrices: opt.MatricesArgument,
    key: opt.KeyOption = None,
    mask: opt.MaskOption = None,
    components: opt.ComponentsOption = None,
    covariance: opt.CovarianceOption = None,
    repaired: Annotated[
        Path | None,
        opt.output(
            "Write the matrices made positive definite: symmetrised, projected, and with a ridge "
            "where they were singular.",
            *(".npy", ".npz", ".mat", ".nii", ".nii.gz"),
        ),
    ] = None,
    drop_bad: Annotated[
        bool,
        opt.file_option(
            "Leave out of --repaired what cannot be repaired: matrices that are zero or not finite. "
            "An .npz or .mat file also gets the indices of those that were kept.",
            "--drop-bad",
        ),
    ] = False,
    force: opt.ForceOption = False,
    as_json: opt.JsonOption = False,
) -> None:
    """Show which matrices are not SPD and why, their scale, rank and condition, β and the kernel.

    The exit status is 1 if a matrix is not positive definite, unless --repaired wrote them.

    \b
    Examples:
      spdatoms inspect X.npy
      spdatoms inspect subject1.mat --key covariances
      spdatoms inspect X.npy --repaired X_spd.npy --drop-bad
      spdatoms inspect dti.nii.gz --mask mask.nii.gz --components fsl
    """
    lonely = drop_bad and repaired is None
    opt.refuse_if(lonely, "--drop-bad needs --repaired, the file for what is kept")
    check_outputs([matrices, mask], [repaired], force=force)
    from spdatoms.cli.formats.matrices import read_matrices
    from spdatoms.cli.formats.writing import write_arrays
    from spdatoms.geometry.recognition import stack_advice
    from spdatoms.geometry.validation import as_float
    from spdatoms.scale.blocks import blocks, gathered, some_rows
    from spdatoms.scale.budget import is_streamed

    read = read_matrices(matrices, key, mask, components, covariance)
    if not read.X.size:
        raise ValueError(f"{matrices} holds no matrix: its shape is {read.X.shape}.")
    X = read.X if is_streamed(read.X) else as_float(read.X, str(matrices))
    with showing_progress("checking", wants_progress(False)):
        unfit = unfit_matrices(X)
    fit = np.setdiff1d(np.arange(len(X)), list(unfit))
    summary = [*_summary(X, unfit, fit), *_range(X, unfit)]
    show_table(summary, title=str(matrices))
    record("positive_definite", len(fit))
    record("unfit", {str(i): reason for i, reason in unfit.items()})
    record("summary", dict(summary))
    if unfit:
        first = list(unfit)[:_LISTED]
        places = [""] * len(first)
        if read.volume is not None:
            places = [f", voxel {voxel}" for voxel in read.volume.voxels(first)]
        listed = [(f"{i}{place}", unfit[i]) for i, place in zip(first, places, strict=True)]
        if len(unfit) > _LISTED:
            listed.append(("…", f"and {len(unfit) - _LISTED} more"))
        show_table(listed, header=("index", f"unfit matrices ({len(unfit)})"))
        kinds = Counter(_kind(reason) for reason in unfit.values())
        advice = [(str(count), kind, _ADVICE[kind]) for kind, count in kinds.most_common()]
        show_table(advice, header=("matrices", "what", "advice"))
        if 2 * len(unfit) > len(X) and (likeness := stack_advice(X)):
            say(f"note: {likeness}")
    if len(fit) > 1:
        part = fit[:: -(-len(fit) // _KERNEL)]
        header = ("kernel", "suggested β", "Gram matrix", "least / greatest eigenvalue")
        title = f"exp(−β·d) of {len(part)} matrices"
        kernels = _kernels(some_rows(X, part))
        show_table(kernels, header=header, title=title)
        record("kernels", {metric: {"beta": float(beta)} for metric, beta, *_ in kernels})
    if repaired is not None:
        lost = [i for i, why in unfit.items() if _kind(why) in _LOST]
        if lost and not drop_bad:
            raise ValueError(
                f"{matrices.name}[{lost[0]}] {unfit[lost[0]]}; it cannot be repaired: --drop-bad leaves it out."
            )
        kept = np.setdiff1d(np.arange(len(X)), lost)
        bad = np.array(list(unfit), dtype=np.intp)
        good = (repaired_block(block, rows, bad, kept) for rows, block in blocks(X))
        whole = gathered(good, len(kept))
        volume = None if read.volume is None else read.volume.keeping(kept)
        write_arrays(repaired, {"matrices": whole, "kept": kept}, volume)
        show_lines(f"Repaired matrices: {repaired}")
        if lost:
            indices = ", ".join(map(str, lost[:_LISTED])) + (", …" if len(lost) > _LISTED else "")
            show_lines(f"Left out: {len(lost)} (index {indices}). Leave their labels out, too.")
    elif unfit:
        raise typer.Exit(1)


def unfit_matrices(X: Array) -> dict[int, str]:
    """Return why matrices are not positive definite, by index, for all that are not."""
    from spdatoms.geometry.validation import as_float, is_spd
    from spdatoms.scale.blocks import of_blocks

    def complaints(block: Array) -> dict[int, str]:
        block = as_float(block, "X")
        return {int(i): _complaint(block[i : i + 1]) for i in np.flatnonzero(~is_spd(block))}

    found = of_blocks(complaints, X)
    return {rows.start + i: why for rows, unfit in found for i, why in unfit.items()}


def _complaint(X: Array) -> str:
    """Return the complaint about the first unfit matrix, without advice, or an empty string."""
    from spdatoms.geometry.channels import known_channels
    from spdatoms.geometry.validation import find_unfit

    unfit = find_unfit(X)
    if unfit.count and not (known := known_channels(X)[unfit.first]).all():
        lacking = np.flatnonzero(~known)
        if not known.any():
            return _EMPTY
        return f"{_LACKS}{'s'[: len(lacking) > 1]} {', '.join(map(str, lacking))}"
    if unfit.count and not X[unfit.first].any():
        return _ZERO
    return unfit.complaint.partition(";")[0]


def _summary(X: Array, unfit: dict[int, str], fit: Array) -> list[tuple[str, str]]:
    from spdatoms.cli.formats.matrices import spectra
    from spdatoms.geometry.validation import float_type

    m, n, _ = X.shape
    verb = "is" if len(unfit) == 1 else "are"
    others = f", {len(unfit)} {verb} not" if unfit else " (all)"
    rows = [
        ("matrices", f"{m} of {n}×{n}, {float_type(X.dtype, 'X')}"),
        ("positive definite", f"{len(fit)}{others}"),
    ]
    found = spectra(X, _SPECTRA)
    if found is None:
        return rows
    eigenvalues, scale, ranks = found
    rows.append(("mean eigenvalue", f"{scale.min():.3g} to {scale.max():.3g}"))
    rows.append(("rank", f"{n} (full)" if ranks.min() == n else f"{ranks.min()} to {ranks.max()}"))
    positive = eigenvalues[:, 0] > 0
    if positive.any():
        condition = eigenvalues[positive, -1] / eigenvalues[positive, 0]
        spread = f"median {np.median(condition):.3g}, largest {condition.max():.3g}"
        rows.append(("condition number", spread))
    if len(ranks) < m:
        rows.append(("", f"eigenvalue, rank and condition are those of {len(ranks)} matrices"))
    return rows


def _range(X: Array, unfit: dict[int, str]) -> list[tuple[str, str]]:
    """Return what is common to singular matrices: their range, copies of channels, and flat ones."""
    low = (why.startswith("is singular") or why.endswith(" is 0") for why in unfit.values())
    if not unfit or not all(low):
        return []
    from spdatoms.channels.rank import SPDRange, dependent_channels

    copies, flat = dependent_channels(X)
    rows = [("copies", "channels " + " and ".join(map(str, group))) for group in copies]
    rows += [("flat", f"channel {channel}") for channel in flat]
    try:
        rank = SPDRange().fit(X).rank_
    except ValueError as error:
        return [("common range", f"none: {error}"), *rows]
    used = "'learn', 'code' and 'classify' use it, in Python SPDRange() does"
    return [("common range", f"dimension {rank} of {X.shape[-1]}; {used}"), *rows]


def _kind(reason: str) -> str:
    return next(kind for kind in _ADVICE if reason.startswith(kind))


def _kernels(X: Array) -> list[tuple[str, str, str, str]]:
    """Return the automatic β of Stein and Jeffrey, and whether their Gram matrices are indefinite."""
    # Not `DivergenceKernel`, which needs scikit-learn: that would take longer than everything else here.
    from spdatoms._utils.threads import one_blas_thread
    from spdatoms.divergences.hermitian import over
    from spdatoms.divergences.registry import get_divergence
    from spdatoms.geometry.hermitian import as_double
    from spdatoms.kernels.bandwidth import automatic_beta, kernel_values
    from spdatoms.kernels.correction import correct_gram

    rows = []
    for metric in ("stein", "jeffrey"):
        divergence = over(get_divergence(metric), X)
        divergences = divergence.pairwise(divergence.prepare(as_double(X)))
        beta = automatic_beta(divergences)
        with one_blas_thread():  # more of them only wait for each other in so small a problem
            gram = correct_gram(kernel_values(divergences, beta))
        kind = "indefinite: will be corrected" if gram.indefinite else "positive semidefinite"
        least, greatest = gram.eigenvalues()
        ratio = f"{least / greatest:.2g}"
        rows.append((metric, f"{beta:.4g}", kind, ratio))
    return rows


def repaired_block(X: Array, rows: slice, unfit: Array, kept: Array) -> Array:
    """Return what ``--repaired`` writes for some rows: the matrices that are kept, the unfit among them repaired."""
    from spdatoms.geometry import nearest_spd, regularise
    from spdatoms.geometry.validation import as_float

    own, bad = (i[(i >= rows.start) & (i < rows.stop)] - rows.start for i in (kept, unfit))
    bad, whole = np.intersect1d(own, bad), np.array(as_float(X, "X"))
    for i in bad:
        whole[i] = (whole[i] + whole[i].T) / 2
    indefinite = [i for i in bad if _complaint(whole[i][None])]
    if indefinite:
        whole[indefinite] = regularise(nearest_spd(whole[indefinite]))
    return whole if len(own) == len(whole) else whole[own]
