"""How far a call walks through the house: functions and files that it passes, and what it costs beside its parts.

    python -m benchmarks.house_paths [size] [paths] [argsorts] [fit] [select]

All parts by default, and the aims beside what is measured.

*Paths*: every call is made twice, and the second is watched by `sys.setprofile` in the threads that run it. A
function counts once, however often it is called, and a file is one in which such a function stands. Two numbers of
functions are shown: those that have a name, and in parentheses all, with lambdas, generator expressions and
comprehensions, which from Python 3.12 on are no functions any more: compare the first number between versions.
Methods that dataclasses write stand in no file and are not counted. The figures beside which the aims were set, 240 /
32, 176 / 28, 30 / 11, 824 / 108 and 107 / 27, are near all functions for the first three calls and near those with a
name for the last two. `aucross fit` reads a CSV of 2,000 rows with seven numbers and writes a model and a report;
`LGBMClassifier` is fitted on 2,000 rows; the evaluation scores 1,000 rows and has intervals; the request asks for a
decision on one row, without a record, as when the aim was set, and written into one.

*Argsorts*: processor time of an evaluation with intervals on rows that are scored already, divided by that of sorting
the scores once with `np.argsort`. *Fit*: that of `AUCross(LGBMClassifier).fit`, with its correction of the coverage,
divided by that of `cross_val_predict` and `fit` with as many folds, on the Adult data, or on made ones where they are
not there. *Select*: that of deciding on a million rows, divided by that of `predict_proba`. Both sides are measured in
turns in one run, in one thread, and the median of the ratios is shown.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import json
import os
import statistics
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from types import FrameType
from typing import Any, Self

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import aucross
from aucross import AUCross, evaluate_selective
from benchmarks.house_size import functions

PACKAGE = Path(aucross.__file__).resolve().parent
_ROOT = str(PACKAGE) + os.sep
CHECKS = ("check_coverage", "as_positive", "row_weights", "check_scores")

Line = tuple[str, str, str]  # what is measured, what it is now, what it should be


# ---- size ----


# What the house did not have when the aims were set: the aims are about equal features.
NEW_ROOMS = (
    *("audit", "desk", "record", "watch/keeper.py", "estimators/reasons.py", "report/oversight.py"),
    *("report/oversight_page.py", "cli/desk_app.py", "cli/record_app.py", "cli/recording.py", "serve/webhook.py"),
)


def size() -> Iterator[Line]:
    """Lines, modules, classes and short functions, with and without what is new."""
    paths = sorted(PACKAGE.rglob("*.py"))
    at_equal_features = [path for path in paths if not any(path.is_relative_to(PACKAGE / room) for room in NEW_ROOMS)]
    for what, counted, aim in (
        ("lines in src / modules / classes", paths, "50,000 lines"),
        ("the same without new rooms", at_equal_features, "43,500 / 200 / 260"),
    ):
        texts = [path.read_text(encoding="utf-8") for path in counted]
        n_classes = sum(isinstance(node, ast.ClassDef) for text in texts for node in ast.walk(ast.parse(text)))
        n_lines = sum(len(text.splitlines()) for text in texts)
        yield what, f"{n_lines:,} / {len(texts)} / {n_classes}", aim
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    classes = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    lengths = [length for tree in trees for length in functions(tree)]
    short = sum(length <= 3 for length in lengths)
    yield "classes called ...Rows", str(sum(name.endswith("Rows") for name in classes)), "8"
    yield "functions of at most three lines", f"{short / len(lengths):.0%} of {len(lengths):,}", ""


# ---- paths ----


class Walk:
    """Notes which functions of the package are called, in all threads that start after it."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, int, str]] = Counter()
        self._counts = False

    def __enter__(self) -> Self:
        threading.setprofile(self._notice)
        sys.setprofile(self._notice)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count what is called meanwhile."""
        self._counts = True
        try:
            yield
        finally:
            self._counts = False

    def _notice(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if self._counts and event == "call" and code.co_filename.startswith(_ROOT):
            self.calls[code.co_filename, code.co_firstlineno, code.co_qualname] += 1

    @property
    def passed(self) -> str:
        """Distinct functions with a name, all of them, and files."""
        named = sum(not name.endswith(">") for _, _, name in self.calls)
        return f"{named} ({len(self.calls)}) / {len({file for file, _, _ in self.calls})}"

    def count(self, name: str) -> int:
        """How often functions of a name were called; 0 if there is none."""
        return sum(count for (_, _, called), count in self.calls.items() if called.rpartition(".")[2] == name)


def second_walk(call: Callable[[], Any]) -> Walk:
    """What a call passes when it is made for the second time."""
    call()
    with Walk() as walk, walk.counting():
        call()
    return walk


def small_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n_rows, n_features=7, n_informative=4, weights=[0.7], flip_y=0.2, random_state=0)


def quiet_booster(**options: Any) -> LGBMClassifier:
    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0, **options)


def paths() -> Iterator[Line]:
    """Functions and files of five calls, and checks of `aucross fit`."""
    X, y = small_rows(3000)
    seen, new = slice(2000), slice(2000, None)
    base = quiet_booster(n_estimators=20)
    clf = AUCross(base, coverage=0.8, random_state=0).fit(X[seen], y[seen])
    calls: dict[str, tuple[Callable[[], Any], str]] = {
        "AUCross(LGBMClassifier).fit": (lambda: AUCross(base, random_state=0).fit(X[seen], y[seen]), "150 / 18"),
        "evaluate_selective": (lambda: evaluate_selective(clf, X[new], y[new], random_state=0), "110 / 16"),
        "select": (lambda: clf.select(X[new]), "18 / 7"),
    }
    for name, (call, aim) in calls.items():
        yield f"functions (all) / files of {name}", second_walk(call).passed, aim
    with TemporaryDirectory() as folder:
        walk = second_walk(_fit_command(Path(folder)))
    yield "functions (all) / files of aucross fit", walk.passed, "500 / 70"
    for recorded, name in ((False, "a request"), (True, "a request with the record")):
        yield f"functions (all) / files of {name}", asyncio.run(request_walk(recorded)).passed, "60 / 15"
    for name in CHECKS:
        yield f"calls of {name} in aucross fit", f"{walk.count(name):,}", ""


def _fit_command(folder: Path) -> Callable[[], None]:
    """`aucross fit` on a small table, by the function that the command calls."""
    from aucross.cli.app import run  # noqa: PLC0415  (the commands take long to import)

    X, y = small_rows(2000)
    table = folder / "loans.csv"
    pd.DataFrame(X, columns=[f"x{place}" for place in range(7)]).assign(bad=y).to_csv(table, index=False)
    arguments = ["fit", str(table), "--target", "bad", "--out", str(folder / "model.aucross"), "--quiet"]

    def fit() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            run(arguments)
        assert (folder / "model.aucross").exists()

    return fit


async def request_walk(recorded: bool) -> Walk:
    """What the second request to a server passes, in the loop of the server and in the thread that decides."""
    from aucross.record import Record  # noqa: PLC0415  (needs SQLAlchemy)
    from aucross.serve import ServedModel, ServeOptions, make_app  # noqa: PLC0415  (needs fastapi)

    X, y = small_rows(2000)
    names = [f"x{place}" for place in range(7)]
    rows = pd.DataFrame(X, columns=names)
    clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(rows, y)
    bodies = [json.dumps({"row": rows.iloc[0].to_dict(), "id": name}).encode() for name in "AB"]
    with TemporaryDirectory() as folder, Record.open(Path(folder) / "cases.db") as record, Walk() as walk:
        model = ServedModel(clf, dict.fromkeys(names, "number"), ("0", "1"))
        app = make_app(model, ServeOptions(record=record if recorded else None))
        events: asyncio.Queue[Any] = asyncio.Queue()
        told: asyncio.Queue[Any] = asyncio.Queue()
        life = asyncio.create_task(app({"type": "lifespan"}, events.get, told.put))
        await events.put({"type": "lifespan.startup"})
        await told.get()
        await ask(app, bodies[0])
        with walk.counting():
            await ask(app, bodies[1])
        await events.put({"type": "lifespan.shutdown"})
        await life
    return walk


async def ask(app: Any, body: bytes) -> None:
    """Send a request to an ASGI application in this process."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers.append((b"host", b"localhost"))
    scope = {"type": "http", "method": "POST", "path": "/decision", "raw_path": b"/decision", "query_string": b""}
    scope |= {"headers": headers, "http_version": "1.1", "scheme": "http", "server": ("server", 80)}
    scope |= {"client": ("caller", 1), "root_path": "", "asgi": {"version": "3.0"}}
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] == 200, sent


