"""Every figure of a report equals code that knows nothing of the library but its scores, answers and selections."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import beta, binomtest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score, roc_curve

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
    # By chance: the coverage of groups to which rows are assigned at random stays below in 95 of 100 draws.
    rng, sizes = np.random.default_rng(0), [own.sum() for own in members.values()]
    drawn = []
    for _ in range(2000):
        parts = np.split(rng.permutation(seen.kept), np.cumsum(sizes)[:-1])
        shares = [part.mean() for part in parts]
        drawn.append(max(shares) - min(shares))
    assert gaps["achieved_coverage"]["gap_by_chance"] == pytest.approx(np.quantile(drawn, 0.95), rel=0.1)


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
