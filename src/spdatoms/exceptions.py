"""The warnings and errors of the package."""


class IndefiniteKernelWarning(UserWarning):
    """The Gram matrix of a kernel had negative eigenvalues and was corrected."""


class ZeroCodeWarning(UserWarning):
    """A query got an all-zero code, so that it was given the class of its nearest atom."""


class NoChannelWarning(UserWarning):
    """A query has no channel, so that what is known without it was returned: the prior, the mean, or a zero code."""


class OtherUnitsWarning(UserWarning):
    """Queries are far larger, or smaller, than all matrices seen in fit, as if they were in other units."""


class ClusterError(RuntimeError):
    """A cluster does not finish its tasks: it was closed, lacks the package, or does nothing any more."""


class OutOfRangeError(ValueError, OverflowError):
    """A result is too large for the floating point numbers that would hold it."""
