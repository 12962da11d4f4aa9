"""The record of decisions, reviews and outcomes (extra ``record``): SQLite in one file, or PostgreSQL.

::

    decide ──► decisions ──┐
    reviews ───────────────┼──► append-only events, chained by hashes ──► view of cases ──► queue, monitor, audit
    outcomes ──────────────┘         ids and kept columns apart: they can be erased

Beside it stand decisions on folders of Parquet files, which a record can import.
"""

import importlib
import typing

from aucross.record.decision_folder import DecisionFolder, PartCounts, write_decisions
from aucross.system import libraries

if typing.TYPE_CHECKING:
    from aucross.record.adding import Added
    from aucross.record.case_record import Record
    from aucross.record.chain import ChainHead, Verification
    from aucross.record.database import RecordError
    from aucross.record.decided_rows import DecidedRows, RecordedBatch

__all__ = [
    "Added",
    "ChainHead",
    "DecidedRows",
    "DecisionFolder",
    "PartCounts",
    "Record",
    "RecordError",
    "RecordedBatch",
    "Verification",
    "write_decisions",
]

# These need SQLAlchemy, which folders of decisions do not.
_FILE_OF = {
    "Added": "adding",
    "ChainHead": "chain",
    "DecidedRows": "decided_rows",
    "Record": "case_record",
    "RecordError": "database",
    "RecordedBatch": "decided_rows",
    "Verification": "chain",
}


def __getattr__(name: str) -> typing.Any:
    """Import a name when it is first used."""
    if name not in _FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    libraries.import_library("sqlalchemy", purpose="the record", extra="record")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_FILE_OF[name]}"), name)
    return value
