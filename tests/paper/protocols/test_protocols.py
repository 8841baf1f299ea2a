"""The experiments: what they say of themselves, and their protocols against direct loops."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from _folders import noise, save_image
from spdatoms import SPDSparseClassifier
from spdatoms.paper.experiments import (
    EXPERIMENTS,
    Experiment,
    Method,
    NoDataError,
    Setting,
    get_experiment,
    run,
)
from spdatoms.paper.experiments.runner import seed_of
from spdatoms.paper.protocols import _texture_blocks as blocks
from spdatoms.paper.protocols import texture_dictionaries, textures
from spdatoms.paper.protocols.faces import TESTS
from spdatoms.paper.protocols.reidentification import matching_curve

pytest.importorskip("PIL.Image", reason="needs the extra vision")


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


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_declarations_name_what_there_is(name):
    experiment = get_experiment(name)
    file = Path(sys.modules[type(experiment).__module__].__file__).with_suffix(".toml")
    declared = tomllib.loads(file.read_text(encoding="utf-8"))
    assert set(declared) <= set(Experiment.__annotations__)
    named = {*experiment.own, *experiment.in_figure}
    named |= {declared[role] for role in ("reference", "peer") if role in declared}
    assert named <= set(experiment.methods())
    parts = {
        "textures": textures.PARTS,
        "texture-dictionaries": [*map(str, texture_dictionaries.SIZES), texture_dictionaries.APART],
    }
    assert set(experiment.few_repeats) <= {*experiment.methods(), *parts.get(name, ())}


def test_unknown_experiment():
    with pytest.raises(ValueError, match=r"no experiment 'poker'; the names are textures"):
        get_experiment("poker")


def test_published_averages_are_those_of_the_poses():
    for row in get_experiment("faces").published:
        mean = np.mean([row.scores[pose] for pose in TESTS])
        assert row.scores["average"] == pytest.approx(mean, abs=0.0501)


def test_published_confusions_are_square_and_sum_to_100():
    for name, (classes, matrix) in get_experiment("sports").published_confusions.items():
        assert len(classes) == 10
        sums = np.sum(matrix, axis=1)
        assert np.shape(matrix) == (10, 10)
        # One row is printed with a sum of 115.
        odd = [2] if name == "RSR-S" else []
        np.testing.assert_allclose(np.delete(sums, odd), 100, atol=0.11)


# --- protocols ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
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
    small = method.make(Setting(seed=3)).set_params(beta_factors=(0.3,), nonzeros=(3, 6))
    quick = Method(method.name, lambda setting: small)
    outcome = experiment.evaluate(quick, task, Setting(seed=3))
    gallery = small.transform(task.train.views["covariances"])
    nearest = KNeighborsClassifier(1).fit(gallery, task.train.y)
    probes = task.tests["accuracy"]
    expected = 100 * nearest.score(small.transform(probes.views["covariances"]), probes.y)
    assert outcome.scores["accuracy"] == pytest.approx(expected)
    assert outcome.extra["choices"] == {level: {"beta_factor": 0.3} for level in small.coders_}
    assert list(outcome.extra["curve"]) == ["3", "6"]
    assert outcome.extra["curve"][str(small.chosen_)] == pytest.approx(
        [expected, outcome.extra["nonzeros"]]
    )
    codes = small.transform(probes.views["covariances"])
    assert outcome.extra["nonzeros"] == np.count_nonzero(codes) / len(codes)


def test_blocks_without_overlap():
    image = np.random.default_rng(0).random((96, 100))
    found = blocks.without_overlap(image, 7, np.random.default_rng(1))
    everything = blocks.side_by_side(image)
    assert len(everything) == 9
    among = [int(np.flatnonzero((everything == own).all(axis=(1, 2)))[0]) for own in found]
    assert len(set(among)) == 7
    with pytest.raises(ValueError, match="96×100 pixels has 9 blocks"):
        blocks.without_overlap(image, 10, np.random.default_rng(1))


def test_every_learned_dictionary_of_textures_has_its_controls():
    names = list(get_experiment("texture-dictionaries").methods())
    for name in (name for name in names if name.endswith(" learned")):
        at, stem = names.index(name), name.removesuffix(" learned")
        assert names[at + 1 : at + 3] == [f"{stem} k-means", f"{stem} random"]


@pytest.mark.parametrize("name", ["1-NN Stein", "RSR-S gallery"])
def test_texture_dictionaries_without_dictionary(name):
    experiment = get_experiment("texture-dictionaries")
    task = experiment.task(experiment.load(None)["8"], 0, np.random.default_rng(0))
    method, setting = experiment.methods()[name], Setting(seed=3)
    X, probes = task.train.views["covariances"], task.tests["accuracy"]
    model = method.make(setting).fit(X, task.train.y)
    expected = 100 * np.mean(model.predict(probes.views["covariances"]) == probes.y)
    assert experiment.evaluate(method, task, setting).scores["accuracy"] == pytest.approx(expected)


# --- reports -----------------------------------------------------------------------------------------


def test_without_pyriemann(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyriemann.tangentspace", None)
    options = {"methods": ["tangent space + LR"], "parts": ["photographs"], "repeats": 1}
    results = run(get_experiment("textures"), **options)
    assert [problem.partition(": ")[2] for problem in results.problems] == [
        "This needs 'pyriemann': pip install pyriemann"
    ]


# --- data of the other experiments, small and of the same layout ------------------------------------


@pytest.mark.parametrize("name", ["faces", "actions", "materials", "time"])
def test_experiments_without_embedded_data_say_what_they_want(name):
    with pytest.raises(NoDataError, match=f"'{name}' has no embedded data: give --data FOLDER"):
        run(get_experiment(name))


@pytest.mark.slow
def test_blocks_of_textures_are_in_the_order_of_their_covariances(tmp_path):
    for plate in range(1, 113):
        save_image(tmp_path / "brodatz" / f"D{plate}.png", noise(64, 64, seed=plate))
    (data, *_) = get_experiment("textures").load(tmp_path).values()
    variances = np.var(data.views["images"], axis=(1, 2), ddof=1)
    np.testing.assert_allclose(data.views["covariances"][:, 0, 0], variances, rtol=1e-3)
