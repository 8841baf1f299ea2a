"""Experiments: protocols against direct loops, runs that are interrupted, and what is said of bad data."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

from spdatoms import SPDSparseClassifier, SPDSparseCoder
from spdatoms.cli import app
from spdatoms.experiments import (
    EXPERIMENTS,
    Experiment,
    LabelledViews,
    Method,
    NoDataError,
    Outcome,
    Published,
    Results,
    Setting,
    SettingsError,
    Task,
    get_experiment,
    read_results,
    run,
)
from spdatoms.experiments.division import halves
from spdatoms.experiments.experiment import predict_in_time
from spdatoms.experiments.methods.dictionary_codes import KernelDictionaryCodes, KSVDCodes, matches
from spdatoms.experiments.methods.nearest_class import NearestClass
from spdatoms.experiments.methods.pooled_codes import PooledCodes
from spdatoms.experiments.protocols.faces import TESTS
from spdatoms.experiments.protocols.reidentification import matching_curve
from spdatoms.experiments.protocols.sports import CONFUSIONS
from spdatoms.experiments.reporting import (
    Table,
    narrow,
    record,
    remarks,
    report_page,
    tables,
    to_markdown,
    write_folder,
)
from spdatoms.experiments.reporting.tables import Line
from spdatoms.experiments.results import ResultsFile
from spdatoms.experiments.runner import fingerprint, seed_of
from spdatoms.plotting import AccuracyBySizeDisplay, CMCDisplay, ComparisonDisplay

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")
Figure = pytest.importorskip("matplotlib.figure", reason="needs the extra plot").Figure


def two_kinds(count: int = 20, seed: int = 0) -> LabelledViews:
    samples = np.random.default_rng(seed).standard_normal((2 * count, 3, 12))
    samples[count:, 2] *= 3.0
    covariances = samples @ samples.swapaxes(1, 2) / 12
    return LabelledViews(np.repeat(["round", "long"], count), {"covariances": covariances})


class Toy(Experiment):
    """Two kinds of random covariances; half of them are known."""

    name, title, protocol = "toy", "A toy", "Half of them are known."
    wants, subfolder, repeats = "nothing", "toy", 3
    published = (
        Published("RSR-S", {"accuracy": 91.25}, {"accuracy": 1.5}),
        Published("Oracle", {"accuracy": 100.0}, cited=True),
    )
    evaluations = 0

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, LabelledViews]:
        return {"": two_kinds(seed=0 if folder is None else 1)}

    def task(self, data: LabelledViews, repeat: int, rng: np.random.Generator) -> Task:
        train, test = halves(data.y, rng)
        return Task(data.take(train), {"accuracy": data.take(test)})

    def methods(self) -> dict[str, Method]:
        made = (
            Method("RSR-S", lambda setting: SPDSparseClassifier("stein")),
            Method("RSR-J", lambda setting: SPDSparseClassifier("jeffrey")),
        )
        return {method.name: method for method in made}

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        Toy.evaluations += 1
        return super().evaluate(method, task, setting)


def command(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


# --- what there is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_describe_themselves(name):
    experiment = get_experiment(name)
    assert experiment.name == name
    assert all((experiment.title, experiment.protocol, experiment.wants, experiment.subfolder))
    assert len(experiment.methods()) >= 3
    assert set(experiment.default_methods(True)) <= set(experiment.methods())
    for row in experiment.published:
        assert all(0 < value <= 100 for value in row.scores.values())
        assert set(row.deviations) <= set(row.scores)
        runnable = row.method in experiment.methods()
        assert runnable != row.cited, row.method


def test_first_look_at_embedded_data_takes_the_usual_methods():
    textures = get_experiment("textures")
    usual = textures.default_methods(embedded=True)
    assert usual == [name for name, m in textures.methods().items() if m.kind == "usual"]
    assert {"RSR-S", "MDM"} <= set(usual)
    assert {"RSR-S CV", "RSR-J max", "TSC", "tangent space + LR"}.isdisjoint(usual)
    assert textures.default_methods(embedded=False) == list(textures.methods())


def test_unknown_experiment():
    with pytest.raises(ValueError, match=r"no experiment 'poker'; there are textures"):
        get_experiment("poker")


def test_published_averages_are_those_of_the_poses():
    for row in get_experiment("faces").published:
        mean = np.mean([row.scores[pose] for pose in TESTS])
        assert row.scores["average"] == pytest.approx(mean, abs=0.0501)


def test_published_confusions_are_square_and_sum_to_100():
    for name, matrix in CONFUSIONS.items():
        sums = np.sum(matrix, axis=1)
        assert np.shape(matrix) == (10, 10)
        # One row is printed with a sum of 115.
        odd = [2] if name == "RSR-S" else []
        np.testing.assert_allclose(np.delete(sums, odd), 100, atol=0.11)


# --- protocols ---------------------------------------------------------------------------------------


def test_textures_against_a_direct_loop():
    experiment = get_experiment("textures")
    results = run(experiment, methods=["rsr-s", "1-NN Stein"], repeats=2, seed=5)
    data = experiment.load(None)["photographs"]
    X = data.views["covariances"]
    for row in results.of("photographs", "RSR-S"):
        rng = np.random.default_rng(seed_of(5, row.repeat))
        hits, train, test = [], [], []
        for label in np.unique(data.y):
            order = rng.permutation(np.flatnonzero(data.y == label))
            train += list(order[:5])
            test += list(order[5:])
        model = SPDSparseClassifier("stein").fit(X[train], data.y[train])
        hits = model.predict(X[test]) == data.y[test]
        assert row.scores == {"accuracy": pytest.approx(100 * hits.mean())}
        assert row.seed == seed_of(5, row.repeat)
    assert [row.repeat for row in results.of("photographs", "1-NN Stein")] == [0, 1]


def test_seeds_differ_and_repeat():
    assert len({seed_of(seed, repeat) for seed in range(5) for repeat in range(20)}) == 100
    assert seed_of(3, 4) == seed_of(3, 4)


def test_matching_curve_against_sorting():
    rng = np.random.default_rng(0)
    scores, classes = rng.standard_normal((30, 6)), np.array(list("abcdef"))
    y = rng.choice(classes, 30)
    ranked = classes[np.argsort(-scores, axis=1)]
    expected = [100 * np.mean([y[i] in ranked[i, :r] for i in range(30)]) for r in range(1, 7)]
    np.testing.assert_allclose(matching_curve(scores, classes, y), expected)
    assert matching_curve(np.zeros((2, 3)), np.arange(3), np.array([0, 1])) == [0.0, 0.0, 100.0]


def test_nearest_class_scores_agree_with_the_nearest_matrix():
    data = two_kinds()
    X = data.views["covariances"]
    model = NearestClass("stein").fit(X[::2], data.y[::2])
    scores = model.decision_function(X[1::2])
    assert scores.shape == (20, 2)
    np.testing.assert_array_equal(model.predict(X[::2]), data.y[::2])
    np.testing.assert_allclose(model.decision_function(X[::2]).max(axis=1), 0, atol=1e-9)


def test_halves_are_balanced_and_disjoint():
    y = np.repeat(list("abc"), [6, 4, 5])
    first, second = halves(y, np.random.default_rng(0))
    assert sorted([*first, *second]) == list(range(15))
    assert [int((y[first] == label).sum()) for label in "abc"] == [3, 2, 2]


def test_matches_against_a_loop():
    rng = np.random.default_rng(1)
    codes, y = rng.standard_normal((25, 4)), rng.integers(0, 3, 25)
    hits = 0
    for i in range(25):
        distances = np.linalg.norm(codes - codes[i], axis=1)
        distances[i] = np.inf
        hits += y[distances.argmin()] == y[i]
    assert matches(codes, y) == pytest.approx(hits / 25)


@pytest.mark.parametrize("atoms", ["learned", "k-means"])
def test_dictionary_codes_choose_on_what_they_learn_from(atoms):
    data = two_kinds(count=24)
    X = data.views["covariances"]
    grid = {"beta_factors": (0.3, 1.0), "alphas": (0.01, 0.3), "max_iter": 3}
    coder = KernelDictionaryCodes(atoms, "stein", 4, **grid).fit(X, data.y)
    assert coder.chosen_["beta_factor"] in grid["beta_factors"]
    assert coder.chosen_["alpha"] in grid["alphas"]
    # The codes are those of the public coder over the atoms, with what was chosen.
    direct = SPDSparseCoder(
        coder.coder_.atoms_, "stein", coder.coder_.beta, coder.chosen_["alpha"]
    ).fit(X)
    np.testing.assert_allclose(coder.transform(X), direct.transform(X))
    assert coder.transform(X).shape == (48, 4)


def test_ksvd_codes():
    data = two_kinds(count=24)
    X = data.views["covariances"]
    coder = KSVDCodes(4, nonzeros=(1, 2, 8), max_iter=5).fit(X, data.y)
    assert coder.chosen_["n_nonzero"] in (1, 2)
    assert (coder.transform(X) != 0).sum(axis=1).max() <= coder.chosen_["n_nonzero"]


def test_texture_dictionaries_follow_their_protocol(monkeypatch):
    experiment = get_experiment("texture-dictionaries")
    data = experiment.load(None)["24"]
    task = experiment.task(data, 0, np.random.default_rng(0))
    assert [len(part) for part in (task.learn, task.train, task.tests["accuracy"])] == [
        120,
        60,
        120,
    ]
    method = experiment.methods()["RSR-S k-means"]
    small = method.make(Setting(seed=3)).set_params(beta_factors=(0.3,), alphas=(0.01,))
    quick = Method(method.name, lambda setting: small)
    outcome = experiment.evaluate(quick, task, Setting(seed=3))
    gallery = small.transform(task.train.views["covariances"])
    nearest = KNeighborsClassifier(1).fit(gallery, task.train.y)
    probes = task.tests["accuracy"]
    expected = 100 * nearest.score(small.transform(probes.views["covariances"]), probes.y)
    assert outcome.scores["accuracy"] == pytest.approx(expected)
    assert outcome.extra["chosen"] == {"beta_factor": 0.3, "alpha": 0.01}


def test_pooled_codes_tell_bags_apart():
    rng = np.random.default_rng(0)

    def bag(kind: int) -> np.ndarray:
        samples = rng.standard_normal((int(rng.integers(4, 8)), 3, 10))
        samples[0, 2] *= 1 + 5 * kind
        return samples @ samples.swapaxes(1, 2)

    y = np.arange(24) % 2
    bags = np.empty(24, dtype=object)
    bags[:] = [bag(kind) for kind in y]
    from spdatoms import SPDDictionaryLearning

    learner = SPDDictionaryLearning(256, alpha=0.05, max_iter=3, random_state=0)
    model = PooledCodes(learner).fit(bags[:16], y[:16])
    assert model.learner_.n_atoms == sum(map(len, bags[:16]))
    assert np.mean(model.predict(bags[16:]) == y[16:]) >= 0.75
    assert learner.n_atoms == 256


# --- runs --------------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_stopped(tmp_path):
    Toy.evaluations = 0
    first = run(Toy(), repeats=2, out=tmp_path)
    assert Toy.evaluations == 4
    second = run(Toy(), repeats=3, out=tmp_path)
    assert Toy.evaluations == 6
    assert list(second.rows)[:4] == list(first.rows)
    assert [s.repeats for s in second.summaries()] == [3, 3]
    # Without a file the numbers are the same.
    again = run(Toy(), repeats=3)
    scores = {row.key: row.scores for row in again.rows}
    assert scores == {row.key: row.scores for row in second.rows}


def test_a_line_that_was_cut_off_is_computed_again(tmp_path):
    whole = run(Toy(), out=tmp_path)
    file = tmp_path / "results.jsonl"
    content = file.read_bytes()
    file.write_bytes(content[:-25])
    Toy.evaluations = 0
    again = run(Toy(), out=tmp_path)
    assert Toy.evaluations == 1
    assert {r.key: r.scores for r in again.rows} == {r.key: r.scores for r in whole.rows}
    assert {r.key: r.scores for r in read_results(file).rows} == {
        r.key: r.scores for r in whole.rows
    }


def test_a_damaged_line_stops_the_run_and_stays(tmp_path):
    run(Toy(), out=tmp_path)
    file = tmp_path / "results.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    assert "settings" in lines[0]
    file.write_text("".join([*lines[:2], "{nonsense\n", *lines[3:]]))
    damaged = file.read_bytes()
    with pytest.raises(SettingsError, match=r"results\.jsonl: line 3 is damaged"):
        run(Toy(), out=tmp_path)
    assert file.read_bytes() == damaged
    run(Toy(), out=tmp_path, fresh=True)
    assert len(run(Toy(), out=tmp_path).rows) == 6


def test_other_settings_are_refused_or_begin_anew(tmp_path):
    run(Toy(), repeats=1, out=tmp_path)
    before = (tmp_path / "results.jsonl").read_bytes()
    with pytest.raises(SettingsError, match=r"other settings \(seed: 0 there, 7 now\)"):
        run(Toy(), repeats=1, out=tmp_path, seed=7)
    with pytest.raises(SettingsError, match=r"fingerprint"):
        run(Toy(), tmp_path, repeats=1, out=tmp_path)
    assert (tmp_path / "results.jsonl").read_bytes() == before
    results = run(Toy(), repeats=1, out=tmp_path, seed=7, fresh=True)
    assert {row.seed for row in results.rows} == {seed_of(7, 0)}


def test_fingerprint_is_that_of_the_values():
    class Renamed(LabelledViews):
        pass

    data = two_kinds()
    same = Renamed(data.y.copy(), {name: view.copy() for name, view in data.views.items()})
    assert fingerprint({"": data}) == fingerprint({"": same})
    assert fingerprint({"": data}) != fingerprint({"": data.take(slice(1, None))})
    assert fingerprint({"": data}) != fingerprint({"part": data})


def test_other_parameters_of_a_method_are_refused(tmp_path, monkeypatch):
    run(Toy(), methods=["RSR-S"], repeats=1, out=tmp_path)
    other = {"RSR-S": Method("RSR-S", lambda setting: SPDSparseClassifier("stein", alpha=0.5))}
    monkeypatch.setattr(Toy, "methods", lambda self: other)
    with pytest.raises(SettingsError, match=r"RSR-S with other parameters"):
        run(Toy(), repeats=1, out=tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is of POSIX")
def test_kill_9_loses_only_the_repeat_under_way(tmp_path):
    script = textwrap.dedent(
        f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_experiments as here
        calls = 0
        inherited = here.Experiment.evaluate
        def evaluate(self, method, task, setting):
            global calls
            calls += 1
            if calls == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            return inherited(self, method, task, setting)
        here.Toy.evaluate = evaluate
        here.run(here.Toy(), out={str(tmp_path)!r})
        """
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    Toy.evaluations = 0
    results = run(Toy(), out=tmp_path)
    assert Toy.evaluations == 3
    assert {r.key: r.scores for r in results.rows} == {r.key: r.scores for r in run(Toy()).rows}


