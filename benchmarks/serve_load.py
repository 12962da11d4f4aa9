"""Requests a second and latency of `aucross serve`, beside a bare FastAPI endpoint with the same model.

    python -m benchmarks.serve_load [--requests 2000]

Both servers run in processes of their own on the loopback address, take the same typed rows and score one row a
request. The bare endpoint returns `predict_proba` and keeps nothing; `aucross serve` decides, gives a reason and writes
each decision to a log that is forced to the disk before the answer. They are asked in turns, by 1, 8 and 32 callers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from aucross.datasets import make_credit

CALLERS = (1, 8, 32)
ROUNDS = 3

# The endpoint that people write by hand.
BARE = """
import sys

import uvicorn
from fastapi import FastAPI

from aucross.cli.schema import load_model
from aucross.serve.served_model import ServedModel

clf, schema = load_model(__import__("pathlib").Path(sys.argv[1]))
model = ServedModel(clf, schema.columns, schema.labels)
app = FastAPI()


def predict(row):
    return {"probability": float(clf.estimator_.predict_proba(model.table([row]))[0, 1])}


predict.__annotations__["row"] = model.row_type
app.post("/predict")(predict)
uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    for _ in range(600):
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
    raise TimeoutError(f"no server at port {port}")


async def ask(port: int, path: str, bodies: list[bytes], seconds: list[float]) -> None:
    """Send one request after the other over one connection."""
    reader, writer = await connected(port)
    for body in bodies:
        lines = (f"POST {path} HTTP/1.1", "Host: server", "Content-Type: application/json")
        head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", ""))
        start = perf_counter()
        writer.write(head.encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(re.search(r"content-length: (\d+)", answer)[1]))
        seconds.append(perf_counter() - start)
        assert " 200 " in answer.splitlines()[0], answer
    writer.close()


async def load(port: int, path: str, bodies: list[bytes], n_callers: int) -> tuple[float, float]:
    """Requests a second, and the 99th percentile of the latency."""
    seconds: list[float] = []
    start = perf_counter()
    await asyncio.gather(*(ask(port, path, bodies[caller::n_callers], seconds) for caller in range(n_callers)))
    return len(bodies) / (perf_counter() - start), float(np.quantile(seconds, 0.99))


def run(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, *map(str, arguments)], text=True, env=environment, **options)


def free_port() -> int:
    import socket  # noqa: PLC0415

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def measure(base: str, n_requests: int, folder: Path) -> None:
    X, y = make_credit(4000, return_X_y=True)
    table, model = folder / "loans.csv", folder / f"{base}.aucross"
    X.assign(default=y).to_csv(table, index=False)
    fit = ("-m", "aucross", "fit", table, "--target", "default", "--base", base, "--out", model)
    assert run(*fit, "--no-report", "--quiet", stdout=subprocess.DEVNULL).wait() == 0
    serve = ("-m", "aucross", "serve", model, "--port", 0, "--record", folder / f"{base}.db", "--quiet")
    bare_port = free_port()
    ours, bare = run(*serve, stdout=subprocess.PIPE), run("-c", BARE, model, bare_port)
    try:
        port = int(re.search(r"127\.0\.0\.1:(\d+)", ours.stdout.readline())[1])
        X["issue_date"] = X["issue_date"].astype(str).str[:10]
        rows = [json.loads(row) for row in X.to_json(orient="records", lines=True).splitlines()]
        plain = [json.dumps(row).encode() for row in rows] * (1 + n_requests // len(rows))
        wrapped = [json.dumps({"row": row}).encode() for row in rows] * (1 + n_requests // len(rows))
        asyncio.run(load(port, "/decision", wrapped[:50], 4))
        asyncio.run(load(bare_port, "/predict", plain[:50], 4))
        for n_callers in CALLERS:
            found = [
                (
                    *asyncio.run(load(port, "/decision", wrapped[:n_requests], n_callers)),
                    *asyncio.run(load(bare_port, "/predict", plain[:n_requests], n_callers)),
                )
                for _ in range(ROUNDS)
            ]
            rate, slowest, bare_rate, bare_slowest = np.median(found, axis=0)
            print(
                f"{base}, {n_callers} callers: {rate:.0f} requests a second, 99 % within {1e3 * slowest:.0f} ms; bare "
                f"{bare_rate:.0f} and {1e3 * bare_slowest:.0f} ms: {rate / bare_rate:.2f} x its requests, "
                f"{slowest / bare_slowest:.2f} x its latency",
                flush=True,
            )
    finally:
        for process in (ours, bare):
            process.terminate()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    n_requests = parser.parse_args().requests
    with TemporaryDirectory() as folder:
        for base in ("logistic", "hgb"):
            measure(base, n_requests, Path(folder))


if __name__ == "__main__":
    main()
