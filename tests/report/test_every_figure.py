"""Every figure of a report equals code that knows nothing of the library but its scores, answers and selections."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import beta, binomtest, gamma, hypergeom, norm
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score, roc_curve

from aucross import PlugIn
from aucross.files import model_fingerprint, rule_fingerprint
from aucross.report import build_summary, charts, render_html, tables
from tests.reference import obvious_auc_interval

COVERAGES = (0.5, 0.63, 0.77, 0.85, 0.99, 1.0)
MISSED, ALARM, REVIEW, A_MONTH = 4000.0, 300.0, 25.0, 12_000


@pytest.fixture(scope="module")
def money(credit, settings):
    costs = {"cost_matrix": ((0.0, ALARM), (MISSED, 0.0)), "review_cost": REVIEW, "cases_a_month": A_MONTH}
    return build_summary(
        credit.clf, credit.X, credit.y, by=credit.groups, training="loans of 2024", **costs, **settings
    )


class Seen:
    """What there is to know of the rows at a coverage."""

    def __init__(self, credit, coverage):
        self.y, self.p = credit.positive, credit.score
        self.says = credit.clf.predict(credit.X) == credit.clf.classes_[1]
        self.kept = credit.clf.select(credit.X, coverage)
        self.band = credit.clf.band(coverage)

    def rate(self, where):
        return self.y[where].sum() / where.sum()


def near(value):
    return pytest.approx(value, rel=0, abs=1e-9)


def entry_of(summary, coverage):
    return next(entry for entry in summary["coverages"] if entry["target_coverage"] == coverage)


def wilson(successes, trials):
    return tuple(binomtest(int(successes), int(trials)).proportion_ci(0.95, method="wilson"))


@pytest.mark.parametrize("coverage", COVERAGES)
def test_lanes_are_the_cases_below_in_and_above_the_band(coverage, credit, money):
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    low, high = (~seen.says, seen.says) if coverage == 1.0 else (seen.p < seen.band.lower, seen.p > seen.band.upper)
    expected = {"low": seen.kept & low, "review": ~seen.kept, "high": seen.kept & high}
    assert sum(where.sum() for where in expected.values()) == len(seen.y)
    assert {lane["by"] for lane in entry["lanes"]} == {"answer" if coverage == 1.0 else "band"}
    for lane, (name, where) in zip(entry["lanes"], expected.items(), strict=True):
        assert (lane["lane"], lane["n"], lane["n_positive"]) == (name, where.sum(), (seen.y & where).sum())
        assert lane["share"] == near(where.mean())
        if where.any():
            assert lane["positive_rate"] == near(seen.rate(where))
            ends = wilson((seen.y & where).sum(), where.sum())
            assert (lane["positive_rate_low"], lane["positive_rate_high"]) == near(ends)
        else:
            assert lane["positive_rate"] is None


@pytest.mark.parametrize("coverage", COVERAGES)
def test_errors_in_cases_and_in_money(coverage, credit, money):
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    missed = int((seen.kept & seen.y & ~seen.says).sum())
    alarms = int((seen.kept & ~seen.y & seen.says).sum())
    assert entry["errors"] == {
        "n_missed": missed,
        "n_false_alarm": alarms,
        "cost": near(missed * MISSED + alarms * ALARM),
        "review_cost": near((~seen.kept).sum() * REVIEW),
    }
    shown = {row[0]: row[2] for row in tables.error_table(money, entry).rows}
    month = A_MONTH / len(seen.y)
    total = month * (missed * MISSED + alarms * ALARM + (~seen.kept).sum() * REVIEW)
    assert shown["Cost in all"] == f"{total:,.0f}"
    _, _, errors, reviews = tables.tiles(money, entry)
    assert errors.text.replace("\N{NO-BREAK SPACE}", " ") == f"{100 * (missed + alarms) / seen.kept.sum():.1f} %"
    n_reviews = month * (~seen.kept).sum()
    assert reviews.text == (f"{n_reviews:,.0f}" if n_reviews >= 1000 else f"{n_reviews:.4g}")


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_numbers_of_a_coverage(coverage, credit, money):
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    y, p, says, n = seen.y[seen.kept], seen.p[seen.kept], seen.says[seen.kept], len(seen.y)
    auc, of_all = roc_auc_score(y, p), roc_auc_score(seen.y, seen.p)
    false, true, _ = roc_curve(y, p, drop_intermediate=False)
    bins = np.clip(np.ceil(p * 10).astype(int) - 1, 0, 9)
    gaps = [abs((p[bins == bin_] - y[bins == bin_]).sum()) for bin_ in range(10)]
    expected = {
        "achieved_coverage": seen.kept.mean(),
        "coverage_error": seen.kept.mean() - coverage,
        "selective_auc": auc,
        "auc_gain": auc - of_all,
        "selective_gini": 2 * auc - 1,
        "selective_ks": (true - false).max(),
        "selective_accuracy": (y == says).mean(),
        "positive_rate": y.mean(),
        "positives_for_review": 1 - y.sum() / seen.y.sum(),
        "selective_brier": brier_score_loss(y, p),
        "expected_calibration_error": sum(gaps) / len(y),
    }
    assert {name: entry[name] for name in expected} == {name: near(value) for name, value in expected.items()}
    counts = ("n_automatic", "n_review", "n_positive", "n_negative")
    assert [entry[name] for name in counts] == [len(y), n - len(y), y.sum(), (~y).sum()]
    if coverage < 1.0:
        for name, successes, trials in (
            ("achieved_coverage", len(y), n),
            ("selective_accuracy", (y == says).sum(), len(y)),
        ):
            ends = binomtest(int(successes), int(trials)).proportion_ci(0.95, method="exact")
            assert (entry[f"{name}_low"], entry[f"{name}_high"]) == near(tuple(ends))
    assert log_loss(y, p) > 0  # probabilities, so that the calibration is one


@pytest.mark.parametrize("coverage", COVERAGES)
def test_rules_to_compare_with(coverage, credit, money):
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    n_kept = int(seen.kept.sum())
    surest = np.argsort(np.maximum(seen.p, 1 - seen.p), kind="stable")[len(seen.y) - n_kept :]
    assert entry["max_probability_auc"] == near(roc_auc_score(seen.y[surest], seen.p[surest]))


def test_the_best_band_in_hindsight_is_the_best_of_all(credit, money):
    seen, entry = Seen(credit, 0.99), entry_of(money, 0.99)
    distinct, place = np.unique(seen.p, return_inverse=True)
    positives, negatives = (np.bincount(place, weights=of, minlength=len(distinct)) for of in (seen.y, ~seen.y))
    n_left_out, best = int((~seen.kept).sum()), 0.0
    for first in range(len(distinct)):
        last = first
        while last <= len(distinct) and (positives + negatives)[first:last].sum() <= n_left_out:
            pos, neg = positives.copy(), negatives.copy()
            pos[first:last] = neg[first:last] = 0.0
            auc = (pos * (neg.cumsum() - neg / 2)).sum() / (pos.sum() * neg.sum())
            best, last = max(best, auc), last + 1
    assert entry["oracle_auc"] == near(best)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_bars_deciles_and_scores(coverage, credit, money):
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    edges = np.array(entry["bin_edges"])
    edges[0], edges[-1] = -np.inf, np.inf
    for name, of_class in (("positive", seen.y), ("negative", ~seen.y)):
        for shares, where in (("shares", of_class), ("review_shares", of_class & ~seen.kept)):
            counted = [(where & (seen.p >= low) & (seen.p < high)).sum() for low, high in pairwise(edges)]
            assert entry[shares][name] == pytest.approx(np.array(counted) / of_class.sum(), abs=6e-7)  # six decimals
    p, y = seen.p[seen.kept], seen.y[seen.kept]
    for part in entry["deciles"]:
        own = (p >= part["lowest_score"]) & (p <= part["highest_score"])
        assert (part["n"], part["n_positive"]) == (own.sum(), y[own].sum())
        assert part["mean_score"] == near(p[own].mean())
        assert part["observed_rate"] == near(y[own].mean())
        assert part["lift"] == near(y[own].mean() / y.mean())
        assert part["positives_so_far"] == near(
            y[p >= part["lowest_score"]].mean() * (p >= part["lowest_score"]).sum() / y.sum()
        )
    assert entry["scores"]["automatic"]["mean"] == near(p.mean())


def test_groups_and_base_rate(credit, money):
    seen, entry = Seen(credit, 0.85), entry_of(money, 0.85)
    for group in entry["groups"]:
        own = np.asarray(credit.groups == group["group"])
        assert (group["n"], group["achieved_coverage"]) == (own.sum(), near(seen.kept[own].mean()))
        both = own & seen.kept
        assert group["selective_auc"] == near(roc_auc_score(seen.y[both], seen.p[both]))
        assert group["positives_for_review"] == near(1 - seen.y[both].sum() / seen.y[own].sum())
    rate, all_ = seen.y[seen.kept].mean(), seen.y.mean()
    base = entry["base_rate"]
    found = (base["shift"], base["relative_shift"], base["for_review"])
    assert found == near((rate - all_, (rate - all_) / all_, 1 - seen.kept.mean()))


@pytest.mark.parametrize("coverage", [0.5, 0.85])
def test_intervals_of_areas_deciles_and_groups(coverage, credit, money):
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    ends = obvious_auc_interval(seen.y[seen.kept], seen.p[seen.kept], 0.025)
    assert (entry["selective_auc_low"], entry["selective_auc_high"]) == near(ends)
    for part in entry["deciles"]:
        ends = wilson(part["n_positive"], part["n"])
        assert (part["observed_rate_low"], part["observed_rate_high"]) == near(ends)
    for group in entry["groups"]:
        own = np.asarray(credit.groups == group["group"])
        both = own & seen.kept
        ends = obvious_auc_interval(seen.y[both], seen.p[both], 0.025)
        assert (group["selective_auc_low"], group["selective_auc_high"]) == near(ends)
        ends = binomtest(int(both.sum()), int(own.sum())).proportion_ci(0.95, method="exact")
        assert (group["achieved_coverage_low"], group["achieved_coverage_high"]) == near(tuple(ends))


@pytest.mark.parametrize("coverage", [0.5, 0.85])
def test_further_figures_of_scores_base_rate_and_curves(coverage, credit, money):
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    for name, where in (("automatic", seen.kept), ("review", ~seen.kept)):
        told, own = entry["scores"][name], seen.p[where]
        assert (told["n"], told["mean"]) == (where.sum(), near(own.mean()))
        for share, value in told["quantiles"].items():
            assert value == np.quantile(own, float(share), method="inverted_cdf")
    y, all_, base = seen.y[seen.kept], seen.y, entry["base_rate"]
    assert (base["positive_rate"], base["automatic_positive_rate"]) == near((all_.mean(), y.mean()))
    assert base["rarer_for_review"] == near((all_ & ~seen.kept).sum() / all_.sum())
    assert base["review_ratio"] == near((all_ & ~seen.kept).sum() / all_.sum() / (~seen.kept).mean())
    ends = binomtest(int(y.sum()), len(y)).proportion_ci(0.95, method="exact")
    assert (entry["positive_rate_low"], entry["positive_rate_high"]) == near(tuple(ends))
    ends = binomtest(int(seen.kept.sum()), len(all_)).proportion_ci(0.95, method="exact")
    assert (entry["coverage_error_low"], entry["coverage_error_high"]) == near(
        (ends.low - coverage, ends.high - coverage)
    )
    false, true, _ = roc_curve(y, seen.p[seen.kept], drop_intermediate=False)
    corners = {(round(across, 5), round(up, 5)) for across, up in zip(false, true, strict=True)}
    curve = entry["curve"]
    points = list(zip(curve["false_positive_rate"], curve["true_positive_rate"], strict=True))
    assert {points[0], points[-1]} == {(0.0, 0.0), (1.0, 1.0)}
    assert set(points) <= corners
    share = y.mean() * np.array(curve["true_positive_rate"]) + (1 - y.mean()) * np.array(curve["false_positive_rate"])
    assert curve["rows"] == pytest.approx(share, abs=2e-5)  # five decimals


def test_features_that_differ_are_means_in_standard_deviations(credit, money):
    seen, entry = Seen(credit, 0.85), entry_of(money, 0.85)
    assert len(entry["features"]) >= 5
    for told in entry["features"]:
        column = credit.X[told["feature"]]
        if told["kind"] == "missing":
            value = column.isna().astype(float)
        elif told["kind"] == "category":
            value = (column.astype(object) == told["level"]).astype(float)
        else:
            value = column.astype(float)
        value = value.to_numpy()
        means = [np.nanmean(value[where]) for where in (seen.kept, ~seen.kept)]
        assert (told["automatic"], told["review"]) == near(tuple(means))
        assert told["standardised_difference"] == near((means[1] - means[0]) / np.nanstd(value))


def test_gaps_are_between_the_groups_furthest_apart(credit, money):
    seen, entry = Seen(credit, 0.85), entry_of(money, 0.85)
    members = {name: np.asarray(credit.groups == name) for name in ("to 25", "26 to 50", "over 50")}
    values = {
        "achieved_coverage": {name: seen.kept[own].mean() for name, own in members.items()},
        "selective_auc": {
            name: roc_auc_score(seen.y[own & seen.kept], seen.p[own & seen.kept]) for name, own in members.items()
        },
        "positives_for_review": {
            name: 1 - seen.y[own & seen.kept].sum() / seen.y[own].sum() for name, own in members.items()
        },
    }
    gaps = {gap["metric"]: gap for gap in entry["group_gaps"]}
    for metric, by_group in values.items():
        low, high = min(by_group, key=by_group.get), max(by_group, key=by_group.get)
        gap = gaps[metric]
        assert (gap["lowest_group"], gap["highest_group"]) == (low, high)
        assert (gap["gap"], gap["ratio"]) == near((by_group[high] - by_group[low], by_group[low] / by_group[high]))
    for group in entry["groups"]:
        own = members[group["group"]] & seen.kept
        assert (group["positive_rate"], group["n_positive"]) == (near(seen.y[own].mean()), seen.y[own].sum())


class Placed:
    """Of the rows of a selection, their share of the other class that they are ranked rightly against."""

    def __init__(self, y, p, where):
        self.of_class = {True: p[where & y], False: p[where & ~y]}
        self.auc = roc_auc_score(y[where], p[where])

    def share(self, side, scores):
        """Ranked rightly: a positive above a negative; of rows with the same score half are."""
        own, other = (-1.0 if not side else 1.0), self.of_class[not side]
        return np.array([np.mean((own * score > own * other) + (score == other) / 2) for score in scores])


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_interval_of_the_gain_in_auc(coverage, credit, money):
    """Both ends by Gamma distributions of the rows' contributions and of two thirds of one row that counts against."""
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    if coverage == 1.0:
        assert (entry["auc_gain_low"], entry["auc_gain_high"]) == (0.0, 0.0)
        return
    y, p, kept = seen.y, seen.p, seen.kept
    among, of_all = Placed(y, p, kept), Placed(y, p, np.ones(len(y), dtype=bool))
    gain, squares, cubes, moves = among.auc - of_all.auc, 0.0, 0.0, [0.0]
    for side in (True, False):
        n_kept, n_all = len(among.of_class[side]), len(of_all.of_class[side])
        in_kept, in_all = (
            (part.share(side, p[kept & (y == side)]) - part.auc) / n for part, n in ((among, n_kept), (of_all, n_all))
        )
        left = (of_all.share(side, p[~kept & (y == side)]) - of_all.auc) / n_all
        # What a row adds to the gain, and 2 / n more of its square for what it takes away where it is left out.
        squares += ((in_kept - in_all) ** 2).sum() * (1 + 2 / n_kept) + (left**2).sum() * (1 + 2 / n_all)
        cubes += ((in_kept - in_all) ** 3).sum() - (left**3).sum()
        # One more row: automatic at some score or beyond all of them, or for review.
        for scores in (p[kept], np.array([-1.0, 2.0])):
            more = (among.share(side, scores) - among.auc) / (n_kept + 1)
            moves.extend(more - (of_all.share(side, scores) - of_all.auc) / (n_all + 1))
        moves.extend(-(of_all.share(side, p[~kept]) - of_all.auc) / (n_all + 1))
    ends = []
    for side, step in ((-1, -min(moves)), (1, max(moves))):
        deviation = np.sqrt(squares + 2 / 3 * step**2)
        skewness = 2 * (max(side * cubes, 0.0) + 2 / 3 * step**3) / deviation**3
        shape = max(4 / skewness**2, 2 / 3)
        ends.append(gain + side * (2 / 3 * step + deviation * (gamma.ppf(0.975, shape) - shape) / np.sqrt(shape)))
    assert (entry["auc_gain_low"], entry["auc_gain_high"]) == near(tuple(ends))


