"""Data larger than memory: memory maps and Dask arrays, on this machine or on a cluster.

Every estimator accepts them. For a Dask array, ``transform`` and ``predict`` return a Dask array, and
nothing is computed before it is needed. `SPDDictionaryLearning` and `SPDKMeans` learn from a stream: each
pass reads all matrices again, part by part, and adds up a term for each part. Estimators that keep their
training matrices (`SPDSparseCoder`, `SPDSparseClassifier`, `SPDKNeighborsClassifier`, the regressors) read them all
into memory in `fit`; with landmarks `SPDSparseClassifier` reads them part by part, and keeps vectors.

If there is a ``dask.distributed.Client``, its workers compute; otherwise Dask's threads do.
"""

from __future__ import annotations

from spdatoms.scale._dask import open_stream
from spdatoms.scale.budget import block_budget, is_streamed
from spdatoms.scale.cluster import worker_timeout
from spdatoms.scale.stream import Stream

__all__ = ["Stream", "block_budget", "is_streamed", "open_stream", "worker_timeout"]
