"""A short run of every campaign, always with the same seeds, and the seeds of all findings so far."""

from __future__ import annotations

import pytest

from fuzz.campaign import OUTCOMES, known_seeds, run_case
from fuzz.campaigns import CAMPAIGNS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_no_case_is_a_finding(name: str) -> None:
    campaign = CAMPAIGNS[name]
    for seed in [*known_seeds(name), *range(campaign.in_tests)]:
        assert set(run_case(name, campaign.case, seed)) <= set(OUTCOMES)
