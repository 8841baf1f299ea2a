"""Docstrings are completed from the glossary, wherever they come from, and what they say stays."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import KW_ONLY
from typing import Any

from spdatoms import SPDKNeighborsClassifier
from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import StackEstimator, checked_fit, estimator_call
from spdatoms._utils.glossary import describe_members


@allow.with_parameters
class Own(StackEstimator):
    """One sentence.

    A formula.

    Parameters
    ----------
    width, height : int, default=1
        The size.
    positive : bool, default=True
        Something else, in

        two paragraphs.

    Attributes
    ----------
    classes_, alpha_
    size_ : int
        The size in use.
    n_features_in_

    Notes
    -----
    A note.
    """

    metric: str = allow.parameter(allow.TEXT, default="stein")
    width: int = allow.parameter(allow.integer(1), default=1)
    height: int = allow.parameter(allow.integer(1), default=1)
    _: KW_ONLY
    positive: bool = allow.parameter(allow.BOOLEAN, default=True)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(self, X: Any, y: Any = None) -> Own:
        """Fit."""
        return self

    @checked_fit
    def partial_fit(self, X: Any, y: Any) -> Own:
        """Fit more.

        Returns
        -------
        Own
            Itself, with more.
        """
        return self

    @estimator_call
    def transform(self, X: Any, power: float) -> Any:
        """Raise X to a power."""

    @estimator_call
    def predict(self, X: Any, *, power: float = 2.0, channels: Any = None) -> Any:
        """Return numbers.

        Parameters
        ----------
        power : float, default=2.0
            The power.

        Returns
        -------
        ndarray
        """

    def undecorated(self, X: Any) -> Any:
        """Return X."""


describe_members(Own)  # by itself it is called for estimators of the package only

OWN = """\
One sentence.

A formula.

Parameters
----------
metric : str or Divergence, default="stein"
    The divergence d of the kernel exp(−β·d), which must be symmetric: ``"stein"``, ``"jeffrey"``, ``"logeuclid"``,
    ``"riemann"``, ``"euclid"``.
width, height : int, default=1
    The size.
positive : bool, default=True
    Something else, in

    two paragraphs.
verbose : int, default=0
    1 shows progress bars (needs tqdm).

Attributes
----------
classes_ : ndarray of shape (n_classes,)
    The labels.
alpha_ : float
    The α in use.
size_ : int
    The size in use.
n_features_in_ : int
    The size n of the matrices.

Notes
-----
A note."""


def test_a_class():
    assert Own.__doc__ == OWN


def test_an_indented_docstring_and_one_that_python_has_dedented():
    class Named(StackEstimator):
        pass

    text = "\n    A line.\n\n    Attributes\n    ----------\n    alpha_\n"
    for docstring in (text, inspect.cleandoc(text)):
        Named.__doc__ = docstring
        describe_members(Named)
        described = "A line.\n\nAttributes\n----------\nalpha_ : float\n    The α in use."
        assert Named.__doc__ == described


def test_sections_are_inserted_behind_the_beginning():
    @allow.with_parameters
    class Bare(StackEstimator):
        """A line.

        Examples
        --------
        >>> 1
        1
        """

        verbose: int = allow.parameter(allow.VERBOSE, default=0)

    described = "verbose : int, default=0\n    1 shows progress bars (needs tqdm)."
    assert Bare.__doc__ == (
        f"A line.\n\nParameters\n----------\n{described}\n\nExamples\n--------\n>>> 1\n1"
    )


def test_a_parameter_that_nobody_describes_leaves_the_docstring_as_it_is():
    @allow.with_parameters
    class Silent(StackEstimator):
        """A line."""

        width: int = allow.parameter(allow.integer(1), default=1)
        verbose: int = allow.parameter(allow.VERBOSE, default=0)

    assert Silent.__doc__ == "A line."
    assert Own.transform.__doc__ == "Raise X to a power."


def test_a_subclass_has_its_own_docstring():
    @allow.with_parameters
    class Child(Own):
        """A child."""

        verbose: int = allow.parameter(allow.VERBOSE, default=1)

    class Quiet(Child):
        pass

    assert "verbose : int, default=1" in (Child.__doc__ or "")
    assert inspect.getdoc(Quiet) == Child.__doc__
    assert Own.__doc__ == OWN


def test_methods_that_take_streams_say_so():
    streams = "It may be a Dask array, see `spdatoms.scale`."
    assert streams in (SPDKNeighborsClassifier.predict.__doc__ or "")
    assert streams not in (SPDKNeighborsClassifier.kneighbors.__doc__ or "")


def test_methods():
    X = "X : array-like of shape (m, n, n)\n    SPD matrices.\n"
    assert Own.fit.__doc__ == (
        f"Fit.\n\nParameters\n----------\n{X}y : object, default=None\n    Ignored.\n\n"
        "Returns\n-------\nself : object\n    The estimator itself."
    )
    assert Own.partial_fit.__doc__ == (
        f"Fit more.\n\nParameters\n----------\n{X}y : array-like of shape (m,)\n    Their labels.\n\n"
        "Returns\n-------\nOwn\n    Itself, with more."
    )
    assert Own.predict.__doc__ == (
        f"Return numbers.\n\nParameters\n----------\n{X}power : float, default=2.0\n    The power.\n"
        "channels : array-like, default=None\n    The channels that the matrices have: their indices, or a mask of "
        "shape (n,) or (m, n). None stands for all\n    but those whose rows and columns are NaN.\n\n"
        "Returns\n-------\nndarray"
    )
    assert Own.undecorated.__doc__ == "Return X."


def test_estimators_of_others_keep_their_words():
    class Foreign(StackEstimator):
        """A line.

        Attributes
        ----------
        alpha_
        """

        @checked_fit
        def fit(self, X: Any, y: Any = None) -> Foreign:
            """Fit."""
            return self

    assert (Foreign.__doc__ or "").strip().endswith("alpha_")
    assert Foreign.fit.__doc__ == "Fit."


def test_without_docstrings():
    code = "from spdatoms import SPDSparseCoder as c; print(c.__doc__, c.fit.__doc__, c(alpha=2.0).alpha)"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["None", "None", "2.0"], done.stderr