def obvious_guard(y, kept):
    """Twice the smaller tail of the positives among as many rows for review drawn at random; limits exceeded."""
    n, n_positive, n_review, found = len(y), int(y.sum()), int((~kept).sum()), int((y & ~kept).sum())
    ways = [comb(n_positive, k) * comb(n - n_positive, n_review - k) for k in range(min(n_positive, n_review) + 1)]
    assert sum(ways) == comb(n, n_review)
    chance = min(1.0, 2 * float(Fraction(min(sum(ways[: found + 1]), sum(ways[found:])), comb(n, n_review))))
    shift, rare = y[kept].mean() - y.mean(), y if y.mean() <= 0.5 else ~y
    is_far = {
        "max_shift": abs(shift) > 0.05,
        "max_relative_shift": abs(shift) > 0.2 * rare.mean(),
        "max_review_ratio": (rare & ~kept).sum() / rare.sum() > 2 * (~kept).mean(),
    }
    return chance, [name for name, is_so in is_far.items() if is_so and chance <= 0.01]


@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_chance_and_the_verdict_of_the_guard(coverage, credit, money):
    seen, entry = Seen(credit, coverage), entry_of(money, coverage)
    chance, exceeded = obvious_guard(seen.y, seen.kept)
    assert entry["base_rate"]["chance"] == pytest.approx(chance, rel=1e-9, abs=1e-300)
    assert (entry["base_rate"]["exceeded"], entry["base_rate"]["ok"]) == (exceeded, not exceeded)
    for group in entry["groups"]:
        own = np.asarray(credit.groups == group["group"])
        assert group["base_rate_ok"] == (not obvious_guard(seen.y[own], seen.kept[own])[1])