def test_what_cannot_run_is_noted_and_the_rest_goes_on(monkeypatch, tmp_path):
    def absent(setting: Setting) -> Any:
        raise ImportError("This needs 'moonlight'")

    methods = Toy().methods() | {
        "absent": Method("absent", absent),
        "painter": Method("painter", lambda setting: SPDSparseClassifier(), view="paintings"),
    }
    monkeypatch.setattr(Toy, "methods", lambda self: methods)
    results = run(Toy(), repeats=2, out=tmp_path)
    assert results.problems == [
        "absent: This needs 'moonlight'",
        "painter: these data have no paintings to work on",
    ]
    assert {row.method for row in results.rows} == {"RSR-S", "RSR-J"}
    assert read_results(tmp_path / "results.jsonl").problems == results.problems
    assert "moonlight" in report_page(Toy(), results)


class Slow(SPDSparseClassifier):
    def predict(self, X: Any) -> Any:
        time.sleep(0.002 * len(X))
        return super().predict(X)


def test_out_of_time(monkeypatch):
    methods = {"slow": Method("slow", lambda setting: Slow())}
    monkeypatch.setattr(Toy, "methods", lambda self: methods)
    # 20 queries take 0.04 s at least: some of them are asked, and there is time for one repeat.
    results = run(Toy(), repeats=3, time_limit=0.02)
    (row,) = results.rows
    asked = int(row.note.split()[0])
    assert row.note == f"{asked} of 20 queries for want of time"
    assert 8 <= asked < 20
    assert results.problems == ["slow: 1 of 3 repeats for want of time"]
    assert "*" in to_markdown(tables(Toy(), results)[0])
    assert any(row.note in remark for remark in remarks(Toy(), results))


