"""The record of decisions, reviews and outcomes (extra ``record``): SQLite in one file, or PostgreSQL.

::

    decide ──► decisions ──┐
    reviews ───────────────┼──► append-only events, chained by hashes ──► view of cases ──► queue, monitor, audit
    outcomes ──────────────┘         ids and kept columns apart: they can be erased
"""

from aucross.system import libraries

for _library in ("sqlalchemy", "pyarrow"):
    libraries.import_library(_library, purpose="the record", extra="record")

from aucross.record.adding import Added  # noqa: E402
from aucross.record.case_record import Record  # noqa: E402
from aucross.record.chain import ChainHead, Verification  # noqa: E402
from aucross.record.database import RecordError  # noqa: E402
from aucross.record.decided_rows import RecordedBatch  # noqa: E402
from aucross.record.watching import RecordedScore, recorded_calibration, recorded_team_score, watch  # noqa: E402

__all__ = [
    "Added",
    "ChainHead",
    "Record",
    "RecordError",
    "RecordedBatch",
    "RecordedScore",
    "Verification",
    "recorded_calibration",
    "recorded_team_score",
    "watch",
]
