"""Webhook that sends each final decision of a person to another program."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from sqlalchemy import func, select, text

from aucross.record import Record
from aucross.record.record_tables import reviews, told

logger = logging.getLogger(__name__)

# Without encryption only within this machine.
_OWN = {("http", "127.0.0.1"), ("http", "localhost")}


class Webhook:
    """Sender of final decisions as JSON: each at least once, in the order of the reviews, also after a restart.

    The record stores the last decision sent to an address, under a hash of the address. A new address gets later
    reviews only. With a key the header ``Aucross-Signature`` is the HMAC-SHA256 of the body. The record is read every
    `seconds`, and a post may also take this long.
    """

    def __init__(self, record: Record, address: str, key: bytes | None = None, seconds: float = 5.0) -> None:
        asked = urlsplit(address)
        if asked.scheme != "https" and (asked.scheme, asked.hostname) not in _OWN:
            raise ValueError("the address of a webhook must begin with https://, or be on this machine")
        self._record, self._address, self._key, self._seconds = record, address, key, seconds
        self._who = sha256(address.encode()).hexdigest()[:16]
        with record.reading() as connection:
            last = connection.execute(select(func.max(told.c.review)).where(told.c.who == self._who)).scalar()
            self._last: int = connection.execute(select(func.max(reviews.c.number))).scalar() or 0
        if last is None:
            self._keep(self._last)
        else:
            self._last = last

    async def run(self) -> None:
        """Look for new final decisions and post them until cancelled; retry those that failed."""
        while True:
            try:
                await asyncio.to_thread(self.tell)
            except Exception as error:
                # Not the text: it may hold the address.
                logger.error("the webhook failed (%s), and is tried again", type(error).__name__)
            await asyncio.sleep(self._seconds)

    def tell(self) -> int:
        """Post new final decisions; return their number."""
        columns = "batch, id, case_number, decision, final_decision, final_by, review_number"
        query = text(
            f"SELECT {columns} FROM cases WHERE review_number > :last AND final_by = 'review' ORDER BY review_number"
        )
        with self._record.reading() as connection:
            rows = [dict(row) for row in connection.execute(query, {"last": self._last}).mappings()]
        reached = self._last
        try:
            for row in rows:
                self._post(row)
                reached = row["review_number"]
        finally:
            if reached != self._last:
                self._keep(reached)
        return len(rows)

    def _keep(self, review: int) -> None:
        with self._record.appending() as appending:
            appending.append(told, [{"who": self._who, "review": review}])
        self._last = review

    def _post(self, row: dict[str, Any]) -> None:
        body = json.dumps(row).encode()
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Aucross-Signature"] = hmac.new(self._key, body, "sha256").hexdigest()
        with urlopen(Request(self._address, body, headers), timeout=self._seconds):
            return
