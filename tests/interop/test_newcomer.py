"""The ten tasks of the page for newcomers, run as they are written, on small files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from _commands import run, two_classes
from _matrices import random_spd

PAGE = Path(__file__).resolve().parents[2] / "docs" / "newcomer.md"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PAGE.exists(), reason="needs the folder docs of the checkout"),
]


def task(title: str, language: str = "sh") -> list[str]:
    """Return the lines of code of a task."""
    section = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)
    (text,) = (part for part in section if part.startswith(title))
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.S | re.M)
    return block.splitlines()


def commands(title: str) -> list[list[str]]:
    """Return the words of the commands of a task, without the name of the program."""
    lines = [shlex.split(line) for line in task(title)]
    assert len(lines) <= 3
    assert all(words[0] == "spdatoms" for words in lines)
    return [words[1:] for words in lines]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_ten_tasks():
    assert len(re.findall(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)) == 10


def test_no_task_writes_what_another_has_written():
    _, *tasks = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)
    written = [set(re.findall(r"--(?:out|usage|report|checkpoint) (\S+)", text)) for text in tasks]
    assert len(set().union(*written)) == sum(map(len, written))


def test_eeg_epochs():
    mne = pytest.importorskip("mne")
    signals = 1e-6 * np.random.default_rng(0).standard_normal((40, 4, 100))
    signals[20:, :2] *= 3.0
    info = mne.create_info(4, 100.0, "eeg")
    events = np.column_stack([np.arange(40), np.zeros(40, int), np.repeat([1, 2], 20)])
    names = {"left": 1, "right": 2}
    epochs = mne.EpochsArray(signals, info, events, event_id=names, verbose="error")
    epochs.save("subject-epo.fif", verbose="error")
    (command,) = commands("Classify EEG epochs")
    said = run(*command)
    assert "accuracy 100.00% ± 0.00% (deviation of 5 folds)" in said
    assert "most frequent class alone 50.00%" in said


def test_tensor_volume():
    nibabel = pytest.importorskip("nibabel")
    tensors = 1e-3 * random_spd(27, 3).reshape(3, 3, 3, 3, 3)
    inside = np.ones((3, 3, 3), np.uint8)
    inside[0] = 0
    upper = tensors[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    for name, data in (("tensors", upper), ("mask", inside)):
        nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), f"{name}.nii.gz")
    for command in commands("A dictionary of a tensor volume"):
        run(*command)
    codes = np.asarray(nibabel.load("codes.nii.gz").dataobj)
    assert codes.shape == (3, 3, 3, 8)
    assert not codes[0].any()
    assert codes[1:].any()


def test_bad_voxels_are_repaired_and_dropped():
    """As the text below that task says."""
    nibabel = pytest.importorskip("nibabel")
    tensors = 1e-3 * random_spd(27, 3).reshape(3, 3, 3, 3, 3)
    tensors[0, 0, 0], tensors[1, 1, 1] = np.nan, -tensors[1, 1, 1]
    upper = tensors[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    for name, data in (("tensors", upper), ("mask", np.ones((3, 3, 3), np.uint8))):
        nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), f"{name}.nii.gz")
    inspect = commands("A dictionary of a tensor volume")[0]
    run(*inspect, code=1)
    run(*inspect, "--repaired", "tensors_spd.nii.gz", "--drop-bad")
    assert "26 of 3×3" in run("inspect", "tensors_spd.nii.gz")


def test_photographs(folder, capsys):
    images = pytest.importorskip("skimage.io")
    rng = np.random.default_rng(0)
    smooth, rough = rng.random((2, 1, 128, 128))
    smooth = np.cumsum(smooth - 0.5, axis=2)
    for name, image in (("grass", rough[0]), ("stone", smooth[0])):
        (folder / name).mkdir()
        scaled = (255 * (image - image.min()) / np.ptp(image)).astype(np.uint8)
        images.imsave(folder / name / "1.png", scaled, check_contrast=False)
    lines = task("Textures of your own photographs", "python")
    assert len([line for line in lines if line]) <= 10
    exec(compile("\n".join(lines), "newcomer.md", "exec"), {})
    accuracy = float(capsys.readouterr().out.split()[0])
    assert accuracy == 1.0


@pytest.mark.parametrize("version", ["7", "7.3"])
def test_matlab_file(version):
    X, y = two_classes()
    group = (y == "right").astype(float)
    if version == "7":
        scipy.io.savemat("colleague.mat", {"covs": X.transpose(1, 2, 0), "group": group})
    else:
        h5py = pytest.importorskip("h5py")
        with h5py.File("colleague.mat", "w", userblock_size=512) as file:
            file["covs"], file["group"] = X, group[:, None]
            for name in ("covs", "group"):
                file[name].attrs["MATLAB_class"] = np.bytes_("double")
    inspect, classify = commands("A MATLAB file from a colleague")
    assert "40 of 4×4" in run(*inspect)
    assert "5 folds" in run(*classify)
    assert scipy.io.loadmat("predicted.mat")["predicted"].size == 40


@pytest.fixture
def two_sets(folder):
    """Write X.npy and Z.npy with their labels, two classes of 40 matrices each; return Z."""
    for seed, name, labels in ((0, "X", "y"), (1, "Z", "z")):
        X, y = two_classes(seed)
        np.save(f"{name}.npy", X)
        np.save(f"{labels}.npy", y)
        Path(f"{labels}.csv").write_text("\n".join(y))
    return X


def test_missing_channels(two_sets):
    incomplete = two_sets.copy()
    incomplete[::2, 3], incomplete[::2, :, 3] = np.nan, np.nan
    np.save("incomplete.npy", incomplete)
    (command,) = commands("Some recordings lack channels")
    assert "20 of 40 matrices lack channels" in run(*command)
    predicted = [line.split(",")[0] for line in Path("predicted.csv").read_text().splitlines()]
    assert predicted[0] == "predicted"
    assert np.mean(np.array(predicted[1:]) == two_classes()[1]) >= 0.9


def test_broken_channels(two_sets, capsys):
    two_sets[0, 3] *= 100.0
    two_sets[0, :, 3] *= 100.0
    np.save("Z.npy", two_sets)
    lines = task("A channel may be broken", "python")
    assert len([line for line in lines if line]) <= 10
    names = {}
    exec(compile("\n".join(lines), "newcomer.md", "exec"), names)
    assert "3" in capsys.readouterr().out
    assert np.isnan(names["detector"].transform(two_sets)[0, 3]).all()
    assert names["predicted"][0] == "left"


def test_comparison(two_sets):
    (command,) = commands("Is it better than what I use now?")
    said = run(*command)
    assert "SPDEnsembleClassifier" in said
    assert "MDM" in said
    assert "One method at a time" in Path("compared.html").read_text(encoding="utf-8")


def test_reasons_in_a_report(two_sets):
    """One clicks as the page says: mistakes, then a matrix. More clicks are in tests/cli/test_report_browser.py."""
    labels = Path("z.csv").read_text().split()
    labels[5] = "right"  # it is not
    Path("z.csv").write_text("\n".join(labels))
    (command,) = commands("Why this class?")
    run(*command)
    assert "Why? One query at a time" in Path("report.html").read_text(encoding="utf-8")
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(Path("report.html").absolute().as_uri())
        page.select_option("#filter", "mistakes")
        page.locator("#list").focus()
        page.keyboard.press("Home")
        detail = page.locator("#detail").inner_text()
        browser.close()
    assert "#5 left" in detail
    assert "a mistake" in detail
    for told in ("Training matrices", "Totals of the classes", "Channels"):
        assert told in detail


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_going_on_after_ctrl_c(monkeypatch, no_collection):
    from spdatoms.dictionary._loop import State

    np.save("X.npy", two_classes()[0])
    first, second = commands("Go on after Ctrl-C")
    assert first == second
    original, calls = State.next, []

    def iterated(self, *arguments):
        calls.append(None)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(State, "next", iterated)
    assert "the same command goes on from run.ckpt" in run(*first, code=130)
    assert "written to long.spdatoms" in run(*second)


def test_report_on_a_phone():
    (command,) = commands("Read a report on a phone")
    run(*command)
    page = Path("phone", "report.html").read_text(encoding="utf-8")
    sources = re.findall(r"(?:src|href)\s*=\s*[\"']([^\"']*)", page)
    assert all(source.startswith(("data:", "#", "https:")) for source in sources)
    assert "width=device-width" in page
    assert "prefers-color-scheme: dark" in page