def test_the_guard_tells_of_a_rule_by_confidence_that_rejects_the_rarer_class(credit):
    X, y, groups = credit.X.select_dtypes("number").fillna(0.0), credit.positive, credit.groups
    clf = PlugIn(HistGradientBoostingClassifier(max_iter=20, random_state=0), random_state=0).fit(X[:1000], y[:1000])
    summary = build_summary(clf, X[1000:], y[1000:], by=groups[1000:], with_intervals=False)
    told = set()
    for coverage in (0.5, 0.85, 0.97):
        kept, entry = clf.select(X[1000:], coverage), entry_of(summary, coverage)
        chance, exceeded = obvious_guard(y[1000:], kept)
        assert entry["base_rate"]["chance"] == pytest.approx(chance, rel=1e-9, abs=1e-300)
        assert entry["base_rate"]["exceeded"] == exceeded
        for group in entry["groups"]:
            own = np.asarray(groups[1000:] == group["group"])
            is_ok = not obvious_guard(y[1000:][own], kept[own])[1]
            assert group["base_rate_ok"] == is_ok
            told.add(is_ok)
        told |= set(exceeded)
    assert told == {True, False, "max_shift", "max_relative_shift", "max_review_ratio"}


# ---- gaps between groups that chance alone produces ----

AGES = ("to 25", "26 to 50", "over 50")


