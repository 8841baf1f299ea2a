"""What the regressors share: one target per matrix, or several."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from spdatoms._utils.arrays import same_kind


class ManyTargets(RegressorMixin):
    """A regressor that takes several targets per matrix, too, and whose ``score`` takes arrays of other libraries."""

    score = same_kind(RegressorMixin.score)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
