"""MOABB's benchmark runs pipelines with our estimators, on its fake data set."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.estimation import Covariances
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from spdatoms import (
    MinimumDistanceToMean,
    SPDAlign,
    SPDDictionaryLearning,
    SPDKNeighborsClassifier,
    SPDRecentre,
    SPDSparseClassifier,
)


@pytest.fixture
def moabb(tmp_path, monkeypatch):
    """Return MOABB, which then writes nothing outside the folder of the test."""
    monkeypatch.setenv("_MNE_FAKE_HOME_DIR", str(tmp_path))
    monkeypatch.setenv("MNE_DATA", str(tmp_path))
    return pytest.importorskip("moabb")


@pytest.mark.filterwarnings("ignore")
def test_pipelines_within_sessions(moabb, tmp_path) -> None:
    from moabb.datasets.fake import FakeDataset
    from moabb.evaluations import WithinSessionEvaluation
    from moabb.paradigms import LeftRightImagery

    dataset = FakeDataset(
        event_list=("left_hand", "right_hand"), n_subjects=1, n_sessions=2, n_runs=1, n_events=20
    )
    evaluation = WithinSessionEvaluation(
        paradigm=LeftRightImagery(), datasets=[dataset], hdf5_path=str(tmp_path), overwrite=True
    )
    pipelines = {
        "sparse": make_pipeline(Covariances("oas"), SPDSparseClassifier("stein")),
        "neighbours": make_pipeline(Covariances("oas"), SPDKNeighborsClassifier(3)),
        "codes": make_pipeline(
            Covariances("oas"),
            SPDDictionaryLearning(4, max_iter=2, tol=0.0, random_state=0),
            LogisticRegression(),
        ),
    }
    results = evaluation.process(pipelines)
    assert set(results["pipeline"]) == set(pipelines)
    assert len(results) == 2 * len(pipelines)
    assert np.isfinite(results["score"]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "mode", ["train", "train_and_target_unlabeled_50p", "train_and_target_labeled_50p"]
)
def test_new_subjects(moabb, tmp_path, mode, monkeypatch) -> None:
    """MOABB hands subjects and the raw calibration slice to the steps that ask for them."""
    fitted = []
    plain = SPDRecentre._learn

    def learn(self, X, domains, *rest):
        fitted.append(set(np.ravel(domains).astype(str)))
        return plain(self, X, domains, *rest)

    monkeypatch.setattr(SPDRecentre, "_learn", learn)
    from moabb.datasets.fake import FakeDataset
    from moabb.evaluations import CrossSubjectEvaluation
    from moabb.paradigms import LeftRightImagery

    dataset = FakeDataset(
        event_list=("left_hand", "right_hand"), n_subjects=3, n_sessions=1, n_runs=1, n_events=20
    )
    evaluation = CrossSubjectEvaluation(
        paradigm=LeftRightImagery(),
        datasets=[dataset],
        hdf5_path=str(tmp_path),
        overwrite=True,
        cs_mode=mode,
    )
    with config_context(enable_metadata_routing=True):
        labelled = "unlabeled" not in mode
        slice_name = "X_target_labeled" if labelled else "X_target_unlabeled"
        recentre = SPDRecentre().set_fit_request(domains="subjects", X_target=slice_name)
        align = SPDAlign().set_fit_request(
            domains="subjects", X_target=slice_name, y_target="y_target_labeled"
        )
        steps = [step.set_transform_request(domains="subjects") for step in (recentre, align)]
        pipelines = {
            type(step).__name__: Pipeline(
                [
                    ("covariances", Covariances("oas")),
                    ("domains", step),
                    ("mean", MinimumDistanceToMean()),
                ],
                transform_input=["X_target"],
            )
            for step in steps
        }
    results = evaluation.process(pipelines)
    assert set(results["pipeline"]) == set(pipelines)
    assert len(results) == 3 * len(pipelines)
    assert np.isfinite(results["score"]).all()
    assert {"1", "2"} in fitted  # the third was left out
    assert ({"target"} in fitted) == (mode != "train")
