"""Tags that tell scikit-learn about estimators."""

from __future__ import annotations

from typing import Any


class StackInputMixin:
    """The tags of an estimator whose samples are arrays, not vectors: X has three axes or more."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
