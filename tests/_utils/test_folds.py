"""Folds leave out every sample once per repeat, and of every class about as many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spdatoms._utils.folds import class_folds

labels = st.lists(st.integers(0, 3), min_size=2, max_size=40).map(np.array)


@given(labels, st.integers(2, 6), st.integers(1, 3))
def test_every_sample_is_left_out_once_per_repeat(y, most, repeats) -> None:
    folds = class_folds(y, most, repeats)
    left_out = np.concatenate([np.zeros(0, np.intp), *(fold.test for fold in folds)])
    assert np.bincount(left_out, minlength=len(y)).max() <= repeats
    if (np.bincount(y) > 1).any():
        np.testing.assert_array_equal(np.bincount(left_out, minlength=len(y)), repeats)
    for fold in folds:
        np.testing.assert_array_equal(
            np.sort(np.concatenate([fold.train, fold.test])), np.arange(len(y))
        )
        members = np.bincount(y[fold.test], minlength=4)
        whole = np.bincount(y, minlength=4) / max(2, min(most, np.bincount(y).max()))
        assert (np.abs(members - whole) < 1).all()


def test_repeats_are_other_folds_and_the_first_is_that_without_repeats() -> None:
    y = np.repeat([0, 1], 12)
    once, twice = class_folds(y), class_folds(y, repeats=2)
    assert len(twice) == 2 * len(once)
    for one, same in zip(once, twice, strict=False):
        np.testing.assert_array_equal(one.test, same.test)
    assert {tuple(fold.test) for fold in once}.isdisjoint(tuple(f.test) for f in twice[5:])
