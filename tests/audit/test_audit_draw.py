"""Which cases are audited, and how many."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.audit import audit_plan, audit_probability, audited_auc, drawn_for_audit
from aucross.audit.audit_draw import AuditDraw
from aucross.audit.audited_auc import influences
from aucross.core import RankedScores

KEY = bytes(range(32))


def scores(n=5000, share=-1.0):
    rng = np.random.default_rng(0)
    score = rng.normal(size=n)
    return score, expit(share + 1.5 * score)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.8, 1.0])
def test_probabilities_have_the_share_as_mean_and_a_floor(share):
    probability = audit_probability(*scores(), share=share)
    assert probability.mean() == pytest.approx(share, abs=1e-6)
    assert share * 0.5 <= probability.min()
    assert probability.max() <= 1


def test_half_the_draws_go_where_a_label_tells_most_about_the_auc():
    score, eta = scores()
    probability = audit_probability(score, eta, share=0.02)
    as_positive, as_negative = influences(RankedScores.from_probabilities(eta, score), score)
    told = eta * (1 - eta) * (as_positive - as_negative) ** 2
    expected = 0.01 * (1 + np.sqrt(told) / np.sqrt(told).mean())
    assert probability == pytest.approx(expected, rel=1e-9)
    assert np.mean(told / probability) < 0.98 * np.mean(told / 0.02)


@pytest.mark.parametrize("eta", [None, np.zeros(100), np.ones(100)])
def test_without_an_opinion_all_cases_are_drawn_evenly(eta):
    assert np.ptp(audit_probability(np.arange(100.0), eta, share=0.1)) == 0


def test_a_case_is_drawn_alike_each_time_and_apart_from_its_neighbours():
    ids = [f"case {number}" for number in range(20_000)]
    first = drawn_for_audit(KEY, "loans", "2026-10", ids, np.full(20_000, 0.1))
    again = drawn_for_audit(KEY, "loans", "2026-10", ids[::-1], np.full(20_000, 0.1))[::-1]
    assert (first == again).all()
    assert first.mean() == pytest.approx(0.1, abs=0.01)
    for other in (
        drawn_for_audit(KEY[::-1], "loans", "2026-10", ids, np.full(20_000, 0.1)),
        drawn_for_audit(KEY, "loans", "2026-11", ids, np.full(20_000, 0.1)),
        drawn_for_audit(KEY, "cards", "2026-10", ids, np.full(20_000, 0.1)),
    ):
        assert (first & other).mean() == pytest.approx(0.01, abs=0.004)


def test_a_higher_probability_keeps_the_cases_drawn_before():
    ids = list(range(1000))
    low, high = (drawn_for_audit(KEY, "r", "b", ids, np.full(1000, share)) for share in (0.1, 0.3))
    assert (high[low]).all()
    assert high.sum() > low.sum()


def test_names_are_not_run_together():
    one = drawn_for_audit(KEY, "ab", "c", range(5000), np.full(5000, 0.5))
    other = drawn_for_audit(KEY, "a", "bc", range(5000), np.full(5000, 0.5))
    assert (one != other).any()


@pytest.mark.parametrize("key", [b"short", "a text of enough characters", None])
def test_a_key_that_can_be_guessed_is_refused(key):
    with pytest.raises(ValueError, match="at least 16 secret bytes"):
        drawn_for_audit(key, "r", "b", [1], [0.5])


def test_a_plan_reaches_the_width_that_it_promises():
    score, eta = scores(20_000)
    plan = audit_plan(score, eta, width=0.06)
    assert plan.is_reachable
    assert plan.months == 1
    rng, widths = np.random.default_rng(1), []
    for _ in range(20):
        probability = audit_probability(score, eta, share=plan.n_labels / len(score))
        y = np.where(rng.random(len(score)) < probability, rng.random(len(score)) < eta, np.nan)
        result = audited_auc(score, y, probability, eta)
        widths.append(result.high - result.low)
    assert np.mean(widths) == pytest.approx(0.06, rel=0.2)
    assert "a month" in plan.sentence


def test_a_plan_takes_more_months_if_fewer_cases_can_be_looked_at():
    score, eta = scores(20_000)
    whole, slow = audit_plan(score, eta, width=0.06), audit_plan(score, eta, width=0.06, per_month=100)
    assert slow.months == pytest.approx(whole.n_labels / 100, abs=1)


def test_a_plan_says_when_there_are_too_few_positives():
    score, eta = scores(1000, share=-12.0)
    plan = audit_plan(score, eta, width=0.03, per_month=100)
    assert not plan.is_reachable
    assert "Too few positives" in plan.sentence


def test_a_width_that_no_audit_reaches_is_not_blamed_on_positives():
    plan = audit_plan(*scores(1000), width=0.0001)
    assert not plan.is_reachable
    assert plan.sentence.startswith("Too few labels: 1,000 audits a month for ")


def test_a_plan_of_a_wide_interval_still_audits_enough_of_each_class():
    plan = audit_plan(*scores(5000), width=0.9)
    assert (plan.months, plan.is_reachable) == (1, True)
    assert plan.n_positive > 14


def test_a_plan_needs_a_chance_of_both_classes():
    for eta in (np.zeros(100), np.ones(100)):
        with pytest.raises(ValueError, match="eta must give both classes a chance"):
            audit_plan(scores(100)[0], eta)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"share": 0}, "share must be in"), ({"uniform": 0.0}, "uniform must be in"), ({"share": 2}, "for 2 % pass 0.02")],
)
def test_bad_shares_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        audit_probability(*scores(100), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width must be above 0"),
        ({"per_month": 0}, "per_month must be"),
        ({"per_month": 3.5}, "per_month must be a whole number"),
        ({"confidence_level": 95}, "for 95 % pass 0.95"),
    ],
)
def test_bad_plans_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        audit_plan(*scores(100), **arguments)


def classifier(n_classes=2):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 2))
    y = (rng.random(3000) < expit(1.5 * X[:, 0] - 1)).astype(int) + (n_classes - 2) * (X[:, 1] > 1)
    return AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)


def test_the_draw_of_a_classifier_has_the_share_and_a_floor_and_depends_on_the_case_alone():
    clf = classifier()
    X = np.random.default_rng(3).normal(size=(20_000, 2))
    rows, draw = clf.scored(X), AuditDraw(clf, 0.04, KEY)
    probability = draw.probability(rows)
    automatic = clf.select(rows)
    assert probability[automatic].mean() == pytest.approx(0.04, rel=0.05)
    assert probability.min() >= 0.02
    assert np.ptp(probability[automatic]) > 0.01
    assert (draw.probability(clf.scored(X[:3])) == probability[:3]).all()
    drawn = drawn_for_audit(KEY, "r", "b", [str(number) for number in range(20_000)], probability)
    assert drawn.mean() == pytest.approx(probability.mean(), rel=0.15)


def test_cases_of_more_classes_are_drawn_evenly():
    clf = classifier(3)
    assert set(AuditDraw(clf, 0.1, KEY).probability(clf.scored(np.zeros((3, 2))))) == {0.1}


@pytest.mark.parametrize(("share", "key"), [(2, KEY), (0.02, b"short")])
def test_a_draw_with_a_bad_share_or_key_is_refused(share, key):
    with pytest.raises(ValueError, match=r"audit must be in|secret bytes"):
        AuditDraw(classifier(), share, key)
