"""Data to try the library on: a synthetic loan portfolio that needs no download."""

from aucross.datasets.credit import make_credit

__all__ = ["make_credit"]
