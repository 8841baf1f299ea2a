"""The experiments on folders of their own layout, small and made of noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from _folders import noise, save_image, skeletons
from spdatoms.descriptors import JointCovariance
from spdatoms.paper.experiments import Results, get_experiment, run
from spdatoms.paper.protocols.faces import TESTS
from spdatoms.paper.reporting import pictures, tables, write_folder

pytest.importorskip("matplotlib", reason="needs the extra plot")

pytestmark = pytest.mark.slow


def small_run(name: str, folder: Path, **options: Any) -> Results:
    with pytest.warns(UserWarning, match="expected"):
        return run(get_experiment(name), folder, on_error="warn", **options)


def test_faces_by_pose(tmp_path):
    for person in range(4):
        for i, pose in enumerate(("ba", "bd", "be", "bf", "bg", "bj", "bk")):
            face = noise(24, 24, seed=person) // 2 + noise(24, 24, seed=100 * person + i) // 8
            save_image(tmp_path / pose / f"{person:05d}.png", face)
    results = small_run("faces", tmp_path, methods=["RSR-S", "RSR-S, all pixels", "1-NN Stein"])
    assert results.parts() == ["from images"]
    (row,) = results.of("from images", "RSR-S")
    assert list(row.scores) == [*TESTS, "average"]
    assert row.scores["average"] == pytest.approx(np.mean([row.scores[pose] for pose in TESTS]))
    accuracy, differences, nonzeros = tables(get_experiment("faces"), results)
    assert accuracy.header == ("method", *TESTS, "average")
    assert "McNemar" in differences.title
    # 16 queries, paired: those that one of the two methods alone has right.
    (other,) = results.of("from images", "1-NN Stein")
    units = [[hits for hits, _ in one.extra["units"].values()] for one in (other, row)]
    gained, lost = (np.sum(np.subtract(*units) == sign) for sign in (1, -1))
    p = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    expected = f"{100 * (gained - lost) / 16:+.1f} (p = {p:.2g})"
    assert ("1-NN Stein", expected) in [line.cells for line in differences.lines]
    assert [line.cells[0] for line in nonzeros.lines] == ["RSR-S", "RSR-S, all pixels"]
    methods = get_experiment("faces").methods()
    views = get_experiment("faces").load(tmp_path, "ignore")["from images"].views
    usual, other = (views[methods[name].view] for name in ("RSR-S", "RSR-S, all pixels"))
    assert not np.allclose(usual, other)


def test_actions_by_subjects(tmp_path):
    skeletons(tmp_path / "joints.npz")
    experiment = get_experiment("actions")
    results = run(experiment, tmp_path, methods=["RSR-S", "Cov3DJ"])
    assert [row.repeat for row in results.of("as captured", "Cov3DJ")] == [0, 1, 2, 3]
    captured, data = experiment.load(tmp_path).values()
    assert not np.allclose(captured.views["covariances"], data.views["covariances"])
    aligned = JointCovariance(heading=(1, 6)).transform(list(captured.views["sequences"]))
    np.testing.assert_allclose(data.views["covariances"], aligned, rtol=1e-10)
    assert {"TSC", "TSC free", "Riemannian SC"} <= set(experiment.methods())
    for repeat in range(4):
        task = experiment.task(data, repeat, np.random.default_rng(0))
        seen = set(task.train.views["subjects"])
        assert len(seen) == 3
        assert seen.isdisjoint(task.tests["accuracy"].views["subjects"])
    with pytest.raises(ValueError, match="at most 4, got 5"):
        run(experiment, tmp_path, methods=["RSR-S"], repeats=5)


def test_materials(tmp_path):
    from spdatoms.paper.datasets.flickr_materials import MATERIALS

    for i, material in enumerate(MATERIALS):
        for j in range(4):
            name = f"{material}_moderate_{j:03d}_new.png"
            save_image(tmp_path / "image" / material / name, noise(32, 32, 3, seed=10 * i + j))
            save_image(tmp_path / "mask" / material / name, np.full((32, 32), 255, np.uint8))
    results = small_run("materials", tmp_path, methods=["1-NN Stein"], repeats=1)
    assert len(results.rows) == 1
    accuracy = tables(get_experiment("materials"), results)[0]
    assert ("aLDA (published, not run here)", "44.6") in [line.cells for line in accuracy.lines]


def test_reidentification_gives_curves(tmp_path):
    for sequence in (1, 2, 3):
        for person in range(3):
            base = noise(64, 32, 3, seed=person) // 2
            for i in range(12):
                image = base + noise(64, 32, 3, seed=100 * person + i) // 8
                save_image(tmp_path / f"seq{sequence}" / f"p{person:03d}" / f"{i}.png", image)
    experiment = get_experiment("reidentification")
    results = small_run(
        "reidentification", tmp_path, methods=["RSR-S", "1-NN AIRM", "RLPP"], repeats=1
    )
    assert results.parts() == ["sequence 1", "sequence 2", "sequence 3"]
    for row in results.rows:
        curve = row.extra["cmc"]
        assert len(curve) == 3
        assert curve[-1] == 100.0
        assert np.all(np.diff(curve) >= 0)
        assert row.scores["rank 1"] == curve[0]
    third = tables(experiment, results)[2]
    assert ("RSR-S (published)", "98.7", "–") in [line.cells for line in third.lines]
    names = {path.name for path in write_folder(experiment, results, tmp_path / "out")}
    assert "cmc.png" in names


def test_sports_leave_one_out(tmp_path, monkeypatch):
    from spdatoms.paper.datasets.ucf_sports import FOLDERS

    monkeypatch.setattr("spdatoms.paper.protocols.sports._ATOMS", 8)

    for i, name in enumerate(FOLDERS):
        clip = tmp_path / name / "001"
        for frame in range(6):
            save_image(clip / f"{frame:03d}.jpg", noise(40, 40, 3, seed=100 * i + frame))
            (clip / "gt").mkdir(exist_ok=True)
            (clip / "gt" / f"{frame:03d}.txt").write_text("2\t2\t36\t36\taction")
    experiment = get_experiment("sports")
    results = small_run("sports", tmp_path, methods=["RSR-S"], repeats=3)
    assert [len(row.extra["truth"]) for row in results.rows] == [1, 1, 1]
    for row in results.rows:
        right = row.extra["truth"] == row.extra["predicted"]
        assert row.scores["accuracy"] == 100.0 * right
    names = {path.name for path in write_folder(experiment, results, tmp_path / "out")}
    assert {"confusion-rsr-s.png", "confusion-rsr-s-published.svg"} <= names


def test_drawn_data_follow_the_protocols(monkeypatch):
    from spdatoms.paper.protocols import _look_alikes as look_alikes
    from spdatoms.paper.protocols import reidentification, sports

    def few_pedestrians() -> Any:
        return look_alikes.pedestrians(people=4, images=12)

    def few_films() -> Any:
        return look_alikes.films(per_action=1)

    monkeypatch.setattr(reidentification, "pedestrians", few_pedestrians)
    monkeypatch.setattr(sports, "drawn_films", few_films)
    people = run(get_experiment("reidentification"), methods=["1-NN Stein"], repeats=1)
    assert people.parts() == ["drawn figures"]
    assert people.rows[0].n_test == 8
    assert people.rows[0].scores["rank 1"] > 50
    experiment = get_experiment("sports")
    films = run(experiment, methods=["logEuc-SC"], repeats=2)
    accuracy = tables(experiment, films)[0]
    assert accuracy.title == "Sports actions in films: accuracy (%), 2 of 30 repeats"
    assert "±" not in accuracy.lines[0].cells[1]
    names = [picture.name for picture in pictures(experiment, films)]
    assert names == ["accuracy", "confusion-logeuc-sc"]


def test_drawn_data_are_the_same_in_every_run():
    from spdatoms.paper.protocols import _look_alikes as look_alikes

    first, again = look_alikes.films(1, seed=3), look_alikes.films(1, seed=3)
    np.testing.assert_array_equal(first[0], again[0])
    assert list(first[1]) == list(look_alikes.MOTIONS)
    images, labels = look_alikes.pedestrians(2, 3)
    assert [image.shape for image in images] == [(64, 32, 3)] * 6
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_seconds_against_a_reference(tmp_path):
    skeletons(tmp_path / "joints.npz")
    experiment = get_experiment("time")
    results = run(experiment, tmp_path, repeats=2)
    (seconds,) = tables(experiment, results)
    cells = {line.cells[0]: line.cells[1:] for line in seconds.lines}
    assert cells["RSR-S"][3:] == ("< 7", "> 10.7")
    assert cells["RSR-J"][3:] == ("< 10", "> 7.5")
    assert cells["1-NN AIRM"][2:] == ("–", "> 75", "–")
    totals = {
        name: min(row.fit_seconds for row in results.of("", name))
        + min(row.predict_seconds for row in results.of("", name))
        for name in cells
    }
    assert cells["RSR-S"][2] == f"{totals['1-NN AIRM'] / totals['RSR-S']:.1f}"
    assert [picture.name for picture in pictures(experiment, results)] == ["seconds"]


def test_objective_by_iteration(monkeypatch):
    from spdatoms.paper.protocols import objective

    monkeypatch.setitem(objective._SETTINGS, "n_atoms", 6)
    monkeypatch.setitem(objective._SETTINGS, "max_iter", 6)
    experiment = get_experiment("objective")
    results = run(experiment, repeats=1, parts=["Stein"])
    (table,) = tables(experiment, results)
    assert table.title == "Stein: mean objective (%) by iteration, 1 of 3 repeats"
    assert table.header[1:5] == ("first atoms", "after 1", "after 5", "after 6")
    for line in table.lines:
        fall = [float(cell) for cell in line.cells[1:5]]
        assert fall == sorted(fall, reverse=True)
        (row,) = results.of("Stein", line.cells[0])
        assert fall[-1] == pytest.approx(row.scores["objective"], abs=0.0051)
    assert sum(line.cells[5] == "1 of 1" for line in table.lines) >= 1
    assert [picture.name for picture in pictures(experiment, results)] == ["descent"]


def test_brodatz_folder_and_a_damaged_plate(tmp_path):
    from spdatoms.paper.datasets.brodatz import MOSAICS

    plates = {plate for mosaic in MOSAICS.values() for plate in mosaic}
    for plate in plates:
        save_image(tmp_path / "brodatz" / f"D{plate}.png", noise(64, 64, seed=plate))
    experiment = get_experiment("textures")
    data = experiment.load(tmp_path)
    assert list(data) == ["5c", "10", "16c"]
    # Whatever the size of a plate, it is brought to 256×256 pixels, which gives 64 blocks.
    assert data["5c"].views["covariances"].shape == (320, 5, 5)
    damaged = tmp_path / "brodatz" / "D84.png"
    damaged.write_bytes(damaged.read_bytes()[:300])
    with pytest.raises(ValueError, match=r"D84\.png"):
        run(experiment, tmp_path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.warns(UserWarning, match=r"D84\.png"):
        results = run(
            experiment, tmp_path, on_error="warn", methods=["1-NN Stein"], repeats=1, parts=["5c"]
        )
    assert len(results.rows) == 1
