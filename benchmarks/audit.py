"""How precisely an audit tells the AUC of decisions that nobody looked at, and how often its intervals hold.

    python -m benchmarks.audit [part ...] [--samples 1000] [--draws 200]

suite      standard deviation with a second opinion against labels alone, 1,000 labels, on sets of AUCROSS_DATA/suite
bound      variance of the estimate against the least that the design allows, where the second opinion is the truth
cells      how often 95 % intervals hold: share of positives, labels, drift, a wrong second opinion, weights, customers,
           verdicts that err
looks      how often the interval for all times fails at any of 24 monthly looks, and the one for a single look
estimate   error of `estimate_selective` without labels, beside the last known AUC and NannyML's CBPE
cbpe       run by a Python that has NannyML: keeps its errors for the part `estimate`

*Uniform* draws every case alike, *half* by `audit_probability`: half uniform, half where a label tells most. Suite and
bound are about the AUC of the month at hand, cells and looks about that of the law behind it. The bound is
E[a^2 (1 - pi) / pi] / N. An interval is *answered* unless the audit says that it cannot say; cells in which fewer than
half are answered are marked. *Width* is the mean width over that of an interval that knows the law, *p < .05* how often
the test against the true AUC is wrong. Seeds are fixed; finished lines are kept in benchmarks/results/audit.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross import AUCross, ScoreColumn, audited_auc, estimate_selective
from aucross.audit import audit_probability
from aucross.audit.audited_auc import influences
from aucross.core import RankedScores
from benchmarks.crossfit_coverage import rows_of
from benchmarks.paper_data import BASE_MODEL, FOLDER

RESULTS = Path(__file__).parent / "results" / "audit.csv"
SETS = (
    *("giveme", "ucicredit", "heloc", "hotel_cancel", "bank_marketing", "cardio", "credit_risk", "diabetes130"),
    *("dutch_census", "elec2", "heart_brfss2020", "hr_job_change", "law_school_bar", "magic", "medical_no_show"),
    "online_shoppers",
)
MOST_ROWS, LABELS = 20_000, 1_000


def kept(part: str, key: str, compute: Callable[[], Sequence[float]]) -> list[float]:
    """The values of a line, computed unless they are there."""
    if RESULTS.exists():
        with RESULTS.open() as file:
            for line in csv.reader(file):
                if line[:2] == [part, key]:
                    return [float(value) for value in line[2:]]
    values = [f"{value:.6g}" for value in compute()]
    with RESULTS.open("a", newline="") as file:
        csv.writer(file).writerow([part, key, *values])
    return [float(value) for value in values]


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def header(title: str, *names: str) -> None:
    print(f"\n{title}\n")
    row(*names)
    print("|" + "---|" * len(names))


# ---- precision ----


def least_variance(score: np.ndarray, eta: np.ndarray, probability: np.ndarray) -> float:
    """The least variance, around the AUC of the month, of an audit with these probabilities."""
    as_positive, as_negative = influences(RankedScores.from_probabilities(eta, score), score)
    told = eta * (1 - eta) * (as_positive - as_negative) ** 2
    return float(np.mean(told * (1 / probability - 1)) / len(score))


def variances_of(
    score: np.ndarray, eta: np.ndarray, truth: np.ndarray, share: float, n_draws: int, *, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Variances around the AUC of the month, and the shares by which they are uncertain.

    Of labels alone, of uniform draws with a second opinion, and of half and half with it. Labels are drawn with the
    probabilities `truth`. To first order an error is a sum of influences, whose variance is known exactly; draws are
    needed for the rest alone, which is small, so that a thousand tell as much as many thousands.
    """
    rng, n_cases = np.random.default_rng(seed), len(score)
    even, half = np.full(n_cases, share), audit_probability(score, eta, share=share)
    as_positive, as_negative = influences(RankedScores.from_probabilities(truth, score), score)
    said = influences(RankedScores.from_probabilities(eta, score), score)
    expected, mean = eta * said[0] + (1 - eta) * said[1], truth * as_positive + (1 - truth) * as_negative
    designs, exact = [], []
    for probability, opinion in ((even, None), (even, eta), (half, eta)):
        odds, used = 1 / probability - 1, np.zeros(n_cases)
        if opinion is not None:
            used = expected * np.clip(odds @ (expected * mean) / (odds @ expected**2), 0, 1)
        squares = truth * (as_positive - used) ** 2 + (1 - truth) * (as_negative - used) ** 2
        exact.append(float(odds @ squares) / n_cases**2)
        designs.append((probability, opinion, used))
    found = []
    for _ in range(n_draws):
        y, chance = (rng.random(n_cases) < truth).astype(float), rng.random(n_cases)
        auc, influence = RankedScores.from_labels(y, score).auc(), np.where(y == 1, as_positive, as_negative)
        for probability, opinion, used in designs:
            drawn = chance < probability
            first = np.mean((drawn / probability - 1) * (influence - used))
            error = audited_auc(score, np.where(drawn, y, np.nan), probability, opinion).auc - auc
            found.append((first, error - first))
    first, rest = np.moveaxis(np.reshape(found, (n_draws, 3, 2)), 2, 0)
    more = 2 * first * (rest - rest.mean(axis=0)) + (rest - rest.mean(axis=0)) ** 2
    variance = np.array(exact) + more.mean(axis=0)
    return variance, more.std(axis=0) / np.sqrt(n_draws) / variance


