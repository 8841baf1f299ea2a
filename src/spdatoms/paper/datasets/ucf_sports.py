"""UCF sports actions: 150 films of ten actions, with the region of interest of every frame."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from spdatoms._utils import parameters as allow
from spdatoms._utils.extras import import_extra
from spdatoms._utils.images import image_files, read_colour
from spdatoms._utils.typing import Array
from spdatoms.datasets.dataset import Dataset, Samples
from spdatoms.paper.datasets._problems import FOLDER, PathLike, Problems, dataset

#: The folders of the release, the action that each belongs to, and its number of films.
FOLDERS = {
    "Diving-Side": ("diving", 14),
    "Golf-Swing-Back": ("golf swing", 5),
    "Golf-Swing-Front": ("golf swing", 8),
    "Golf-Swing-Side": ("golf swing", 5),
    "Kicking-Front": ("kicking", 10),
    "Kicking-Side": ("kicking", 10),
    "Lifting": ("lifting", 6),
    "Riding-Horse": ("riding horse", 12),
    "Run-Side": ("running", 13),
    "SkateBoarding-Front": ("skateboarding", 12),
    "Swing-Bench": ("swing bench", 20),
    "Swing-SideAngle": ("swing side", 13),
    "Walk-Front": ("walking", 22),
}
ACTIONS = tuple(sorted({action for action, _ in FOLDERS.values()}))

_LAYOUT = (
    "'ucf action/Diving-Side/001/…' or 'Diving-Side/001/…', frames (.jpg) or .avi, and gt/*.txt"
)


@dataclass(frozen=True)
class Clip:
    """One film: its frames as files, or a film file, and the boxes (frames, 4) of the person in it."""

    folder: Path
    frames: tuple[Path, ...]
    film: Path | None
    boxes: Array


@allow.checks(**FOLDER, size=allow.NONE | allow.IMAGE_SIZE)
def load_ucf_sports(
    folder: PathLike, *, size: tuple[int, int] | None = (64, 64), on_error: str = "raise"
) -> Dataset:
    """Load the films of ten actions, each frame cut to its region of interest.

    Parameters
    ----------
    folder : path-like
        The unpacked release: ``ucf action/Diving-Side/001/`` and so on, each with its frames as
        .jpg files or a film (.avi), and ``gt/*.txt``, one file per frame that begins with x, y,
        width and height of a box.
    size : (int, int) or None, default=(64, 64)
        Height and width to which the regions are resampled; None gives whole frames.
    on_error : {"raise", "warn", "ignore"}, default="raise"
        What to do about folders, boxes or frames that are missing or cannot be read: stop, or leave
        those films out with or without a warning.

    Returns
    -------
    Dataset
        ``data`` are colour films (frames, height, width, 3), read when they are used, and ``boxes``
        their regions; frames without a box are left out. ``target`` is the action, ``groups`` the
        film, for leave-one-out.
    """
    inside = Path(folder).expanduser() / "ucf action"
    problems = Problems("UCF sports", inside if inside.is_dir() else folder, _LAYOUT, on_error)
    clips = list[Clip]()
    for name in problems.folders(FOLDERS):
        directories = sorted(path for path in (problems.folder / name).iterdir() if path.is_dir())
        problems.expect(f"films of {name}", len(directories), FOLDERS[name][1])
        for directory in directories:
            with problems.noted(directory):
                clips.append(_checked_clip(directory))
    problems.report(len(clips))
    folders = [problems.name(clip.folder) for clip in clips]
    labels = [FOLDERS[clip.folder.parent.name][0] for clip in clips]
    return dataset(
        Samples(clips, partial(read_clip, size=size)),
        labels,
        folders,
        folders,
        f"UCF sports actions: {len(clips)} films of {len(set(labels))} actions.",
        order=ACTIONS,
        boxes=Samples(clip.boxes for clip in clips),
    )


def _checked_clip(directory: Path) -> Clip:
    """Find the files of a film, and read its frames once to check them."""
    frames = sorted(image_files(directory), key=_natural)
    films = sorted(path for path in directory.iterdir() if path.suffix.lower() == ".avi")
    if not frames and not films:
        raise ValueError("has neither frames (.jpg) nor a film (.avi)")
    boxes = _boxes(directory / "gt")
    if {path.stem for path in frames} & boxes.keys():  # a box has the name of its frame
        frames = [path for path in frames if path.stem in boxes]
        boxes = {path.stem: boxes[path.stem] for path in frames}
    film = None if frames else films[0]
    clip = Clip(directory, tuple(frames[: len(boxes)]), film, np.array(list(boxes.values())))
    n_frames = len(read_clip(clip, size=(2, 2)))
    if n_frames == 0:
        raise ValueError("its film has no frame that can be read")
    return replace(clip, boxes=clip.boxes[:n_frames])


def _natural(path: Path) -> list[tuple[bool, int, str]]:
    """Return a key that sorts 9 before 10."""
    parts = re.split(r"(\d+)", path.name)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _boxes(folder: Path) -> dict[str, list[float]]:
    """Return the box of every gt/*.txt by the name of the file."""
    files = sorted(folder.glob("*.txt"), key=_natural) if folder.is_dir() else []
    if not files:
        raise ValueError("has no region of interest, gt/*.txt")
    boxes: dict[str, list[float]] = {}
    for path in files:
        try:
            box = [float(word) for word in path.read_text(encoding="latin-1").split()[:4]]
        except ValueError:
            box = []
        if len(box) != 4 or min(box[2:]) <= 0:
            raise ValueError(f"gt/{path.name} does not begin with x, y, width and height")
        boxes[path.stem] = box
    return boxes


def read_clip(clip: Clip, size: tuple[int, int] | None) -> Array:
    """Return the frames that have a box, cut to it and resampled, (frames, height, width, 3)."""
    frames = _frames(clip)
    if size is None:
        return np.stack(list(frames))
    cv2 = import_extra("cv2", extra="vision")
    cut = [
        cv2.resize(_cut(frame, box), size[::-1], interpolation=cv2.INTER_AREA)
        for frame, box in zip(frames, clip.boxes, strict=False)
    ]
    return np.stack(cut) if cut else np.empty((0, *size, 3), dtype=np.uint8)


def _frames(clip: Clip) -> Iterator[Array]:
    """Yield the frames (height, width, 3) one by one, as many as have a box."""
    for path in clip.frames:
        try:
            yield read_colour(path)
        except ValueError as error:
            raise ValueError(f"{path.name} {error}") from error
    if clip.film is not None:
        cv2 = import_extra("cv2", extra="vision")
        film = cv2.VideoCapture(str(clip.film))
        for _ in clip.boxes:
            there, frame = film.read()
            if not there:
                break
            yield cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
        film.release()


def _cut(frame: Array, box: Array) -> Array:
    """Return the part of a frame inside a box, which may exceed the frame."""
    x, y, width, height = np.round(box).astype(int)
    part = frame[max(y, 0) : max(y + height, 0), max(x, 0) : max(x + width, 0)]
    if not part.size:
        raise ValueError(f"has the box {box.tolist()} outside a frame of {frame.shape[:2]} pixels")
    return part
