"""All campaigns by their names, and how many cases of each the tests run."""

from __future__ import annotations

from fuzz import cluster, codes, files, inputs, matrices, parameters
from fuzz.campaign import Case

CAMPAIGNS: dict[str, Case] = {
    "hostile_pairs": matrices.hostile_pairs,
    "right_pairs": matrices.right_pairs,
    "hostile_functions": matrices.hostile_functions,
    "optimal_codes": codes.optimal_codes,
    "hostile_arguments": codes.hostile_arguments,
    "hostile_parameters": parameters.hostile_parameters,
    "hostile_calls": parameters.hostile_calls,
    "hostile_data": parameters.hostile_data,
    "altered_models": files.altered_models,
    "altered_checkpoints": files.altered_checkpoints,
    "killed_learning": files.killed_learning,
    "killed_on_cluster": cluster.killed_on_cluster,
    "hostile_files": inputs.hostile_files,
    "altered_mat": inputs.altered_mat,
}
IN_TESTS = {
    "hostile_pairs": 120,
    "right_pairs": 100,
    "hostile_functions": 200,
    "optimal_codes": 150,
    "hostile_arguments": 150,
    "hostile_parameters": 100,
    "hostile_calls": 300,
    "hostile_data": 30,
    "altered_models": 60,
    "altered_checkpoints": 60,
    "killed_learning": 5,
    "killed_on_cluster": 0,  # one kill of each kind is in the tests of scale
    "hostile_files": 300,
    "altered_mat": 2,
}
