"""aucross predict: a model and a table of any size in, one decision per row out.

::

    batch of rows ──► scored ──► decide ──► write           one pass, memory of a batch
    batch of rows ──► scored ──► keep ids and scores        capacity, recalibration: all rows are scored first
                        all rows ──► decide ──► write
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from aucross.cli.base_models import strange_values
from aucross.cli.column_kinds import output_labels
from aucross.cli.command_options import PredictOptions
from aucross.cli.errors import CommandError, UsageError, listed
from aucross.cli.output import n_marked, table_writer
from aucross.cli.schema import Schema, band_groups_of, features_of, load_model, weights_of
from aucross.cli.screen import Screen
from aucross.cli.table_files import TableFile, check_table, check_writable, format_of, open_table, read_batches
from aucross.cli.train import check_coverage_option
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.decisions import AUTOMATIC, REVIEW, Decisions
from aucross.estimators.recalibrate import refuse_too_few
from aucross.estimators.row_hash import Hashes, hash_rows
from aucross.estimators.score_column import score_column_in
from aucross.estimators.strange_values import StrangeValues
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.files.signing import write_facts
from aucross.system.text import json_ready
from aucross.watch.keeper import CoverageKeeper, KeptCounts

ROW = "row"
DECISION_COLUMNS = ("score", "prediction", "decision")


def run_predict(options: PredictOptions, out: Path, screen: Screen) -> dict[str, Any]:
    """Decide on every row of a table; return the content of the JSON document."""
    started = time.perf_counter()
    _check(options, out)
    clf, schema = load_model(options.model, options.numbers)
    table = open_table(options.data, options.separator)
    schema.check_columns(table, screen.note)
    ids, strange = Ids.of(table, options.id_column, schema.roles.id), strange_values(clf, schema)
    keeper = CoverageKeeper(clf, options.coverage) if options.keep_coverage else None
    decisions = _TableDecisions(clf, table, schema, ids, options, strange, keeper)
    # A CSV file keeps the spelling of the labels, Parquet has types.
    labels = output_labels(schema.labels) if format_of(out) == "parquet" else pa.array(schema.labels)
    found, weight = Counter[str](), np.zeros(2)  # counts, and the weight of all rows and of the automatic ones
    types = dict(zip(DECISION_COLUMNS, (pa.float64(), labels.type, pa.string()), strict=True))
    columns = pa.schema([(ids.name, ids.type), *types.items()])
    with (
        screen.working(f"deciding on {table.path.name}", "{task.completed:,} rows") as progress,
        table_writer(out, columns) as writer,
    ):
        for batch, decided in decisions.batches():
            selected = np.zeros(len(batch.ids), dtype=bool)
            selected[batch.has_score] = () if decided is None else decided.selected
            n_unscored, n_formulas = int((~batch.has_score).sum()), n_marked(batch.ids, out)
            found.update(rows=len(selected), automatic=int(selected.sum()), unscored=n_unscored, formulas=n_formulas)
            found["unlike"] += int((selected & batch.is_unlike).sum())
            if batch.weight is not None:
                weight += batch.weight.sum(), batch.weight[selected].sum()
            writer.write(batch.written(decided, clf, labels, columns))
            progress(found["rows"])
    _write_facts(options, out, clf)
    for note in (*strange.notes(), *_notes(found, decisions, out)):
        screen.note(note)
    of_weight = float(weight[1] / weight[0]) if weight[0] else None
    share_of_weight = "" if of_weight is None else f"{of_weight:.3f} of {schema.roles.weight}"
    return {
        **tell_decisions(screen, options, out, clf, (found["rows"], found["automatic"]), of_weight=share_of_weight),
        "without_score": found["unscored"],
        "automatic_unfamiliar": found["unlike"],
        "coverage_of_weight": of_weight,
        "capacity": options.capacity,
        "recalibrated": options.recalibrate,
        "level": None if keeper is None else keeper.level,
        "seconds": time.perf_counter() - started,
    }


UNLIKE = "unlike those of the fit (a new or rare category, a number out of range, a column missing that never was)"


def tell_decisions(
    screen: Screen, options: PredictOptions, out: Path, clf: Any, found: tuple[int, int], *, of_weight: str = ""
) -> dict[str, Any]:
    """Print how many rows are automatic, and where the decisions are; return both for the JSON document."""
    n_rows, n_automatic = found
    share = f" (coverage {n_automatic / n_rows:.3f})" if n_rows else ""
    if of_weight:
        share = f" (coverage {of_weight}, {n_automatic / n_rows:.3f} of the rows)"
    screen.say(f"{n_rows:,} rows: {n_automatic:,} automatic{share}, {n_rows - n_automatic:,} for review.")
    screen.say(f"Decisions: {out}")
    return {
        "command": "predict",
        "model": str(options.model),
        "decisions": str(out),
        "rows": n_rows,
        "automatic": n_automatic,
        "review": n_rows - n_automatic,
        "coverage": n_automatic / n_rows if n_rows else None,
        "target_coverage": None if options.capacity is not None else (options.coverage or clf.coverage),
    }


def _notes(found: Mapping[str, int], decisions: _TableDecisions, out: Path) -> Iterator[str]:
    """Yield notes for the reader of the decisions."""
    table, schema, keeper, capacity = decisions.table, decisions.schema, decisions.keeper, decisions.options.capacity
    if keeper is not None:
        yield (
            f"the coverage of {keeper.coverage:g} was kept row by row; the level asked for ended at "
            f"{keeper.level:.3f}, and one far from the coverage tells of drift"
        )
    if found["unlike"]:
        yield (
            f"{found['unlike']:,} of the automatic rows are {UNLIKE}; with --record such rows go to review, and their "
            "reasons say in what"
        )
    if out.suffix.lower() == ".txt":
        yield f"{out.name} is a CSV file, with commas between the values; .csv and .parquet say what they are"
    if found["formulas"]:
        yield (
            f"{found['formulas']:,} values of {decisions.ids.name!r} start like a formula of a spreadsheet and are "
            "written after an apostrophe; .parquet keeps them as they are"
        )
    if found["unscored"]:
        yield (
            f"{found['unscored']:,} rows have no value of {schema.score!r}, or points far from those of the fit, and "
            "go to review without a prediction"
        )
    if not found["rows"]:
        yield f"{table.path.name} has no rows below its header, and so has {out.name}"
    if capacity is not None and capacity < found["unscored"]:
        yield f"they are more than the capacity of {capacity:,}, and no other row goes to review"
    if capacity is not None and capacity > found["rows"]:
        yield f"the capacity of {capacity:,} exceeds the {found['rows']:,} rows: all of them go to review"
    if schema.roles.weight is not None and schema.roles.weight not in table.names:
        yield f"{table.path.name} has no column {schema.roles.weight!r} of weights: the coverage counts rows"


def _check(options: PredictOptions, out: Path) -> None:
    check_coverage_option(options.coverage)
    if options.capacity is not None:
        if options.capacity < 0:
            raise UsageError(f"--capacity must be a number of rows, 0 or more, got {options.capacity}")
        if options.coverage is not None:
            raise UsageError("--coverage and --capacity both say how many rows to review; give one of them")
        if options.recalibrate:
            raise UsageError(
                "--recalibrate places a band to meet a coverage, and --capacity needs none; give one of them"
            )
    if options.keep_coverage and (options.capacity is not None or options.recalibrate):
        raise UsageError(
            "--keep-coverage moves the band from row to row, and --capacity and --recalibrate decide on all rows at "
            "once; give one of them"
        )
    format_of(out)
    check_table(options.data)
    check_writable(out)
    if options.data.is_dir() and out.resolve().is_relative_to(options.data.resolve()):
        raise UsageError(f"--out: {out} lies in the folder to read; name a file elsewhere")
    if out.resolve() in (options.data.resolve(), options.model.resolve()):
        raise UsageError(f"--out: {out} is a file to read; name another one")


def _write_facts(options: PredictOptions, out: Path, clf: Any) -> None:
    """Write the facts about the model and its bands to a file beside the decisions."""
    coverage = clf.coverage if options.coverage is None else options.coverage
    groups = clf.band_rule_.group_labels or (None,)
    bands = [clf.band(coverage, group) for group in groups]
    is_of_model = options.capacity is None and not options.recalibrate and not options.keep_coverage
    facts = {
        "batch": None,
        "model_fingerprint": model_fingerprint(clf),
        "rule_fingerprint": rule_fingerprint(clf),
        "coverage": None if options.capacity is not None else coverage,
        "capacity": options.capacity,
        "recalibrated": options.recalibrate,
        "coverage_kept": options.keep_coverage,
        "band_groups": None if groups == (None,) else list(groups),
        "bands": [None if band.is_empty else [band.lower, band.upper] for band in bands] if is_of_model else None,
    }
    write_facts(out, json_ready(facts))


@dataclass(frozen=True)
class Ids:
    """The first column of the decisions: an unchanged column of the table, or row numbers."""

    name: str
    type: pa.DataType
    is_column: bool

    @classmethod
    def of(cls, table: TableFile, asked: str | None, at_fit: str | None) -> Ids:
        """Choose the requested column, else the id column of the fit, else row numbers."""
        name = at_fit if asked is None else asked
        if name is None or (name == ROW and ROW not in table.names):
            return cls(ROW, pa.int64(), False)
        if asked is None and name not in table.names:
            raise CommandError(
                f"{table.path.name} has no column {name!r}, which named the rows at the fit; add it, name another with "
                f"--id, or pass --id {ROW} for row numbers"
            )
        table.check_has(name, "--id")
        if name in DECISION_COLUMNS:
            raise CommandError(f"--id: the output has a column {name!r} of its own; rename that of {table.path.name}")
        if table.format == "csv":
            return cls(name, pa.string(), True)
        kind = pyarrow.parquet.read_schema(table.files[0]).field(table.sources[name]).type
        return cls(name, kind.value_type if pa.types.is_dictionary(kind) else kind, True)

    def of_batch(self, batch: pa.RecordBatch, first_row: int) -> pa.Array:
        """Return the ids of the rows of a batch."""
        if self.is_column:
            return batch.column(self.name).cast(self.type)
        return pa.array(np.arange(first_row, first_row + batch.num_rows, dtype=np.int64))


class _Batch(NamedTuple):
    """Rows of a table after the model has seen them."""

    ids: pa.Array
    has_score: NDArray[np.bool_]
    is_unlike: NDArray[np.bool_]  # whether each row is unlike those of the fit
    scored: ScoredRows | None  # the rows that have a score; None if none has
    weight: NDArray[np.float64] | None  # of all rows, if the model was fitted with weights and the table has them
    hashes: Hashes | None = None  # of the rows that have a score, if a keeper decides on them

    def written(self, decided: Decisions | None, clf: Any, labels: pa.Array, columns: pa.Schema) -> pa.RecordBatch:
        """Return the table of decisions; rows without a score go to review and have no prediction either."""
        if decided is None or (rows := decided.scored) is None:
            nothing = [pa.nulls(len(self.ids), kind) for kind in columns.types[1:3]]
            return pa.record_batch([self.ids, *nothing, pa.repeat(REVIEW, len(self.ids))], schema=columns)
        # Points are written as they are in the table.
        score = rows.score if rows.is_probability else clf.estimator_.column_value(rows.score)
        prediction = labels.take(pa.array((rows.predicted == rows.classes[1]).astype(np.int8)))
        # Arrow makes the words of `Decisions.decision` in a tenth of the time.
        parts = [pa.array(score), prediction, pc.if_else(pa.array(decided.selected), AUTOMATIC, REVIEW)]
        if not self.has_score.all():
            place = pa.array(np.cumsum(self.has_score) - 1, mask=~self.has_score)
            score, prediction, decision = (part.take(place) for part in parts)
            parts = [score, prediction, decision.fill_null(REVIEW)]
        return pa.record_batch([self.ids, *parts], schema=columns)


@dataclass(frozen=True)
class _TableDecisions:
    """Decisions on the rows of a table, in their order."""

    clf: Any
    table: TableFile
    schema: Schema
    ids: Ids
    options: PredictOptions
    strange: StrangeValues  # is shown the features of each batch, once
    keeper: CoverageKeeper | None  # decides in place of the fixed band

    def batches(self) -> Iterator[tuple[_Batch, Decisions | None]]:
        """Yield the rows batch by batch, with the decisions on those that have a score."""
        if self.options.capacity is None and not self.options.recalibrate:
            for batch in self._scored():
                decided = None
                if self.keeper is not None and batch.scored is not None and batch.hashes is not None:
                    decided = self.keeper.decided(batch.scored, batch.hashes)
                    self.keeper.add(KeptCounts(*decided.counted or ()))
                elif batch.scored is not None:
                    decided = self.clf.decide(batch.scored, self.options.coverage)
                yield batch, decided
            return
        batches = list(self._scored())
        scored = [batch.scored for batch in batches if batch.scored is not None]
        whole, first = self._decided(ScoredRows.concatenate(scored), batches) if scored else None, 0
        for batch in batches:
            end = first + int(batch.has_score.sum())
            yield batch, None if whole is None or first == end else whole.take(slice(first, end))
            first = end

    def _scored(self) -> Iterator[_Batch]:
        schema, first_row = self.schema, 0
        named = [self.ids.name if self.ids.is_column else None, schema.roles.weight, schema.roles.band_group]
        columns = dict.fromkeys([*schema.columns, *(name for name in named if name in self.table.names)])
        column = score_column_in(self.clf.estimator_)
        for batch in read_batches(self.table, list(columns)):
            X = features_of(batch, schema, first_row)
            self.strange.add(X)
            has_score = np.ones(len(X), dtype=bool)
            if schema.score is not None:  # in the unit of the fit, so that a band can decide on it
                score = X[schema.score]
                has_score = score.notna().to_numpy() if column is None else column.takes(score.to_numpy(np.float64))
            weight, groups = weights_of(batch, schema), band_groups_of(batch, schema)
            scored = hashes = None
            if has_score.any():
                known = X if has_score.all() else X[has_score]
                scored = self.clf.scored(
                    known,
                    # All of a batch may weigh nothing; bands are placed on all rows together.
                    sample_weight=weight[has_score] if self.options.recalibrate and weight is not None else None,
                    band_groups=None if groups is None else self._known_groups(groups[has_score]),
                )
                hashes = None if self.keeper is None else hash_rows(known)
            is_unlike = self.clf.fitted_.columns.unlike(X) != ""
            yield _Batch(self.ids.of_batch(batch, first_row), has_score, is_unlike, scored, weight, hashes)
            first_row += batch.num_rows

    def _known_groups(self, groups: NDArray[Any]) -> NDArray[Any]:
        known = set(self.clf.band_rule_.group_labels or ())
        if unknown := sorted({*groups} - known):
            raise CommandError(
                f"column {self.schema.roles.band_group!r} must hold groups that were seen at the fit, got "
                f"{listed(unknown)}; send those rows to review yourself, or fit again with rows of them"
            )
        return groups

    def _decided(self, scored: ScoredRows, batches: list[_Batch]) -> Decisions:
        """Return the decisions on all rows that have a score; rows without a score use up the capacity first."""
        if self.options.capacity is None:
            return self._placed_on(scored).decide(scored, self.options.coverage)
        has_score = np.concatenate([batch.has_score for batch in batches])
        capacity = max(self.options.capacity - int((~has_score).sum()), 0)
        read = replace(scored.rule_input.without_noise(), sample_weight=None)
        selected = np.ones(len(scored), dtype=bool)
        # As `decide` does, without the order and the reasons of a queue, which take several times as long.
        selected[self.clf.band_rule_.rows_to_reject(read, capacity, self._places_of_ids(batches)[has_score])] = False
        return Decisions(selected, read.score, capacity=capacity, scored=scored)

    def _placed_on(self, scored: ScoredRows) -> Any:
        """Return the classifier with its bands placed on these rows; refuse too few rows for the coverage."""
        coverage = self.clf.coverage if self.options.coverage is None else self.options.coverage
        try:
            refuse_too_few(scored, coverage)
            return self.clf.recalibrate(scored)
        except ValueError as error:
            said = str(error).replace("X must hold", f"{self.table.path.name} must hold", 1)
            raise CommandError(f"--recalibrate: {said}; without --recalibrate the bands of the fit decide") from error

    def _places_of_ids(self, batches: list[_Batch]) -> NDArray[Any]:
        """Return the place of each row in the order of ids, used to break ties between scores; refuse repeated ids."""
        ids = pa.chunked_array([batch.ids for batch in batches], self.ids.type)
        if not self.ids.is_column:
            return np.arange(len(ids))
        places = pc.rank(ids, tiebreaker="dense").to_numpy()
        if n_repeated := len(places) - int(places.max(initial=0)):
            raise CommandError(
                f"--capacity: column {self.ids.name!r} must name each row once, since ids decide between equal scores, "
                f"got {n_repeated:,} repeated ones; remove them, or pass --id {ROW} for row numbers"
            )
        return np.asarray(places)
