"""Reports of the monitor after each batch: numbers, alarm and a sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import Any

from aucross.system.notebook import result_html
from aucross.system.text import json_ready, percent
from aucross.watch.sequential import SequentialMeanTest
from aucross.watch.stability import ScoreStability


@dataclass(frozen=True)
class _Verdict(ABC):
    """State of a sequential test after a batch; subclasses document the attributes."""

    batch: int
    low: float
    high: float
    evidence: float
    alarm_at: float
    alarm_batch: int | None
    direction: str
    drift_since: int | None
    n: int

    @property
    def alarm(self) -> bool:
        """Whether the evidence has reached `alarm_at` in this or an earlier batch of the run."""
        return self.alarm_batch is not None

    @property
    @abstractmethod
    def message(self) -> str:
        """The report in plain language."""

    @property
    @abstractmethod
    def _watched(self) -> tuple[str, float, float]:
        """Return the name of the watched number, and its value in this batch and in the run."""

    def __str__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        return result_html(self._verdict_sentence(), self._shown(), self._details())

    def _details(self) -> str:
        return ""

    def _verdict_sentence(self) -> str:
        """Return a sentence on whether there is an alarm, and on the side of the limits, now and at the alarm."""
        what, value, _ = self._watched
        now = "above" if value > self.high else "below" if value < self.low else ""
        gives = _odds(self.alarm_at)
        if not self.alarm:
            why = " Outside its limits, but so few rows can be so by chance; the next ones tell." if now else ""
            return f"No alarm: evidence {_odds(self.evidence)}, and {gives} gives one.{why}"
        before = "" if now == self.direction else f" now, and was {self.direction} at the alarm"
        side = f"is {now} what it should be{before}"
        if not now:
            here = "within its limits" if isfinite(value) else "not defined"
            side = f"was {self.direction} what it should be, and is {here} in this batch"
        since = "" if self.drift_since is None else f"; it shows from batch {self.drift_since} on"
        odds = f"evidence {_odds(self.evidence)}, {gives} gives an alarm"
        return f"ALARM since batch {self.alarm_batch}: {what} {side} ({odds}){since}."

    @abstractmethod
    def _shown(self) -> list[dict[str, Any]]:
        """Return the numbers of batch and run as rows of a small table."""

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and the message for JSON; undefined numbers are None."""
        return {**json_ready(asdict(self)), "alarm": self.alarm, "message": self.message}


def _odds(evidence: float) -> str:
    """Return the evidence as odds against no drift, capped at a thousand."""
    return "more than 1,000 to 1" if evidence > 1000 else f"{evidence:.3g} to 1"


def _verdict(test: SequentialMeanTest) -> dict[str, Any]:
    names = ("low", "high", "evidence", "alarm_at", "alarm_batch", "direction", "drift_since")
    return {"batch": test.n_batches, **{name: getattr(test, name) for name in names}}


