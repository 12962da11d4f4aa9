"""A metric as a value: the function, what it reads, which way is better, its name in words."""

from __future__ import annotations

import inspect
import pickle
from functools import partial
from math import nan
from pathlib import Path

import pytest
from sklearn.base import clone

import aucross.evaluation
from aucross.evaluation import METRICS, Metric, expected_cost, metric, selective_auc, selective_ks
from aucross.evaluation.catalogue import GROUP_METRICS, MULTICLASS_METRICS, STANDARD_METRICS, words_for
from aucross.evaluation.metric import as_metric

ARGUMENTS = {
    "scores": ["y_true", "y_score", "selected"],
    "labels": ["y_true", "y_pred", "selected"],
    "outcomes": ["y_true", "selected"],
    "selection": ["selected"],
    "class_scores": ["y_true", "y_prob", "selected"],
    "losses": ["loss", "confidence"],
}


def share_of_seniors(y_true, y_score, selected, *, sample_weight=None):
    """A metric of the user."""
    return 0.25


@metric(reads="outcomes", better="lower", label="lost {positive}")
def lost(y_true, selected, *, sample_weight=None):
    """Positives that are lost."""
    return float(sum(t and not s for t, s in zip(y_true, selected, strict=True)))


# ---- the catalogue ----


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_public_and_described(name):
    found = METRICS[name]
    assert getattr(aucross.evaluation, name) is found
    assert name in aucross.evaluation.__all__
    assert found.name == name
    assert found.label
    assert found.__doc__.splitlines()[0].strip()


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_takes_what_it_says_it_reads(name):
    parameters = list(inspect.signature(METRICS[name]).parameters)
    expected = ARGUMENTS[METRICS[name].reads]
    assert parameters[: len(expected)] == expected
    assert "sample_weight" in parameters


def test_the_catalogue_holds_every_metric_that_is_public():
    public = {name for name in aucross.evaluation.__all__ if isinstance(getattr(aucross.evaluation, name), Metric)}
    assert public == set(METRICS)
    assert {*STANDARD_METRICS, *MULTICLASS_METRICS, *GROUP_METRICS} <= public


def test_every_metric_has_a_page_in_the_reference():
    reference = Path(__file__).resolve().parents[2] / "docs" / "reference" / "evaluation.md"
    listed = set(reference.read_text(encoding="utf-8").split())
    assert set(METRICS) <= listed


def test_the_catalogue_cannot_be_changed():
    with pytest.raises(TypeError):
        METRICS["mine"] = selective_auc


# ---- the value ----


def test_calling_the_metric_calls_the_function():
    assert lost([1, 1, 0], [True, False, False]) == 1.0
    assert selective_auc.function([0, 1], [0.1, 0.2]) == selective_auc([0, 1], [0.1, 0.2]) == 1.0


def test_it_looks_like_its_function():
    assert lost.name == lost.__name__ == "lost"
    assert lost.__doc__ == "Positives that are lost."
    assert list(inspect.signature(lost).parameters) == ["y_true", "selected", "sample_weight"]
    assert repr(lost) == "<metric lost>"


def test_metrics_of_the_same_function_are_equal():
    assert Metric(share_of_seniors) == Metric(share_of_seniors)
    assert Metric(share_of_seniors) != Metric(share_of_seniors, better="lower")
    assert len({Metric(share_of_seniors), Metric(share_of_seniors)}) == 1


@pytest.mark.parametrize("value", [selective_ks, lost, Metric(share_of_seniors, label="seniors")])
def test_a_metric_survives_pickle_and_clone(value):
    for copy in (pickle.loads(pickle.dumps(value)), clone(value, safe=False)):
        assert copy == value
        assert copy.words() == value.words()
    if value is selective_ks:
        assert pickle.loads(pickle.dumps(value)) is selective_ks


@pytest.mark.parametrize(("better", "expected"), [("higher", -0.2), ("lower", 0.2), ("zero", -0.2)])
def test_the_greater_score_is_the_better_one(better, expected):
    assert Metric(share_of_seniors, better=better).as_score(-0.2) == expected


def test_without_a_better_side_there_is_no_score():
    with pytest.raises(
        ValueError, match=r"^metric must have a better and a worse, got 'share_of_seniors', which has none$"
    ):
        Metric(share_of_seniors, better=None).as_score(1.0)


def test_words_name_the_positive_class():
    assert lost.words() == "lost positives"
    assert lost.words(positive="defaults") == "lost defaults"
    assert Metric(share_of_seniors).words() == "share of seniors"
    assert words_for("positive_rate", positive="defaults") == "rate of defaults among the automatic cases"
    assert words_for("share_of_seniors") == "share of seniors"


@pytest.mark.parametrize("reads", ARGUMENTS)
def test_it_is_given_what_it_reads(reads):
    given = {"y_true": [1], "y_score": [0.5], "y_pred": [0], "sample_weight": [2.0], "classes": ["a"]}
    taken = []
    value = Metric(lambda *args, **kwargs: taken.append((args, kwargs)) or 1, reads=reads)
    if reads in ("selection", "losses"):  # of these an evaluation knows the standard ones only
        with pytest.raises(KeyError):
            value.of([True], **given)
        return
    assert value.of([True], **given) == 1.0
    expected = {"scores": ([1], [0.5]), "labels": ([1], [0]), "outcomes": ([1],), "class_scores": ([1], [0.5])}[reads]
    classes = {"classes": ["a"]} if reads == "class_scores" else {}
    assert taken == [((*expected, [True]), {"sample_weight": [2.0], **classes})]


# ---- functions as metrics ----


def test_a_function_reads_scores_and_higher_is_better():
    found = as_metric(share_of_seniors)
    assert (found.reads, found.better, found.name) == ("scores", "higher", "share_of_seniors")
    assert as_metric(found) is found


def test_a_partial_keeps_what_is_known_of_its_metric():
    costs = as_metric(partial(partial(expected_cost, review_cost=1.0), cost_matrix=[[0, 1], [1, 0]]))
    assert (costs.reads, costs.better, costs.name) == ("labels", "lower", "expected_cost")
    assert expected_cost.needs == ("review_cost",)
    assert costs.needs == ()
    assert costs([0, 1], [0, 1], [True, False]) == 0.5


def test_a_function_that_does_not_say_its_arguments_needs_none():
    assert Metric(min).needs == ()


# ---- refusals ----


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"function": "auc"}, TypeError, "function must be callable, got 'auc'"),
        (
            {"reads": "score"},
            ValueError,
            "reads must be one of scores, labels, outcomes, selection, class_scores, losses, got 'score'",
        ),
        ({"better": "more"}, ValueError, "better must be one of higher, lower, zero or None, got 'more'"),
        ({"better": nan}, ValueError, "better must be one of higher, lower, zero or None, got nan"),
    ],
)
def test_what_is_no_metric(arguments, error, sentence):
    with pytest.raises(error, match=f"^{sentence}$"):
        Metric(**{"function": share_of_seniors, **arguments})
