"""The version, which models, reports and results carry."""

__version__ = "0.1.0.dev0"
