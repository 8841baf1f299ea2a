"""Estimators from model files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spdatoms._utils.typing import Array
from spdatoms.cli.channels import keep_names, kept_names
from spdatoms.cli.show import counted, say

if TYPE_CHECKING:
    from spdatoms.cli.formats.matrices import Matrices

#: The steps of a model on the common range of singular matrices.
_STEPS = ("range", "model")


def load_model(
    path: Path, abilities: Sequence[str], purpose: str, n_jobs: int | None
) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the estimator of a model file, the common range that it works on, or None, and the names of channels.

    It is refused if a method or attribute is missing.
    """
    from spdatoms.storage import load

    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    model, reach = load(path), None
    if [name for name, _ in getattr(model, "steps", ())] == list(_STEPS):
        reach, model = (step for _, step in model.steps)
    if not all(hasattr(model, ability) for ability in abilities):
        raise ValueError(f"{path} holds a {type(model).__name__}, which cannot {purpose}.")
    names = kept_names(model if reach is None else reach, path)
    return (model if n_jobs is None else model.set_params(n_jobs=n_jobs)), reach, names


def save_model(path: Path, model: Any, reach: Any, channels: Sequence[str]) -> None:
    """Write an estimator to a model file, with the common range that it works on and the names of its channels."""
    from spdatoms.storage import save

    keep_names(model if reach is None else reach, channels)
    if reach is not None:
        from sklearn.pipeline import Pipeline

        model = Pipeline(list(zip(_STEPS, (reach, model), strict=True)))
    save(model, path)


def common_range(X: Array, path: Path) -> Any:
    """Return the `SPDRange` of singular matrices, and say so; None for others."""
    from spdatoms.geometry.validation import Unfit, as_float, check_stack, find_unfit
    from spdatoms.scale.blocks import of_blocks

    check_stack(X, "X")
    found = of_blocks(lambda block: find_unfit(as_float(block, "X")), X)
    if not sum((unfit for _, unfit in found), Unfit()).singular:
        return None
    from spdatoms.channels import SPDRange

    reach = SPDRange()
    try:
        reach.fit(X)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    n = X.shape[-1]
    say(
        f"note: the rank of the matrices in {path} is {reach.rank_}, not {n}: their common range is used"
    )
    return reach


def on_range(read: Matrices, path: Path, reach: Any, *, incomplete: bool = False) -> Matrices:
    """Return matrices on a common range, or checked if that is None; the first bad one is refused with its index.

    Those that are ``incomplete`` may lack channels, whose rows and columns are NaN, if there is no common range.
    """
    from spdatoms.cli.formats.matrices import complaints_about
    from spdatoms.geometry import check_spd
    from spdatoms.geometry.channels import check_incomplete
    from spdatoms.scale.blocks import gathered, of_blocks

    lacking, count = 0, len(read.X)

    def checked(block: Array) -> Array:
        nonlocal lacking
        if not incomplete:
            return check_spd(block)
        X, known = check_incomplete(block)
        lacking += int((~known.all(axis=1)).sum())
        return X

    with complaints_about(path):
        if reach is not None:
            found = (placed for _, placed in of_blocks(reach.transform, read.X))
            return replace(read, X=gathered(found, count))
        for _, last in of_blocks(checked, read.X):
            X = last  # all of them, if they are one block
    if lacking:
        say(f"note: {lacking} of {counted(count, 'matrix', 'matrices')} lack channels")
    return replace(read, X=X) if len(X) == count else read