def held_out_probability(model: Any, X: np.ndarray, y: np.ndarray, X_new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Score of new rows, and the probability of being positive that held-out rows of their score had."""
    held_out = cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]
    score = clone(model).fit(X, y).predict_proba(X_new)[:, 1]
    return score, RankedScores.from_labels(y, held_out).isotonic().probability_at(score)


def of_set(name: str, n_draws: int) -> list[float]:
    """Standard deviation of labels alone, ratios and efficiencies, with LightGBM's and with a logistic score."""
    X, y = rows_of(name)
    order = np.random.default_rng(0).permutation(len(y))
    middle = min(len(y) // 2, MOST_ROWS)
    train, month = order[:middle], order[middle : middle + MOST_ROWS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        boosted, eta = held_out_probability(BASE_MODEL, X[train], y[train], X[month])
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X[train], y[train])
        scores = boosted, linear.predict_proba(X[month])[:, 1]
    known, share = y[month].astype(float), LABELS / len(month)
    best = RankedScores.from_labels(known, eta).isotonic().probability_at(eta)
    values = [float(len(month)), float(known.mean())]
    for score in scores:
        variance, _ = variances_of(score, eta, known, share, n_draws, seed=1)
        designs = np.full(len(month), share), audit_probability(score, eta, share=share)
        least = [least_variance(score, best, probability) for probability in designs]
        values += [np.sqrt(variance[0]), *np.sqrt(variance[1:] / variance[0]), *(np.array(least) / variance[1:])]
    return values


def suite(n_draws: int, _: int) -> None:
    header(
        f"suite: standard deviation against labels alone, {LABELS:,} labels, {n_draws} draws; (bound / variance)",
        *("set", "cases", "positive", "LightGBM: sd alone", "uniform", "half"),
        *("logistic, LightGBM second: sd alone", "uniform", "half"),
    )
    found = []
    for name in SETS:
        values = kept("suite", f"{name} {n_draws}", lambda n=name: of_set(n, n_draws))
        own, other = values[2:7], values[7:12]
        found.append([own[1:], other[1:]])
        ratios = [f"{part[i]:.2f} ({part[i + 2]:.2f})" for part in (own, other) for i in (1, 2)]
        row(name, f"{values[0]:,.0f}", f"{values[1]:.3f}", f"{own[0]:.4f}", *ratios[:2], f"{other[0]:.4f}", *ratios[2:])
    means = np.mean(found, axis=0)
    ratios = [f"{part[i]:.2f} ({part[i + 2]:.2f})" for part in means for i in (0, 1)]
    row("mean", "", "", "", *ratios[:2], "", *ratios[2:])


# ---- populations whose truth is known ----


def law(shift: float, slope: float, other: float) -> tuple[float, float]:
    """Share of positives, and AUC of the score, where the log-odds are shift + slope * score + other * second."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    score = np.linspace(-6, 6, 4001)
    density = np.exp(-score * score / 2)
    eta = expit(shift + slope * score[:, None] + other * points) @ weights / weights.sum()
    return float(np.average(eta, weights=density)), RankedScores.from_probabilities(eta, score, density).auc()


def shift_for(share: float, slope: float, other: float) -> float:
    return float(brentq(lambda shift: law(shift, slope, other)[0] - share, -30, 10))


def bound(n_draws: int, _: int) -> None:
    n_draws *= 5
    header(
        f"bound: least variance over variance, {n_draws} draws or six times as many, and its standard error",
        *("positive", "labels", "second opinion", "sd alone", "uniform", "half", "bound / variance: uniform", "half"),
    )
    reached = []
    for share in (0.06, 0.2, 0.5):
        for n_labels in (1_000, 5_000):
            for name, other in (("as the score", 0.0), ("knows more", 1.5)):
                for draws in (n_draws, 6 * n_draws):  # more where the figure is not certain yet
                    key = f"{share} {n_labels} {name} {draws}"
                    values = kept("bound", key, lambda s=share, n=n_labels, o=other, d=draws: of_bound(s, n, o, d))
                    if max(values[-2:]) <= 0.01:
                        break
                sd, *ratios, even_error, half_error = values
                reached += ratios[2:]
                told = f"{ratios[2]:.3f} ± {even_error:.3f}", f"{ratios[3]:.3f} ± {half_error:.3f}"
                row(share, f"{n_labels:,}", name, f"{sd:.4f}", *(f"{ratio:.3f}" for ratio in ratios[:2]), *told)
    print(f"\nbound / variance: mean {np.mean(reached):.3f}, lowest {min(reached):.3f}")


def of_bound(share: float, n_labels: int, other: float, n_draws: int) -> list[float]:
    rng, n_cases = np.random.default_rng(5), {1_000: 8_000, 5_000: 20_000}[n_labels]
    score, second = np.sort(rng.normal(size=n_cases)), rng.normal(size=n_cases)  # in order it is faster
    eta = expit(shift_for(share, 1.5, other) + 1.5 * score + other * second)
    even = n_labels / n_cases
    variance, errors = variances_of(score, eta, eta, even, n_draws, seed=6)
    designs = np.full(n_cases, even), audit_probability(score, eta, share=even)
    least = np.array([least_variance(score, eta, probability) for probability in designs])
    ratios = np.sqrt(variance[1:] / variance[0])
    return [np.sqrt(variance[0]), *ratios, *(least / variance[1:]), *(least / variance[1:] * errors[1:])]


# ---- intervals ----

SCENES = ("as it should be", "drift", "wrong opinion", "AUC .9", "weights", "customers", "verdicts")
CASES_OF = {200: 4_000, 1_000: 10_000, 5_000: 20_000}
VERDICTS = {"sensitivity": 0.9, "specificity": 0.97}


def of_cell(scene: str, share: float, n_labels: int, n_samples: int) -> list[float]:
    """AUC, answered, and of these: holds, width, wrong p-values, effective labels; taken for no draw."""
    slope, other = (4.0, 2.0) if scene == "AUC .9" else (1.5, 1.5)
    shift, n_cases = shift_for(share, slope, other), CASES_OF[n_labels]
    slope_now = 0.4 * slope if scene == "drift" else slope
    share_now = min(1.5 * share, 0.5) if scene == "drift" else share
    shift_now = shift_for(share_now, slope_now, other)
    truth = law(shift_now, slope_now, other)[1]
    rng, found = np.random.default_rng(int(1e4 * share) + n_labels), []
    for _ in range(n_samples):
        options: dict[str, Any] = {}
        score, second = np.sort(rng.normal(size=n_cases)), rng.normal(size=n_cases)  # in order it is faster
        if scene == "customers":  # two cases each, of one kind
            score, second = np.repeat(score[::2], 2), np.repeat(second[::2], 2)
            options["customers"] = np.arange(n_cases) // 2
        if scene == "weights":
            options["sample_weight"] = rng.exponential(size=n_cases)
        eta, label = expit(shift + slope * score + other * second), rng.random(n_cases)
        y = label < expit(shift_now + slope_now * score + other * second)
        if scene == "wrong opinion":
            eta = rng.permutation(eta)
        if scene == "verdicts":
            options |= VERDICTS
            chance = rng.random(n_cases)
            y = np.where(y, chance < VERDICTS["sensitivity"], chance > VERDICTS["specificity"])
        probability = audit_probability(score, eta, share=n_labels / n_cases)
        y_audited = np.where(rng.random(n_cases) < probability, y, np.nan)
        result = audited_auc(score, y_audited, probability, eta, **options)
        wrong = result.change_from(truth).p_value < 0.05
        no_draw = "draw" in result.problem
        found.append((result.auc, result.low, result.high, wrong, result.n_effective, result.n_labels, no_draw))
    auc, low, high, wrong, effective, labels, no_draw = np.array(found, dtype=float).T
    known = np.isfinite(low)
    if known.sum() < 2:
        return [truth, known.mean(), *[np.nan] * 4, no_draw.mean()]
    holds, width = (
        ((low <= truth) & (truth <= high))[known].mean(),
        (high - low)[known].mean() / auc[known].std() / 3.92,
    )
    return [
        truth,
        known.mean(),
        holds,
        width,
        wrong[known].mean(),
        np.mean((effective / labels)[known]),
        no_draw.mean(),
    ]


def cells(_: int, n_samples: int) -> None:
    header(
        f"cells: 95 % intervals, {n_samples:,} samples each",
        *("cell", "positive", "labels", "AUC", "answered", "holds", "width", "p < .05", "effective labels", "no draw"),
    )
    lowest, silent = 1.0, []
    for scene in SCENES:
        for share in (0.01, 0.06, 0.2, 0.5):
            for n_labels in CASES_OF if scene in SCENES[:3] else (1_000,):
                key = f"{scene} {share} {n_labels} {n_samples}"
                values = kept("cells", key, lambda s=scene, p=share, n=n_labels: of_cell(s, p, n, n_samples))
                truth, known, holds, width, wrong, effective, no_draw = values
                if known < 0.5:
                    silent.append(f"{scene}, {share:.0%} positive, {n_labels:,} labels ({known:.0%} answered)")
                if known * n_samples >= 20:
                    lowest = min(lowest, holds)
                marks = "cannot say" if known < 0.5 else f"{known:.3f}"
                numbers = [f"{value:.3f}" for value in (holds, width, wrong)]
                row(
                    scene, share, f"{n_labels:,}", f"{truth:.3f}", marks, *numbers, f"{effective:.2f}", f"{no_draw:.3f}"
                )
    print(f"\nlowest share that holds: {lowest:.3f}\ncannot say: {'; '.join(silent)}")


def looks(_: int, n_samples: int) -> None:
    n_samples //= 2
    header(
        f"looks: streams in which an interval fails at any of 24 monthly looks, {n_samples} streams",
        *("positive", "labels a month", "for all times", "for one look", "width of the first over the second"),
    )
    for share, n_labels in ((0.06, 200), (0.2, 100), (0.5, 100)):
        key = f"{share} {n_labels} {n_samples}"
        always, once, width = kept("looks", key, lambda s=share, n=n_labels: of_stream(s, n, n_samples))
        row(share, n_labels, f"{always:.3f}", f"{once:.3f}", f"{width:.2f}")


def of_stream(share: float, n_labels: int, n_samples: int) -> list[float]:
    shift, n_month, n_months = shift_for(share, 1.5, 1.5), 5 * n_labels, 24
    truth, rng, failed, widths = law(shift, 1.5, 1.5)[1], np.random.default_rng(int(100 * share)), [], []
    for _ in range(n_samples):
        score, second = rng.normal(size=(2, n_month * n_months))
        eta = expit(shift + 1.5 * score + 1.5 * second)
        months = np.split(np.arange(len(score)), n_months)
        probability = np.concatenate([audit_probability(score[own], eta[own], share=0.2) for own in months])
        y = np.where(rng.random(len(score)) < probability, rng.random(len(score)) < eta, np.nan)
        missed = np.zeros(2, dtype=bool)
        for own in months:
            so_far = slice(0, own[-1] + 1)
            for i, anytime in enumerate((True, False)):
                columns = (column[so_far] for column in (score, y, probability, eta))
                result = audited_auc(*columns, anytime=anytime)
                missed[i] |= result.low > truth or result.high < truth
                widths.append(result.high - result.low)
        failed.append(missed)
    always, once = np.nanmean(np.reshape(widths, (-1, 2)), axis=0)
    return [*np.mean(failed, axis=0), always / once]


# ---- without labels ----

CHUNK = 5_000
DRIFTING = {"acs_ma_employment": "predicted_probability", "nannyml_car_loan": "y_pred_proba"}


def parts_of(name: str) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The reference, and later rows in chunks; of a last one that is shorter, too."""
    rows = pd.read_parquet(FOLDER / "suite" / f"{name}.parquet")
    later = rows[rows["part"] != "reference"]
    return rows[rows["part"] == "reference"], [later[start : start + CHUNK] for start in range(0, len(later), CHUNK)]


def auc_of(y: Any, score: Any) -> float:
    return float(roc_auc_score(y, score))


def of_estimate(name: str) -> list[float]:
    """Mean absolute errors: AUC estimated, last known; AUC of automatic rows estimated, last known."""
    column = DRIFTING[name]
    reference, chunks = parts_of(name)
    clf = AUCross(ScoreColumn(column), coverage=0.8).fit(reference[[column]], reference["target"])
    errors = []
    for rows in chunks:
        found, y, score = estimate_selective(clf, rows[[column]]), rows["target"], rows[column]
        selected = clf.select(rows[[column]])
        truth, selective = auc_of(y, score), auc_of(y[selected], score[selected])
        estimates = np.array([found.auc, found.known_auc, found.selective_auc, found.known_selective_auc])
        errors.append(np.abs(estimates - [truth, truth, selective, selective]))
    return [float(len(chunks)), *np.mean(errors, axis=0)]


def estimate(_: int, __: int) -> None:
    header(
        "estimate: mean absolute error of the AUC without labels, chunks of 5,000 rows, coverage .8",
        *("set", "chunks", "AUC", "CBPE", "last known AUC", "selective AUC", "last known selective AUC"),
    )
    for name in DRIFTING:
        n_chunks, auc, known, selective, known_selective = kept("estimate", name, lambda n=name: of_estimate(n))
        (peer,) = kept("cbpe", name, lambda n=name: [of_cbpe(n)])
        row(name, int(n_chunks), *(f"{value:.5f}" for value in (auc, peer, known, selective, known_selective)))


def cbpe(_: int, __: int) -> None:
    for name in DRIFTING:
        (error,) = kept("cbpe", name, lambda n=name: [of_cbpe(n)])
        print(f"{name}: NannyML's CBPE, mean absolute error of the AUC {error:.5f}")


def of_cbpe(name: str) -> float:
    os.environ.setdefault("NML_DISABLE_USAGE_LOGGING", "1")  # it would call home
    import nannyml  # noqa: PLC0415

    column = DRIFTING[name]
    reference, chunks = parts_of(name)
    peer = nannyml.CBPE(
        y_pred_proba=column,
        y_pred="prediction" if name.startswith("acs") else "y_pred",
        y_true="target",
        metrics=["roc_auc"],
        problem_type="classification_binary",
        chunk_size=CHUNK,
    )
    found = peer.fit(reference).estimate(pd.concat(chunks)).filter(period="analysis").to_df()
    estimates = found[("roc_auc", "value")].to_numpy()
    truths = [auc_of(rows["target"], rows[column]) for rows in chunks]
    return float(np.mean(np.abs(estimates[: len(truths)] - truths)))


PARTS = {"suite": suite, "bound": bound, "cells": cells, "looks": looks, "estimate": estimate, "cbpe": cbpe}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[name for name in PARTS if name != "cbpe"])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=200)
    arguments = parser.parse_args()
    for name in arguments.parts:
        PARTS[name](arguments.draws, arguments.samples)


if __name__ == "__main__":
    main()