def shares_of_groups(credit, coverage):
    """Of every share that groups are compared by, the rows that it is of and those that count."""
    seen = Seen(credit, coverage)
    every = np.ones(len(seen.y), dtype=bool)
    return {
        "achieved_coverage": (every, seen.kept),
        "selective_accuracy": (seen.kept, seen.kept & (seen.y == seen.says)),
        "positive_rate": (seen.kept, seen.kept & seen.y),
        "positives_for_review": (seen.y, seen.y & ~seen.kept),
    }


def auc_errors_of_groups(credit, coverage):
    """The standard error that the AUC of all automatic rows would have in a group of that size."""
    seen = Seen(credit, coverage)
    placed, squares = Placed(seen.y, seen.p, seen.kept), 0.0
    for side, scores in placed.of_class.items():
        own = (placed.share(side, scores) - placed.auc) / len(scores)
        squares += (own**2).sum() * (1 + 2 / len(scores))
    fewer = [min((seen.y & own).sum(), (~seen.y & own).sum()) for own in members_kept(credit, seen)]
    size = min(len(scores) for scores in placed.of_class.values())
    return np.sqrt(squares * (size - 1) / (np.array(fewer) - 1))


def members_kept(credit, seen):
    return [np.asarray(credit.groups == name) & seen.kept for name in AGES]


