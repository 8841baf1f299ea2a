"""The version of the package, which models, reports and results contain."""

__version__ = "0.1.0"
