"""Coverage of cross-fitted methods, by who judges a new row.

    python -m benchmarks.crossfit_coverage run          # train; hours; may be stopped and resumed at any time
    python -m benchmarks.crossfit_coverage measure      # compute the candidates from the scores that are there
    python -m benchmarks.crossfit_coverage              # all tables, from benchmarks/results, for the pages, too
    python -m benchmarks.crossfit_coverage copies       # identical rows (HELOC), with the estimators themselves

Every cell (data set, training rows, model family, split) trains all models once; all candidates are computed from their
scores, which are kept in the folder AUCROSS_SCORES. The data sets are the parquet files of AUCROSS_DATA and its suite,
in a drawn order, so that a run that is cut off holds a random part of them.

=========  ============================================================================  =========================
candidate  a new row is judged by                                                        answered by
=========  ============================================================================  =========================
none       the refit; the band is placed on out-of-fold scores of 5 folds                the refit
corrected  the same, with what models say of rows that they have seen (the default)      the refit
judge      one of 5 fold models, drawn by a hash of the row (`ensemble="judge"`)         the refit
ensemble   the same (`ensemble=True`)                                                    the mean of 5 fold models
mean       the mean of the 5 fold models                                                 the same
bags       the forest; the band is placed on out-of-bag scores of its one training       the forest
=========  ============================================================================  =========================
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from lightgbm import LGBMClassifier
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from xgboost import XGBClassifier

from aucross import AUCross
from aucross.core.band_rule import BandRule
from aucross.core.cautious import Caution
from aucross.core.correction import Correction
from aucross.core.ranking import RankedScores
from aucross.core.rules import OptimalBands, ThresholdBands
from aucross.core.scored_rows import RuleInput
from aucross.core.search import best_band
from aucross.estimators import without_correction
from aucross.estimators.coverage_for import error_of_coverage
from aucross.estimators.held_out import rows_to_compare
from benchmarks.crossfit_tables import COVERAGES, FAMILIES, PROMISED, Tables
from benchmarks.paper_data import FOLDER

RESULTS = Path(os.environ.get("CROSSFIT_RESULTS", Path(__file__).parent / "results" / "crossfit_coverage.csv"))
PROMISE_RESULTS = RESULTS.with_name("crossfit_promise.csv")
SCORES = Path(os.environ.get("AUCROSS_SCORES", Path(tempfile.gettempdir()) / "aucross_scores"))
SIZES = (1_000, 4_000, 500)
# Splits of the first sets of the drawn order; the correction was chosen on the first 16, the next ten were kept apart.
SPLITS_OF_SETS = ((6, 10), (16, 3), (26, 1))  # sets up to a number of them, splits
CHOSEN_ON = 16
LARGE = {16_000: (4, 2), 64_000: (1, 1)}  # training rows: sets, splits
MOST_TEST_ROWS = 8_000
SYNTHETIC, FRESH_ROWS, DATA_SETS = "synthetic", 100_000, 200
FEWEST_TEST_ROWS, FEWEST_OF_A_CLASS = 400, 20
N_FOLDS = 5

NOT_FEATURES = {
    "acs_ma_employment": ["id", "year", "predicted_probability"],
    "nannyml_car_loan": ["id", "timestamp", "y_pred_proba", "part"],
    "diabetes130": ["patient_nbr"],
    "fraud_handbook_3w": ["TX_DATETIME", "CUSTOMER_ID", "TERMINAL_ID", "TX_TIME_DAYS"],
    "nass_cds_crash": ["weight"],
    "support2_6m_with_physicians": ["surv2m", "surv6m", "prg2m", "prg6m"],
    "medical_no_show": ["AppointmentDay"],
    "bank_marketing": ["duration"],
    "home_credit": ["SK_ID_CURR"],
}
PAPER_SETS = ("giveme", "ucicredit", "lending_2007_2011", "adult_train")


def model_of(family: str, seed: int) -> Any:
    """A model of modest size on one thread."""
    return {
        "LightGBM": lambda: LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1, random_state=seed),
        "XGBoost": lambda: XGBClassifier(n_estimators=60, n_jobs=1, random_state=seed),
        "forest": lambda: RandomForestClassifier(60, min_samples_leaf=5, n_jobs=1, random_state=seed),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "MLP": lambda: make_pipeline(
            QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=0),
            StandardScaler(),
            MLPClassifier((32,), batch_size=100, max_iter=30, n_iter_no_change=30, random_state=seed),
        ),
    }[family]()


class Cell(NamedTuple):
    """One set of trainings."""

    data: str
    n_rows: int
    family: str
    split: int

    @property
    def seed(self) -> int:
        """Another one for each cell, the same in every run."""
        return zlib.crc32(repr(tuple(self)).encode()) % 2**31


class Scores(NamedTuple):
    """Scores of all models of a cell."""

    y_train: np.ndarray
    y_test: np.ndarray
    seen: np.ndarray  # training rows, by the refit
    refit: np.ndarray  # test rows, by the refit
    by_fold: np.ndarray  # training rows x fold models; those of the row's own fold have not seen it
    test: np.ndarray  # test rows x fold models
    fold: np.ndarray  # number of the fold of each training row
    out_of_bag: np.ndarray | None  # training rows, by the trees of a forest that have not seen them

    @property
    def held_out(self) -> np.ndarray:
        """Training rows, by the fold model that has not seen them."""
        return self.by_fold[np.arange(len(self.fold)), self.fold]


# ---- data ----


def data_sets() -> list[str]:
    """In a drawn order, so that a run that is cut off holds a random part of them."""
    names = sorted(path.stem for path in (FOLDER / "suite").glob("*.parquet")) + list(PAPER_SETS)
    return [names[i] for i in np.random.default_rng(7).permutation(len(names))]


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a set as numbers: categories one-hot where they are few, missing values at the median."""
    path = FOLDER / "suite" / f"{name}.parquet"
    frame = pd.read_parquet(path if path.exists() else FOLDER / f"{name}.parquet")
    frame = frame.drop(columns=[column for column in NOT_FEATURES.get(name, []) if column in frame])
    y = frame.pop("target").to_numpy().astype(int)
    columns = []
    for name_of_column in frame.columns:
        column = frame[name_of_column]
        if pd.api.types.is_numeric_dtype(column) and not isinstance(column.dtype, pd.CategoricalDtype):
            columns.append(column.astype(float).to_numpy()[:, None])
        elif pd.api.types.is_datetime64_any_dtype(column):
            columns.append(column.astype("int64").to_numpy(float)[:, None])
        elif column.nunique() <= 12:
            columns.append(pd.get_dummies(column, dtype=float).to_numpy())
        else:
            columns.append(pd.factorize(column)[0].astype(float)[:, None])
    X = np.column_stack(columns).astype(np.float32)
    X[~np.isfinite(X)] = np.nan
    with np.errstate(all="ignore"):
        middle = np.nan_to_num(np.nanmedian(X, axis=0))
    return np.where(np.isnan(X), middle, X), y


