"""The coverage keeper on every data set with time order, beside a fixed band and `recalibrate`; and its bound.

    python -m benchmarks.keeper scores [SET ...]   # fit on the earlier rows, score the later ones; kept in a folder
    python -m benchmarks.keeper steps              # every step over every set, three models, three targets
    python -m benchmarks.keeper                    # the tables of benchmarks/results/keeper.csv
    python -m benchmarks.keeper hostile            # 10,000 hostile sequences against the bound

A stream is the later part of a set in its order, one row after the other. Its coverage is compared with the target over
the whole stream and in windows of a twentieth. `recalibrated` places the band on the window before. `weighed` follows
six steps at once and takes the weighted mean of their levels, as aggregation by experts does (Gibbs and Candès, 2024).
The AUC is compared with that of the one band that, known in hindsight, has the coverage that was reached. `turned` is
what a restless level costs: the share of rows decided otherwise than at the mean level of their window.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aucross import AUCross, CoverageKeeper, PlugIn, ScoreColumn
from aucross.core import RankedScores
from aucross.watch.keeper import STEP, KeptCounts
from benchmarks.paper_data import FOLDER
from experiments.suite.protocol import FAMILIES
from experiments.suite.sets import COLUMNS, as_features, load

RESULTS = Path(__file__).parent / "results" / "keeper.csv"
KEPT = Path(gettempdir()) / "aucross_keeper"
MODELS = ("LightGBM", "XGBoost", "Logistic")
TARGETS = (0.7, 0.8, 0.9)
LEVELS = 1000
N_WINDOWS = 20
MOST_TRAINED = 20_000
SETS = (
    *(name for name, columns in COLUMNS.items() if columns.order is not None),
    *("Lending (application)", "lending_2007_2011"),
)
# Known only after the outcome, or the time itself.
LATER = ("total_pymnt", "total_rec", "recoveries", "last_pymnt", "issue_d", "collection")

Mask = NDArray[np.bool_]


def rows_of(name: str) -> tuple[Any, Any, Any, Any]:
    """Earlier and later rows of a set in the order of time, with their labels."""
    if name == "lending_2007_2011":
        frame = pd.read_parquet(FOLDER / f"{name}.parquet")
        later = (frame["issue_d"].astype(str).str[:4] == "2011").to_numpy()
        y = frame.pop("target").to_numpy()
        kept = [column for column in frame if not column.startswith(LATER)]
        dates = [column for column in kept if pd.api.types.is_datetime64_any_dtype(frame[column])]
        X = as_features(frame[kept].drop(columns=dates))
        return X[~later], y[~later], X[later], y[later]
    rows = load(name)
    assert rows.earlier is not None
    assert rows.later is not None
    # The loans of a year are stored newest first.
    later = rows.later[::-1] if name.startswith("Lending") else rows.later
    return rows.X.iloc[rows.earlier], rows.y[rows.earlier], rows.X.iloc[later], rows.y[later]


def scores(names: list[str]) -> None:
    """Fit, score and place the bands of every level, for sets and models that are not there yet."""
    KEPT.mkdir(exist_ok=True)
    for name in names or SETS:
        for model in MODELS:
            path = KEPT / f"{name}.{model}.npz"
            if path.exists():
                continue
            X_old, y_old, X_new, y_new = rows_of(name)
            drawn = np.sort(np.random.default_rng(0).permutation(len(y_old))[:MOST_TRAINED])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf = AUCross(FAMILIES[model](), random_state=0).fit(X_old.iloc[drawn], y_old[drawn])
                scored = clf.scored(X_new)
                bands = [clf.band(level / LEVELS) for level in range(1, LEVELS)]
                lower = [-np.inf, *(band.lower for band in bands), np.inf]
                upper = [np.inf, *(band.upper for band in bands), -np.inf]
                edges = np.linspace(0, len(y_new), N_WINDOWS + 1).astype(int)
                again = np.zeros((len(TARGETS), len(y_new)), dtype=bool)
                again[:, : edges[1]] = [clf.band(target).selects(scored.score[: edges[1]]) for target in TARGETS]
                for before, start, end in zip(edges, edges[1:], edges[2:], strict=False):
                    placed = clf.recalibrate(scored.take(slice(before, start)))
                    again[:, start:end] = [placed.band(target).selects(scored.score[start:end]) for target in TARGETS]
            np.savez(path, score=scored.score, y=y_new, lower=lower, upper=upper, again=again)
            print(f"{name} {model}: {len(y_old):,} earlier, {len(y_new):,} later rows", flush=True)


# ---- ways to keep a coverage ----

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)


class Stream:
    """The later rows of one set, scored by one model, and the band of each level."""

    def __init__(self, path: Path) -> None:
        self.set, self.model = path.stem.rsplit(".", 1)
        kept = np.load(path)
        self.score, self.y, self.again = kept["score"], kept["y"], kept["again"]
        self.lower, self.upper = kept["lower"], kept["upper"]
        self._plain = self.score.tolist(), self.lower.tolist(), self.upper.tolist()
        self.shares = {level: float(self.selected(level).mean()) for level in range(0, LEVELS + 1, 2)}

    def selected(self, level: Any) -> Mask:
        """Whether the band of a level, or of each row's level, selects each row."""
        return np.asarray((self.score < self.lower[level]) | (self.score > self.upper[level]))

    def selects(self, row: int, level: int) -> bool:
        """Whether the band of a level selects one row."""
        score, lower, upper = self._plain
        return bool(score[row] < lower[level] or score[row] > upper[level])

    def rejected_until(self) -> NDArray[np.int64]:
        """The highest level at which each row is rejected."""
        highest = np.zeros(len(self.score), dtype=np.int64)
        for level in range(LEVELS + 1):
            highest[~self.selected(level)] = level
        return highest


