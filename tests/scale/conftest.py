"""A cluster of two workers, and data that is cut into several parts there."""

from __future__ import annotations

import pytest

from _learned import learner
from _matrices import random_spd


@pytest.fixture(scope="module")
def client():
    """Return a client of a cluster that the tests of one file share."""
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    # By default a worker that is away 15 s after it was lost, because it was lost again, is given up.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def many_parts():
    """Little data shall be cut into several parts, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spdatoms.scale.parts._PART_ENTRIES", 1 << 15)
        yield


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return random_spd(6000, 4, seed=1)


@pytest.fixture(scope="module")
def stored(X, tmp_path_factory):
    zarr = pytest.importorskip("zarr")
    path = tmp_path_factory.mktemp("zarr") / "X.zarr"
    array = zarr.create_array(path, shape=X.shape, chunks=(1000, 4, 4), dtype=X.dtype)
    array[:] = X
    return pytest.importorskip("dask.array").from_zarr(path)


@pytest.fixture(scope="module")
def expected(X, many_parts):
    return learner().fit(X)
