"""MOABB's benchmark runs pipelines with our estimators, on its fake data set."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.estimation import Covariances
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from spdatoms import SPDDictionaryLearning, SPDKNeighborsClassifier, SPDSparseClassifier


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
