"""Numbers that are used after the fit, where rows are few or drift: gate, groups, monitor, label shift, old rows.

    python -m benchmarks.operations [part ...]

gate          what a gate changes on small data: AUC, and how often it is in use, with the entrance tests 2.5 and 4.0
groups        how far groups are from the coverage asked for, with one band, a band each, and borrowed rows
limits        false alarms of streams without drift whose limits come from 50 to 2,000 reference rows
auc_limit     how often the monitor's limit of the AUC lies above the true AUC, at 5 % positives
label_shift   estimated shares of positives on later rows of drifting sets, and where only the share has changed
time_order    coverage reached on later rows, with folds along time, shuffled folds and the latest rows held out
marks         how often rows of the fit are noticed among test rows, and how often new rows are taken for them

The parts gate, label_shift, time_order and marks read the sets of AUCROSS_DATA/suite; the others simulate. Seeds are
fixed. Every finished line is kept in benchmarks/results/operations.csv and not computed again: a run may be stopped.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier
from scipy.special import betaincinv, ndtr, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross import AUCGate, AUCross, PlugInAUC
from aucross.core import RankedScores, RejectionBand, estimate_auc_bands
from aucross.core.bounds import auc_lower_bound
from aucross.estimators import probability
from aucross.estimators.placing import FEWEST_GROUP_ROWS, with_borrowed_rows
from aucross.estimators.training_marks import TrainingMarks
from aucross.watch.drift_reference import PLACEMENT_SHARE, share_limits
from benchmarks.crossfit_coverage import data_sets
from benchmarks.crossfit_coverage import rows_of as read_rows
from benchmarks.drift_alarm import LEVEL, separation, share_streams
from experiments.selections import select_each

RESULTS = Path(__file__).parent / "results" / "operations.csv"
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
MOST_ROWS = 60_000


@lru_cache(maxsize=20)
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a set, read once; of a long one some that are evenly apart, in order."""
    X, y = read_rows(name)
    step = len(y) // MOST_ROWS + 1
    return X[::step], y[::step]


def kept(part: str, key: str, compute: Callable[[], Sequence[float | str]]) -> list[str]:
    """The values of a line, computed unless they are there."""
    if RESULTS.exists():
        with RESULTS.open() as file:
            for line in csv.reader(file):
                if line[:2] == [part, key]:
                    return line[2:]
    values = [value if isinstance(value, str) else f"{value:.6g}" for value in compute()]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", newline="") as file:
        csv.writer(file).writerow([part, key, *values])
    return values


def print_header(*names: str) -> None:
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))


def print_line(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


# ---- the gate on small data ----

GATE_SPLITS = {700: 2, 1_000: 1, 4_000: 1}  # training rows: splits
GATE_SETS, MOST_TEST_ROWS = 12, 8_000
GATE_COVERAGES = (0.95, 0.9, 0.8, 0.7)
ENTRANCE_TESTS = (2.5, 4.0)


def gate() -> None:
    print(
        f"\ngate: logistic regression gated by LightGBM, {GATE_SETS} sets of the suite in a drawn order and the German"
    )
    print("credit data; AUC less that of AUCross with the same folds, in 1e-4, mean over coverages")
    print(f"{GATE_COVERAGES}, as reached and (in brackets) at the same coverage on the test rows\n")
    print_header(
        "training rows", "fits", "entrance test", "gate in use", "AUC, all fits", "where it is in use", "lowest"
    )
    for n_rows, n_splits in GATE_SPLITS.items():
        fits = []
        for split in range(n_splits):
            for name in ["german_credit", *(name for name in data_sets()[:GATE_SETS] if name != "german_credit")]:
                values = kept(
                    "gate", f"{name} {n_rows} {split}", lambda n=name, r=n_rows, s=split: gated_against_plain(n, r, s)
                )
                if len(values) > 1:
                    fits.append(np.array(values, dtype=float).reshape(len(ENTRANCE_TESTS), 3))
        for test, (used, reached, same) in zip(ENTRANCE_TESTS, np.array(fits).transpose(1, 2, 0), strict=True):
            own = used == 1
            where = f"{reached[own].mean():+.1f} ({same[own].mean():+.1f})" if own.any() else ""
            overall = f"{reached.mean():+.1f} ({same.mean():+.1f})"
            print_line(f"{n_rows:,}", len(fits), test, f"{own.mean():.2f}", overall, where, f"{reached.min():+.1f}")


def gated_against_plain(name: str, n_rows: int, split: int) -> list[float | str]:
    """For each entrance test: in use, AUC less that of AUCross as reached and at the same coverage."""
    X, y = rows_of(name)
    if len(y) < n_rows + 300:
        return ["too few rows"]
    X, X_test, y, y_test = train_test_split(X, y, train_size=n_rows, stratify=y, random_state=split)
    X_test, y_test = X_test[:MOST_TEST_ROWS], y_test[:MOST_TEST_ROWS]
    if min(y.sum(), (1 - y).sum()) < 10:
        return ["too few of a class"]
    plain = AUCross(LOGISTIC, random_state=split).fit(X, y)
    score = plain.predict_proba(X_test)[:, 1]
    found: list[float | str] = []
    strong = LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1, random_state=split)
    for test in ENTRANCE_TESTS:
        if found and found[0] == 0.0:  # what does not pass the mild test does not pass the strict one
            return [0.0, 0.0, 0.0] * len(ENTRANCE_TESTS)
        before, probability.LEAST_RAISE = probability.LEAST_RAISE, test
        try:
            gated = AUCGate(LOGISTIC, strong, random_state=split).fit(X, y)
        finally:
            probability.LEAST_RAISE = before
        used = float(gated.probability_model_.columns == (0, 1))
        found += [
            used,
            *(1e4 * value for value in (differences(gated, plain, X_test, y_test, score) if used else (0, 0))),
        ]
    return found