def on_grid(level: float) -> int:
    return min(max(round(level * LEVELS), 0), LEVELS)


def shrinking(power: float, least: float, most: float = 1.0) -> Callable[[int], float]:
    """A step that shrinks with the number of rows, down to a least one."""
    return lambda n: max(min((n + 1) ** -power, most), least)


WAYS: dict[str, Callable[[int], float]] = {
    **{f"{step:g}": shrinking(0.0, step, step) for step in STEPS},
    "n^-.5": shrinking(0.5, 0.0),
    "n^-.5, .005": shrinking(0.5, 0.005),
    "n^-.5, .01": shrinking(0.5, 0.01),
    "n^-.7, .005": shrinking(0.7, 0.005),
}


def stepped(stream: Stream, step: Callable[[int], float], target: float) -> NDArray[np.int64]:
    """The level of each row with one step, which may depend on the number of rows so far."""
    asked, count = np.zeros(len(stream.score), dtype=np.int64), 0
    for row in range(len(asked)):
        asked[row] = level = on_grid(target + step(row) * (row * target - count))
        count += stream.selects(row, level)
    return asked


def weighed(stream: Stream, target: float, rejected_until: NDArray[np.int64]) -> NDArray[np.int64]:
    """The level of each row if several steps are followed at once, weighed by how well their levels did of late.

    A level is judged by the loss of the quantile: a row is selected from some level on.
    """
    steps, span = np.array(STEPS), 500
    levels, weights = np.full(len(steps), target), np.full(len(steps), 1 / len(steps))
    share = 1 / (2 * span)
    eta = np.sqrt(3 / span * (np.log(len(steps) * span) + 2) / (target * (1 - target)) / 2)
    asked = np.zeros(len(stream.score), dtype=np.int64)
    for row in range(len(asked)):
        asked[row] = on_grid(float(weights @ levels))
        away = rejected_until[row] / LEVELS - levels
        weights = weights * np.exp(-eta * (np.where(away > 0, target, target - 1) * away))
        weights = (1 - share) * weights / weights.sum() + share / len(steps)
        levels = levels + steps * (target - (away <= 0))
    return asked


def outcome(stream: Stream, target: float, selected: Mask, asked: NDArray[np.int64]) -> dict[str, float]:
    """Coverage, the worst window, and the AUC beside that of the band with this coverage in hindsight."""
    parts = np.array_split(np.arange(len(selected)), N_WINDOWS)
    windows = np.array([selected[part].mean() for part in parts])
    quiet = np.concatenate([np.full(len(part), round(asked[part].mean())) for part in parts])
    reached = float(selected.mean())
    level = min(stream.shares, key=lambda level: abs(stream.shares[level] - reached))
    masks = selected, stream.selected(level)
    auc, hindsight = (RankedScores.from_labels(stream.y[mask], stream.score[mask]).auc() for mask in masks)
    return {
        "coverage": reached,
        "worst_window": float(np.abs(windows - target).max()),
        "mean_window": float(np.abs(windows - target).mean()),
        "turned": float((selected != stream.selected(quiet)).mean()),
        "auc": auc,
        "auc_hindsight": hindsight,
    }


