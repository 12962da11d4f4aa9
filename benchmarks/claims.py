"""Cells that were made to break a claim: positives that hide, weights, ties, refits; and a search for more of them.

Read by `python -m benchmarks.intervals claims search`, which keeps the lines. Every cell gives how often a statement
held, how wide its interval was on average, and that width divided by the width of an interval that knows the law.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCross, PlugInAUC, ScoreColumn, evaluate_selections
from aucross.core import RankedScores, RejectionBand, estimate_auc_bands
from aucross.core.bounds import auc_ends
from aucross.core.label_shift import estimate_label_shift
from aucross.estimators import without_correction
from aucross.evaluation import evaluate_folds, evaluate_group_selections, selective_auc
from aucross.watch import CoverageMonitor
from benchmarks.auc_promise import Population
from benchmarks.customers import draw_customers

FOLDER = Path(os.environ.get("AUCROSS_DATA", "data"))
TAIL = 0.025
# Ends the name of a data set of which positives are left out at random until 3 % are left.
THINNED = ", 3 %"

# What a cell is about, and a function of the number of samples that gives name, estimates, lower and upper ends, truth;
# without ends, the estimates are whether a statement was kept.
Found = tuple[str, np.ndarray, np.ndarray | None, np.ndarray | None, float]
Claim = tuple[str, Callable[[int], Iterator[Found]]]


# ---- intervals of an evaluation ----


@cache
def real_rows(name: str) -> tuple[np.ndarray, np.ndarray, dict[float, RejectionBand]]:
    """Labels and scores of half of a data set, by boosting on the other half, which also placed the bands."""
    frame = pd.read_parquet(FOLDER / "suite" / f"{name.removesuffix(THINNED)}.parquet")
    if name.endswith(THINNED):
        negatives = frame[frame["target"] == 0]
        positives = frame[frame["target"] == 1].sample(round(0.03 / 0.97 * len(negatives)), random_state=0)
        frame = pd.concat([negatives, positives])
    y = frame.pop("target").to_numpy(dtype=int)
    for column in frame.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]]:
        frame[column] = frame[column].astype("category").cat.codes
    X = frame.to_numpy(dtype=float)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    model = HistGradientBoostingClassifier(random_state=0)
    held_out = cross_val_predict(model, X[train], y[train], method="predict_proba")[:, 1]
    rule = estimate_auc_bands(RankedScores.from_labels(y[train], held_out))
    score = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    return y[test] == 1, score, {coverage: rule.band(coverage) for coverage in (1.0, 0.9, 0.8, 0.5)}


def of_real_rows(name: str, n_rows: int, coverage: float) -> Claim:
    """The test rows are the law, and samples are drawn from them with replacement."""

    def found(n_samples: int) -> Iterator[Found]:
        y, score, bands = real_rows(name)
        selected = bands[coverage].selects(score)

        def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
            rows = rng.integers(0, len(y), n_rows)
            return y[rows], score[rows], selected[rows], None

        of_all = RankedScores.from_labels(y, score).auc()
        of_selected = RankedScores.from_labels(y[selected], score[selected]).auc()
        yield from evaluated(draw, of_selected, of_selected - of_all, n_samples)

    return f"{name}, n {n_rows}, coverage {coverage:g}", found


def of_population(
    name: str, population: Population, n_rows: int, coverage: float, *, noise: float = 0.0, slope: float = 0.0
) -> Claim:
    """Weights, if any, are exp(slope * score) times log-normal noise."""

    def found(n_samples: int) -> Iterator[Found]:
        by_weight = Population(
            population.share_of_positives, population.centers, step=population.step, slope_of_weight=slope or None
        )
        band = estimate_auc_bands(by_weight.exact(RejectionBand())).band(coverage)
        exact = by_weight.exact(band)

        def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
            rows = population.draw(rng, n_rows)
            weight = np.exp(slope * rows.score + noise * rng.normal(size=n_rows)) if noise or slope else None
            return rows.positive, rows.score, band.selects(rows.score), weight

        yield from evaluated(draw, exact.auc(band), exact.auc(band) - exact.auc(), n_samples)

    return name, found


def evaluated(draw: Callable[..., Any], auc: float, gain: float, n_samples: int) -> Iterator[Found]:
    """AUC and gain; then two intervals of the AUC to compare with.

    *Normal* is 1.96 standard deviations to either side. *Least* has the lower end that k rows of the rarer class leave
    to any interval which is to hold for every law: if a share p of the class loses everything, a sample lacks those
    rows with probability (1 - p) ** k, which is .05 at the end.
    """
    rng, rows = np.random.default_rng(51), {"selective_auc": [], "auc_gain": []}
    others: dict[str, list[list[float]]] = {"normal": [], "least": []}
    for _ in range(n_samples):
        y, score, selected, weight = draw(rng)
        table = evaluate_selections(y, score, y, {0.8: selected}, sample_weight=weight).rows()[0]
        for name, lines in rows.items():
            lines.append([table[f"{name}{end}"] for end in ("", "_low", "_high")])
        estimate, _, high = rows["selective_auc"][-1]
        margin = norm.ppf(0.975) * table["selective_auc_sd"]
        others["normal"].append([estimate, estimate - margin, estimate + margin])
        n_rarer = min(y[selected].sum(), (~y[selected]).sum())
        others["least"].append([estimate, estimate * 0.05 ** (1 / max(n_rarer, 1)), high])
    for name, truth in (("selective_auc", auc), ("auc_gain", gain)):
        estimates, low, high = np.array(rows[name]).T
        if np.nanstd(estimates) > 0:
            yield "AUC" if name == "selective_auc" else "gain", estimates, low, high, truth
    for name in ("normal", "least") if weight is None else ("normal",):
        yield f"AUC, {name}", *np.array(others[name]).T, auc


# ---- other claims ----


def of_coverage_for(name: str, n_rows: int, exact: RankedScores, draw: Callable[..., Any], coverage: float) -> Claim:
    """The target is the highest AUC that the population has at a coverage; kept: the band at `low` does reach it."""

    def found(n_samples: int) -> Iterator[Found]:
        rng, target = np.random.default_rng(52), exact.auc(estimate_auc_bands(exact).band(coverage))
        kept, low = [], []
        for _ in range(n_samples):
            y, score = draw(rng, n_rows)
            if min(y.sum(), (~y).sum()) < 5:
                continue
            clf = quiet(lambda y=y, score=score: AUCross(ScoreColumn(0), cv=2).fit(norm.cdf(score)[:, None], y))
            answer = clf.coverage_for(auc=target)
            band = clf.band(answer.low or 1.0)
            ends = band if band.is_empty else RejectionBand(*norm.ppf([band.lower, band.upper]))
            kept.append(answer.low == 0 or exact.auc(ends) >= target - 1e-9)
            low.append(answer.low)
        yield f"low (0 in {np.mean(np.array(low) == 0):.2f})", np.array(kept, float), None, None, target

    return name, found


def hidden(share: float, hidden_share: float) -> tuple[RankedScores, Callable[..., Any]]:
    population = Population(share, {5.0: 1.0 - hidden_share, 0.0: hidden_share})

    def draw(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        rows = population.draw(rng, n_rows)
        return rows.positive, rows.score

    return population.exact(RejectionBand()), draw


def two_levels(low: float, high: float) -> tuple[RankedScores, Callable[..., Any]]:
    """The risk has two levels, so that no band raises the AUC, and every coverage is at the limit of the target."""
    grid = norm.ppf((np.arange(4000) + 0.5) / 4000)
    risk = np.where(grid < 0, low, high)

    def draw(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        score = rng.normal(size=n_rows)
        return rng.random(n_rows) < np.where(score < 0, low, high), score

    return RankedScores(grid, risk, 1 - risk), draw


def of_alarm(name: str, make: Callable[[int], Any]) -> Claim:
    """No alarm in 400 batches of 200 rows without drift; the width is that of the limits of the share."""

    def found(n_samples: int) -> Iterator[Found]:
        rng, quiet_runs, limits = np.random.default_rng(53), [], []
        for seed in range(max(n_samples // 10, 20)):
            X = rng.normal(size=(81_000, 8))
            y = rng.random(81_000) < 1 / (1 + np.exp(1 - X @ [1, 0.8, 0.6, 0.4, 0.2, 0, 0, 0]))
            clf = quiet(lambda X=X, y=y, seed=seed: make(seed).fit(X[:1000], y[:1000]))
            monitor = quiet(lambda clf=clf: CoverageMonitor(clf))
            for batch in quiet(lambda clf=clf, X=X: clf.select(X[1000:])).reshape(400, 200):
                monitor.update_selected(batch)
            quiet_runs.append(not monitor.coverage_alarm)
            limits.append(monitor.reference.high - monitor.reference.low)
        yield f"no alarm, limits {np.mean(limits):.3f} apart", np.array(quiet_runs, float), None, None, 1.0

    return name, found


def of_label_shift(name: str, shift: float, noise: float) -> Claim:
    def found(n_samples: int) -> Iterator[Found]:
        rng, rows = np.random.default_rng(54), []
        for _ in range(n_samples):
            samples = []
            for n_rows, share in ((2000, 0.2), (1000, 0.4)):
                positive = rng.random(n_rows) < share
                weight = rng.lognormal(0.0, noise, n_rows) if noise else None
                samples.append((positive, rng.normal(size=n_rows) + shift * positive, weight))
            (positive, score, weight), (_, new, new_weight) = samples
            answer = estimate_label_shift(RankedScores.from_labels(positive, score, weight), new, new_weight)
            rows.append((answer.share, answer.low, answer.high))
        estimates, low, high = np.array(rows).T
        yield "share of positives", estimates, low, high, 0.4

    return name, found


def of_folds(name: str, n_rows: int) -> Claim:
    """No signal: every model has an AUC of about .5 on new rows, in truth the mean of those of the folds' models."""

    def found(n_samples: int) -> Iterator[Found]:
        rng, rows, truths = np.random.default_rng(55), [], []
        X_new, y_new = rng.normal(size=(4000, 5)), rng.random(4000) < 0.3
        for seed in range(max(n_samples // 5, 20)):
            X, y = rng.normal(size=(n_rows, 5)), rng.random(n_rows) < 0.3
            cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=seed)
            fitted = [
                (
                    quiet(lambda t=t, X=X, y=y: AUCross(LogisticRegression(), cv=3, random_state=0).fit(X[t], y[t])),
                    X[v],
                    v,
                )
                for t, v in cv.split(X, y)
            ]
            aucs = [
                selective_auc(y_new, clf.predict_proba(X_new)[:, 1], clf.select(X_new, 0.8)) for clf, _, _ in fitted
            ]
            line = evaluate_folds(fitted, y, [0.8]).rows()[0]
            truths.append(np.mean(aucs))
            rows.append([line[f"selective_auc{end}"] for end in ("", "_low", "_high")])
        estimates, low, high = np.array(rows).T
        yield "AUC", estimates, low, high, float(np.mean(truths))

    return name, found


def of_gaps(name: str, kind: str) -> Claim:
    """Five equal groups are no further apart than `gap_by_chance`: the worst and the best of five metrics."""

    def found(n_samples: int) -> Iterator[Found]:
        population, sizes = Population(0.2, {1.0: 1.0}), (1500, 800, 400, 200, 100)
        band = estimate_auc_bands(population.exact(RejectionBand())).band(0.8)
        rng, within = np.random.default_rng(56), []
        for _ in range(2 * n_samples):
            if kind == "customers":
                rows, customer = draw_customers(population, rng, 3000)
                weight = None
            else:
                rows, customer = population.draw(rng, 3000), None
                weight = rng.lognormal(0.0, 0.7, 3000)
            report = evaluate_group_selections(
                rows.positive,
                rows.score,
                rows.score > 1,
                {0.8: band.selects(rows.score)},
                np.repeat(np.arange(5), sizes),
                sample_weight=weight,
                customers=customer,
            )
            within.append([row["gap"] <= row["gap_by_chance"] for row in report.gaps().rows()])
        shares = np.mean(within, axis=0)
        for metric in (int(shares.argmin()), int(shares.argmax())):
            yield f"gap of metric {metric + 1} of 5", np.array(within, float)[:, metric], None, None, 1.0

    return name, found


def quiet(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return call()


def boosting() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=30, random_state=0)


def tree(**options: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0, **options)


CLAIMS: tuple[Claim, ...] = (
    *(of_real_rows("ai4i2020", 1000, coverage) for coverage in (1.0, 0.9, 0.8, 0.5)),
    of_real_rows("ai4i2020", 500, 0.8),
    of_real_rows("ai4i2020", 2000, 0.8),
    *(of_real_rows("polish_bankruptcy_1y", 1000, coverage) for coverage in (1.0, 0.9, 0.8, 0.5)),
    *(of_real_rows("credit_risk" + THINNED, 1000, coverage) for coverage in (1.0, 0.9, 0.8, 0.5)),
    *(of_real_rows("credit_risk" + THINNED, n_rows, 0.8) for n_rows in (500, 2000)),
    of_population("39 positives, 5 % hidden", Population(0.039, {5.0: 0.95, 0.0: 0.05}), 1000, 1.0),
    of_population("39 positives, 5 % hidden, .5", Population(0.039, {5.0: 0.95, 0.0: 0.05}), 1000, 0.5),
    of_population("146 positives, 1.3 % hidden", Population(0.0487, {5.0: 0.987, 0.0: 0.013}), 3000, 1.0),
    of_population("998 positives, .2 % hidden", Population(0.1, {5.0: 0.998, 0.0: 0.002}), 9980, 1.0),
    of_population("weights that fall, 76", Population(0.1, {1.5: 1.0}), 780, 0.8, noise=0.7, slope=-0.5),
    of_population("14 positives on a grid", Population(0.1, {1.0: 1.0}, step=1.0), 180, 0.8),
    of_coverage_for("coverage_for, 100, 5 % hidden", 1000, *hidden(0.1, 0.05), 0.8),
    of_coverage_for("coverage_for, 30, 5 % hidden", 600, *hidden(0.05, 0.05), 0.8),
    *(of_coverage_for(f"coverage_for, two levels, {n}", n, *two_levels(0.2, 0.6), 0.8) for n in (60, 200, 4000)),
    of_alarm("alarm, tree of depth 4", lambda seed: AUCross(tree(max_depth=4), coverage=0.8, random_state=seed)),
    of_alarm("alarm, leaves of 20", lambda seed: AUCross(tree(min_samples_leaf=20), coverage=0.8, random_state=seed)),
    of_alarm("alarm, logistic", lambda seed: AUCross(LogisticRegression(), coverage=0.8, random_state=seed)),
    of_alarm("alarm, boosting", lambda seed: AUCross(boosting(), coverage=0.8, random_state=seed)),
    of_alarm(
        "alarm, boosting, not corrected",
        lambda seed: without_correction(AUCross(boosting(), coverage=0.8, random_state=seed)),
    ),
    of_alarm("alarm, PlugInAUC", lambda seed: PlugInAUC(tree(max_depth=4), coverage=0.8, random_state=seed)),
    of_label_shift("label shift, weights", 1.5, 1.0),
    of_label_shift("label shift, weak model", 0.5, 0.0),
    of_folds("folds, 100 rows, no signal", 100),
    of_gaps("gaps, weights", "weights"),
    of_gaps("gaps, customers", "customers"),
)


# ---- the search ----

# Values that a cell of the search can have. Rows of the rarer class lie around `center`, others around 0; of k rows of
# the rarer class `hidden` are expected around `hidden_center`, and as many of the others, times `both`, above the rarer
# class. Weights are exp(slope * score) times log-normal noise.
CHOICES = {
    "n_rarer": (3, 5, 10, 15, 30, 60, 150, 400),
    "times": (1, 2, 10, 40),
    "center": (0, 1, 2, 3, 5),
    "hidden": (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.6, 5, 8, 15),
    "hidden_center": (0, -2, -7),
    "both": (0, 1),
    "slope": (0,),
    "noise": (0,),
}
SEARCHES = {
    "rows count alike": CHOICES,
    "weights by chance": CHOICES | {"noise": (0.7, 1.0)},
    "weights that fall": CHOICES | {"hidden_center": (0, -1), "slope": (-0.5,), "noise": (0.7, 1.0)},
    "gain": CHOICES | {"n_rarer": (10, 15, 30, 60, 150), "both": (0,), "coverage": (0.95, 0.8, 0.5)},
}
Cell = dict[str, float]


def line_of_cell(cell: Cell, n_samples: int, seed: int) -> tuple[float, float]:
    """How often the interval of the AUC holds, and its width beside that of an interval that knows the law."""
    rng, rows = np.random.default_rng(seed), []
    n_rarer = int(cell["n_rarer"])
    n_other = min(int(n_rarer * cell["times"]), 4000)
    shares = min(cell["hidden"] / n_rarer, 0.9), min(cell["both"] * cell["hidden"] / n_other, 0.9)
    centers = np.array([[cell["center"], cell["hidden_center"]], [0.0, cell["center"] + 7.0]])
    parts = np.array([[1 - share, share] for share in shares]) * np.exp(cell["slope"] * centers)
    of_rarer, of_other = parts / parts.sum(axis=1, keepdims=True)
    truth = float(of_rarer @ norm.cdf((centers[0][:, None] - centers[1]) / np.sqrt(2)) @ of_other)
    positive = np.arange(n_rarer + n_other) < n_rarer
    for _ in range(n_samples):
        is_hidden = (rng.random(len(positive)) < np.where(positive, *shares)).astype(int)
        score = rng.normal(size=len(positive)) + centers[(~positive).astype(int), is_hidden]
        weight = np.exp(cell["slope"] * score + cell["noise"] * rng.normal(size=len(score))) if cell["noise"] else None
        ranked = RankedScores.from_labels(positive, score, weight)
        rows.append((ranked.auc(), *auc_ends(ranked, TAIL)))
    return judged(rows, truth)


def line_of_gain(cell: Cell, n_samples: int, seed: int) -> tuple[float, float]:
    """The same for the gain of the best band for a coverage; the sizes of the classes are those expected."""
    rng, rows = np.random.default_rng(seed), []
    n_rows = int(cell["n_rarer"] + min(cell["n_rarer"] * cell["times"], 4000))
    share = min(cell["hidden"] / cell["n_rarer"], 0.9)
    centers = {cell["center"]: 1 - share, cell["hidden_center"] - 1e-6: share}
    population = Population(cell["n_rarer"] / n_rows, centers)
    band = estimate_auc_bands(population.exact(RejectionBand())).band(cell["coverage"])
    exact = population.exact(band)
    for _ in range(n_samples):
        drawn = population.draw(rng, n_rows)
        selections = {0.8: band.selects(drawn.score)}
        table = evaluate_selections(drawn.positive, drawn.score, drawn.positive, selections).rows()[0]
        rows.append([table[f"auc_gain{end}"] for end in ("", "_low", "_high")])
    return judged(rows, exact.auc(band) - exact.auc())


def judged(rows: Sequence[Sequence[float]], truth: float) -> tuple[float, float]:
    estimates, low, high = np.array(rows)[~np.isnan(rows).any(axis=1)].T
    holds = float(((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean())
    return holds, float(np.mean(high - low) / max(3.92 * np.std(estimates), 1e-12))


def worst_cells(
    n_cells: int, n_samples: int, choices: Mapping[str, Sequence[float]]
) -> Iterator[tuple[Cell, float, float]]:
    """Draw cells at random, step on from the worst of them, and judge the five worst again on fresh samples.

    A step changes one value of one of the five worst cells so far.
    """
    rng, line = np.random.default_rng(57), line_of_gain if "coverage" in choices else line_of_cell
    known: dict[tuple[float, ...], float] = {}
    for number in range(n_cells):
        cell = tuple(float(rng.choice(values)) for values in choices.values())
        if number >= n_cells // 2:
            start, place = sorted(known, key=known.__getitem__)[rng.integers(5)], int(rng.integers(len(choices)))
            cell = (*start[:place], cell[place], *start[place + 1 :])
        if cell not in known:
            known[cell] = line(dict(zip(choices, cell, strict=True)), n_samples, 58)[0]
    worst = [dict(zip(choices, cell, strict=True)) for cell in sorted(known, key=known.__getitem__)[:5]]
    again = [(cell, *line(cell, 5 * n_samples, 59)) for cell in worst]
    yield from sorted(again, key=lambda line: line[1])