def gap_by_chance(money, coverage, metric):
    return next(gap for gap in entry_of(money, coverage)["group_gaps"] if gap["metric"] == metric)["gap_by_chance"]


@pytest.mark.parametrize("coverage", [0.5, 0.85])
@pytest.mark.parametrize("metric", ["achieved_coverage", "selective_accuracy", "positive_rate", "positives_for_review"])
def test_the_chance_limit_of_a_gap_in_shares_replicates_its_seeded_draw(metric, coverage, credit, money):
    of, counts = shares_of_groups(credit, coverage)[metric]
    sizes = np.array([(of & np.asarray(credit.groups == name)).sum() for name in AGES])
    rng = np.random.default_rng([counts.sum(), *sizes])  # equal counts give equal draws
    shares = rng.multivariate_hypergeometric(sizes, counts.sum(), size=2000, method="marginals") / sizes
    gaps = np.sort(np.ptp(shares, axis=1))
    # Of 2,000 in order, the first at or above the quantile .95: at most 100 are larger.
    assert gap_by_chance(money, coverage, metric) == near(gaps[int(np.ceil(0.95 * 1999))])


@pytest.mark.parametrize("coverage", [0.5, 0.85])
@pytest.mark.parametrize("metric", ["achieved_coverage", "selective_accuracy", "positive_rate", "positives_for_review"])
def test_the_chance_limit_of_a_gap_in_shares_is_exact_within_the_error_of_its_simulation(
    metric, coverage, credit, money
):
    """The law of the gap in full: rows that count are spread over three groups of these sizes in every possible way."""
    of, counts = shares_of_groups(credit, coverage)[metric]
    sizes = [int((of & np.asarray(credit.groups == name)).sum()) for name in AGES]
    n, total = sum(sizes), int(counts.sum())
    first, second = np.ogrid[: sizes[0] + 1, : sizes[1] + 1]
    third = total - first - second
    chance = hypergeom.pmf(first, n, sizes[0], total) * hypergeom.pmf(second, n - sizes[0], sizes[1], total - first)
    chance = np.where((third >= 0) & (third <= sizes[2]), np.nan_to_num(chance), 0.0)
    assert chance.sum() == pytest.approx(1.0, abs=1e-9)
    shares = np.stack(np.broadcast_arrays(first / sizes[0], second / sizes[1], third / sizes[2]))
    gaps, limit = np.ptp(shares, axis=0), gap_by_chance(money, coverage, metric)
    below, at_most = chance[gaps < limit - 1e-9].sum(), chance[gaps < limit + 1e-9].sum()
    error = 4 * np.sqrt(0.95 * 0.05 / 2000)
    assert below < 0.95 + error
    assert at_most > 0.95 - error


