"""All campaigns by their names, how many seeds of each the tests try, and their shares of the time of a run."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from joblib.externals.loky import get_reusable_executor

from fuzz import (
    centres,
    cluster,
    codes,
    divergence_values,
    estimators,
    files,
    inputs,
    kernels,
    laws,
    matrices,
    matrix_functions,
    parameters,
    ranks,
)
from fuzz.campaign import Case, run_campaign


@dataclass(frozen=True)
class Campaign:
    """Cases of one kind.

    Attributes
    ----------
    case : callable
        What a seed decides.
    in_tests : int
        How many seeds every run of the tests tries.
    share : float
        Its time in a run, compared with that of the others.
    """

    case: Case
    in_tests: int
    share: float = 1.0


CAMPAIGNS = {
    # An oracle confirms the numbers.
    "exact_pairs": Campaign(divergence_values.exact_pairs, 40, 8.0),
    "exact_gradients": Campaign(divergence_values.exact_gradients, 30, 5.0),
    "right_pairs": Campaign(matrices.right_pairs, 40, 3.0),
    "stationary_means": Campaign(centres.stationary_means, 40, 2.0),
    "stationary_medians": Campaign(centres.stationary_medians, 12, 4.0),
    "known_functions": Campaign(matrix_functions.known_functions, 150),
    "optimal_codes": Campaign(codes.optimal_codes, 150),
    "least_codes": Campaign(codes.least_codes, 60),
    "tensor_codes": Campaign(codes.tensor_codes, 40),
    "frobenius_codes": Campaign(codes.frobenius_codes, 40, 0.5),
    "kernel_cases": Campaign(kernels.kernel_cases, 80, 2.0),
    "defined_estimators": Campaign(estimators.defined_estimators, 60, 6.0),
    "fuzzed_rank": Campaign(ranks.fuzzed_rank, 150),
    # A law holds.
    "pair_laws": Campaign(laws.pair_laws, 40, 3.0),
    "law_cases": Campaign(laws.law_cases, 40, 3.0),
    "model_laws": Campaign(laws.model_laws, 25, 6.0),
    "altered_checkpoints": Campaign(files.altered_checkpoints, 60),
    "killed_learning": Campaign(files.killed_learning, 5),
    # Answers of the right kind, or refusals.
    "hostile_pairs": Campaign(matrices.hostile_pairs, 80),
    "hostile_functions": Campaign(matrices.hostile_functions, 200),
    "hostile_arguments": Campaign(codes.hostile_arguments, 150),
    "hostile_parameters": Campaign(parameters.hostile_parameters, 60, 3.0),
    "hostile_calls": Campaign(parameters.hostile_calls, 300, 2.0),
    "hostile_data": Campaign(parameters.hostile_data, 20, 2.0),
    "hostile_files": Campaign(inputs.hostile_files, 300),
    "hostile_labels": Campaign(inputs.hostile_labels, 6),
    "altered_mat": Campaign(inputs.altered_mat, 2),
    "altered_models": Campaign(files.altered_models, 60, 3.0),
    # Last, because one case takes minutes. The tests of scale have one kill of each kind.
    "killed_on_cluster": Campaign(cluster.killed_on_cluster, 0),
}


def run_part(name: str, first: int, step: int, most: int | None, seconds: float) -> Any:
    """Run the seeds first, first + step, … of a campaign; return outcomes and findings."""
    last = None if most is None else first + step * most
    seeds = itertools.count(first, step) if last is None else range(first, last, step)
    try:
        return run_campaign(name, CAMPAIGNS[name].case, seeds, seconds)
    finally:
        # A process waits at its end for those of joblib, which stay for minutes in case there is more to do.
        get_reusable_executor().shutdown(wait=True, kill_workers=True)
