"""A model for the tests of storage."""

from __future__ import annotations

import pytest

from _model_files import X
from spdatoms import SPDKMeans


@pytest.fixture(name="kmeans", scope="module")
def fitted_kmeans() -> SPDKMeans:
    return SPDKMeans(2, metric="stein", random_state=0).fit(X)
