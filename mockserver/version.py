"""The version of the product: the only place that says it."""

__version__ = "0.1.0"