@dataclass(frozen=True)
class CoverageReport(_Verdict):
    """The selected share after a batch.

    Attributes
    ----------
    batch : int
        Number of the batch in the run, from 1; batches without rows are not counted.
    n, selected, share : int, int, float
        Rows of the batch, how many of them are selected, and their share.
    run_n, run_selected, run_share : int, int, float
        Rows of the whole run, how many of them are selected, and their share.
    target : float
        Target coverage.
    low, high : float
        Limits of the share without drift.
    evidence : float
        Evidence for drift, 1 at the start of the run.
    alarm_at : float
        Evidence that gives an alarm.
    alarm : bool
        Whether there was an alarm, in this or an earlier batch.
    alarm_batch : int or None
        The batch that gave the alarm.
    direction : {"below", "above", ""}
        Side of the limits on which the evidence puts the share, at the alarm if there was one; empty without evidence.
    drift_since : int or None
        Estimate of the first batch of the drift.
    stability, run_stability : dict of str to ScoreStability
        Population stability index and deciles of the batch and of the run, by name of the score: ``"score"`` is the
        score of the positive class, ``"selection_score"`` the score on which the band lies, if that is a different one.
    """

    selected: int
    run_n: int
    run_selected: int
    target: float
    stability: Mapping[str, ScoreStability]
    run_stability: Mapping[str, ScoreStability]

    @classmethod
    def of(cls, test: SequentialMeanTest, **others: Any) -> CoverageReport:
        """Build the report from a test of zeros and ones."""
        return cls(**_verdict(test), run_n=test.n_values, run_selected=round(test.total), **others)

    @property
    def share(self) -> float:
        """Selected share of the batch; NaN without rows."""
        return self.selected / self.n if self.n else nan

    @property
    def run_share(self) -> float:
        """Selected share of the run; NaN without rows."""
        return self.run_selected / self.run_n if self.run_n else nan

    @property
    def psi(self) -> float:
        """Population stability index of the batch, for the first score in `stability`; NaN without scores."""
        return next((stability.psi for stability in self.stability.values()), nan)

    @property
    def deciles(self) -> list[dict[str, Any]]:
        """Expected and observed share of the batch in each decile of the first score."""
        return next((stability.rows() for stability in self.stability.values()), [])

    @property
    def message(self) -> str:
        """The report in plain language."""
        return "\n".join([f"{self._shares()} {self._verdict_sentence()}", *self._stability_sentences()])

    def _shares(self) -> str:
        if not self.n:
            return "No rows: nothing changed."
        return (
            f"Batch {self.batch}: {self.selected} of {self.n} rows automatic ({percent(self.share)}), in the run "
            f"{percent(self.run_share)} of {self.run_n}; target {percent(self.target)}, without drift "
            f"{percent(self.low)} to {percent(self.high)}."
        )

    def _details(self) -> str:
        return " ".join([self._shares(), *self._stability_sentences()])

    def _stability_sentences(self) -> list[str]:
        # Without rows there is nothing to compare.
        return [stability.sentence(name) for name, stability in self.stability.items() if stability.n]

    def _shown(self) -> list[dict[str, Any]]:
        kinds = {"batch": (self.n, self.selected, self.share), "run": (self.run_n, self.run_selected, self.run_share)}
        return [
            {"": name, "rows": n, "automatic": selected, "share": share, "at least": self.low, "at most": self.high}
            for name, (n, selected, share) in kinds.items()
        ]

    @property
    def _watched(self) -> tuple[str, float, float]:
        return "the automatic share", self.share, self.run_share


@dataclass(frozen=True)
class RateReport(_Verdict):
    """Share of positives among selected rows after a batch of labels, or its difference from the mean probability.

    Attributes
    ----------
    n : int
        Selected rows of the batch with a label.
    what : str
        What is watched, in words.
    value, run_value, expected : float
        The share or difference in the batch, in the whole run, and as expected without drift.
    batch, low, high, evidence, alarm_at, alarm, alarm_batch, direction, drift_since
        As in :class:`CoverageReport`.
    """

    what: str
    value: float
    run_value: float
    expected: float

    def _shown(self) -> list[dict[str, Any]]:
        kinds = {"batch": self.value, "run": self.run_value}
        limits = {"expected": self.expected, "at least": self.low, "at most": self.high}
        return [{"": name, "value": value, **limits} for name, value in kinds.items()]

    @classmethod
    def of(cls, test: SequentialMeanTest, values: Any, expected: float | None = None) -> RateReport:
        """Build the report from labels or, without an expected share, from labels minus probabilities."""
        value, what = float(values.mean()) if len(values) else nan, "the share of positives among the selected rows"
        verdict, mean = _verdict(test), test.mean
        if expected is None:
            # The test sees half the difference plus a half, which lies in [0, 1].
            what, expected, mean = "the share of positives less the mean of their probabilities", 0.0, 2 * mean - 1
            verdict |= {"low": 2 * test.low - 1, "high": 2 * test.high - 1}
        return cls(**verdict, n=len(values), what=what, value=value, run_value=mean, expected=expected)

    @property
    def _watched(self) -> tuple[str, float, float]:
        return self.what, self.value, self.run_value

    @property
    def message(self) -> str:
        """The report in plain language."""
        value = "not defined" if not isfinite(self.value) else f"{self.value:.4f}"
        return (
            f"{self.what[0].upper()}{self.what[1:]}: {value}, in the run {self.run_value:.4f}; expected "
            f"{self.expected:.4f}, without drift {self.low:.4f} to {self.high:.4f}. {self._verdict_sentence()}"
        )


