"""Choice of a method: the rule of the page "Choosing a method".

The rule stands only here. `aucross compare` prints the line that applies, the suite of data sets checks every line, and
the page shows the results of the suite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["ADVICE", "RULE", "Advice", "Choice", "Family", "Line", "Situation", "advice_for", "line_for", "sentence"]

# With fewer training rows the coverage of new rows is off by a percentage point and more.
FEW_ROWS = 3_000
# With fewer positive training rows the AUC of a test is too uncertain to tell methods apart.
FEW_POSITIVES = 300


class Family(StrEnum):
    """Kinds of models that the rule distinguishes."""

    BOOSTED_TREES = "boosted trees"
    FOREST = "a forest"
    LINEAR = "a linear model"
    NETWORK = "a network"


class Choice(StrEnum):
    """Method that the rule can choose, as written in Python."""

    AUCROSS = "AUCross(model)"
    JUDGED = 'AUCross(model, ensemble="judge")'
    SCORE_COLUMN = "AUCross(ScoreColumn(name))"
    PLUG_IN_AUC = "PlugInAUC(model)"
    GATE = "AUCGate(model)"
    SCROSS = "SCross(model)"
    PLUG_IN = "PlugIn(model)"
    MAX_PROBABILITY = "no method; reject the lowest max(p, 1 - p) of each batch"


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Facts known before a method is chosen: the table, the model, and what is allowed."""

    n_rows: int  # of the training
    n_positives: int
    family: Family | None = None  # of the model that answers, if it is known
    in_time: bool = False  # whether the rows to come are later than those of the training
    has_customers: bool = False  # whether several rows belong together, say to one customer
    is_given_score: bool = False  # whether the score is a column of the table, and no model is trained
    wants_accuracy: bool = False  # whether errors at the cut-off count, and not the ranking
    trains_once: bool = False  # whether the model may be trained once only
    has_second_model: bool = False  # whether another model may decide when the answers are used
    keeps_fold_models: bool = False  # whether models of the folds may stay in use, so that no SQL or JSON is needed
    ranks_batches: bool = False  # whether rows come in whole batches that can be ranked before one is decided


@dataclass(frozen=True)
class Line:
    """One line of the rule; the first line that applies names the method."""

    when: str
    use: Choice
    because: str
    applies: Callable[[Situation], bool]
    for_accuracy: bool = False  # whether it is for those who count errors at the cut-off; others are for the ranking


@dataclass(frozen=True)
class Advice:
    """A piece of advice in addition to the choice of a method; any number of pieces can apply."""

    when: str
    do: str
    applies: Callable[[Situation], bool]


RULE: Sequence[Line] = (
    Line(
        "the score is a column of the table, and no model is trained",
        Choice.SCORE_COLUMN,
        "every row places the band, and nothing is trained",
        lambda now: now.is_given_score,
    ),
    Line(
        "the model may be trained once only",
        Choice.PLUG_IN_AUC,
        "it trains once and places the band on a tenth of the rows",
        lambda now: now.trains_once,
    ),
    Line(
        "a linear model must give the answers, and another model may decide when they are used",
        Choice.GATE,
        "the other model sees where the score is wrong, and stays out where it sees nothing more",
        lambda now: now.family is Family.LINEAR and now.has_second_model,
    ),
    Line(
        "the coverage must be as close as possible, and the models of the folds may stay in production",
        Choice.JUDGED,
        "its coverage is closer, and its AUC is the same, but the rule cannot leave as SQL or JSON",
        lambda now: now.keeps_fold_models,
    ),
    Line(
        "in all other cases",
        Choice.AUCROSS,
        "no exception by rows, positives, model or time was better",
        lambda _: True,
    ),
    Line(
        "rows come in whole batches",
        Choice.MAX_PROBABILITY,
        "it meets the coverage of every batch exactly, and no fitted threshold is clearly more accurate",
        lambda now: now.ranks_batches,
        for_accuracy=True,
    ),
    Line(
        "the model may be trained once only",
        Choice.PLUG_IN,
        "it rejects the rows nearest to the cut-off, and trains once",
        lambda now: now.trains_once,
        for_accuracy=True,
    ),
    Line(
        "in all other cases",
        Choice.SCROSS,
        "it rejects the rows nearest to the cut-off",
        lambda _: True,
        for_accuracy=True,
    ),
)

ADVICE: Sequence[Advice] = (
    Advice(
        "new rows are later than those of the training",
        "place the band again on the newest scores (recalibrate), because scores drift",
        lambda now: now.in_time,
    ),
    Advice(
        "rows come in whole batches",
        "place the band on each batch (recalibrate), and its coverage is exact",
        lambda now: now.ranks_batches and not now.wants_accuracy,
    ),
    Advice(
        "several rows belong to one customer",
        "name the customers, so that none is on both sides of a fold and intervals are wide enough",
        lambda now: now.has_customers,
    ),
    Advice(
        f"there are fewer than {FEW_ROWS:,} training rows",
        "expect the coverage to be off by one to four percentage points",
        lambda now: now.n_rows < FEW_ROWS,
    ),
    Advice(
        f"there are fewer than {FEW_POSITIVES:,} positive training rows",
        "test by folds, because the intervals of one test part are wide",
        lambda now: now.n_positives < FEW_POSITIVES,
    ),
)


def line_for(situation: Situation) -> Line:
    """Return the first line of the rule that applies."""
    for_aim = [line for line in RULE if line.for_accuracy == situation.wants_accuracy]
    return next(line for line in for_aim if line.applies(situation))


def advice_for(situation: Situation) -> list[Advice]:
    """Return the advice that applies in addition to the choice of a method."""
    return [advice for advice in ADVICE if advice.applies(situation)]


def sentence(situation: Situation, options: str, same_as: str | None = None) -> str:
    """Return the command-line options that the rule advises, and any simpler ones that give identical decisions."""
    line = line_for(situation)
    number = RULE.index(line) + 1
    model = f", and {situation.family}" if situation.family is not None else ""
    if same_as is None:
        use = f"{options}, because {line.because}"
    else:
        use = f"{options}, which changes nothing here: {same_as} decides in the same way"
    told = "; ".join([use, *(advice.do for advice in advice_for(situation))])
    return (
        f"For {situation.n_rows:,} training rows, {situation.n_positives:,} of them positive{model}, line {number} of "
        f'the rule says {told} (see the page "Choosing a method" of the documentation).'
    )