# ---- processor time ----


def seconds(call: Callable[[], Any], repeats: int = 1) -> float:
    """Processor time of a call."""
    started = process_time()
    for _ in range(repeats):
        call()
    return (process_time() - started) / repeats


def ratio(whole: Callable[[], Any], part: Callable[[], Any], *, rounds: int, parts_a_round: int = 1) -> float:
    """Median of the processor time of one call divided by that of another, taken in turns after one of each."""
    whole(), part()
    return statistics.median(seconds(whole) / seconds(part, parts_a_round) for _ in range(rounds))


def cheap_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    return X, (X @ [1.0, 0.5, -0.5] + 1.5 * rng.normal(size=n_rows) > 1.0).astype(int)


def cheap_classifier() -> Any:
    X, y = cheap_rows(5000)
    return AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)


def argsorts() -> Iterator[Line]:
    """What an evaluation costs in sorts of its scores."""
    clf = cheap_classifier()
    for n_rows, rounds, sorts, aim in ((15_000, 7, 30, 60), (1_000_000, 3, 3, 15)):
        X, y = cheap_rows(n_rows)
        scored = clf.scored(X)
        cost = ratio(
            lambda scored=scored, y=y: evaluate_selective(clf, scored, y, random_state=0),
            lambda scored=scored: np.argsort(scored.score),
            rounds=rounds,
            parts_a_round=sorts,
        )
        yield f"argsorts of evaluate_selective, {n_rows:,} scored rows", f"{cost:.0f}", str(aim)


