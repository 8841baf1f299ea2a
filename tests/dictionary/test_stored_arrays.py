"""Arrays in files of the workers that computed them."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import SPDDictionaryLearning
from spdatoms.dictionary import _samples
from spdatoms.dictionary._samples import StoredArray

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.mark.slow
def test_an_array_is_read_from_its_file_and_the_file_goes_with_it() -> None:
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    here = StoredArray(values)
    there = pickle.loads(pickle.dumps(here))
    assert here.path != there.path
    assert len(there) == 4
    for stored in (here, there):
        np.testing.assert_array_equal(np.asarray(stored), values)
        assert np.asarray(stored).dtype == np.float32
    path = here.path
    del here, stored
    gc.collect()
    assert not path.exists()
    assert there.path.exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
def test_workers_with_little_memory_keep_features_in_files(monkeypatch) -> None:
    X = random_spd(600, 4, seed=1)
    model = SPDDictionaryLearning(
        8, "jeffrey", alpha=0.1, init="random", max_iter=3, landmarks=20, random_state=0
    )
    expected = model.fit(X).atoms_
    monkeypatch.setattr(_samples, "_SHARE_OF_MEMORY", 1 << 60)
    made, original = [], StoredArray.__init__

    def counted(self, array) -> None:
        original(self, array)
        made.append(self.path)

    monkeypatch.setattr(StoredArray, "__init__", counted)
    monkeypatch.setattr("spdatoms.scale.parts._PART_ENTRIES", 1 << 10)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        found = model.fit(da.from_array(X, chunks=(100, 4, 4))).atoms_
        assert made
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    gc.collect()
    assert not any(path.exists() for path in made)
