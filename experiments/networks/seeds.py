"""Is it the chance of one training? The networks of the tables again, with several seeds, at one coverage.

``python -m experiments.networks --seeds 3`` trains a plain network, self-adaptive training and SelectiveNet for each
seed, on the same training and test rows. A seed draws the weights, the order of the rows and the tenth that is held
out. Each way to select stands beside the optimal band on the score of *the same* network, at the coverage that it
reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from aucross import PlugIn, PlugInAUC
from aucross.evaluation import selective_auc
from experiments import markdown
from experiments.equal_coverage import NearestSelections
from experiments.markdown import figure, signed
from experiments.networks.budgets import BUDGETS, TABLES, Name
from experiments.networks.replay import LearntSelection, Recordings, Replay, numbered
from experiments.networks.trainings import Training, rows_of
from experiments.protocol import PAPER_SEED
from experiments.work import finish_all

COVERAGE = 0.8
# How each network selects, in the words of the table.
SELECTIONS = {"hold-out": "PlugIn", "SAT": "SAT", "SelNet": "SelNet"}


def trainings_of_seed(dataset: str, name: Name, seed: int) -> list[Training]:
    """Three networks; the last one goes on from a fourth."""
    made = partial(Training, dataset, BUDGETS[name][dataset], seed=seed)
    last = made("SelNet", coverage=COVERAGE)
    return [made("hold-out"), made("SAT"), *([] if last.start is None else [last.start]), last]


def train_seeds(datasets: Iterable[str], name: Name, seeds: Sequence[int], *, n_jobs: int) -> None:
    """Do the trainings that are missing, first those from which others go on."""
    trainings = [training for data in datasets for seed in seeds for training in trainings_of_seed(data, name, seed)]
    for is_second in (False, True):
        finish_all([each.work for each in trainings if (each.start is not None) is is_second], n_jobs=n_jobs)


def seeds_from(n_seeds: int) -> list[int]:
    """The seed of the paper's split, and those after it."""
    return list(range(PAPER_SEED, PAPER_SEED + n_seeds))


def tables_at_hand(datasets: Iterable[str]) -> list[str]:
    """Tables alone: a training on images takes ten to twenty times as long."""
    return [name for name in datasets if name in TABLES]


# ---- what they reach ----


def measure_seed(dataset: str, name: Name, seed: int) -> Iterator[dict[str, Any]]:
    """One row per way to select: its AUC, and that of the optimal band on the score of the same network."""
    split = numbered(rows_of(dataset, BUDGETS[name][dataset]))
    for training in trainings_of_seed(dataset, name, seed):
        if training.role not in SELECTIONS:
            continue
        replay = Replay(Recordings([training]))
        band = PlugInAUC(replay, random_state=seed).fit(split.X_train, split.y_train)
        if training.role == "hold-out":
            by_itself: Any = PlugIn(replay, random_state=seed).fit(split.X_train, split.y_train)
        else:
            by_itself = LearntSelection(training)
        score = band.predict_proba(split.X_test)[:, 1]
        selected = by_itself.select(split.X_test, COVERAGE)
        ours = NearestSelections(band, split.X_test, never_below=True).at(float(selected.mean()))
        auc, auc_of_band = (selective_auc(split.y_test, score, rows) for rows in (selected, ours))
        yield {
            "dataset": dataset,
            "seed": seed,
            "selection": SELECTIONS[training.role],
            "auc_all": selective_auc(split.y_test, score),
            "coverage": float(selected.mean()),
            "auc": auc,
            "band_coverage": float(ours.mean()),
            "band_auc": auc_of_band,
            "difference": auc_of_band - auc,
        }


def write_seeds(datasets: Iterable[str], name: Name, seeds: Sequence[int], output: Path) -> None:
    """The table of every seed, and its part of the page."""
    rows = pd.DataFrame([row for data in datasets for seed in seeds for row in measure_seed(data, name, seed)])
    output.mkdir(parents=True, exist_ok=True)
    rows.to_csv(output / "network_seeds.csv", index=False, float_format="%.6g")
    (output / "network_seeds.md").write_text(seeds_page(rows), encoding="utf-8")


def seeds_page(rows: pd.DataFrame) -> str:
    """Mean and deviation over seeds, and the difference with its interval."""
    lines = []
    for (dataset, selection), found in rows.groupby(["dataset", "selection"], sort=False):
        low, high = _interval(found["difference"].to_numpy())
        lines.append(
            [
                dataset,
                selection,
                _spread(found["auc_all"]),
                figure(found["coverage"].mean()),
                _spread(found["auc"]),
                _spread(found["band_auc"]),
                f"{signed(found['difference'].mean(), 4)} [{signed(low, 4)}, {signed(high, 4)}]",
                f"{(found['difference'] > 0).sum()} of {len(found)}",
            ]
        )
    header = ["data", "network selects by", "AUC of all", "coverage", "AUC of its selection", "AUC of the band"]
    return (
        markdown.table([*header, "band minus its selection", "seeds ahead"], lines)
        + f"\nMeans over {rows['seed'].nunique()} seeds ± their deviation, at coverage {COVERAGE:g}; the band lies on "
        "the score of the same network and selects no fewer rows. In brackets the 95 % interval of the mean over seeds "
        "(Student's t); test rows and the other training rows are the same in all of them.\n"
    )


def _spread(values: pd.Series) -> str:
    return f"{figure(values.mean(), 4)} ± {figure(values.std(), 4)}"


def _interval(values: np.ndarray) -> tuple[float, float]:
    half = (
        stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    )
    return float(values.mean() - half), float(values.mean() + half)