def test_time_enough_means_all_queries():
    data = two_kinds()
    X = data.views["covariances"]
    model = SPDSparseClassifier().fit(X, data.y)
    predicted, asked = predict_in_time(model, X, Setting(seed=0, time_limit=60.0))
    np.testing.assert_array_equal(asked, np.arange(40))
    np.testing.assert_array_equal(predicted, model.predict(X))


def test_wrong_names_and_numbers():
    with pytest.raises(ValueError, match=r"has no method 'guessing'; there are RSR-S, RSR-J"):
        run(Toy(), methods=["guessing"])
    with pytest.raises(ValueError, match=r"no part 'z' in these data; there are ''"):
        run(Toy(), parts=["z"])
    with pytest.raises(ValueError, match=r"repeats of 'toy' must be at least 1, got 0"):
        run(Toy(), repeats=0)


def test_file_refuses_what_is_not_one(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"something": 1}\n')
    with pytest.raises(SettingsError, match="other settings"):
        ResultsFile(path, {"seed": 0})
    with pytest.raises(SettingsError, match="not a file of results"):
        read_results(path)
    assert path.read_text() == '{"something": 1}\n'


# --- reports -----------------------------------------------------------------------------------------


def test_table_has_means_deviations_and_published_values():
    results = run(Toy(), Path("folder"))
    accuracies, seconds = tables(Toy(), results)
    scores = [row.scores["accuracy"] for row in results.of("", "RSR-S")]
    lines = [line.cells for line in accuracies.lines]
    assert lines[0] == ("RSR-S", f"{np.mean(scores):.1f} ± {np.std(scores):.1f}")
    assert lines[1] == ("RSR-S (published)", "91.2 ± 1.5")
    assert lines[2][0] == "RSR-J"
    assert lines[3] == ("Oracle (published, not run here)", "100.0")
    assert [line.cells[-1] for line in seconds.lines] == ["3", "3"]
    # Nothing was published of the embedded data.
    embedded = tables(Toy(), run(Toy(), repeats=1))[0]
    assert [line.cells[0] for line in embedded.lines] == ["RSR-S", "RSR-J"]


