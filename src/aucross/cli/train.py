"""Steps that `fit` and `compare` share: reading the table, keeping rows apart to test on, training."""

from __future__ import annotations

import shlex
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, train_test_split

from aucross.cli.base_models import Features, fit_classifier, make_classifier
from aucross.cli.errors import CommandError, UsageError
from aucross.cli.names import Answer, GivenScore, Method, Ties
from aucross.cli.numbers import NumberFormat
from aucross.cli.schema import LabelledRows, Roles, Schema, has_groups, labelled_rows, learn_schema
from aucross.cli.screen import Screen
from aucross.cli.table_files import TableFile, open_table, read_table
from aucross.core.bands import check_coverage
from aucross.system.text import exact_percent


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of the commands that train."""

    data: Path
    roles: Roles
    positive: str | None = None
    coverage: float = 0.9
    test: Path | None = None
    test_size: float = 0.25
    drop: Sequence[str] = ()
    by: str | None = None
    score: GivenScore | None = None
    ties: Ties = Ties.WHOLE
    seed: int = 0
    jobs: int = 1
    separator: str | None = None
    numbers: NumberFormat | None = None

    @property
    def reads_other_columns(self) -> bool:
        """Whether a model reads columns beside a given score, or ties in the score are split."""
        return self.score is None or self.ties is Ties.SPLIT

    def check(self) -> None:
        """Refuse options that cannot work, before any file is read."""
        check_coverage_option(self.coverage)
        if self.jobs == 0:
            raise UsageError("--jobs must be a number of processes, or -1 for all cores, got 0")
        if self.test is not None and self.roles.time is not None:
            raise UsageError("--test and --time-column both say what to test on; give one of them")
        if self.score is not None and self.score.column in {*self.roles.named, *self.drop}:
            raise UsageError(f"--score {self.score}: the score cannot be another option's column as well")

    @property
    def split(self) -> str:
        """Way in which the test rows are chosen, for a title."""
        if self.test is not None:
            return self.test.name
        share = exact_percent(self.test_size)
        if self.roles.time is not None:
            return f"the latest {share} by {self.roles.time}"
        if self.roles.group is not None:
            return f"{share} at random, each {self.roles.group} on one side"
        return f"{share} at random"


def check_coverage_option(coverage: float | None) -> None:
    """Refuse a coverage outside of its range."""
    try:
        if coverage is not None:
            check_coverage(int(coverage) if coverage.is_integer() else coverage, "--coverage")
    except ValueError as error:
        raise UsageError(str(error)) from None


# With more, nothing would be told for minutes.
_MANY_COLUMNS = 10_000


def read_rows(options: TrainingOptions, screen: Screen) -> tuple[Schema, LabelledRows, LabelledRows]:
    """Read the table, learn its columns, and keep rows apart to test on."""
    table = open_table(options.data, options.separator)
    options.roles.check(table, options.drop)
    for option, name in (("--by", options.by), ("--score", options.score and options.score.column)):
        if name is not None:
            table.check_has(name, option)
    if len(table.names) > _MANY_COLUMNS:
        screen.note(
            f"{table.path.name} has {len(table.names):,} columns, which take minutes to read and may take hours to "
            "fit; if that is too long, write those that matter to a table of their own"
        )
    whole = read_table(table)
    schema = learn_schema(
        table,
        whole,
        options.roles,
        positive=options.positive,
        drop=options.drop,
        score=options.score and options.score.column,
        with_other_columns=options.reads_other_columns,
        note=screen.note,
        numbers=options.numbers or NumberFormat(),
    )
    rows = labelled_rows(table, whole, schema, screen.note, by=options.by)
    with_score = rows.unscored_apart(schema.score)
    if options.score is not None:
        _check_score(options.score, with_score)
    _note_leaks(schema, with_score, screen)
    if options.roles.weight is not None:
        screen.note(f"column {options.roles.weight!r} holds the weights, and is no feature of the model")
    if options.test is None:
        train_rows, test_rows = split_rows(rows, options.test_size, options.seed, schema.score)
        _note_shared_groups(options.roles, train_rows, test_rows, screen)
        check_some_groups(test_rows, options.roles.group, "the test part")
        return schema, train_rows, test_rows
    test = read_test_rows(options.test, schema, screen, by=options.by, separator=options.separator)
    return schema, with_score, test


def _check_score(score: GivenScore, rows: LabelledRows) -> None:
    """Refuse points that are given as probabilities."""
    values = rows.X[score.column]
    if score.threshold is None and not values.between(0, 1).all():
        raise CommandError(
            f"--score: column {score.column!r} must hold probabilities between 0 and 1, got {values.min():g} to "
            f"{values.max():g}; for points pass --threshold, the value that parts the two predicted classes"
        )


# Of fewer rows, chance may let a column tell the classes apart.
_FEWEST_ROWS_TO_TELL = 20


def _note_leaks(schema: Schema, rows: LabelledRows, screen: Screen) -> None:
    """Note columns that separate the classes without an error, as they probably hold the outcome."""
    for name in schema.columns:
        if _tells_all(rows.X[name].to_numpy(), rows.y):
            screen.note(
                f"column {name!r} alone tells the classes of {schema.roles.target!r} apart without an error, as if it "
                f"were the outcome; unless it is known before, leave it out with --drop {shlex.quote(name)}"
            )


def _tells_all(values: NDArray[Any], y: NDArray[np.int64]) -> bool:
    """Return whether one value, or one cut through the numbers, separates the classes; False with blanks."""
    if len(y) < _FEWEST_ROWS_TO_TELL or y.min() == y.max():
        return False
    if values.dtype == object:
        negative, positive = ({*values[y == label]} for label in (0, 1))
        return len(negative) == len(positive) == 1 and negative != positive
    negative, positive = values[y == 0], values[y == 1]
    if np.isnan(values).any():
        return False
    return bool(negative.max() < positive.min() or positive.max() < negative.min())


def _note_shared_groups(roles: Roles, train_rows: LabelledRows, test_rows: LabelledRows, screen: Screen) -> None:
    """Note a split by time with rows of one group on both sides, which makes the test look too good."""
    if roles.time is None or train_rows.groups is None or test_rows.groups is None:
        return
    if n_shared := int(np.isin(test_rows.groups, train_rows.groups).sum()):
        screen.note(
            f"{n_shared:,} of {len(test_rows):,} test rows have a {roles.group!r} with earlier rows in training: "
            "--time-column decides the test part, --group the folds and the intervals"
        )


def read_test_rows(
    path: Path,
    schema: Schema,
    screen: Screen,
    *,
    by: str | None,
    group: str | None = None,
    separator: str | None = None,
) -> LabelledRows:
    """Read labelled rows of another file; their groups come from the column of the fit, or from one named here."""
    table = open_table(path, separator)
    if group == schema.roles.target:
        raise UsageError(f"--group {group}: the target cannot be the column of groups; name that of the customers")
    asked = {"--by": by, "--group": group}
    schema.check_columns(table, screen.note, used=[name for name in asked.values() if name is not None])
    for option, name in asked.items():
        if name is not None:
            table.check_has(name, option)
    if schema.roles.weight is not None and schema.roles.weight not in table.names:
        screen.note(f"{path.name} has no column {schema.roles.weight!r} of weights: all of its rows count alike")
    whole = read_table(table)
    if group is None and schema.roles.group is not None:
        group = _group_of_fit(schema.roles.group, table, whole, screen)
    # What comes later matters to splits only.
    without_time = replace(schema, roles=replace(schema.roles, group=group, time=None))
    rows = labelled_rows(table, whole, without_time, screen.note, by=by).unscored_apart(schema.score)
    check_both_classes(rows, f"the table {path.name}", "add rows of the other class, or name another table")
    check_some_groups(rows, group, f"the table {path.name}")
    return rows


def _group_of_fit(name: str, table: TableFile, rows: pa.Table, screen: Screen) -> str | None:
    """Return the group column of the fit if these rows have it; else None, with a note."""
    if has_groups(rows, name):
        return name
    screen.note(
        f"{table.path.name} has no column {name!r} with a group in every row, two or more in all: intervals and "
        "promises count each row by itself, and are too narrow if rows belong together; complete it, or name another "
        "with --group"
    )
    return None


def train(
    options: TrainingOptions,
    method: Method,
    answer: Answer,
    schema: Schema,
    rows: LabelledRows,
    *,
    screen: Screen,
    what: str,
) -> tuple[Any, float]:
    """Fit one method with one base model or score; return the classifier and the seconds it took."""
    clf = make_classifier(
        method,
        answer,
        Features.of(schema.columns, rows.X),
        coverage=options.coverage,
        seed=options.seed,
        jobs=options.jobs,
        weighted=rows.weight is not None,
        ties=options.ties,
    )
    if rows.groups is not None:
        check_groups_to_train(rows.groups, clf.cv if method.cross_fits else 2, options.roles.group)
    started = time.perf_counter()
    with screen.progress.training(what, clf), warnings.catch_warnings():
        # What the library says of a score that was turned round is for Python; a note after the test names the option.
        warnings.filterwarnings("ignore", message="the AUC of the held-out rows is .* clearly below 0.5: high scores")
        fit_classifier(clf, rows)
    return clf, time.perf_counter() - started


# ---- rows kept away from the fit to judge it: at random, the latest, or those of another file ----


def split_rows(
    rows: LabelledRows, test_size: float, seed: int, score: str | None = None
) -> tuple[LabelledRows, LabelledRows]:
    """Return training and test rows: split by time if there is a time column, else by groups, else at random.

    Rows without a given score are split as all others, and then set apart: the test part needs its share of them.
    """
    if not 0 < test_size < 1:
        raise UsageError(f"--test-size must be a share in (0, 1), got {test_size:g}; pass 0.25 for a quarter")
    if rows.times is not None:
        train, test = _by_time(rows.times, test_size)
    elif rows.groups is not None:
        train, test = _by_group(rows.y, rows.groups, test_size, seed)
    else:
        train, test = _at_random(rows.y, test_size, seed)
    parts = rows.take(train).unscored_apart(score), rows.take(test).unscored_apart(score)
    for name, part in zip(("training", "test"), parts, strict=True):
        check_both_classes(part, f"the {name} part", "choose another split with --test-size, --time-column or --test")
    return parts


def check_both_classes(rows: LabelledRows, what: str, remedy: str) -> None:
    """Refuse rows of one class, for which the AUC is undefined."""
    n_positive = int(rows.y.sum())
    if n_positive in (0, len(rows)):
        raise CommandError(f"{what} of {len(rows)} rows must hold both classes, got {n_positive} positives; {remedy}")


def check_some_groups(rows: LabelledRows, column: str | None, what: str) -> None:
    """Refuse rows of a single group, which do not show how much groups differ."""
    if rows.groups is not None and len(np.unique(rows.groups)) < 2:
        raise CommandError(
            f"--group: {what} must hold at least two groups of {column!r} for intervals, got one; add rows of others, "
            "or leave the column out"
        )


def check_groups_to_train(groups: NDArray[Any], fewest: int, column: str | None) -> None:
    """Refuse fewer groups than folds or parts, as each of them needs its own groups."""
    if (n_groups := len(np.unique(groups))) < fewest:
        raise CommandError(
            f"--group: the training rows must hold at least {fewest} groups of {column!r}, one for each fold, got "
            f"{n_groups}; add rows of others, or leave the column out with --drop instead"
        )


def _at_random(y: NDArray[Any], test_size: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rarest = int(min(np.bincount(y, minlength=2)))
    if rarest < 2:
        raise CommandError(f"each class needs at least 2 rows, got {rarest} of one; add rows of that class")
    n_test = min(max(round(test_size * len(y)), 2), len(y) - 2)
    train, test = train_test_split(np.arange(len(y)), test_size=n_test, stratify=y, random_state=seed)
    return np.sort(train), np.sort(test)


def _by_time(times: NDArray[np.float64], test_size: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split rows by time, the latest for the test; rows of one moment stay together."""
    start = np.sort(times)[len(times) - max(1, round(test_size * len(times)))]
    train, test = np.flatnonzero(times < start), np.flatnonzero(times >= start)
    if not len(train):
        raise CommandError(
            "--time-column: too many rows share the first moment to split them by time; use a finer column, or a "
            "smaller --test-size"
        )
    return train, test


def _by_group(
    y: NDArray[Any], groups: NDArray[Any], test_size: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split rows by group into parts of about the sizes asked for; rows of a group stay together."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise CommandError(f"--group: {n_groups} group cannot be split into two parts; pass a test file with --test")
    folds = StratifiedGroupKFold(max(2, min(round(1 / test_size), n_groups)), shuffle=True, random_state=seed)
    return next(folds.split(np.zeros(len(y)), y, groups))
