"""Steps that `fit` and `compare` share: reading the table, setting test rows apart, training."""

from __future__ import annotations

import shlex
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, train_test_split

from aucross.cli.base_models import Features, fit_classifier, make_classifier
from aucross.cli.command_options import Answer, Method, Ties, TrainingOptions
from aucross.cli.errors import CommandError, UsageError
from aucross.cli.schema import MISSING, LabelledRows, Schema, group_names, labelled_rows, learn_schema
from aucross.cli.screen import Screen
from aucross.cli.table_files import open_table, read_table
from aucross.core.bands import check_coverage
from aucross.system.text import exact_percent


def check_training(options: TrainingOptions) -> None:
    """Refuse options that cannot work, before any file is read."""
    check_coverage_option(options.coverage)
    if options.jobs == 0:
        raise UsageError("--jobs must be a number of processes, or -1 for all cores, got 0")
    if options.test is not None and options.time_column is not None:
        raise UsageError("--test and --time-column both say what to test on; give one of them")
    if options.score is not None and options.score in {*options.roles.named, *(options.drop or ())}:
        raise UsageError(f"--score {options.score}: the score cannot be another option's column as well")
    if options.given_score is not None and getattr(options, "base", None):
        raise UsageError("--score and --base both say what answers; give one of them")


def split_text(options: TrainingOptions) -> str:
    """Describe, for a title, how the test rows are chosen."""
    if options.test is not None:
        return options.test.name
    share = exact_percent(options.test_size)
    if options.time_column is not None:
        return f"the latest {share} by {options.time_column}"
    if options.customer is not None:
        return f"{share} at random, each {options.customer} on one side"
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


def read_rows(
    options: TrainingOptions, screen: Screen, *, with_other_columns: bool, by: str | None = None
) -> tuple[Schema, LabelledRows, LabelledRows]:
    """Read the table (or only the given score), learn its columns, and set test rows apart."""
    table, roles, score = open_table(options.data, options.separator), options.roles, options.score
    roles.check(table, options.drop or ())
    table.check_has(by, "--by")
    table.check_has(score, "--score")
    if len(table.names) > _MANY_COLUMNS:
        screen.note(
            f"{table.path.name} has {len(table.names):,} columns, which take minutes to read and may take hours to "
            "fit; if that is too long, write those that matter to a table of their own"
        )
    whole = read_table(table)
    schema = learn_schema(table, whole, options, screen.note, with_other_columns=with_other_columns)
    rows = labelled_rows(table, whole, schema, screen.note, by=by)
    with_score = rows.unscored_apart(schema.score)
    if score is not None and options.threshold is None and not (values := with_score.X[score]).between(0, 1).all():
        raise CommandError(
            f"--score: column {score!r} must hold probabilities between 0 and 1, got {values.min():g} to "
            f"{values.max():g}; for points pass --threshold, the value that separates the two predicted classes"
        )
    for name in schema.columns:
        if _tells_all(with_score.X[name].to_numpy(), with_score.y):
            screen.note(
                f"column {name!r} alone tells the classes of {roles.target!r} apart without an error, as if it were "
                f"the outcome; unless it is known before, leave it out with --drop {shlex.quote(name)}"
            )
    if roles.weight is not None:
        screen.note(f"column {roles.weight!r} holds the weights, and is no feature of the model")
    if options.test is None:
        train_rows, test_rows = split_rows(rows, options.test_size, options.seed, schema.score)
        is_shared = np.isin(np.asarray(test_rows.customers), np.asarray(train_rows.customers))
        if roles.time is not None and roles.customer is not None and is_shared.any():
            screen.note(
                f"{is_shared.sum():,} of {len(test_rows):,} test rows have a {roles.customer!r} with earlier rows in "
                "training: --time-column decides the test part, --customer the folds and the intervals"
            )
        _check_part(test_rows, "the test part", customer=roles.customer)
        return schema, train_rows, test_rows
    test = read_test_rows(options.test, schema, screen, by=by, separator=options.separator)
    return schema, with_score, test


# Of fewer rows, chance may let a column tell the classes apart.
_FEWEST_ROWS_TO_TELL = 20


def _tells_all(values: NDArray[Any], y: NDArray[np.int64]) -> bool:
    """Return whether one value or threshold separates the classes perfectly; False if values are missing."""
    if len(y) < _FEWEST_ROWS_TO_TELL or y.min() == y.max():
        return False
    if values.dtype == object:
        negative, positive = ({*values[y == label]} for label in (0, 1))
        return len(negative) == len(positive) == 1 and negative != positive
    negative, positive = values[y == 0], values[y == 1]
    if np.isnan(values).any():
        return False
    return bool(negative.max() < positive.min() or positive.max() < negative.min())


