"""Samples that become matrices: signals of MNE's epochs or arrays, and images and skeletons in a folder per class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from spdatoms._utils.array_files import refusing_damage
from spdatoms._utils.extras import import_extra
from spdatoms._utils.typing import Array, Floats
from spdatoms._utils.untrusted_files import RefusedError

EPOCHS_FILES = (".fif", ".fif.gz")


#: What other files of MNE hold, and what to do with it.
_OTHER = {
    "evoked": "an average of trials: save the epochs before they are averaged",
    "raw": "a continuous recording: cut it into epochs (mne.make_fixed_length_epochs) and save those",
    "cov": "one covariance: save it as an array, np.save('X.npy', covariance.data[None])",
}


#: How covariances are estimated from signals.
Covariance = Literal["oas", "lwf", "scm"]


def is_epochs(path: Path) -> bool:
    """Return whether a file has epochs, with an event for each."""
    return path.name.lower().endswith(EPOCHS_FILES)


def read_epochs(path: Path) -> tuple[Array, Array, dict[str, Floats], int]:
    """Return signals, the name of the event of every epoch, channels by their names, and the number of all channels.

    Signals are those of good data channels. What is known of such a channel is its place (3,) in metres.
    """
    mne = import_extra("mne", extra="eeg")
    with refusing_damage("a file of MNE epochs"):
        _check_parts(path)
        kind = mne.what(path)
        if kind in _OTHER:
            raise RefusedError(f"holds {_OTHER[kind]}")
        epochs: Any = mne.read_epochs(path, preload=True, verbose="error")
        kinds, count = epochs.get_channel_types(unique=True), len(epochs.ch_names)
        try:
            chosen = epochs.pick("data", exclude="bads", verbose="error")
        except ValueError as error:
            raise RefusedError(
                "has no good channel of data, such as EEG or MEG: its channels are of the type "
                f"{', '.join(kinds)}, and {len(epochs.info['bads'])} of {count} are marked as bad"
            ) from error
        signals = chosen.get_data(verbose="error")
    names = {code: name for name, code in epochs.event_id.items()}
    events = np.array([names[code] for code in epochs.events[:, 2]], dtype=str)
    return signals, events, {one["ch_name"]: one["loc"][:3] for one in chosen.info["chs"]}, count


def _check_parts(path: Path) -> None:
    """Refuse a file whose further parts lie elsewhere, or never end: MNE opens whatever name a part gives."""
    fiff = import_extra("mne._fiff.open", extra="eeg")  # not public, as all that reads no data is
    seen = {path.resolve()}
    part = path
    while True:
        file, tree, _ = fiff.fiff_open(part, verbose="error")
        with file:
            found = fiff._get_next_fname(file, part, tree)
        if found is None:
            return
        part = Path(found)
        if part.resolve() in seen or part.resolve().parent != path.resolve().parent:
            raise RefusedError(
                f"continues in {str(part)!r}, but only parts in the same folder are read, each once. Save the "
                "epochs anew"
            )
        seen.add(part.resolve())


def covariances(signals: Array, estimator: Covariance) -> Array:
    """Return the covariance of every trial over time, shrunk towards a multiple of the identity.

    ``oas`` and ``lwf`` choose the shrinkage by the formulas of Chen and of Ledoit and Wolf; ``scm`` is the
    plain sample covariance, which is singular if there are fewer times than channels.
    """
    from sklearn.covariance import empirical_covariance, ledoit_wolf, oas

    estimate = {
        "oas": lambda samples: oas(samples)[0],
        "lwf": lambda samples: ledoit_wolf(samples)[0],
        "scm": empirical_covariance,
    }[estimator]
    if not signals.size:
        raise ValueError(f"holds no signals: the shape is {signals.shape}")
    bad = np.flatnonzero(~np.isfinite(signals).all(axis=(1, 2)))
    if len(bad):
        raise ValueError(f"the signals of trial {bad[0]} are not finite: leave that trial out")
    # Each trial in its own unit, because products of volts or teslas are tiny.
    trials = np.asarray(signals, dtype=np.float64)
    units = np.maximum(abs(trials).max(axis=(1, 2)), np.finfo(np.float64).tiny)
    scaled = trials / units[:, None, None]
    estimates = np.stack([estimate(trial.T) for trial in scaled])
    return np.asarray(estimates * (units**2)[:, None, None])


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder of samples, and not a Zarr group."""
    return path.suffix.lower() != ".zarr" and path.is_dir()


def has_classes(path: Path) -> bool:
    """Return whether a path is a folder of samples with a folder per class."""
    return is_folder(path) and any(
        p.is_dir() and not p.name.startswith(".") for p in path.iterdir()
    )


def folder_matrices(path: Path) -> tuple[Array, str, Sequence[Path]]:
    """Return covariances of the samples of a folder, what they are of, and the photographs among the samples.

    Skeletons are described by the positions of joints, images in colour by colours and their derivatives, and images
    by grey values and their derivatives if one of them is grey.
    """
    from spdatoms import descriptors
    from spdatoms.datasets import load_folder
    from spdatoms.datasets.folders import folder_files, is_skeletons

    files, _ = folder_files(path)
    if is_skeletons(files[0]):
        X = descriptors.JointCovariance().transform(load_folder(path).data)
        return X, "JointCovariance", ()
    if any(map(_is_grey, files)):
        images = load_folder(path, grey=True).data
        X = descriptors.TextureCovariance(block=None).transform(images)
        return X, "TextureCovariance", files
    X = descriptors.PersonCovariance().transform(load_folder(path).data)
    return X, "PersonCovariance", files


def _is_grey(path: Path) -> bool:
    """Return whether an image has no colours, but for those of JPEG's rounding."""
    from spdatoms._utils.images import read_grey

    try:
        read_grey(path)
    except ValueError as error:
        if "colour" in str(error):
            return False
        raise ValueError(f"{path} {error}.") from error
    return True
