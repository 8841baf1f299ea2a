"""The warnings of the package."""


class IndefiniteKernelWarning(UserWarning):
    """The Gram matrix of a kernel had negative eigenvalues and was corrected."""


class ZeroCodeWarning(UserWarning):
    """A query got an all-zero code, so that it was given the class of its nearest atom."""