def differences(
    gated: AUCGate, plain: AUCross, X_test: np.ndarray, y_test: np.ndarray, score: np.ndarray
) -> tuple[float, float]:
    """Mean difference in AUC to the plain rule, as reached and at the same coverage."""
    ranked = RankedScores.from_labels(y_test, score)
    candidates = [plain.band(coverage) for coverage in np.linspace(0.6, 1.0, 201)]
    reached = np.array([ranked.coverage(band) for band in candidates])
    pairs = []
    for coverage, selected in zip(GATE_COVERAGES, select_each(gated, X_test, GATE_COVERAGES), strict=True):
        auc = RankedScores.from_labels(y_test[selected], score[selected]).auc()
        level = candidates[int(np.argmin(np.abs(reached - selected.mean())))]
        pairs.append((auc - ranked.auc(plain.band(coverage)), auc - ranked.auc(level)))
    as_reached, same = np.mean(pairs, axis=0)
    return float(as_reached), float(same)


# ---- bands for small groups ----

GROUP_SIZES = (12, 21, 50, 100, 200, 500, 1_000)
GROUP_SHIFTS = (0.0, 0.5, 1.0)
N_OTHERS, GROUP_COVERAGE, GROUP_SAMPLES = 2_000, 0.8, 150


def groups() -> None:
    print(f"\ngroups: mean distance from the coverage {GROUP_COVERAGE} in a group beside {N_OTHERS:,} other rows, by")
    print(f"the shift of its scores in standard deviations; {GROUP_SAMPLES} samples a line; below {FEWEST_GROUP_ROWS}")
    print("rows a band of its own is refused, and the last column says what it would have done\n")
    print_header("rows of the group", "shift", "one band", "a band each", "a band each, borrowed rows")
    for size in GROUP_SIZES:
        for shift in GROUP_SHIFTS:
            gaps = kept("groups", f"{size} {shift}", lambda n=size, s=shift: mean_gaps(n, s))
            print_line(size, shift, *(f"{float(gap):.3f}" for gap in gaps))


def mean_gaps(size: int, shift: float) -> list[float]:
    rng, found = np.random.default_rng([size, round(100 * shift)]), []
    while len(found) < GROUP_SAMPLES:
        score = rng.normal(size=size + N_OTHERS)
        score[:size] += shift
        positive = rng.random(len(score)) < ndtr(score - 1.0)
        own = np.arange(size)
        if not 0 < positive[own].sum() < size:
            continue  # no band can be placed without a class
        order, weight = with_borrowed_rows(own, len(score), None)
        rows = ((slice(None), None), (own, None), (order, weight))
        bands = [
            estimate_auc_bands(RankedScores.from_labels(positive[part], score[part], each)).band(GROUP_COVERAGE)
            for part, each in rows
        ]
        found.append([abs(normal_coverage(band, shift) - GROUP_COVERAGE) for band in bands])
    return np.mean(found, axis=0).tolist()


def normal_coverage(band: RejectionBand, center: float) -> float:
    """Selected share of normal scores around a centre."""
    return 1.0 if band.is_empty else 1.0 - float(ndtr(band.upper - center) - ndtr(band.lower - center))


# ---- limits of the monitor ----

REFERENCE_SIZES = (50, 100, 200, 500, 2_000)
STREAMS, BATCHES, BATCH = 1_000, 200, 200


