"""What every form of the decision log shares: the columns of a row, where rows go, what may be wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from aucross.system.libraries import import_library

TEXT_COLUMNS = ("id", "decision", "rule_fingerprint", "model_fingerprint")
NUMBER_COLUMNS = ("score", "lower", "upper", "target_coverage")
COLUMNS = (
    "id",
    "score",
    "decision",
    "lower",
    "upper",
    "target_coverage",
    "rule_fingerprint",
    "model_fingerprint",
    "time",
)

Columns = Mapping[str, NDArray[Any]]

# What is written for a trial: a block, as file systems count.
TRIAL = b"?" * 4096


class RowStore(Protocol):
    """Keeps rows on the disk."""

    def append(self, columns: Columns) -> None:
        """Add rows; when this returns they are on the disk."""
        ...

    def check(self) -> None:
        """Raise an error if rows could not be added now; no row is."""
        ...

    def close(self) -> None:
        """Give the files free."""
        ...


class Damage(NamedTuple):
    """A place of a log that is not as it was written."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place} {self.reason}"


class LogDamageWarning(UserWarning):
    """A decision log is damaged: what is whole was read, what is not is named.

    Parameters
    ----------
    path : path-like
        The log.
    damages : sequence
        What is wrong, and where.

    Attributes
    ----------
    places : tuple of str
        Every damaged line or part, with what is wrong about it.
    """

    def __init__(self, path: object, damages: Sequence[Damage]) -> None:
        super().__init__(damage_message(path, damages))
        self.places = tuple(str(damage) for damage in damages)


def damage_message(path: object, damages: Sequence[Damage], *, named: int = 20) -> str:
    """One sentence with the file and its first damaged places."""
    more = f"; and {len(damages) - named} more places" if len(damages) > named else ""
    return f"{path} is damaged: {'; '.join(str(damage) for damage in damages[:named])}{more}"


def log_library(module: str) -> Any:
    """A library that reads or writes logs."""
    return import_library(module, purpose="the decision log", extra="arrow")