@pytest.mark.parametrize("coverage", [0.5, 0.85])
def test_the_chance_limit_of_the_gap_in_auc_replicates_its_seeded_draw(coverage, credit, money):
    drawn = np.random.default_rng(0).normal(size=(10_000, len(AGES))) * auc_errors_of_groups(credit, coverage)
    gaps = np.sort(drawn.max(axis=1) - drawn.min(axis=1))
    place = 0.95 * 9999
    low, high = gaps[int(place)], gaps[int(place) + 1]
    assert gap_by_chance(money, coverage, "selective_auc") == near(low + (place - int(place)) * (high - low))


@pytest.mark.parametrize("coverage", [0.5, 0.85])
def test_the_chance_limit_of_the_gap_in_auc_is_exact_within_the_error_of_its_simulation(coverage, credit, money):
    """The law of the range of independent normal deviations, by an integral over the lowest of them."""
    errors, limit = auc_errors_of_groups(credit, coverage), gap_by_chance(money, coverage, "selective_auc")
    lowest = np.linspace(-8 * errors.max(), 8 * errors.max(), 20_001)
    densities = [
        norm.pdf(lowest, scale=errors[own])
        * np.prod([np.diff(norm.cdf([lowest, lowest + limit], scale=other), axis=0)[0] for other in others], axis=0)
        for own, others in ((own, np.delete(errors, own)) for own in range(len(errors)))
    ]
    assert abs(trapezoid(sum(densities), lowest) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 10_000)


