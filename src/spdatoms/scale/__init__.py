"""Data larger than the memory: memory maps and Dask arrays, on this machine or on a cluster.

Estimators take them as they are. What is computed for a Dask array by ``transform`` and ``predict`` is
a Dask array, too, and nothing is computed before it is asked for. `SPDDictionaryLearning` and
`SPDKMeans` learn from a Dask array, or from a memory map, pass by pass: every pass reads the matrices
again, piece by piece, and adds up what the pieces say. The estimators that hold their training
matrices (`SPDSparseCoder`, `SPDSparseClassifier`, `SPDKNeighborsClassifier`) have to collect them in
`fit`.

Whoever has made a ``dask.distributed.Client`` computes on its workers; without one Dask's threads do.
"""

from __future__ import annotations

from spdatoms.scale.budget import block_budget, is_streamed
from spdatoms.scale.source import open_stream
from spdatoms.scale.stream import Stream

__all__ = ["Stream", "block_budget", "is_streamed", "open_stream"]
