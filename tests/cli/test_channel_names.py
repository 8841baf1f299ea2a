"""Channels of epochs are matched by their names: between training, queries and saved models."""

from __future__ import annotations

import numpy as np
import pytest

from _commands import invoke, run
from spdatoms import SPDSparseClassifier
from spdatoms.cli.formats import labels, matrices
from spdatoms.cli.formats.samples import covariances
from spdatoms.storage import load, save

NAMES = ("Fp1", "C3", "C4", "Oz")


def signals(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that only C3 and C4 tell apart, by their gains."""
    trials = np.random.default_rng(seed).standard_normal((40, 4, 50))
    trials[:20, 1] *= 2.0
    trials[20:, 2] *= 2.0
    return trials, np.repeat(["left", "right"], 20)


@pytest.fixture
def epochs(tmp_path, monkeypatch):
    """Files of epochs, written by a function of their names, seeds and channels; they need no MNE."""
    kept = {}

    def write(name, seed, channels=NAMES):
        trials, y = signals(seed)
        kept[tmp_path / name] = (
            trials[:, [NAMES.index(c) for c in channels]],
            y,
            dict.fromkeys(channels),
            len(channels),
        )
        (tmp_path / name).touch()
        return tmp_path / name

    for module in (matrices, labels):
        monkeypatch.setattr(module, "read_epochs", kept.__getitem__)
    return write


def predicted(tmp_path, *options):
    """Return predictions of a command, and what it says."""
    said = run("classify", *options, "-o", tmp_path / "p.npz", "--force")
    with np.load(tmp_path / "p.npz") as arrays:
        return arrays["probabilities"], said


@pytest.mark.parametrize("from_model", [False, True])
@pytest.mark.parametrize(
    ("channels", "note"),
    [
        (NAMES, None),
        (NAMES[::-1], "te-epo.fif has its channels in another order: they are matched by"),
        (NAMES[:3], "te-epo.fif lacks Oz"),
        (("C4", "Oz", "C3"), "te-epo.fif lacks Fp1; it has its channels in another order"),
    ],
)
def test_queries(tmp_path, epochs, channels, note, from_model):
    train, test = epochs("tr-epo.fif", 0), epochs("te-epo.fif", 1, channels)
    (X, y), (Z, _) = signals(0), signals(1)
    classifier = SPDSparseClassifier().fit(covariances(X, "oas"), y)
    expected = classifier.predict_proba(covariances(Z, "oas"))
    options = ("--train", train, "--method", "sparse")
    if from_model:
        model = tmp_path / "m.spdatoms"
        run("classify", *options, "--save-model", model)
        options = ("--model", model)
    found, said = predicted(tmp_path, *options, "--test", test)
    if len(channels) == len(NAMES):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    # Two of the channels tell the classes apart, wherever they are in the file.
    assert np.mean(np.where(found[:, 0] > 0.5, "left", "right") == y) > 0.9
    assert ("note: " in said) == (note is not None)
    assert note is None or note in said


def test_channels_that_training_lacks_are_left_out(tmp_path, epochs):
    train, test = epochs("tr-epo.fif", 0, NAMES[1:]), epochs("te-epo.fif", 1, NAMES[:3])
    found, said = predicted(tmp_path, "--train", train, "--test", test)
    assert "te-epo.fif lacks Oz; it has Fp1, which training lacks and which is left out" in said
    assert "40 of 40 matrices lack channels" in said
    assert np.mean((found[:, 0] > 0.5) == (signals(1)[1] == "left")) > 0.9


def test_no_channel_in_common(tmp_path, epochs):
    train, test = epochs("tr-epo.fif", 0, NAMES[:2]), epochs("te-epo.fif", 1, NAMES[2:])
    said = run("classify", "--train", train, "--test", test, code=1)
    assert (
        "has no channel of the training matrices: its channels are C4, Oz, theirs Fp1, C3" in said
    )


def test_codes(tmp_path, epochs):
    train, model = epochs("tr-epo.fif", 0), tmp_path / "m.spdatoms"
    run("learn", train, "-n", 4, "--out", model)
    for name, channels in (("a-epo.fif", NAMES), ("b-epo.fif", NAMES[::-1])):
        run("code", epochs(name, 1, channels), "--model", model, "-o", tmp_path / f"{name}.npy")
        dictionary = epochs(f"d{name}", 0, channels)
        run("code", train, "--dictionary", dictionary, "-o", tmp_path / f"d{name}.npy")
    for kind in ("", "d"):
        codes = [np.load(tmp_path / f"{kind}{name}.npy") for name in ("a-epo.fif", "b-epo.fif")]
        np.testing.assert_allclose(*codes, rtol=1e-6, atol=1e-9)


def test_arrays_have_no_names(tmp_path, epochs):
    model = tmp_path / "m.spdatoms"
    run("classify", "--train", epochs("tr-epo.fif", 0), "--save-model", model)
    np.save(tmp_path / "Z.npy", covariances(signals(1)[0], "oas"))
    found, said = predicted(tmp_path, "--model", model, "--test", tmp_path / "Z.npy")
    assert "note:" not in said
    np.testing.assert_array_equal(found, load(model).predict_proba(np.load(tmp_path / "Z.npy")))


def test_common_range_needs_all_channels(tmp_path, epochs, monkeypatch):
    train, test = epochs("tr-epo.fif", 0), epochs("te-epo.fif", 1, NAMES[:3])
    read = matrices.read_epochs
    referenced = np.eye(4) - 0.25

    def by_average(path):
        trials, *others, count = read(path)
        return (referenced @ trials if count == 4 else trials), *others, count

    monkeypatch.setattr(matrices, "read_epochs", by_average)
    options, model = ("--train", train, "--covariance", "scm"), tmp_path / "m.spdatoms"
    said = run("classify", *options, "--test", test, code=1)
    assert "te-epo.fif lacks Oz, but a common range of singular matrices needs all channels" in said
    run("classify", *options, "--save-model", model)
    expected, _ = predicted(tmp_path, "--model", model, "--test", train, "--covariance", "scm")
    turned = epochs("turned-epo.fif", 0, NAMES[::-1])
    found, said = predicted(tmp_path, "--model", model, "--test", turned, "--covariance", "scm")
    assert "another order" in said
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "names",
    [
        np.array(NAMES[:3]),
        np.array([*NAMES[:3], "C3"]),
        np.arange(4),
        np.array([NAMES]),
        list(NAMES),
        "Fp1",
    ],
)
def test_names_of_a_model_that_are_none(tmp_path, epochs, names):
    X, y = signals(0)
    classifier = SPDSparseClassifier().fit(covariances(X, "oas"), y)
    classifier.channel_names_ = names
    save(classifier, tmp_path / "m.spdatoms")
    test = epochs("te-epo.fif", 1)
    said = run("classify", "--model", tmp_path / "m.spdatoms", "--test", test, code=1)
    assert "channel_names_ has not one name for each channel of the model" in said


def test_files_of_mne(tmp_path):
    mne = pytest.importorskip("mne")
    files = []
    for seed, channels in ((0, NAMES), (1, NAMES[::-1])):
        trials, y = signals(seed)
        order = [NAMES.index(c) for c in channels]
        info = mne.create_info(list(channels), 100.0, "eeg")
        events = np.stack([np.arange(40), np.zeros(40), y == "right"], axis=1).astype(int)
        written = mne.EpochsArray(
            1e-5 * trials[:, order], info, events, event_id={"left": 0, "right": 1}, verbose="error"
        )
        written.info["bads"] = ["Oz"] if seed else []
        files.append(tmp_path / f"s{seed}-epo.fif")
        written.save(files[-1], verbose="error")
    found, said = predicted(tmp_path, "--train", files[0], "--test", files[1])
    assert "s1-epo.fif lacks Oz; it has its channels in another order" in said
    assert np.mean((found[:, 0] > 0.5) == (signals(1)[1] == "left")) > 0.9


def test_events_are_the_labels_of_queries(tmp_path, epochs):
    train, test = epochs("tr-epo.fif", 0), epochs("te-epo.fif", 1)
    given = run("classify", "--train", train, "--test", test, "--test-labels", test)
    assert run("classify", "--train", train, "--test", test) == given
    assert "accuracy" in given


def test_events_that_are_no_labels_of_training(tmp_path, epochs):
    train, test = epochs("tr-epo.fif", 0), epochs("te-epo.fif", 1)
    np.save(tmp_path / "y.npy", np.repeat(["rest", "move"], 20))
    given = ("--train", train, "--train-labels", tmp_path / "y.npy", "--test", test)
    result = invoke("classify", *given)
    assert "Only predictions are given" in result.stderr
    assert result.stdout.split() == np.repeat(["rest", "move"], 20).tolist()