def limits() -> None:
    print(
        f"\nlimits: share of {STREAMS:,} streams without drift that raise an alarm, stated {LEVEL}; {BATCHES} batches"
    )
    print(f"of {BATCH} rows; each stream's band holds k of n reference rows and k - 1 of their spacings\n")
    print_header("reference rows", "coverage", "Clopper and Pearson's limits (k, k + 1)", "now")
    for n_rows in REFERENCE_SIZES:
        for coverage in (0.8, 0.9, 0.95):
            shares = kept("limits", f"{n_rows} {coverage}", lambda n=n_rows, c=coverage: false_alarms(n, c))
            print_line(n_rows, coverage, *(f"{float(share):.3f}" for share in shares))


def false_alarms(n_rows: int, coverage: float) -> list[float]:
    rejected = round((1 - coverage) * n_rows)
    law = np.random.default_rng([n_rows, round(100 * coverage)])
    share = 1.0 - law.beta(rejected - 1, n_rows + 2 - rejected, STREAMS)
    tail, level = PLACEMENT_SHARE * LEVEL / 2, (1 - PLACEMENT_SHARE) * LEVEL
    selected = n_rows - rejected
    before = (
        float(betaincinv(selected, rejected + 1, tail)),
        float(betaincinv(selected + 1, rejected, 1 - tail)),
        level,
    )
    now = share_limits(coverage, coverage, n_rows, "auto", LEVEL)
    return [
        float((share_streams(each, lambda _: share, BATCH, BATCHES, n_streams=STREAMS) > 0).mean())
        for each in (before, now)
    ]


def auc_limit(n_references: int = 1_000, positives: float = 0.05) -> None:
    print(f"\nauc_limit: share of {n_references:,} references whose limit of the AUC is above the truth, stated")
    print(f"{PLACEMENT_SHARE * LEVEL}; {positives:.0%} of the selected reference rows positive, normal scores\n")
    print_header(
        "selected reference rows", "AUC", "DeLong", "now: the promise's bound", "median distance from the truth"
    )
    for n_rows in (300, 1_000, 4_000):
        for auc in (0.8, 0.95, 0.995):
            shares = kept(
                "auc_limit", f"{n_rows} {auc}", lambda n=n_rows, a=auc: limits_above(n, a, n_references, positives)
            )
            print_line(n_rows, auc, *(f"{float(share):.3f}" for share in shares))


def limits_above(n_rows: int, auc: float, n_references: int, positives: float) -> list[float]:
    rng, failure = np.random.default_rng([n_rows, round(1000 * auc)]), PLACEMENT_SHARE * LEVEL
    quantile, found = float(ndtri(1 - failure)), []
    for _ in range(n_references):
        positive = rng.random(n_rows) < positives
        if positive.sum() < 2:
            continue
        ranked = RankedScores.from_labels(positive, rng.normal(separation(auc) * positive))
        plain = ranked.auc() - quantile * ranked.auc_standard_error()
        bound = auc_lower_bound(ranked, failure)
        found.append((plain > auc, bound > auc, auc - bound))
    plain_above, above, distance = np.array(found, dtype=float).T
    return [float(plain_above.mean()), float(above.mean()), float(np.median(distance))]


# ---- label shift ----

IN_TIME_ORDER = ("elec2", "ne_weather", "bank_marketing", "acs_ma_employment", "nannyml_car_loan", "hotel_cancel")
N_EARLY, N_LATE = 6_000, 5_000


def label_shift() -> None:
    print(
        f"\nlabel_shift: logistic regression on the first {N_EARLY:,} rows, recalibrate(label_shift=True) on {N_LATE:,}"
    )
    print("rows of the last tenth, or on new rows of the first part of which most positives, or negatives, were taken")
    print("away; EM is the estimate without limits\n")
    print_header("set", "rows", "share in the fit", "true share", "EM", "shown (95 % interval)", "warned")
    for name in IN_TIME_ORDER:
        for rows in ("later", "fewer positives", "fewer negatives"):
            values = kept("label_shift", f"{name} {rows}", lambda n=name, r=rows: shift_estimates(n, r))
            before, true, plain, share, low, high, warned = values
            shown = f"{float(share):.3f} ({float(low):.3f} to {float(high):.3f})"
            print_line(name, rows, *(f"{float(value):.3f}" for value in (before, true, plain)), shown, warned)