def test_the_promise_is_two_bounds_that_hold_together(credit, money):
    seen, promise = Seen(credit, 0.85), money["promise"]
    k, n, failure = int(seen.kept.sum()), len(seen.y), 1 - 0.95**0.5
    assert promise["coverage_at_least"] == near(beta.ppf(failure, k, n - k + 1))
    assert promise["coverage_alone"] == near(beta.ppf(0.05, k, n - k + 1))
    own = seen.y[seen.kept], seen.p[seen.kept]
    for name, chance in (("auc_at_least", failure), ("auc_alone", 0.05)):
        assert promise[name] == near(obvious_auc_interval(*own, chance, added=1.0)[0])
    assert (promise["n_positive"], promise["n_negative"]) == ((seen.y & seen.kept).sum(), (~seen.y & seen.kept).sum())


def test_the_first_screen_says_who_is_treated_differently_and_what_can_go_wrong(credit, money):
    seen, entry = Seen(credit, 0.85), entry_of(money, 0.85)
    shares = {name: seen.kept[np.asarray(credit.groups == name)].mean() for name in ("to 25", "26 to 50", "over 50")}
    said = tables.treatment_text(entry).replace("\N{NO-BREAK SPACE}", " ")
    for name in (min(shares, key=shares.get), max(shares, key=shares.get)):
        own = np.asarray(credit.groups == name)
        ends = binomtest(int(seen.kept[own].sum()), int(own.sum())).proportion_ci(0.95, method="exact")
        told = f"{100 * shares[name]:.1f} % ({100 * ends.low:.1f} % to {100 * ends.high:.1f} %) of “{name}”"
        assert told in said
    month = A_MONTH / len(seen.y)
    wrong = month * (seen.says != seen.y)[seen.kept].sum()
    assert tables.go_wrong_text(money, entry).startswith(
        f"A month about {wrong:,.0f} of {month * seen.kept.sum():,.0f} "
    )
    assert "without groups" in tables.treatment_text({**entry, "groups": [], "group_gaps": []})
    page = render_html(money)
    assert page.index("What can go wrong.") < page.index("What becomes of the cases")