def test_wide_tables_are_cut_into_columns():
    cells = ("a method", "12.0 ± 3.4", "56.0 ± 7.8", "9.0 ± 0.1")
    wide = Table("title", ("method", "5c", "10", "16c"), (Line(cells),))
    assert narrow(wide, 80) == [wide]
    first, second = narrow(wide, 40)
    assert (first.header, second.header) == (("method", "5c", "10"), ("method", "16c"))
    assert second.lines[0].cells == ("a method", "9.0 ± 0.1")


def test_files_hold_the_results(tmp_path):
    results = run(Toy(), Path("folder"), repeats=2, out=tmp_path)
    files = write_folder(Toy(), results, tmp_path)
    assert {path.name for path in files} == {
        "results.json",
        "results.csv",
        "accuracy.png",
        "accuracy.svg",
        "report.html",
    }
    document = json.loads((tmp_path / "results.json").read_text())
    means = {s["method"]: s["scores"]["accuracy"] for s in document["summaries"]}
    assert means == {s.method: s.scores["accuracy"] for s in results.summaries()}
    assert document["settings"]["seed"] == 0
    with open(tmp_path / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == [
        pytest.approx(row.scores["accuracy"], rel=1e-5) for row in results.rows
    ]
    assert Image.open(tmp_path / "accuracy.png").size[0] > 300


def test_settings_are_those_of_all_rows(tmp_path):
    run(Toy(), repeats=2, methods=["RSR-S"], out=tmp_path)
    results = run(Toy(), repeats=1, methods=["RSR-J"], out=tmp_path)
    for found in (results, read_results(tmp_path / "results.jsonl")):
        assert found.settings["repeats"] == 2
        assert found.settings["methods"] == ["RSR-S", "RSR-J"]
    title = tables(Toy(), results)[0].title
    assert title == "A toy: accuracy (%), 1–2 of 3 repeats"
    assert title in report_page(Toy(), results)
    assert title in record([(Toy(), results)], "toy")
    assert tables(Toy(), run(Toy(), repeats=4))[0].title.endswith(", 4 repeats")


def test_without_pyriemann(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyriemann.tangentspace", None)
    results = run(get_experiment("textures"), methods=["tangent space + LR"], repeats=1)
    assert [problem.partition(": ")[2] for problem in results.problems] == [
        "This needs 'pyriemann': pip install pyriemann"
    ]


def test_page_is_self_contained():
    page = report_page(Toy(), run(Toy(), Path("folder"), repeats=2))
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert "91.2 ± 1.5" in page
    for word in ("numpy", "seed", "RSR-J", "SPDSparseClassifier"):
        assert word in page


def test_record_names_every_experiment():
    text = record([(Toy(), run(Toy(), Path("folder"), repeats=1))], "toy")
    assert "## A toy" in text
    assert "| *RSR-S (published)* | *91.2 ± 1.5* |" in text
    assert "Seed 0" in text


# --- data of the other experiments, small and of the same layout ------------------------------------


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def picture(path: Path, pixels: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def skeletons(path: Path) -> Path:
    """Save two takes of two actions by four subjects."""
    rng = np.random.default_rng(0)
    takes = {}
    for subject in ("bd", "bk", "dg", "mm"):
        for i, action in enumerate(("squat1Reps", "sneak2StepsLStart")):
            for take in range(2):
                steps = rng.standard_normal((30, 31, 3)).cumsum(axis=0)
                steps[:, :10] *= 1 + 4 * i
                takes[f"{subject}__{action}__{take:03d}"] = steps
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **takes)
    return path


def small_run(name: str, folder: Path, **options: Any) -> Results:
    with pytest.warns(UserWarning, match="expected"):
        return run(get_experiment(name), folder, on_error="warn", **options)


def test_faces_by_pose(tmp_path):
    for person in range(4):
        for i, pose in enumerate(("ba", "bd", "be", "bf", "bg", "bj", "bk")):
            face = noise(24, 24, seed=person) // 2 + noise(24, 24, seed=100 * person + i) // 8
            picture(tmp_path / pose / f"{person:05d}.png", face)
    results = small_run("faces", tmp_path, methods=["RSR-S", "1-NN Stein"])
    assert results.parts() == ["from images"]
    (row,) = results.of("from images", "RSR-S")
    assert list(row.scores) == [*TESTS, "average"]
    assert row.scores["average"] == pytest.approx(np.mean([row.scores[pose] for pose in TESTS]))
    accuracy, _ = tables(get_experiment("faces"), results)
    assert accuracy.header == ("method", *TESTS, "average")


def test_actions_by_subjects(tmp_path):
    skeletons(tmp_path / "joints.npz")
    experiment = get_experiment("actions")
    results = run(experiment, tmp_path, methods=["RSR-S", "Cov3DJ"])
    assert [row.repeat for row in results.of("", "Cov3DJ")] == [0, 1, 2, 3]
    data = experiment.load(tmp_path)[""]
    for repeat in range(4):
        task = experiment.task(data, repeat, np.random.default_rng(0))
        seen = set(task.train.views["subjects"])
        assert len(seen) == 3
        assert seen.isdisjoint(task.tests["accuracy"].views["subjects"])
    with pytest.raises(ValueError, match="between 1 and 4, got 5"):
        run(experiment, tmp_path, methods=["RSR-S"], repeats=5)


def test_materials(tmp_path):
    from spdatoms.datasets.flickr_materials import MATERIALS

    for i, material in enumerate(MATERIALS):
        for j in range(4):
            name = f"{material}_moderate_{j:03d}_new.png"
            picture(tmp_path / "image" / material / name, noise(32, 32, 3, seed=10 * i + j))
            picture(tmp_path / "mask" / material / name, np.full((32, 32), 255, np.uint8))
    results = small_run("materials", tmp_path, methods=["1-NN Stein"], repeats=1)
    assert len(results.rows) == 1
    accuracy, _ = tables(get_experiment("materials"), results)
    assert ("aLDA (published, not run here)", "44.6") in [line.cells for line in accuracy.lines]


def test_reidentification_gives_curves(tmp_path):
    for sequence in (1, 2, 3):
        for person in range(3):
            base = noise(64, 32, 3, seed=person) // 2
            for i in range(12):
                image = base + noise(64, 32, 3, seed=100 * person + i) // 8
                picture(tmp_path / f"seq{sequence}" / f"p{person:03d}" / f"{i}.png", image)
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
    (*_, third, _) = tables(experiment, results)
    assert ("RSR-S (published)", "98.7", "–") in [line.cells for line in third.lines]
    names = {path.name for path in write_folder(experiment, results, tmp_path / "out")}
    assert "cmc.png" in names


def test_sports_leave_one_out(tmp_path, monkeypatch):
    from spdatoms.datasets.ucf_sports import FOLDERS

    monkeypatch.setattr("spdatoms.experiments.protocols.sports._ATOMS", 8)

    for i, name in enumerate(FOLDERS):
        clip = tmp_path / name / "001"
        for frame in range(6):
            picture(clip / f"{frame:03d}.jpg", noise(40, 40, 3, seed=100 * i + frame))
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


def test_brodatz_folder_and_a_damaged_plate(tmp_path):
    from spdatoms.datasets.brodatz import MOSAICS

    plates = {plate for mosaic in MOSAICS.values() for plate in mosaic}
    for plate in plates:
        picture(tmp_path / "brodatz" / f"D{plate}.png", noise(64, 64, seed=plate))
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


@pytest.mark.parametrize("name", ["faces", "actions", "materials", "reidentification", "sports"])
def test_experiments_without_embedded_data_say_what_they_want(name):
    with pytest.raises(NoDataError, match=f"'{name}' has no embedded data: give --data FOLDER"):
        run(get_experiment(name))


# --- the command line --------------------------------------------------------------------------------


def test_command_prints_the_table_and_writes_everything(tmp_path):
    out, text = tmp_path / "out", tmp_path / "results.md"
    arguments = ("textures", "--methods", "RSR-S, 1-NN Stein", "--repeats", 2)
    printed = command(*arguments, "--out", out, "--markdown", text)
    assert "RSR-S" in printed
    assert "photographs" in printed
    assert {"report.html", "results.json", "results.csv", "accuracy.png"} <= set(os.listdir(out))
    assert "| RSR-S |" in text.read_text()
    saved = json.loads((out / "results.json").read_text())
    assert f"{saved['summaries'][0]['scores']['accuracy']:.1f} ±" in printed
    # A second run has nothing left to do, nor has a report; another seed is refused in one line.
    command(*arguments, "--out", out)
    again = json.loads((out / "results.json").read_text())
    assert again["rows"] == saved["rows"]
    before = (out / "results.jsonl").read_bytes()
    assert "RSR-S" in command("textures", "--out", out, "--report-only")
    assert (out / "results.jsonl").read_bytes() == before
    assert "begin anew with --fresh" in command(*arguments, "--out", out, "--seed", 1, code=1)


def test_command_lists_experiments():
    listed = command("--list")
    for name in EXPERIMENTS:
        assert f"│ {name} │" in listed


def test_command_says_what_is_wrong(tmp_path):
    assert "There is no experiment 'poker'" in command("poker", code=2)
    assert "has no embedded data: give --data FOLDER" in command("sports", code=1)
    missing = tmp_path / "nowhere"
    assert "nowhere" in command("textures", "--data", missing, code=1)
    assert "give it by --out" in command("textures", "--report-only", code=1)
    assert "no method 'guessing'" in command("textures", "--methods", "guessing", code=2)
    assert "no part 'z'" in command("textures", "--parts", "z", code=2)
    assert "There are no results in" in command(
        "textures", "--report-only", "--out", missing, code=1
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--markdown", "nowhere/results.md"],
        ["--markdown", "."],
        ["--on-error", "ignore"],
        ["--time-limit", "-1"],
        ["--repeats", "0"],
        ["--n-jobs", "many"],
        ["--out", __file__],
    ],
)
def test_command_checks_its_options_before_it_computes(options, monkeypatch):
    def compute(*_: Any, **__: Any) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr("spdatoms.experiments.run", compute)
    command("textures", *options, code=2)


def test_report_only_of_another_experiment(tmp_path):
    run(Toy(), repeats=1, out=tmp_path)
    said = command("textures", "--out", tmp_path, "--report-only", code=1)
    assert "holds results of the experiment 'toy', not of 'textures'" in said


def test_command_all_leaves_out_what_has_no_data(tmp_path):
    skeletons(tmp_path / "hdm05" / "joints.npz")
    text = tmp_path / "results.md"
    options = ("--methods", "RSR-S", "--repeats", 1, "--out", tmp_path / "out")
    printed = command("all", "--data", tmp_path, *options, "--markdown", text)
    assert "faces: left out. There is no folder 'feret_b'" in printed
    assert os.listdir(tmp_path / "out") == ["actions"]
    assert "## Action recognition from skeletons" in text.read_text()
    empty = command("all", "--data", tmp_path / "out", code=1)
    assert "no experiment could run on these data" in empty


# --- displays ----------------------------------------------------------------------------------------


def test_comparison_draws_bars_deviations_and_diamonds():
    measured, published = {"RSR-S": 97.0, "1-NN": 93.0}, {"RSR-S": 89.9, "VZ": 23.8}
    figure = Figure()
    display = ComparisonDisplay(measured, {"RSR-S": 1.5}, published, emphasis=["RSR-S"])
    display.plot(figure.subplots())
    assert [bar.get_width() for bar in display.bars_] == [97.0, 93.0, 0.0]
    assert display.bars_[0].get_facecolor() != display.bars_[1].get_facecolor()
    diamonds = [line.get_xdata()[0] for line in display.ax_.lines if line.get_marker() == "D"]
    assert diamonds == [89.9, 23.8]
    assert [text.get_text() for text in display.ax_.texts] == ["97.0", "93.0", "(23.8)"]
    bottom, top = display.ax_.get_ylim()
    assert bottom > top
    with pytest.raises(ValueError, match="at least one method"):
        ComparisonDisplay({})


def test_curves_are_those_given():
    figure = Figure()
    first, second = figure.subplots(1, 2)
    cmc = CMCDisplay({"RSR-S": [80.0, 90.0, 100.0], "1-NN": [70.0, 80.0, 90.0]}, max_rank=2)
    cmc.plot(first)
    assert [line.get_ydata().tolist() for line in cmc.lines_] == [[80.0, 90.0], [70.0, 80.0]]
    assert cmc.lines_[0].get_linestyle() != cmc.lines_[1].get_linestyle()
    sizes = AccuracyBySizeDisplay({"a": [8, 24]}, {"a": [40.0, 50.0]}, {"a": [1.0, 2.0]})
    sizes.plot(second)
    assert [label.get_text() for label in second.get_xticklabels()] == ["8", "24"]
    assert sizes.lines_[0].lines[0].get_ydata().tolist() == [40.0, 50.0]
    with pytest.raises(ValueError, match="the same length"):
        AccuracyBySizeDisplay({"a": [8]}, {"a": [40.0, 50.0]})
    with pytest.raises(ValueError, match="curves must hold"):
        CMCDisplay({"a": []})
