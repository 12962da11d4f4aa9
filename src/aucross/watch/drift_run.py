"""What a run of the monitor has seen, and how it is written as JSON and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from math import inf
from typing import Any

from aucross.estimators.base import SelectiveClassifier
from aucross.watch.drift_reference import Limits, Reference
from aucross.watch.sequential import SequentialMeanTest
from aucross.watch.stability import ScoreBins

FORMAT, VERSION = "aucross.CoverageMonitor", 1


@dataclass(frozen=True)
class DriftRun:
    """What a run has seen; plain numbers, replaced by each update.

    Attributes
    ----------
    tests : mapping of str to SequentialMeanTest
        By name: ``"coverage"``, the selected share; ``"auc"``, the AUC of the selected rows; ``"base_rate"``, their
        share of positives; ``"calibration"``, that share against their probabilities. What has nothing to be compared
        with is left out.
    counts : mapping of str to tuple of int
        Scores in each bin, by name of the score.
    last_rejected, same_rejected : int
        Rows rejected in the last batch, and how many batches in a row have rejected as many.
    unpaired_positives, unpaired_negatives : tuple of float
        Scores of selected rows with a label that wait for a row of the other class.
    """

    tests: Mapping[str, SequentialMeanTest]
    counts: Mapping[str, tuple[int, ...]]
    unpaired_positives: tuple[float, ...] = ()
    unpaired_negatives: tuple[float, ...] = ()
    last_rejected: int = -1
    same_rejected: int = 0

    @classmethod
    def new(cls, reference: Reference) -> DriftRun:
        """Start a run that has seen nothing."""
        limits = {"coverage": reference, "auc": reference.auc, "base_rate": reference.base_rate}
        tests = {
            name: SequentialMeanTest(each.low, each.high, each.level)
            for name, each in limits.items()
            if each is not None
        }
        if reference.base_rate is not None and reference.is_calibrated:
            # The difference lies between -1 and 1 and is 0 without drift; half of it and a half lies between 0 and 1.
            # What the held-out rows leave open of the share of positives they leave open of the difference at most.
            rate = reference.base_rate
            low, high = ((1 + limit - rate.expected) / 2 for limit in (rate.low, rate.high))
            tests["calibration"] = SequentialMeanTest(low, high, rate.level)
        return cls(tests, {name: (0,) * len(bins.expected) for name, bins in reference.bins.items()})

    def after(self, name: str, test: SequentialMeanTest, **others: Any) -> DriftRun:
        """Replace a test by its state after one more batch, and change other fields."""
        return replace(self, tests={**self.tests, name: test}, **others)


def run_to_json(clf: SelectiveClassifier, reference: Reference, run: DriftRun) -> str:
    """Write reference and run as JSON text, with a description of the classifier and a checksum."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "classifier": _describe(clf, reference.coverage),
        "reference": asdict(reference),
        "run": asdict(run),
    }
    return json.dumps({**content, "checksum": _checksum(content)}, allow_nan=False)


def run_from_json(text: str, clf: SelectiveClassifier) -> tuple[Reference, DriftRun]:
    """Read reference and run from JSON text; refuse it if it was changed or belongs to another classifier."""
    content = _read(text)
    reference = _reference_of(content["reference"])
    _check_same_classifier(content["classifier"], _describe(clf, reference.coverage))
    return reference, _run_of(content["run"])


def _checksum(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read(text: str) -> dict[str, Any]:
    """Read the content of a stored run; refuse it if it is malformed or was changed."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError) as error:
        raise ValueError(f"text must be JSON that CoverageMonitor.to_json wrote: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f'text must be JSON that CoverageMonitor.to_json wrote, with "format": "{FORMAT}"')
    version = content.get("version")
    if version != VERSION:
        raise ValueError(
            f"this version of aucross reads version {VERSION} of the format, got {version!r}; read the text with the "
            "version of aucross that wrote it, or a later one"
        )
    if content.pop("checksum", None) != _checksum(content):
        raise ValueError(
            "the text was changed or cut since CoverageMonitor.to_json wrote it: its checksum does not fit; take the "
            "stored text, or start a new run with CoverageMonitor(clf)"
        )
    return content


def _reference_of(content: dict[str, Any]) -> Reference:
    bins = {name: _rebuilt(ScoreBins, bin_) for name, bin_ in content["bins"].items()}
    limits = {name: content[name] and Limits(**content[name]) for name in ("auc", "base_rate")}
    return Reference(**{**content, **limits, "bins": bins})


def _run_of(content: dict[str, Any]) -> DriftRun:
    tests = {name: _rebuilt(SequentialMeanTest, test) for name, test in content["tests"].items()}
    counts = {name: tuple(count) for name, count in content["counts"].items()}
    return _rebuilt(DriftRun, {**content, "tests": tests, "counts": counts})


def _rebuilt(kind: Any, content: Mapping[str, Any]) -> Any:
    """Return an object from its fields in JSON, in which tuples became lists."""
    values = {part.name: content[part.name] for part in fields(kind)}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _check_same_classifier(stored: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    for name, value in stored.items():
        if given[name] != value:
            raise ValueError(
                f"clf must be the classifier of the stored run, got one with other {name.replace('_', ' ')}: "
                f"{given[name]} instead of {value}; for another classifier start a new run with CoverageMonitor(clf)"
            )


def _describe(clf: SelectiveClassifier, coverage: float) -> dict[str, Any]:
    """Return what identifies the classifier of a stored run: classes, held-out rows and bands."""
    bands = {repr(group): clf.band(coverage, group) for group in clf.band_rule_.group_labels or (None,)}
    return {
        "classes": [str(label) for label in clf.classes_.tolist()],
        "held_out_rows": len(clf.held_out_.rows),
        # Nine digits: enough to tell bands apart, and untouched by the rounding of another machine.
        "bands": {group: [_end(band.lower), _end(band.upper)] for group, band in bands.items()},
    }


def _end(value: float) -> str | None:
    return None if value in (inf, -inf) else f"{value:.9g}"