# ---- trainings ----


def cells() -> Iterator[Cell]:
    """Split by split, so that a run that is cut off is balanced."""
    sets, first = data_sets(), 0
    seeds = iter(range(DATA_SETS))
    for split in range(SPLITS_OF_SETS[0][1]):
        for last, n_splits in SPLITS_OF_SETS:
            if split < n_splits:
                yield from (
                    Cell(data, n, family, split) for data in sets[first:last] for n in SIZES for family in FAMILIES
                )
            first = last % SPLITS_OF_SETS[-1][0]
        for n_rows, (n_sets, n_splits) in LARGE.items():
            large = islice((data for data in sets if n_rows_of(data) >= n_rows + FEWEST_TEST_ROWS), n_sets)
            if split < n_splits:
                yield from (Cell(data, n_rows, family, split) for data in large for family in FAMILIES)
        yield from (Cell(SYNTHETIC, 4_000, family, seed) for seed in islice(seeds, 20) for family in FAMILIES)


def n_rows_of(data: str) -> int:
    path = FOLDER / "suite" / f"{data}.parquet"
    return int(pq.read_metadata(path if path.exists() else FOLDER / f"{data}.parquet").num_rows)


def synthetic_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A law with an interaction and a curve, ten features, about .36 positive."""
    rng = np.random.default_rng([n_rows, seed])
    X = rng.standard_normal((n_rows, 10)).astype(np.float32)
    log_odds = X[:, 0] - 0.7 * X[:, 1] + 0.6 * X[:, 2] * X[:, 3] + 0.5 * np.sin(2 * X[:, 4]) - 0.8
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))).astype(int)


def train(cell: Cell, X: np.ndarray, y: np.ndarray) -> Scores | None:
    """All models of a cell on its rows; None where the set is too small."""
    if len(y) < cell.n_rows + FEWEST_TEST_ROWS:
        return None
    drawn = train_test_split(np.arange(len(y)), train_size=cell.n_rows, stratify=y, random_state=cell.split)
    rows, test = drawn[0], drawn[1][:MOST_TEST_ROWS]
    X_train, y_train, X_test = X[rows], y[rows], X[test]
    if min(y_train.sum(), (1 - y_train).sum()) < FEWEST_OF_A_CLASS:
        return None

    def trained(rows: np.ndarray) -> Any:
        return clone(model_of(cell.family, cell.split)).fit(X_train[rows], y_train[rows])

    by_fold, on_test = np.empty((len(rows), N_FOLDS)), np.empty((len(test), N_FOLDS))
    folds, fold = StratifiedKFold(N_FOLDS, shuffle=True, random_state=cell.split), np.empty(len(rows), dtype=np.intp)
    for number, (inner, outer) in enumerate(folds.split(X_train, y_train)):
        fold[outer] = number
        by_fold[:, number], on_test[:, number] = positive_score(trained(inner), X_train, X_test)
    refit = trained(np.arange(len(rows)))
    bags = out_of_bag(refit, X_train) if cell.family == "forest" else None
    return Scores(y_train, y[test], *positive_score(refit, X_train, X_test), by_fold, on_test, fold, bags)


def positive_score(model: Any, *tables: np.ndarray) -> list[np.ndarray]:
    return [model.predict_proba(rows)[:, 1].astype(float) for rows in tables]


def out_of_bag(forest: Any, X_train: np.ndarray) -> np.ndarray:
    """Scores of training rows by the trees that did not see them."""
    unseen = np.ones((len(X_train), len(forest.estimators_)), dtype=bool)
    for tree, rows in enumerate(forest.estimators_samples_):
        unseen[rows, tree] = False
    of_trees = np.column_stack([tree.predict_proba(X_train)[:, 1] for tree in forest.estimators_])
    return np.average(of_trees, axis=1, weights=unseen)


def train_judges(cell: Cell) -> dict[str, np.ndarray]:
    """Scores of the rows of a known law and of fresh ones, each of which is judged by one of five fold models."""
    X, y = synthetic_rows(cell.n_rows + FRESH_ROWS, cell.split)
    rng = np.random.default_rng(cell.seed)
    held_out, judge = np.empty(cell.n_rows), rng.integers(5, size=FRESH_ROWS)
    judged, own, fresh = np.empty(FRESH_ROWS), slice(cell.n_rows), X[cell.n_rows :]
    folds = StratifiedKFold(5, shuffle=True, random_state=int(rng.integers(2**31))).split(X[own], y[own])
    for fold, (inner, outer) in enumerate(folds):
        model = clone(model_of(cell.family, cell.split)).fit(X[inner], y[inner])
        held_out[outer], judged[judge == fold] = positive_score(model, X[outer], fresh[judge == fold])
    return {"y_train": y[own], "held_out": held_out, "judged": judged}


def _path(cell: Cell) -> Path:
    return SCORES / f"{cell.data}-{cell.n_rows}-{cell.family}-{cell.split}.npz"


def stored(cell: Cell, rows: dict[str, tuple[np.ndarray, np.ndarray]]) -> Scores | None:
    """The scores of a cell, trained once; none where the set is too small."""
    if not _path(cell).exists():
        if cell.data not in rows:
            rows[cell.data] = rows_of(cell.data)
        scores = train(cell, *rows[cell.data])
        parts = {} if scores is None else scores._asdict()
        save(cell, {name: values for name, values in parts.items() if values is not None})
    file = load(cell)
    return Scores(**{"out_of_bag": None, **file}) if file else None


def save(cell: Cell, parts: dict[str, Any]) -> None:
    """Under another name first, so that a run that is cut off leaves no half of a file."""
    SCORES.mkdir(parents=True, exist_ok=True)
    unfinished = _path(cell).with_suffix(".part.npz")
    np.savez(unfinished, **parts)
    unfinished.replace(_path(cell))


def load(cell: Cell) -> dict[str, np.ndarray]:
    with np.load(_path(cell)) as file:
        return {name: file[name] for name in file.files}


# ---- candidates ----


class Candidate(NamedTuple):
    """How rows are judged and answered."""

    held_out: np.ndarray  # what places the band
    judged: np.ndarray  # test rows, on the same axis
    answer: np.ndarray  # test rows
    seen: tuple[np.ndarray, np.ndarray] | None = None  # scores of rows seen, by the refit and by all fold models
    folds: np.ndarray | None = None  # of the training rows, if a new row is judged by another model than theirs


def candidates(s: Scores) -> dict[str, Candidate]:
    drawn = np.random.default_rng(0).integers(N_FOLDS, size=len(s.y_test))
    judged, mean = s.test[np.arange(len(s.y_test)), drawn], s.test.mean(axis=1)
    rows = rows_to_compare(len(s.fold))
    has_seen = s.fold[rows, None] != np.arange(N_FOLDS)
    found = {
        "none": Candidate(s.held_out, s.refit, s.refit, folds=s.fold),
        "corrected": Candidate(s.held_out, s.refit, s.refit, (s.seen[rows], s.by_fold[rows][has_seen]), s.fold),
        "judge": Candidate(s.held_out, judged, s.refit),
        "ensemble": Candidate(s.held_out, judged, mean),
        "mean": Candidate(s.held_out, mean, mean),
    }
    if s.out_of_bag is not None:
        found["bags"] = Candidate(s.out_of_bag, s.refit, s.refit)
    return found


def auc(y: np.ndarray, score: np.ndarray) -> float:
    n_positive = int(y.sum())
    if n_positive in (0, len(y)):
        return float("nan")
    won = rankdata(score)[y == 1].sum() - n_positive * (n_positive + 1) / 2
    return float(won / (n_positive * (len(y) - n_positive)))


def axis_of(method: str, score: np.ndarray) -> np.ndarray:
    """What the band of a method lies on."""
    return np.maximum(score, 1 - score) if method == "SCross" else score


def rule_of(method: str, y_train: np.ndarray, candidate: Candidate) -> BandRule:
    ranked = RankedScores.from_labels(y_train == 1, axis_of(method, candidate.held_out))
    rule: BandRule = ThresholdBands(ranked) if method == "SCross" else OptimalBands(ranked.isotonic())
    if candidate.seen is None:
        return rule
    seen = (RuleInput.of_score(axis_of(method, scores)) for scores in candidate.seen)
    return replace(rule, coverage_map=Correction.of_seen_rows(rule, *seen))


def measure(cell: Cell, s: Scores) -> Iterator[dict[str, Any]]:
    """A line for each candidate and method: means over the coverages asked for."""
    is_kept_apart = int(cell.data not in data_sets()[:CHOSEN_ON])
    for name, candidate in candidates(s).items():
        ranked = RankedScores.from_labels(s.y_test == 1, candidate.answer)
        for method in ("AUCross", "SCross"):
            rule, judged = rule_of(method, s.y_train, candidate), axis_of(method, candidate.judged)
            held_out = RuleInput.of_score(axis_of(method, candidate.held_out))
            errors, squares, shorts, aucs, said, is_within = [], [], [], [], [], []
            for coverage in COVERAGES:
                selected = rule.band(coverage).selects(judged)
                reached = float(selected.mean())
                errors.append(reached - coverage)
                # The test rows are a sample: their share in the band has a variance that no method can help.
                by_chance = coverage * (1 - coverage) / len(selected)
                squares.append(errors[-1] ** 2 - by_chance)
                error = error_of_coverage(
                    rule, coverage, None, n_rows=len(held_out), held_out=held_out, folds=candidate.folds
                )
                said.append(error)
                expected = rule.expected_coverage(coverage)
                is_within.append(abs(reached - expected) <= 1.96 * np.sqrt(error**2 + by_chance))
                if method == "AUCross":
                    at_reached, at_asked = (ranked.auc(best_band(ranked, max(c, 1e-3))) for c in (reached, coverage))
                    shorts.append(at_reached - auc(s.y_test[selected], candidate.answer[selected]))
                    aucs.append(at_asked - shorts[-1])
            line = {**cell._asdict(), "is_kept_apart": is_kept_apart, "candidate": name, "method": method}
            line |= {"square": f"{np.mean(squares):.4e}", "error": f"{np.mean(errors):.6f}"}
            line |= {"said": f"{np.mean(said):.6f}", "within": f"{np.mean(is_within):.2f}"}
            if method == "AUCross":
                line |= {"auc": f"{np.mean(aucs):.6f}", "short": f"{np.mean(shorts):.6f}"}
            yield line


# auc: what the candidate would have at the coverage asked for, so that nobody gains by a lower coverage: the best
# possible band there, less what its own band is short of the best at the coverage that it reached.
COLUMNS = (*Cell._fields, "is_kept_apart", "candidate", "method", "square", "error", "said", "within", "auc", "short")


def run() -> None:
    """Train what has not been trained yet."""
    rows: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for cell in cells():
        if _path(cell).exists():
            continue
        if cell.data == SYNTHETIC:
            save(cell, train_judges(cell))
        else:
            stored(cell, rows)


# ---- the promise ----


def measure_promise() -> None:
    """Coverage of fresh rows with a promise, for all data sets whose judges are trained."""
    lines = []
    for method in ("SCross", "AUCross"):
        for family in FAMILIES:
            seeds = [Cell(SYNTHETIC, 4_000, family, seed) for seed in range(DATA_SETS)]
            for cell in filter(lambda cell: _path(cell).exists(), seeds):
                shares = (f"{share:.5f}" for share in promised(method, load(cell)))
                lines.append((method, family, cell.split, *shares))
    columns = ["method", "family", "seed", *map(str, PROMISED)]
    pd.DataFrame(lines, columns=columns).to_csv(PROMISE_RESULTS, index=False)


def promised(method: str, parts: dict[str, np.ndarray]) -> list[float]:
    """Coverage of fresh rows, each judged by a fold model, with a promise at each target."""
    held_out, judged = (axis_of(method, parts[name]) for name in ("held_out", "judged"))
    candidate = Candidate(parts["held_out"], parts["judged"], parts["judged"])
    rule = rule_of(method, parts["y_train"], candidate)
    tied = RuleInput.of_score(held_out).may_be_tied
    cautious = replace(rule, coverage_map=Caution(len(held_out), 0.95, tied=tied))
    return [float(cautious.band(target).selects(judged).mean()) for target in PROMISED]


# ---- identical rows ----


def print_copies(n_splits: int = 6) -> None:
    """HELOC, 5.7 % of whose rows are one row: coverage reached on the other half."""
    X, y = rows_of("heloc")
    ways = {"as published": {}, "default": {}, 'ensemble="judge"': {"ensemble": "judge"}}
    print(
        "HELOC, 5,000 training rows, LightGBM, AUCross: share of new rows selected, and of the 5.7 % identical ones\n"
    )
    print(f"{'':18} {'asked':>5}  reached in each split (identical rows)")
    for name, params in ways.items():
        reached: dict[float, list[str]] = {coverage: [] for coverage in (0.95, 0.90, 0.80)}
        for seed in range(n_splits):
            train, test = train_test_split(np.arange(len(y)), train_size=5_000, stratify=y, random_state=seed)
            clf = AUCross(model_of("LightGBM", seed), random_state=seed, **params)
            clf = (without_correction(clf) if name == "as published" else clf).fit(X[train], y[train])
            rows, is_copy = clf.scored(X[test]), (X[test, :5] == -9).all(axis=1)
            for coverage, shares in reached.items():
                selected = clf.select(rows, coverage)
                shares.append(f"{selected.mean():.3f} ({selected[is_copy].mean():.1f})")
        for coverage, shares in reached.items():
            print(f"{name:18} {coverage:5.2f}  {'  '.join(shares)}", flush=True)


def measure_new() -> None:
    """Compute the candidates of the cells whose scores are there and whose lines are not."""
    done = set()
    if RESULTS.exists():
        done = set(pd.read_csv(RESULTS)[list(Cell._fields)].drop_duplicates().itertuples(index=False, name=None))
    else:
        RESULTS.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for cell in cells():
        if cell.data == SYNTHETIC or tuple(cell) in done or not _path(cell).exists():
            continue
        if (scores := stored(cell, {})) is not None:
            with RESULTS.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, COLUMNS).writerows(measure(cell, scores))
    measure_promise()


def write_tables() -> None:
    """Print all tables, and write those that the pages include."""
    Tables(pd.read_csv(RESULTS), pd.read_csv(PROMISE_RESULTS)).write(RESULTS.with_suffix(""))


PARTS = {"run": run, "measure": measure_new, "tables": write_tables, "copies": print_copies}


def main(names: list[str]) -> None:
    for name in names or ["tables"]:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