def shift_estimates(name: str, rows: str) -> list[float | str]:
    X, y = rows_of(name)
    rng = np.random.default_rng(0)
    early = rng.permutation(min(4 * N_EARLY, len(y) // 2))
    fit, rest = early[:N_EARLY], early[N_EARLY:]
    clf = AUCross(LOGISTIC, random_state=0).fit(X[fit], y[fit])
    if rows == "later":
        new = np.arange(len(y) - len(y) // 10, len(y))
    else:
        common = y[rest] == (0 if rows == "fewer positives" else 1)
        new = rest[common | (rng.random(len(rest)) < 0.25)]
    new = new[rng.permutation(len(new))[:N_LATE]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shift = clf.recalibrate(X[new], label_shift=True).fitted_.label_shift
    warned = any("share of positives" in str(each.message) for each in caught)
    chance = clf.band_rule_.ranking.probability_at(clf.predict_proba(X[new])[:, 1])
    return [
        shift.before,
        float(y[new].mean()),
        plain_em(chance, float(y[fit].mean())),
        shift.share,
        shift.low,
        shift.high,
        "yes" if warned else "no",
    ]


def plain_em(chance: np.ndarray, before: float, rounds: int = 5_000) -> float:
    """Saerens, Latinne and Decaestecker's estimate, without limits."""
    share = before
    for _ in range(rounds):
        odds = chance * share / before
        share = float((odds / (odds + (1 - chance) * (1 - share) / (1 - before))).mean())
    return share


# ---- rows in the order of time ----

N_ORDERED = 4_000


def time_order() -> None:
    print(
        f"\ntime_order: coverage reached where .80 was asked for, on the {N_ORDERED:,} rows after the {N_ORDERED:,} of"
    )
    print("the fit, LightGBM\n")
    print_header("set", "cv=TimeSeriesSplit(5), which warns", "cv=5", "latest quarter held out", "recalibrated")
    for name in IN_TIME_ORDER:
        reached = kept("time_order", name, lambda n=name: coverages_on_later_rows(n))
        print_line(name, *(f"{float(share):.3f}" for share in reached))


def coverages_on_later_rows(name: str) -> list[float]:
    X, y = rows_of(name)
    start = (len(y) - 2 * N_ORDERED) // 2
    now, later = (slice(start + step * N_ORDERED, start + (step + 1) * N_ORDERED) for step in (0, 1))
    trees = LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1, random_state=0)
    earlier, latest = np.split(np.arange(N_ORDERED), [3 * N_ORDERED // 4])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="cv trains models on")
        fits = [
            clf.fit(X[now], y[now])
            for clf in (
                AUCross(trees, coverage=0.8, cv=TimeSeriesSplit(5), random_state=0),
                AUCross(trees, coverage=0.8, random_state=0),
                PlugInAUC(trees, coverage=0.8, cv=[(earlier, latest)]),
            )
        ]
    fits.append(fits[-1].recalibrate(X[later]))
    return [float(clf.select(X[later]).mean()) for clf in fits]


# ---- rows of the fit ----

MARK_SETS, MARK_REPEATS = 20, 5
SHARES_OF_OLD_ROWS = (1.0, 0.5, 0.1, 0.05, 0.0)


def marks() -> None:
    print(f"\nmarks: share of test tables in which rows of the fit are noticed; {MARK_SETS} sets of the suite, with")
    print(f"{MARK_REPEATS} fits each; as many shuffled test rows as the fit had; the last column counts false alarms\n")
    print_header("rows of the fit", "tables", *(f"{share:.0%} of the rows old" for share in SHARES_OF_OLD_ROWS))
    for n_rows in (300, 1_000, 4_000):
        lines = [
            kept("marks", f"{name} {n_rows}", lambda n=name, r=n_rows: tables_noticed(n, r))
            for name in data_sets()[:MARK_SETS]
        ]
        shares = np.array([line for line in lines if len(line) > 1], dtype=float)
        print_line(f"{n_rows:,}", len(shares) * MARK_REPEATS, *(f"{share:.3f}" for share in shares.mean(axis=0)))


def tables_noticed(name: str, n_rows: int) -> list[float | str]:
    X, _ = rows_of(name)
    if len(X) < 2 * n_rows:
        return ["too few rows"]
    found = []
    for seed in range(MARK_REPEATS):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))
        fitted, fresh = order[:n_rows], order[n_rows : 2 * n_rows]
        seen = TrainingMarks.of(X[fitted], str(seed))
        assert seen is not None
        tables = []
        for share in SHARES_OF_OLD_ROWS:
            n_old = round(share * n_rows)
            rows = rng.permutation(np.concatenate((rng.permutation(fitted)[:n_old], fresh[: n_rows - n_old])))
            tables.append(seen.seen_in(X[rows]).is_noticed)
        found.append(tables)
    return np.mean(found, axis=0).tolist()


PARTS = {
    "gate": gate,
    "groups": groups,
    "limits": limits,
    "auc_limit": auc_limit,
    "label_shift": label_shift,
    "time_order": time_order,
    "marks": marks,
}


def main(names: Sequence[str] = ()) -> None:
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