def test_the_decision_on_both_sides_of_the_band_is_the_answer(credit, money):
    """Above the band many are answered by the negative class, which is likelier; the errors count these answers."""
    seen, entry = Seen(credit, 0.85), entry_of(money, 0.85)
    above = seen.p > seen.band.upper
    low, review, high = entry["lanes"]
    assert (high["n_answered_positive"], review["n_answered_positive"]) == ((seen.says & above).sum(), None)
    assert low["n_answered_positive"] == 0
    n_unlike = int((~seen.says & above).sum())
    said = tables.sides_text(money, entry)
    assert said == f"Above the band {n_unlike:,} of {above.sum():,} get the answer repaid, which is likelier."
    assert entry["errors"]["n_missed"] == (seen.y & ~seen.says & seen.kept).sum()
    assert tables.sides_text(money, entry_of(money, 1.0)) == ""


def test_texts_of_tiles_tables_and_question_are_the_numbers_rounded(credit, money):
    for coverage in COVERAGES:
        seen, entry = Seen(credit, coverage), entry_of(money, coverage)
        shown = [tile.text.replace("\N{NO-BREAK SPACE}", " ") for tile in tables.tiles(money, entry)]
        assert shown[0].startswith(f"{100 * seen.kept.mean():.1f} %")
        assert shown[1] == f"{roc_auc_score(seen.y[seen.kept], seen.p[seen.kept]):.4f}"
        asked = tables.question(money, entry).replace("\N{NO-BREAK SPACE}", " ")
        if coverage < 1.0:
            assert f"decide {100 * seen.kept.mean():.1f} % of cases alone" in asked
            assert asked.endswith(f"from {seen.band.lower:.4f} to {seen.band.upper:.4f}?")
        lanes = tables.lane_table(money, entry).rows
        a_month = [A_MONTH * lane["n"] / len(seen.y) for lane in entry["lanes"]]
        assert [row[3] for row in lanes] == [
            f"{number:,.0f}" if number >= 1000 else f"{number:.4g}" for number in a_month
        ]


def test_the_drawn_auc_is_that_of_the_numbers(credit, money):
    picture = charts.auc_coverage_chart(money)
    ticks = [
        (float(text), float(place) - 5)
        for place, text in re.findall(r'y="([\d.]+)" text-anchor="end">([\d.]+)<', picture.svg)
    ]
    (low, bottom), (high, top) = ticks[0], ticks[-1]
    for coverage in COVERAGES:
        seen = Seen(credit, coverage)
        index = [entry["target_coverage"] for entry in money["coverages"]].index(coverage)
        place = float(picture.marks[index]["auc_coverage-dot"]["cy"])
        drawn = low + (place - bottom) / (top - bottom) * (high - low)
        assert drawn == pytest.approx(roc_auc_score(seen.y[seen.kept], seen.p[seen.kept]), abs=2e-4)


def test_the_method_card_names_model_rule_and_training(credit, money):
    method = money["method"]
    assert method["model_fingerprint"] == model_fingerprint(credit.clf)
    assert method["rule_fingerprint"] == rule_fingerprint(credit.clf)
    items = dict(tables.method_items(money))
    assert items["Trained on"] == "loans of 2024"
    assert items["Fingerprint of the model"] == model_fingerprint(credit.clf)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost_matrix": [1.0, 2.0]}, "cost_matrix must be a finite 2 x 2 array"),
        ({"cost_matrix": ((0, np.inf), (1, 0))}, "cost_matrix must be a finite 2 x 2 array"),
        ({"review_cost": 3.0}, "review_cost needs cost_matrix, the costs of answers, got 3.0 alone"),
        ({"cases_a_month": 0}, "cases_a_month must be a positive number of cases, got 0"),
    ],
)
def test_costs_that_cannot_be_are_refused(options, message, credit):
    with pytest.raises(ValueError, match=re.escape(message)):
        build_summary(credit.clf, credit.X, credit.y, with_intervals=False, **options)
