"""Data to try the library on without a download: a synthetic loan portfolio."""

from aucross.datasets.credit import make_credit

__all__ = ["make_credit"]
