"""What a caller is told of a decision: the score in the unit that people know, the band, and a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any

from aucross.core.ranking import FloatArray
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.serve.deciding import Decided
from aucross.serve.rows import ServedModel

_TURNED = {"below": "above", "above": "below"}


@dataclass(frozen=True)
class _Scale:
    """Scores as callers know them: points as they were sent, all others as they are."""

    points: Any  # the ScoreColumn whose points are shown, or None
    word: str

    @classmethod
    def of(cls, model: ServedModel) -> _Scale:
        axis, column = model.clf.band_rule_.axis, model.clf.fitted_.score_column
        # Confidences are distances from the threshold, in points already.
        in_points = axis == "score" and column is not None and column.threshold is not None
        return cls(column if in_points else None, "confidence" if axis == "confidence" else "score")

    def shown(self, score: FloatArray, lower: FloatArray, upper: FloatArray) -> Iterator[tuple[float, float, float]]:
        """Score and band of each row."""
        if self.points is not None:
            score, lower, upper = (self.points.column_value(values) for values in (score, lower, upper))
            if not self.points.higher_is_positive:
                lower, upper = upper, lower
        return zip(score.tolist(), lower.tolist(), upper.tolist(), strict=True)

    def place(self, score: float, lower: float, upper: float) -> str:
        """Where a score lies; asked of the scores that decided, since points may be rounded."""
        place = "below" if score < lower else "above" if score > upper else "among"
        turns = self.points is not None and not self.points.higher_is_positive
        return _TURNED.get(place, place) if turns else place


def answers(model: ServedModel, ids: Sequence[str], decided: Decided) -> list[dict[str, Any]]:
    """The answer for each row of a request, in their order."""
    with_score = _with_score(model, decided)
    return [
        {"id": name, **(next(with_score) if has_score else _without_score(model))}
        for name, has_score in zip(ids, decided.has_score.tolist(), strict=True)
    ]


def _with_score(model: ServedModel, decided: Decided) -> Iterator[dict[str, Any]]:
    rows, decisions = decided.scored, decided.decisions
    if rows is None:
        return
    assert decisions.lower is not None
    assert decisions.upper is not None
    known = decided.has_score
    judged = decisions.selection_score[known], decisions.lower[known], decisions.upper[known]
    scale = _Scale.of(model)
    columns = (
        decisions.selected[known].tolist(),
        (rows.predicted == rows.classes[1]).tolist(),
        rows.score.tolist() if rows.is_probability else [None] * len(rows),
        zip(*(values.tolist() for values in judged), strict=True),
        scale.shown(*judged),
    )
    for selected, is_positive, probability, as_decided, (score, lower, upper) in zip(*columns, strict=True):
        yield {
            "decision": AUTOMATIC if selected else REVIEW,
            "prediction": model.labels[is_positive],
            "score": score,
            "probability": probability,
            "lower": None if isinf(lower) else lower,
            "upper": None if isinf(upper) else upper,
            "reason": reason_of(scale.word, score, lower, upper, scale.place(*as_decided)),
        }


def _without_score(model: ServedModel) -> dict[str, Any]:
    nothing = dict.fromkeys(("prediction", "score", "probability", "lower", "upper"))
    reason = f"the score {model.score_name} is missing or far from all of the fit, and such a case goes to review"
    return {"decision": REVIEW, **nothing, "reason": reason}


def reason_of(what: str, score: float, lower: float, upper: float, place: str) -> str:
    """Why a row is automatic or for review, in a sentence."""
    if lower > upper:
        return "no score goes to review at this coverage"
    return f"the {what} {score:.6g} lies {place} those that go to review, {_range(lower, upper)}"


def _range(lower: float, upper: float) -> str:
    if isinf(lower):
        return f"up to {upper:.6g}"
    return f"from {lower:.6g} on" if isinf(upper) else f"from {lower:.6g} to {upper:.6g}"
