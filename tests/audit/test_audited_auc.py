"""The AUC of cases that nobody looked at, from a random sample of labels."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from aucross import audited_auc
from aucross.audit import audit_probability
from aucross.audit.audited_auc import FEWEST_OF_A_CLASS, influences
from aucross.core import RankedScores
from aucross.core.bounds import auc_ends


def cases(n=4000, seed=0, known=1.5):
    """Scores, true probabilities that know more than the score, and labels."""
    rng = np.random.default_rng(seed)
    score, other = rng.normal(size=(2, n))
    eta = expit(-1.5 + 1.5 * score + known * other)
    return score, eta, (rng.random(n) < eta).astype(float)


def audit(label, probability, seed=1):
    return np.where(np.random.default_rng(seed).random(len(label)) < probability, label, np.nan)


def test_with_all_labels_it_is_the_auc_and_its_interval():
    score, _, y = cases()
    result = audited_auc(score, y, np.ones(len(y)))
    ranked = RankedScores.from_labels(y, score)
    assert result.auc == pytest.approx(roc_auc_score(y, score), abs=1e-12)
    assert (result.low, result.high) == pytest.approx(auc_ends(ranked, 0.025), abs=1e-12)
    assert result.standard_error == pytest.approx(ranked.auc_standard_error(), rel=0.01)
    assert result.n_effective == pytest.approx(len(y), rel=0.01)


def test_a_second_opinion_changes_nothing_where_every_label_is_known():
    score, eta, y = cases()
    assert audited_auc(score, y, np.ones(len(y)), eta).auc == pytest.approx(roc_auc_score(y, score), abs=1e-12)


def test_cases_are_weighted_by_the_inverse_of_their_probability():
    score, _eta, y = cases()
    probability = np.where(score > 0, 0.9, 0.3)
    label = audit(y, probability)
    known = ~np.isnan(label)
    expected = roc_auc_score(y[known], score[known], sample_weight=1 / probability[known])
    assert audited_auc(score, label, probability).auc == pytest.approx(expected, abs=1e-12)


def test_a_case_of_weight_two_counts_as_two():
    score, _eta, y = cases(600)
    label, weight = audit(y, 0.5), np.r_[np.full(300, 2.0), np.ones(300)]
    twice = np.r_[np.arange(600), np.arange(300)]
    weighted = audited_auc(score, label, np.full(600, 0.5), sample_weight=weight)
    doubled = audited_auc(score[twice], label[twice], np.full(900, 0.5))
    assert weighted.auc == pytest.approx(doubled.auc, abs=1e-12)


def test_influences_predict_what_one_row_more_does():
    score, _, y = cases(300)
    ranked = RankedScores.from_labels(y, score)
    as_positive, as_negative = influences(ranked, np.array([0.3]))
    small = 1e-6
    for label, influence in ((1.0, as_positive[0]), (0.0, as_negative[0])):
        moved = RankedScores.from_labels(np.r_[y, label], np.r_[score, 0.3], np.r_[np.ones(300), small * 300]).auc()
        assert (moved - ranked.auc()) / small == pytest.approx(influence, rel=1e-3)


def test_influences_of_all_rows_add_up_to_nothing_with_ties():
    score, eta, _ = cases(500)
    score = score.round(1)
    as_positive, as_negative = influences(RankedScores.from_probabilities(eta, score), score)
    assert np.mean(eta * as_positive + (1 - eta) * as_negative) == pytest.approx(0, abs=1e-12)


def test_intervals_hold_and_a_good_second_opinion_narrows_them():
    many_scores, _, many_labels = cases(400_000, seed=9, known=4.0)
    truth = roc_auc_score(many_labels, many_scores)
    held, errors, errors_alone = [], [], []
    for seed in range(150):
        score, eta, y = cases(4000, seed=seed, known=4.0)
        of_month = roc_auc_score(y, score)
        probability = audit_probability(score, eta, share=0.12)
        result = audited_auc(score, audit(y, probability, seed=1000 + seed), probability, eta)
        held.append(result.low <= truth <= result.high)
        errors.append(result.auc - of_month)
        alone = audited_auc(score, audit(y, 0.12, seed=seed), np.full(4000, 0.12))
        errors_alone.append(alone.auc - of_month)
    assert np.mean(held) >= 0.93
    assert np.std(errors) < 0.75 * np.std(errors_alone)
    assert abs(np.mean(errors)) < 0.3 * np.std(errors)


def test_a_wrong_second_opinion_costs_little_and_misleads_nobody():
    errors, errors_alone = [], []
    for seed in range(60):
        score, eta, y = cases(3000, seed=seed)
        label = audit(y, 0.2, seed=500 + seed)
        whole = roc_auc_score(y, score)
        errors.append(audited_auc(score, label, np.full(3000, 0.2), 1 - eta).auc - whole)
        errors_alone.append(audited_auc(score, label, np.full(3000, 0.2)).auc - whole)
    assert np.std(errors) < 1.1 * np.std(errors_alone)
    assert abs(np.mean(errors)) < 0.5 * np.std(errors)


def test_too_few_positives_are_said_to_be_too_few():
    score, eta, y = cases()
    label = np.full(len(y), np.nan)
    label[:200] = 0.0
    label[np.flatnonzero(y == 1)[: FEWEST_OF_A_CLASS - 1]] = 1.0
    result = audited_auc(score, label, np.full(len(y), 0.05), eta)
    assert np.isnan([result.low, result.high]).all()
    assert not result.is_known
    assert "cannot say" in result.sentence
    assert np.isnan(result.fall_p_value(0.8))


@pytest.mark.parametrize("only", [0.0, 1.0])
def test_labels_of_one_class_give_no_estimate(only):
    score, _, _y = cases(200)
    result = audited_auc(score, np.where(np.arange(200) < 50, only, np.nan), np.full(200, 0.25))
    assert np.isnan(result.auc)
    assert np.isnan(result.low)
    assert "cannot say" in result.sentence


def test_a_fall_is_told_from_none():
    score, _, y = cases(20_000)
    result = audited_auc(score, audit(y, 0.3), np.full(20_000, 0.3))
    assert result.fall_p_value(result.auc + 0.1) < 1e-6
    assert result.fall_p_value(result.auc - 0.1) > 0.99
    assert result.fall_p_value(result.auc + 0.1, standard_error=0.2) > 0.1


def test_an_interval_for_all_times_is_wider():
    score, _, y = cases()
    label = audit(y, 0.3)
    once, always = (audited_auc(score, label, np.full(len(y), 0.3), anytime=anytime) for anytime in (False, True))
    assert always.low < once.low < once.high < always.high


def test_looking_every_month_keeps_the_confidence_for_all_times():
    truth, broken = 0.5, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        score, y = rng.normal(size=3000), (rng.random(3000) < 0.3).astype(float)
        looks = (audited_auc(score[:n], y[:n], np.ones(n), anytime=True) for n in range(250, 3001, 250))
        broken += any(look.low > truth or look.high < truth for look in looks)
    assert broken <= 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"audit_probability": np.r_[0.0, np.full(99, 0.5)]},
            r"audit_probability must be in \(0, 1\].*got 0 for 1 of 100",
        ),
        ({"audit_probability": np.r_[np.nan, np.full(99, 0.5)]}, r"audit_probability must be in \(0, 1\].*got nan"),
        ({"audit_probability": np.full(99, 0.5)}, "one probability per case, 100 in all"),
        ({"y_audited": np.full(100, np.nan)}, "at least one audited case"),
        ({"y_audited": np.r_[2.0, np.zeros(99)]}, "y_audited must be 0 or 1, and NaN.*got 2"),
        ({"y_audited": np.zeros((100, 2))}, "one label per case"),
        ({"eta": np.full(100, 1.5)}, r"eta must be in \[0, 1\]"),
        ({"y_score": np.r_[np.nan, np.zeros(99)]}, "y_score"),
        ({"confidence_level": 95}, "confidence_level must be in"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, message):
    rng = np.random.default_rng(0)
    good = {"y_score": rng.random(100), "y_audited": rng.integers(0, 2, 100).astype(float)}
    good |= {"audit_probability": np.full(100, 0.5)}
    with pytest.raises(ValueError, match=message):
        audited_auc(**{**good, **change})


def test_the_sentence_says_estimate_interval_and_labels():
    score, _, y = cases()
    text = audited_auc(score, audit(y, 0.3), np.full(len(y), 0.3)).sentence
    assert all(part in text for part in ("between", "95%", "of 4,000 cases"))
