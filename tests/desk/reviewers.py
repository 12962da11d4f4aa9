"""Reviewers who work at a running desk over HTTP, each on a connection of their own, as browsers do.

A reviewer takes the next case, looks at it, answers, sees what the machine says, gives the last word and comes back to
the queue: six requests and two answers a case. What gets no answer, or one that says to try again, is sent again.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import defaultdict
from contextlib import suppress
from time import perf_counter
from urllib.parse import urlencode

from aucross.desk.app import COOKIE
from aucross.desk.people import form_token

REPLACES = re.compile(r'name="replaces" value="([0-9]*)"')
LENGTH, PLACE = re.compile(r"content-length: (\d+)"), re.compile(r"location: (\S+)")


class Connection:
    """A connection to a desk, opened again whenever it broke."""

    def __init__(self, port, cookie):
        self._port, self._cookie, self._streams = port, cookie, None

    async def ask(self, method, path, fields):
        """Send a request; return status, place and text of the answer, 503 if none came."""
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._streams
            body = urlencode(fields).encode()
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {COOKIE}={self._cookie}\r\n"
            kind = "Content-Type: application/x-www-form-urlencoded\r\n"
            writer.write(f"{head}{kind}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length, place = LENGTH.search(answer), PLACE.search(answer)
            text = (await reader.readexactly(int(length[1]) if length else 0)).decode()
        except (OSError, EOFError):
            await self.close()
            return 503, None, ""
        return int(answer.split()[1]), place and place[1], text

    async def close(self):
        """Close it, if it is open."""
        if self._streams is not None:
            (_, writer), self._streams = self._streams, None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class Reviewers:
    """People at a desk, who work until they are told to stop; `answers` are those that the desk acknowledged."""

    def __init__(self, desk, port, n_people):
        self.port = port
        self.people = {
            name: desk.enter(desk.add_person(name, "reviewer")) for name in map("P{}".format, range(n_people))
        }
        self.answers, self.seconds = [], defaultdict(list)
        self.n_again, self.n_refused = 0, 0
        self._is_over = False

    def start(self):
        """Let people begin again who have stopped."""
        self._is_over = False

    def stop(self):
        """Let everybody finish the case at hand."""
        self._is_over = True

    async def work(self):
        """Let all people work at once."""
        await asyncio.gather(*(self._works(name, session) for name, session in self.people.items()))

    async def _works(self, name, session):
        drawn, token, connection = random.Random(name), form_token(session), Connection(self.port, session)

        async def ask(kind, path, **fields):
            method, fields = ("POST", {"form_token": token, **fields}) if kind in {"next", "answer"} else ("GET", {})
            while True:
                start = perf_counter()
                status, place, text = await connection.ask(method, path, fields)
                if status != 503:
                    self.seconds[kind].append(perf_counter() - start)
                    self.n_refused += status >= 400
                    return status, place, text
                self.n_again += 1
                await asyncio.sleep(0.05)

        while not self._is_over:
            _, case, _ = await ask("next", "/next")
            if not case.startswith("/case/"):
                break
            _, _, page = await ask("case", case)
            for stage in ("first", "last"):
                answer, replaces = drawn.choice("01"), REPLACES.search(page)[1]
                status, place, _ = await ask("answer", f"{case}/answer", answer=answer, replaces=replaces)
                if status != 303:
                    break
                self.answers.append((int(case.removeprefix("/case/")), name, stage, answer))
                _, _, page = await ask("case" if stage == "first" else "queue", place.partition("#")[0])
        await connection.close()


def wrong_with(record, answers):
    """A sentence on each acknowledged answer that is not in the record exactly once, and on what nobody gave."""
    if not (found := record.verify()).is_clean:
        yield f"verify: {found.fault}"
    with record.reading() as connection:
        query = "SELECT number, case_number, reviewer, answer, replaces, saw_machine FROM reviews"
        rows = connection.exec_driver_sql(query).all()
        left = set(connection.exec_driver_sql("SELECT case_number FROM desk_open").scalars())
    there = defaultdict(list)
    for _, case, person, answer, replaces, saw in rows:
        stage = "first" if replaces is None else "last"
        there[case, person, stage].append(answer)
        if saw != (stage == "last"):
            yield f"case {case}: the {stage} answer of {person} says that the machine's was seen: {saw}"
    for case, person, stage, answer in answers:
        if there[case, person, stage] != [answer]:
            yield f"case {case}: {person} gave {answer} as {stage} answer, the record has {there[case, person, stage]}"
    yield from (f"case {key[0]} has two {key[2]} answers of {key[1]}" for key, given in there.items() if len(given) > 1)
    who = defaultdict(set)
    for _, case, person, *_ in rows:
        who[case].add(person)
    yield from (f"case {case} was given to {sorted(people)}" for case, people in who.items() if len(people) > 1)
    waiting = {row["case_number"] for row in record.cases().to_pylist() if row["decision"] == "review"}
    yield from (f"case {case} is open although it was answered" for case in left & set(who))
    yield from (f"case {case} was forgotten" for case in waiting - left - set(who))
