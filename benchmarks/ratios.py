"""What each step costs beside doing it by hand and beside the peers: one page of ratios of processor time.

    python -m benchmarks.ratios                  # all steps; prints the table and writes benchmarks/results/ratios.md
    python -m benchmarks.ratios fit record       # some of them; prints alone

Each ratio is the smallest processor time of ours over that of the other way, of rounds that take turns in one process,
one thread. Other work on the machine moves both sides; run it on a quiet machine all the same. Rows are Adult's (30,162
to fit, 15,060 to decide) with LightGBM, for records and clusters made-up ones.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import DaskLGBMClassifier
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from aucross import AUCross, PlugInAUC, evaluate_selective
from benchmarks.paper_data import BASE_MODEL, COVERAGES, load
from experiments import markdown

RESULTS = Path(__file__).parent / "results" / "ratios.md"
ROUNDS = 5
COVERAGE = 0.8
N_BOOTSTRAP = 100  # samples of the evaluation by hand; a textbook takes ten times as many
DECIDED = 10_000  # rows of a batch in the record
ON_CLUSTER = 60_000


class Line(NamedTuple):
    """One ratio."""

    step: str
    ours: str
    other: str
    seconds: float
    other_seconds: float

    def cells(self) -> list[str]:
        """As the page shows it."""
        took = (f"{value:.3f} s" if value < 1 else f"{value:.1f} s" for value in (self.seconds, self.other_seconds))
        return [self.step, self.ours, self.other, *took, f"**{self.seconds / self.other_seconds:.2f}**"]


def fastest(*actions: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """Least processor time of each action, over rounds in which they take turns."""
    seconds = np.empty((rounds, len(actions)))
    for turn in range(rounds):
        for number, action in enumerate(actions):
            start = time.process_time()
            action()
            seconds[turn, number] = time.process_time() - start
    return list(seconds.min(axis=0))


@lru_cache
def fitted() -> Any:
    data = load("Adult")
    return AUCross(clone(BASE_MODEL), coverage=COVERAGE, random_state=0).fit(data.X_train, data.y_train)


# ---- steps ----


def fit() -> Iterator[Line]:
    data = load("Adult")
    X, y = data.X_train, data.y_train

    def folds_by_hand() -> None:
        score = cross_val_predict(
            clone(BASE_MODEL), X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0), method="predict_proba"
        )
        roc_auc_score(y, score[:, 1])
        clone(BASE_MODEL).fit(X, y)

    def holdout_by_hand() -> None:
        X_train, X_held, y_train, _ = train_test_split(X, y, test_size=0.1, stratify=y, random_state=0)
        clone(BASE_MODEL).fit(X_train, y_train).predict_proba(X_held)

    ours, plain = fastest(lambda: AUCross(clone(BASE_MODEL), random_state=0).fit(X, y), folds_by_hand, rounds=3)
    yield Line("fit", "`AUCross.fit`", "`cross_val_predict` of five folds, and a fit", ours, plain)
    ours, plain = fastest(lambda: PlugInAUC(clone(BASE_MODEL), random_state=0).fit(X, y), holdout_by_hand)
    yield Line("fit", "`PlugInAUC.fit`", "a split, a fit, and scores of the tenth", ours, plain)


def select() -> Iterator[Line]:
    clf, data = fitted(), load("Adult")
    band = clf.band(COVERAGE)

    def by_hand() -> None:
        score = clf.estimator_.predict_proba(data.X_test)[:, 1]
        _ = (score < band.lower) | (score > band.upper)

    ours, plain = fastest(lambda: clf.select(data.X_test), by_hand)
    yield Line("select", "`select`, 15,060 rows", "`predict_proba` and two comparisons", ours, plain)
    one = data.X_test.iloc[:1]
    ours, plain = fastest(
        lambda: [clf.select(one) for _ in range(50)], lambda: [clf.estimator_.predict_proba(one) for _ in range(50)]
    )
    yield Line("select", "`select`, one row at a time", "`predict_proba` of it", ours, plain)


def peers() -> Iterator[Line]:
    """Placing a threshold on held-out rows and deciding on new ones, with the same fitted model."""
    from experiments.peers import installed_peers  # noqa: PLC0415 - libraries of others

    data = load("Adult")
    train, held = train_test_split(np.arange(len(data.y_train)), test_size=0.1, stratify=data.y_train, random_state=0)
    model = clone(BASE_MODEL).fit(data.X_train.iloc[train], data.y_train[train])
    X_held, y_held = data.X_train.iloc[held], data.y_train[held]

    def ours() -> None:
        PlugInAUC(FrozenEstimator(model), coverage=COVERAGE).fit(X_held, y_held).select(data.X_test)

    for peer in installed_peers():
        if peer.heeds_coverage:
            mine, theirs = fastest(
                ours, lambda peer=peer: peer.select(model, X_held, y_held, data.X_test, COVERAGE), rounds=2
            )
            yield Line("place and select", "`PlugInAUC`, model given", peer.name, mine, theirs)


def evaluate() -> Iterator[Line]:
    clf, data = fitted(), load("Adult")

    def by_hand(n_bootstrap: int) -> None:
        score, rng = clf.predict_proba(data.X_test)[:, 1], np.random.default_rng(0)
        for coverage in COVERAGES:
            chosen = np.flatnonzero(clf.band(coverage).selects(score))
            for number in range(n_bootstrap + 1):
                rows = chosen if number == 0 else rng.choice(chosen, len(chosen))
                roc_auc_score(data.y_test[rows], score[rows])
                accuracy_score(data.y_test[rows], score[rows] > 0.5)

    ours, bare, drawn = fastest(
        lambda: evaluate_selective(clf, data.X_test, data.y_test, COVERAGES),
        lambda: by_hand(0),
        lambda: by_hand(N_BOOTSTRAP),
        rounds=2,
    )
    what = "`evaluate_selective`, six coverages, with intervals"
    yield Line("evaluate", what, "AUC and accuracy by scikit-learn, no intervals", ours, bare)
    yield Line("evaluate", what, f"the same with {N_BOOTSTRAP} bootstrap samples", ours, drawn)


def report() -> Iterator[Line]:
    from aucross.report import build_summary, write_report  # noqa: PLC0415 - needs an extra

    clf, data = fitted(), load("Adult")
    with tempfile.TemporaryDirectory() as folder:
        ours, plain = fastest(
            lambda: write_report(build_summary(clf, data.X_test, data.y_test), Path(folder) / "report.html"),
            lambda: evaluate_selective(clf, data.X_test, data.y_test, np.arange(50, 101) / 100),
            rounds=2,
        )
    yield Line("report", "`build_summary` and `write_report`", "`evaluate_selective` at 51 coverages", ours, plain)


def record() -> Iterator[Line]:
    from sqlalchemy import insert  # noqa: PLC0415 - needs an extra

    from aucross.record import Record  # noqa: PLC0415
    from aucross.record.record_tables import decisions, personal  # noqa: PLC0415
    from benchmarks.record import plain_tables, rows_of  # noqa: PLC0415

    rng = np.random.default_rng(0)
    X = rng.normal(size=(DECIDED, 10))
    y = rng.random(DECIDED) < 1 / (1 + np.exp(-X[:, 0]))
    clf = AUCross(LogisticRegression(), coverage=COVERAGE, random_state=0).fit(X[:2000], y[:2000])
    scored, one, numbers = clf.scored(X), clf.scored(X[:1]), count()
    with tempfile.TemporaryDirectory() as folder, Record.open(Path(folder) / "cases.db") as kept:
        engine, copies = plain_tables(kept)
        kept.decide(clf, scored, batch="first", ids=[f"first-{row}" for row in range(DECIDED)])
        values = [rows_of(kept, table.name, "first") for table in (decisions, personal)]

        def decide(rows: Any, n_rows: int) -> None:
            name = f"b{next(numbers)}"
            kept.decide(clf, rows, batch=name, ids=[f"{name}-{row}" for row in range(n_rows)])

        def bulk(n_rows: int) -> None:
            with engine.begin() as connection:
                for copy, lines in zip(copies, values, strict=True):
                    connection.execute(copy.delete())
                    connection.execute(insert(copy), lines[:n_rows])

        ours, plain = fastest(lambda: decide(scored, DECIDED), lambda: bulk(DECIDED), rounds=3)
        yield Line("record", "`Record.decide`, 10,000 rows", "SQLAlchemy's bulk insert of the columns", ours, plain)
        ours, plain = fastest(lambda: decide(one, 1), lambda: bulk(1), rounds=30)
        yield Line("record", "`Record.decide`, one row, SQLite", "an insert and a commit", ours, plain)


def cluster() -> Iterator[Line]:
    import dask.dataframe as dd  # noqa: PLC0415 - needs an extra
    from distributed import Client, LocalCluster  # noqa: PLC0415

    from aucross.cluster.dask import DaskAUCross  # noqa: PLC0415

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ON_CLUSTER, 10)).astype(np.float32)).add_prefix("x")
    table["bad"] = (rng.random(ON_CLUSTER) < 1 / (1 + np.exp(1.5 - table["x0"] - table["x1"]))).astype(np.int64)
    # Workers as threads of this process, so that its processor time is that of the cluster.
    workers = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with workers, Client(workers) as client:
        frame = dd.from_pandas(table, npartitions=4).persist()
        X, y = frame.drop(columns="bad"), frame["bad"]
        model = DaskLGBMClassifier(n_estimators=50, verbosity=-1)

        def by_hand() -> None:
            for fold in range(6):  # five folds, each without a fifth, and a model of all rows
                part = frame if fold == 5 else frame[frame["x2"].map_partitions(_fold, meta=("fold", int)) != fold]
                trained = clone(model).set_params(client=client).fit(part.drop(columns="bad"), part["bad"])
                if fold < 5:
                    trained.predict_proba(X).compute()

        ours, plain = fastest(lambda: DaskAUCross(model, coverage=COVERAGE, client=client).fit(X, y), by_hand, rounds=2)
        yield Line("cluster", "`DaskAUCross.fit`, LightGBM", "six fits and five passes of scores", ours, plain)


def _fold(values: pd.Series) -> pd.Series:
    return (values.rank(method="first").astype(int) % 5).rename("fold")


STEPS: dict[str, Callable[[], Iterator[Line]]] = {
    step.__name__: step for step in (fit, select, peers, evaluate, report, record, cluster)
}


def main(names: list[str]) -> None:
    """Measure the steps that are named, or all of them."""
    warnings.simplefilter("ignore")
    logging.getLogger("distributed").setLevel(logging.ERROR)
    if unknown := [name for name in names if name not in STEPS]:
        raise SystemExit(f"there is no step {', '.join(unknown)}; the steps are {', '.join(STEPS)}")
    start, lines = time.process_time(), []
    for name in names or STEPS:
        for line in STEPS[name]():
            lines.append(line.cells())
            print(" | ".join(lines[-1]), flush=True)
    minutes = (time.process_time() - start) / 60
    print(f"{minutes:.1f} processor minutes")
    if not names:
        header = ["step", "ours", "the other way", "ours takes", "the other takes", "ratio"]
        RESULTS.write_text(
            f"{markdown.table(header, lines)}\nMeasured in one run of {minutes:.1f} processor minutes.\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main(sys.argv[1:])
