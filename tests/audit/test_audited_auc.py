"""The AUC of cases that nobody looked at, from a random sample of labels."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from aucross import audited_auc
from aucross.audit import audit_probability, audited_groups
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


@pytest.mark.parametrize("rarer", [1.0, 0.0])
def test_a_second_opinion_is_not_used_below_thirty_labels_of_a_class(rarer):
    score, eta, y = cases(20_000, known=3.0)
    own, others = (np.flatnonzero(y == label) for label in (rarer, 1.0 - rarer))
    found = []
    for n_rarer in (29, 30):
        label, chosen = np.full(len(y), np.nan), np.r_[own[:n_rarer], others[:400]]
        label[chosen] = y[chosen]
        probability = np.full(len(y), len(chosen) / len(y))
        with_opinion, alone = (audited_auc(score, label, probability, opinion) for opinion in (eta, None))
        found.append((with_opinion.opinion_share, with_opinion == alone))
    assert found[0] == (0.0, True)
    assert found[1][0] > 0.1
    assert not found[1][1]


def test_too_few_positives_are_said_to_be_too_few():
    score, eta, y = cases()
    label = np.full(len(y), np.nan)
    label[np.flatnonzero(y == 0)[:180]] = 0.0
    label[np.flatnonzero(y == 1)[: FEWEST_OF_A_CLASS - 1]] = 1.0
    result = audited_auc(score, label, np.full(len(y), 0.05), eta)
    assert np.isnan([result.low, result.high]).all()
    assert not result.is_known
    assert "cannot say" in result.sentence
    assert np.isnan([result.standard_error, result.n_effective]).all()  # ten labels are not worth thousands
    assert "worth 14 labels of one class" in result.sentence
    assert np.isnan(result.change_from(0.8)).all()
    assert "cannot say" in result.change_from(0.8).sentence


@pytest.mark.parametrize("only", [0.0, 1.0])
def test_labels_of_one_class_give_no_estimate(only):
    score, _, _y = cases(200)
    result = audited_auc(score, np.where(np.arange(200) < 50, only, np.nan), np.full(200, 0.25))
    assert np.isnan(result.auc)
    assert np.isnan(result.low)
    assert "cannot say" in result.sentence


def test_no_labels_yet_give_no_estimate():
    result = audited_auc(np.arange(50.0), np.full(50, np.nan), np.full(50, 0.1))
    assert np.isnan([result.auc, result.low, result.high]).all()
    assert "no audited case has a label yet" in result.sentence


def unlabelled(score, y, probability):
    """Half of the audits have no label yet."""
    label = audit(y, probability)
    label[np.flatnonzero(~np.isnan(label))[::2]] = np.nan
    return label


def too_many(score, y, probability):
    return audit(y, np.minimum(2 * probability, 1))


def of_other_cases(score, y, probability):
    """As many labels as were drawn, of other cases: the ids were mixed up."""
    return np.random.default_rng(3).permutation(audit(y, probability))


def of_high_scores(score, y, probability):
    """Outcomes that came early, because the case was bad."""
    return audit(y, np.where(score > np.median(score), 1.5, 0.5) * probability)


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (unlabelled, "these probabilities draw about"),
        (too_many, "these probabilities draw about"),
        (of_other_cases, "not those that these probabilities draw"),
        (of_high_scores, "one end of the score has too many labels"),
    ],
)
def test_labels_that_are_no_draw_get_no_interval(wrong, found):
    score, eta, y = cases(40_000)
    probability = audit_probability(score, expit(3 * score - 3), share=0.1, uniform=0.2)
    if wrong is of_high_scores:
        probability = np.full(len(score), 0.1)
    result = audited_auc(score, wrong(score, y, probability), probability, eta)
    assert found in result.sentence
    assert np.isnan([result.low, result.high]).all()


def test_a_change_is_told_from_none():
    score, _, y = cases(20_000)
    result = audited_auc(score, audit(y, 0.3), np.full(20_000, 0.3))
    fallen, risen = result.change_from(result.auc + 0.1), result.change_from(result.auc - 0.1)
    assert max(fallen.p_value, risen.p_value) < 1e-6
    assert fallen.low < fallen.change < fallen.high < 0 < risen.low
    assert result.change_from(result.auc + 0.1, standard_error=0.2).p_value > 0.1
    assert "changed by -0.100" in fallen.sentence


def test_a_change_is_significant_where_its_interval_leaves_out_none():
    score, _, y = cases(20_000)
    result = audited_auc(score, audit(y, 0.3), np.full(20_000, 0.3))
    for end, inside in ((result.high, result.auc), (result.low, result.auc)):
        assert result.change_from(end).p_value == pytest.approx(0.05, rel=1e-6)
        assert result.change_from((end + inside) / 2).p_value > 0.05


@pytest.mark.parametrize(("arguments", "message"), [((1.2,), r"auc must be in \[0, 1\]"), ((0.8, -1), "at least 0")])
def test_an_impossible_validation_is_refused(arguments, message):
    score, _, y = cases()
    with pytest.raises(ValueError, match=message):
        audited_auc(score, y, np.ones(len(y))).change_from(*arguments)


def with_errors(y, sensitivity, specificity, seed):
    chance = np.random.default_rng(seed).random(len(y))
    return np.where(y == 1, chance < sensitivity, chance > specificity).astype(float)


def test_verdicts_that_err_give_the_auc_of_the_truth():
    score, eta, y = cases(400_000)
    verdict = with_errors(y, 0.8, 0.9, seed=4)
    truth, apparent = roc_auc_score(y, score), roc_auc_score(verdict, score)
    assert apparent < truth - 0.05
    known = audited_auc(score, verdict, np.ones(len(y)), eta, sensitivity=0.8, specificity=0.9)
    assert known.auc == pytest.approx(truth, abs=0.005)
    assert known.low < truth < known.high


def test_standard_errors_of_verdicts_are_those_of_repeated_audits():
    found = []
    for seed in range(120):
        score, eta, y = cases(4000, seed=seed)
        probability = audit_probability(score, eta, share=0.25)
        label = audit(with_errors(y, 0.85, 0.95, seed=1000 + seed), probability, seed=2000 + seed)
        result = audited_auc(score, label, probability, eta, sensitivity=0.85, specificity=0.95)
        found.append((result.auc, result.standard_error))
    estimates, errors = np.transpose(found)
    assert errors.mean() == pytest.approx(estimates.std(), rel=0.2)


def test_standard_errors_of_verdicts_are_those_of_a_jackknife():
    score, _, y = cases(400)
    rare = y * (np.random.default_rng(5).random(400) < 0.4)  # then the share of positives matters most
    verdict = with_errors(rare, 0.9, 0.9, seed=4)

    def without(row):
        weight = np.ones(400)
        weight[row] = 0.0
        return audited_auc(score, verdict, np.ones(400), sample_weight=weight, sensitivity=0.9, specificity=0.9).auc

    left_out = np.array([without(row) for row in range(400)])
    found = audited_auc(score, verdict, np.ones(400), sensitivity=0.9, specificity=0.9)
    assert found.standard_error == pytest.approx(np.sqrt(399 * left_out.var()), rel=0.03)


def test_verdicts_that_contradict_their_stated_errors_get_no_interval():
    score, _, y = cases()
    result = audited_auc(score, y, np.ones(len(y)), specificity=0.5)
    assert np.isnan(result.low)
    assert "specificity 0.5" in result.sentence


def test_cases_of_one_customer_count_as_one_draw():
    score, eta, y = cases(3000)
    label, probability = audit(y, 0.4), np.full(3000, 0.4)
    customers = np.repeat(np.arange(3000), 3)
    alone = audited_auc(score, label, probability, eta)
    copied = audited_auc(*(np.repeat(column, 3) for column in (score, label, probability, eta)), customers=customers)
    assert copied.auc == pytest.approx(alone.auc, abs=1e-3)
    assert copied.standard_error == pytest.approx(alone.standard_error, rel=0.05)
    assert copied.high - copied.low == pytest.approx(alone.high - alone.low, rel=0.05)


def test_groups_are_audited_one_by_one():
    score, eta, y = cases(6000)
    by = np.where(np.arange(6000) < 200, "few", np.where(score > 0, "high", "low"))
    label, probability = audit(y, 0.3), np.full(6000, 0.3)
    weight = np.random.default_rng(0).random(6000)
    found = audited_groups(by, score, label, probability, eta=eta, sample_weight=weight, confidence_level=0.9)
    assert list(found) == ["few", "high", "low"]
    own = by == "high"
    expected = audited_auc(score[own], label[own], probability[own], eta[own], 0.9, sample_weight=weight[own])
    assert found["high"] == expected


def test_a_group_of_which_nobody_was_audited_cannot_be_judged():
    score, _, y = cases(1000)
    label = np.where(np.arange(1000) < 10, np.nan, y)
    found = audited_groups(np.arange(1000) < 10, score, label, np.where(np.arange(1000) < 10, 0.01, 1.0))
    assert found[False].is_known
    assert not found[True].is_known


def test_groups_of_another_number_of_cases_are_refused():
    with pytest.raises(ValueError, match="by and y_score must hold one entry per case"):
        audited_groups(["a"], [0.1, 0.2], [0, 1], [1, 1])


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
        ({"customers": np.zeros(99)}, "customers must hold one value per row"),
        ({"sensitivity": 90}, r"sensitivity must be in \(0, 1\]"),
        ({"sensitivity": 0.4, "specificity": 0.6}, "above 1 together"),
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


def test_drawn_cases_without_a_label_are_waited_for():
    """Labels of bad cases that come late would leave a narrow interval far from the truth."""
    score, eta, y = cases(20_000)
    probability = np.full(len(score), 0.05)
    label = audit(y, probability)
    was_drawn = ~np.isnan(label)
    whole = audited_auc(score, label, probability, eta, was_drawn=was_drawn)
    assert whole == audited_auc(score, label, probability, eta)
    late = np.flatnonzero(label == 1)
    label[late[: int(0.03 * was_drawn.sum())]] = np.nan
    found = audited_auc(score, label, probability, eta, was_drawn=was_drawn)
    assert "drawn cases have a label" in found.sentence
    assert np.isnan([found.low, found.high]).all()
    assert audited_auc(score, label, probability, eta).is_known  # the number alone does not tell it


def test_labels_of_cases_that_were_not_drawn_give_no_interval():
    """As many labels as were drawn, but not of the drawn cases."""
    score, eta, y = cases(20_000)
    probability = np.full(len(score), 0.05)
    was_drawn = np.roll(~np.isnan(audit(y, probability)), 1)
    found = audited_auc(score, audit(y, probability), probability, eta, was_drawn=was_drawn)
    assert "of the labels are of cases that were not drawn; pass NaN for these" in found.sentence
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"was_drawn": [True]}, "was_drawn must hold True or False for each of 4000 cases"),
        ({"was_drawn": np.ones(4000)}, "was_drawn must hold True or False"),
        ({"y_audited": ["bad"] * 4000}, "y_audited must hold numbers, got values that are none"),
        ({"audit_probability": ["half"] * 4000}, "audit_probability must hold numbers"),
    ],
)
def test_what_is_no_audit_is_refused(arguments, message):
    score, _, y = cases()
    options = {"y_audited": y, "audit_probability": np.ones(len(y)), **arguments}
    with pytest.raises(ValueError, match=message):
        audited_auc(score, **options)


def test_a_case_without_weight_changes_nothing():
    score, eta, y = cases(20_000)
    probability = np.full(len(score), 0.1)
    label = audit(y, probability)
    weight = np.ones(len(score))
    weight[np.flatnonzero(~np.isnan(label))[:5]] = 0.0
    found = audited_auc(score, label, probability, eta, sample_weight=weight)
    assert found.low < found.auc < found.high