def fit() -> Iterator[Line]:
    """What a fit costs beside the models that it trains."""
    X, y, data = training_rows()
    base, folds = quiet_booster(), StratifiedKFold(5, shuffle=True, random_state=0)

    def models() -> None:
        cross_val_predict(base, X, y, cv=folds, method="predict_proba")
        base.fit(X, y)

    cost = ratio(lambda: AUCross(base, random_state=0).fit(X, y), models, rounds=3)
    yield f"fit / (cross_val_predict + fit), {data}", f"{cost:.2f}", "1.08"


def training_rows() -> tuple[Any, Any, str]:
    """Adult, where the paper's data are; else made rows of its size."""
    from benchmarks.paper_data import FOLDER, load  # noqa: PLC0415  (tells the loaders where the data are)

    if FOLDER.is_dir():
        split = load("Adult")
        return split.X_train, split.y_train, f"{len(split.y_train):,} rows of Adult"
    X, y = make_classification(30_000, n_features=14, n_informative=7, weights=[0.75], flip_y=0.1, random_state=0)
    return X, y, "30,000 made rows"


def select() -> Iterator[Line]:
    """What deciding costs beside the probabilities that it reads."""
    clf, (X, _) = cheap_classifier(), cheap_rows(1_000_000)
    cost = ratio(lambda: clf.select(X), lambda: clf.predict_proba(X), rounds=7)
    yield "select / predict_proba, 1,000,000 rows, 3 columns", f"{cost:.2f}", "1.15"


PARTS: dict[str, Callable[[], Iterator[Line]]] = {
    "size": size,
    "paths": paths,
    "argsorts": argsorts,
    "fit": fit,
    "select": select,
}


def main() -> None:
    if "OMP_NUM_THREADS" not in os.environ:  # processor time of several threads counts those that wait
        os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.house_paths", *sys.argv[1:]])
    asked = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in asked if name not in PARTS]:
        raise SystemExit(f"there is no part {', '.join(unknown)}; the names are {', '.join(PARTS)}")
    print(f"{'measured':60} | {'now':>20} | {'aim':>18}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in asked:
            for what, now, aim in PARTS[name]():
                print(f"{what:60} | {now:>20} | {aim:>18}", flush=True)


if __name__ == "__main__":
    main()
