"""The cone of SPD matrices: checks, repair, functions of matrices, geodesics, half-vectors."""

from spdatoms.geometry.functions import (
    exp_map,
    expm,
    geodesic,
    geometric_mean,
    invsqrtm,
    log_map,
    logm,
    powm,
    sqrtm,
)
from spdatoms.geometry.half_vectors import unvech, vech
from spdatoms.geometry.repair import nearest_spd, regularise, shrink
from spdatoms.geometry.tangents import inner_product, norm, parallel_transport
from spdatoms.geometry.validation import check_spd, is_spd

__all__ = [
    "check_spd",
    "exp_map",
    "expm",
    "geodesic",
    "geometric_mean",
    "inner_product",
    "invsqrtm",
    "is_spd",
    "log_map",
    "logm",
    "nearest_spd",
    "norm",
    "parallel_transport",
    "powm",
    "regularise",
    "shrink",
    "sqrtm",
    "unvech",
    "vech",
]
