"""Signals, (trials, channels, times), from epochs of MNE or arrays, and their covariances."""

from __future__ import annotations

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


def read_epochs(path: Path) -> tuple[Array, Array, dict[str, Floats]]:
    """Return the signals of all good channels, the name of the event of every epoch, and the channels by their names.

    What is known of a channel is its place (3,) in metres.
    """
    mne = import_extra("mne", extra="eeg")
    with refusing_damage("a file of MNE epochs"):
        _check_parts(path)
        kind = mne.what(path)
        if kind in _OTHER:
            raise RefusedError(f"holds {_OTHER[kind]}")
        epochs: Any = mne.read_epochs(path, preload=True, verbose="error")
        chosen = epochs.pick("data", exclude="bads", verbose="error")
        signals = chosen.get_data(verbose="error")
    names = {code: name for name, code in epochs.event_id.items()}
    events = np.array([names[code] for code in epochs.events[:, 2]], dtype=str)
    return signals, events, {one["ch_name"]: one["loc"][:3] for one in chosen.info["chs"]}


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