def read_test_rows(
    path: Path,
    schema: Schema,
    screen: Screen,
    *,
    by: str | None,
    customer: str | None = None,
    separator: str | None = None,
) -> LabelledRows:
    """Read labelled rows of another file; customers are in the column named, or in the same one as in the fit."""
    table = open_table(path, separator)
    if customer == schema.roles.target:
        raise UsageError(f"--customer {customer}: the target cannot be the column of customers; name another")
    asked = {"--by": by, "--customer": customer}
    schema.check_columns(table, screen.note, used=[name for name in asked.values() if name is not None])
    for option, name in asked.items():
        table.check_has(name, option)
    if schema.roles.weight is not None and schema.roles.weight not in table.names:
        screen.note(f"{path.name} has no column {schema.roles.weight!r} of weights: all of its rows count alike")
    whole = read_table(table)
    if customer is None and (at_fit := schema.roles.customer) is not None:
        names = group_names(whole, at_fit, None)
        if names is not None and MISSING not in names and len(np.unique(names)) > 1:
            customer = at_fit
        else:
            screen.note(
                f"{path.name} has no column {at_fit!r} with a customer in every row, two or more in all: intervals and "
                "promises count each row by itself, and are too narrow if rows belong together; complete it, or name "
                "another with --customer"
            )
    # What comes later matters to splits only.
    without_time = replace(schema, roles=replace(schema.roles, customer=customer, time=None))
    rows = labelled_rows(table, whole, without_time, screen.note, by=by).unscored_apart(schema.score)
    remedy = "add rows of the other class, or name another table"
    _check_part(rows, f"the table {path.name}", remedy, customer)
    return rows


def train(
    options: TrainingOptions,
    method: Method,
    answer: Answer,
    schema: Schema,
    rows: LabelledRows,
    *,
    screen: Screen,
    what: str,
    ties: Ties = Ties.WHOLE,
) -> tuple[Any, float]:
    """Fit one method with one base model or score; return the classifier and the seconds it took."""
    asked: dict[str, Any] = {"coverage": options.coverage, "seed": options.seed, "jobs": options.jobs, "ties": ties}
    features, is_weighted = Features.of(schema.columns, rows.X), rows.weight is not None
    clf = make_classifier(method, answer, features, **asked, weighted=is_weighted)
    fewest = clf.cv if method.cross_fits else 2
    if rows.customers is not None and (n_customers := len(np.unique(rows.customers))) < fewest:
        raise CommandError(
            f"--customer: the training rows must hold at least {fewest} customers in {options.customer!r}, one for "
            f"each fold, got {n_customers}; add rows of others, or leave the column out with --drop instead"
        )
    started = time.perf_counter()
    with screen.training(what, clf), warnings.catch_warnings():
        # What the library says of a score that was turned round is for Python; a note after the test names the option.
        warnings.filterwarnings("ignore", message="the AUC of the held-out rows is .* clearly below 0.5: high scores")
        fit_classifier(clf, rows)
    return clf, time.perf_counter() - started


# ---- rows kept away from the fit to judge it: at random, the latest, or those of another file ----


def split_rows(
    rows: LabelledRows, test_size: float, seed: int, score: str | None = None
) -> tuple[LabelledRows, LabelledRows]:
    """Return training and test rows, split by time if there is a time column, else by customers, else at random.

    Rows without a score are split like all others and then set apart.
    """
    check_test_size(test_size)
    n_rows, times, customers = len(rows), rows.times, rows.customers
    if times is not None:  # rows of one moment stay together
        start = np.sort(times)[n_rows - max(1, round(test_size * n_rows))]
        train, test = np.flatnonzero(times < start), np.flatnonzero(times >= start)
        if not len(train):
            raise CommandError(
                "--time-column: too many rows share the first moment to split them by time; use a finer column, or a "
                "smaller --test-size"
            )
    elif customers is not None:  # into parts of about the sizes asked for
        if (n_customers := len(np.unique(customers))) < 2:
            raise CommandError(
                f"--customer: {n_customers} customer cannot be split into two parts; pass a test file with --test"
            )
        folds = StratifiedGroupKFold(max(2, min(round(1 / test_size), n_customers)), shuffle=True, random_state=seed)
        train, test = next(folds.split(np.zeros(n_rows), rows.y, customers))
    else:
        if (rarest := int(min(np.bincount(rows.y, minlength=2)))) < 2:
            raise CommandError(f"each class needs at least 2 rows, got {rarest} of one; add rows of that class")
        n_test = min(max(round(test_size * n_rows), 2), n_rows - 2)
        drawn = train_test_split(np.arange(n_rows), test_size=n_test, stratify=rows.y, random_state=seed)
        train, test = map(np.sort, drawn)
    parts = rows.take(train).unscored_apart(score), rows.take(test).unscored_apart(score)
    for name, part in zip(("training", "test"), parts, strict=True):
        _check_part(part, f"the {name} part", "choose another split with --test-size, --time-column or --test")
    return parts


def check_test_size(test_size: float) -> None:
    """Refuse a share of test rows outside of its range."""
    if not 0 < test_size < 1:
        raise UsageError(f"--test-size must be a share in (0, 1), got {test_size:g}; pass 0.25 for a quarter")


def _check_part(rows: LabelledRows, what: str, remedy: str = "", customer: str | None = None) -> None:
    """Refuse a part with rows of only one class, which has no AUC, or of only one customer."""
    n_positive = int(rows.y.sum())
    if n_positive in (0, len(rows)):
        raise CommandError(f"{what} of {len(rows)} rows must hold both classes, got {n_positive} positives; {remedy}")

    if customer is not None and rows.customers is not None and len(np.unique(rows.customers)) < 2:
        raise CommandError(
            f"--customer: {what} must hold at least two customers in {customer!r} for intervals, got one; add rows of "
            "others, or leave the column out"
        )
