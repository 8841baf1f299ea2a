"""ETHZ pedestrians for re-identification, cropped by Schwartz and Davis: three sequences."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from spdatoms._utils import parameters as allow
from spdatoms._utils.images import image_files, read_colour
from spdatoms.datasets.dataset import Dataset, Samples
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset

#: How many people and images a sequence has.
SEQUENCES = {"seq1": (83, 4857), "seq2": (35, 1936), "seq3": (28, 1762)}

_LAYOUT = "seq1/p001/*.png …, seq2, seq3"


@allow.checks(
    **FOLDER, sequence=allow.NONE | allow.integer(1, 3), size=allow.NONE | allow.IMAGE_SIZE
)
def load_ethz(
    folder: PathLike,
    *,
    sequence: int | None = None,
    size: tuple[int, int] | None = (64, 32),
    on_error: str = "raise",
) -> Dataset:
    """Load the images of pedestrians.

    Parameters
    ----------
    folder : path-like
        The unpacked release: ``seq1/p001/*.png`` and so on.
    sequence : {1, 2, 3}, default=None
        One sequence. None takes all of them; people of different sequences are different.
    size : (int, int) or None, default=(64, 32)
        Height and width to which the images are resampled when they are read; None keeps theirs.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        What to do if folders are missing, counts are not those of the release, or images cannot be
        read: stop, or leave them out with or without a warning.

    Returns
    -------
    Dataset
        ``data`` are colour images (height, width, 3), read when they are used; ``target`` is the
        person (``seq1/p001``), ``groups`` the sequence (``seq1``).
    """
    problems = Problems("ETHZ", folder, _LAYOUT, on_error)
    images: list[Path] = []
    for name in problems.folders([f"seq{sequence}"] if sequence else SEQUENCES):
        images += _read_sequence(problems.folder / name, *SEQUENCES[name], problems)
    problems.report(len(images))
    people = [f"{path.parent.parent.name}/{path.parent.name}" for path in images]
    return dataset(
        Samples(images, partial(read_colour, size=size)),
        people,
        [path.parent.parent.name for path in images],
        map(problems.name, images),
        f"ETHZ pedestrians: {len(images)} images of {len(set(people))} people.",
    )


def _read_sequence(directory: Path, n_people: int, n_images: int, problems: Problems) -> list[Path]:
    """Return the images of a sequence that can be read."""
    people = sorted(path for path in directory.iterdir() if path.is_dir())
    problems.expect(f"people in {directory.name}", len(people), n_people)
    good: list[Path] = []
    found = 0
    for person in people:
        images = list(image_files(person))
        found += len(images)
        if not images:
            problems.add("is a folder without images", person)
        for path in images:
            with problems.noted(path):
                read_colour(path)
                good.append(path)
    problems.expect(f"images in {directory.name}", found, n_images)
    return good