@dataclass(frozen=True)
class AUCReport(_Verdict):
    """The AUC of the selected rows after a batch of labels.

    Attributes
    ----------
    batch : int
        Number of the batch of labels in the run, from 1; batches that complete no pair are not counted.
    n, n_positive, n_negative : int
        Rows of the batch, and how many selected ones are positive and negative.
    auc : float
        AUC of the selected rows of the batch, from all pairs; NaN if a class is missing.
    n_outcomes, run_outcomes : int
        Values that the batch and the whole run gave to the test, from pairs of a positive and a negative.
    run_auc : float
        Mean of these values in the run, which estimates the AUC of the run from a part of the pairs.
    expected : float
        AUC without drift.
    low, high : float
        Limits of the AUC without drift; `high` is 1, since a high AUC raises no alarm.
    evidence, alarm_at, alarm, alarm_batch, direction, drift_since
        As in :class:`CoverageReport`, about the AUC alone.
    base_rate, calibration : RateReport or None
        The share of positives among the selected rows, and this share minus the mean of their calibrated probabilities,
        each with its own alarm. None without a reference value.
    """

    n_positive: int
    n_negative: int
    auc: float
    expected: float
    n_outcomes: int
    run_outcomes: int
    run_auc: float
    base_rate: RateReport | None = None
    calibration: RateReport | None = None

    def _repr_html_(self) -> str:
        rows = self._shown()
        named = {verdict: [row[""] for row in rows if row["verdict"] == verdict] for verdict in ("ALARM", "no alarm")}
        sentence = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in named.items() if names)
        return result_html(f"{sentence[0].upper()}{sentence[1:]}.", rows)

    @property
    def _watched(self) -> tuple[str, float, float]:
        return "the AUC of the selected rows", self.auc, self.run_auc

    def _shown(self) -> list[dict[str, Any]]:
        shown = []
        for report in (self, self.base_rate, self.calibration):
            if report is not None:
                row: dict[str, Any] = dict(zip(("", "batch", "run"), report._watched, strict=True))
                row |= {"expected": report.expected, "at least": report.low, "at most": report.high}
                shown.append({**row, "verdict": "ALARM" if report.alarm else "no alarm"})
        return shown

    @classmethod
    def of(cls, test: SequentialMeanTest, **others: Any) -> AUCReport:
        """Build the report from a test of pairs of positives and negatives."""
        return cls(**_verdict(test), run_outcomes=test.n_values, run_auc=test.mean, **others)

    @property
    def message(self) -> str:
        """The report in plain language."""
        auc = "not defined" if not isfinite(self.auc) else f"{self.auc:.4f}"
        found = (
            f"Batch {self.batch} of labels: AUC {auc} of {self.n_positive} selected positives and {self.n_negative} "
            f"selected negatives, in the run {self.run_auc:.4f} of {self.run_outcomes} outcomes; expected "
            f"{self.expected:.4f}, without drift at least {self.low:.4f}."
        )
        if not self.n_outcomes:
            found = (
                f"{self.n} labels with {self.n_positive} selected positives and {self.n_negative} selected negatives: "
                "no pair of both classes yet."
            )
        further = [report.message for report in (self.base_rate, self.calibration) if report is not None]
        return "\n".join([f"{found} {self._verdict_sentence()}", *further])

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and the messages for JSON; undefined numbers are None."""
        rates = {"base_rate": self.base_rate, "calibration": self.calibration}
        return super().to_dict() | {name: rate and rate.to_dict() for name, rate in rates.items()}