def steps() -> None:
    """Run every way over every set that has been scored, and write the table."""
    found: list[dict[str, Any]] = []
    for stream in map(Stream, sorted(KEPT.glob("*.npz"))):
        rejected_until = stream.rejected_until()
        for number, target in enumerate(TARGETS):
            levels = {"fixed band": np.full(len(stream.score), on_grid(target))}
            levels |= {way: stepped(stream, step, target) for way, step in WAYS.items()}
            levels["weighed"] = weighed(stream, target, rejected_until)
            rows = {"set": stream.set, "model": stream.model, "target": target, "rows": len(stream.score)}
            for way, asked in levels.items():
                found.append({**rows, "way": way, **outcome(stream, target, stream.selected(asked), asked)})
            again = outcome(stream, target, stream.again[number], levels["fixed band"])
            found.append({**rows, "way": "recalibrated", **again, "turned": np.nan})
        print(f"{stream.set} {stream.model}", flush=True)
    pd.DataFrame(found).to_csv(RESULTS, index=False, float_format="%.5f")


# ---- tables ----


def tables() -> Iterator[str]:
    """Ways over all sets, and the sets at one target with one model."""
    found = pd.read_csv(RESULTS)
    found["missed"] = (found["coverage"] - found["target"]).abs()
    found["lost"] = 1e4 * (found["auc_hindsight"] - found["auc"])
    cells = found.groupby("way", sort=False)
    table = cells[["missed", "worst_window", "mean_window", "turned", "lost"]].mean()
    table.insert(1, "largest missed", cells["missed"].max())
    table.insert(3, "worst of all", cells["worst_window"].max())
    n_streams, n_sets = len(found) // len(table), found["set"].nunique()
    yield f"{n_streams} streams: {n_sets} sets, {len(MODELS)} models, {len(TARGETS)} targets."
    yield "Distance of the coverage from the target over the stream (mean, largest), in the worst of twenty windows"
    yield "(mean, largest) and in the mean window; rows decided otherwise than at the mean level of their window; AUC"
    yield "below that of one band of that coverage in hindsight, in 1e-4."
    yield table.round(4).to_string()
    chosen = f"{STEP:g}"
    yield f"\nLightGBM, target .8: coverage, its worst window and the AUC; kept with a step of {chosen}."
    of_one = found[(found["model"] == "LightGBM") & (found["target"] == 0.8)]
    ways = ("fixed band", "recalibrated", chosen)
    by_set = of_one[of_one["way"].isin(ways)].pivot(
        index="set", columns="way", values=["coverage", "worst_window", "auc"]
    )
    yield by_set.reindex(columns=ways, level=1).round(4).to_string()


# ---- the bound ----


def hostile(n_sequences: int) -> None:
    """Let opponents who know the level answer for every row that a band leaves open, with delay and several writers."""
    X = np.linspace(0, 1, 200)[:, None]
    clf = PlugIn(ScoreColumn(0), random_state=0).fit(X, (X[:, 0] > 0.5).astype(int))
    rng, nearest, broken = np.random.default_rng(0), 0.0, 0
    for number in range(n_sequences):
        target, step = float(rng.uniform(0.01, 1.0)), float(10 ** rng.uniform(-3, 0))
        writers, delay = int(rng.integers(1, 5)), int(rng.integers(0, 100)) * int(rng.random() < 0.5)
        keeper, opponent = CoverageKeeper(clf, target, step=step), opponents(rng)[number % 7]
        done, worst = [KeptCounts()], 0
        for _ in range(int(rng.integers(5, 40))):
            # Writers decide on some rows each, from counts that are as old as the delay allows.
            n_rows = int(rng.integers(1, 40))
            seen = done[max(len(done) - 1 - int(rng.integers(0, delay + 1)), 0)]
            late = done[-1].rows - seen.rows + (writers - 1) * n_rows
            made = [keeper.follow(seen, n_rows, opponent)[2] for _ in range(writers)]
            worst = max(late, worst)
            for each in made:
                done.append(done[-1] + each)
            keeper.counts = done[-1]
            error = abs(keeper.counts.selected / keeper.counts.rows - target)
            nearest = max(nearest, error / keeper.bound(worst))
            broken += error > keeper.bound(worst) + 1e-12
    print(f"{n_sequences:,} hostile sequences: the bound was broken {broken} times; it was reached to {nearest:.3f}.")


def opponents(rng: np.random.Generator) -> list[Callable[[int, int], bool]]:
    turn, share = int(rng.integers(1, 200)), float(rng.random())
    return [
        lambda _row, _level: False,
        lambda _row, _level: True,
        lambda row, _level: row // turn % 2 == 0,
        lambda _row, level: level < 500,
        lambda _row, level: level > 500,
        lambda _row, _level: bool(rng.random() < share),
        lambda _row, level: level // turn % 2 == 0,
    ]


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["hostile"]:
        hostile(int(arguments[1]) if len(arguments) > 1 else 10_000)
        return
    if arguments[:1] == ["scores"]:
        scores(arguments[1:])
    elif arguments[:1] == ["steps"]:
        steps()
    print("\n".join(tables()))


if __name__ == "__main__":
    main(sys.argv[1:])
