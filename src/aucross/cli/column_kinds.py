"""Kinds of columns: numbers, yes and no, dates, categories or the two labels; blanks are missing.

=========  ===============================================  =========================================
kind       recognised in text by                            given to the model as
=========  ===============================================  =========================================
number     every value is a number, without leading zeros   float64, NaN where missing
boolean    every value is true or false                     1.0 and 0.0, NaN where missing
date       every value is an ISO date, 2024-03-31           days since 1970 in UTC, NaN where missing
category   anything else                                    text, NaN where missing
=========  ===============================================  =========================================
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aucross.cli.errors import CommandError, UsageError, listed
from aucross.frames import ISO_DATE, MISSING_TEXTS, date_formats, days_of, moment_of
from aucross.system.text import percent_down

Kind = Literal["number", "boolean", "date", "category"]

_CODE = r"^[+-]?0[0-9]"  # 007 is a name, 0.7 a number

# Text of more different values than this is no column of categories by its looks: it is read as such only if it can
# be neither numbers nor identifiers.
_FEW_CATEGORIES = 20
# Text with a value of its own for more than this share of its rows names the rows.
_NEARLY_UNIQUE = 0.5
# So many different texts tell whether a column holds dates.
_DATES_TO_READ = 1000
# Whole numbers of so many digits, nearly all different, may be account numbers.
_DIGITS_OF_AN_ACCOUNT = 8


# ---- numbers in text, by the marks that a table writes them with ----

# What each mark between thousands is written with: there are several apostrophes and blanks.
_THOUSANDS = {"": None, ",": ",", ".": r"\.", "'": "['\u2019]", " ": "[ \u00a0\u2009\u202f]", "_": "_"}
_DECIMALS = {".": r"\.", ",": ","}

# A currency, a per cent sign, brackets or a sign behind, around digits: a number to people only.
_WITH_A_UNIT = (
    r"^[(]?[+\-\x{2212}]?(?:\p{Sc}|USD|EUR|GBP|CHF|JPY)? ?[+\-\x{2212}]?[0-9][0-9.,'\x{2019} ]*"
    r"(?: ?(?:\p{Sc}|USD|EUR|GBP|CHF|JPY|%))?[)]?-?$"
)

# From this share of the values on, a column was meant to hold numbers.
MOSTLY = 0.9


@dataclass(frozen=True)
class NumberFormat:
    """Decimal and thousands marks of the numbers in a table."""

    decimal: str = "."  # mark before the fraction
    thousands: str = ""  # mark between thousands; numbers without it are read too

    def __post_init__(self) -> None:
        if self.decimal not in _DECIMALS:
            raise UsageError(f"--decimal must be . or a comma, got {self.decimal!r}")
        if self.thousands not in _THOUSANDS:
            raise UsageError(
                f"--thousands must be one of {' '.join(repr(mark) for mark in _THOUSANDS if mark)}, got "
                f"{self.thousands!r}; leave it away if there is no such mark"
            )
        if self.decimal == self.thousands:
            raise UsageError(f"--thousands {self.thousands}: it is the decimal mark; --decimal says which is which")

    @property
    def pattern(self) -> str:
        """Regular expression of a number; a mark between thousands has three digits behind it."""
        decimal, thousands = _DECIMALS[self.decimal], _THOUSANDS[self.thousands]
        whole = "[0-9]+" if thousands is None else f"(?:[1-9][0-9]{{0,2}}(?:{thousands}[0-9]{{3}})+|[0-9]+)"
        return f"^[+-]?(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?$"

    def are_numbers(self, text: Any) -> Any:
        """Return whether each value is a number in this format."""
        return pc.match_substring_regex(text, self.pattern)

    def to_floats(self, text: Any) -> Any:
        """Return values as floats; raise ArrowInvalid if one of them is not a number."""
        if self == _AS_USUAL:
            return text.cast(pa.float64())
        if pc.any(pc.invert(self.are_numbers(text))).as_py():
            raise pa.ArrowInvalid("not a number in this format")
        if (thousands := _THOUSANDS[self.thousands]) is not None:
            text = pc.replace_substring_regex(text, thousands, "")
        return pc.replace_substring(text, self.decimal, ".").cast(pa.float64())


def other_marks(text: Any, numbers: NumberFormat) -> str | None:
    """Return a remedy if values are numbers in another format; None otherwise."""
    odd = text.filter(pc.invert(numbers.are_numbers(text)))
    if not len(odd):
        return None
    fitting = [
        other
        for other in (NumberFormat(decimal, mark) for decimal in _DECIMALS for mark in _THOUSANDS if mark != decimal)
        if other.thousands != "_"
        and other != numbers
        and all(_share(values, other.pattern) >= MOSTLY for values in (text, odd))
    ]
    if fitting:
        # Of all formats that fit, those with the fewest changes: a space between thousands says nothing of commas.
        remedies = [_options_for(other, numbers) for other in fitting]
        fewest = min(map(len, remedies))
        told = (" ".join(options) for options in remedies if len(options) == fewest)
        return f"say what its marks mean with {' or '.join(told)}"
    if all(_share(values, _WITH_A_UNIT) >= MOSTLY for values in (text, odd)):
        return "write the numbers without a currency, a per cent sign or brackets"
    return None


def _share(text: Any, pattern: str) -> float:
    return pc.mean(pc.match_substring_regex(text, pattern).cast(pa.float64())).as_py() or 0.0


def _options_for(other: NumberFormat, numbers: NumberFormat) -> list[str]:
    """Return the command-line options that switch from the current number format to the other one."""
    options = [] if other.decimal == numbers.decimal else [f"--decimal {other.decimal}"]
    mark = f'"{other.thousands}"' if other.thousands in "' " else other.thousands
    return options if other.thousands == numbers.thousands else [*options, f"--thousands {mark}"]


_AS_USUAL = NumberFormat()


# ---- kinds ----


class Inferred(NamedTuple):
    """Kind of a column, and a note about it for the user."""

    kind: Kind | None  # None: not for a model
    note: str | None = None


def infer_kind(name: str, values: pa.ChunkedArray, numbers: NumberFormat = _AS_USUAL) -> Inferred:
    """Return the kind of values in a training column; refuse a column that would be misread."""
    as_date = f"column {name!r} holds dates and is used as days since 1970; --drop {shlex.quote(name)} leaves it out"
    if is_text(values.type):
        inferred = _infer_from_text(name, values, numbers)
        return Inferred("date", as_date) if inferred.kind == "date" else inferred
    if pa.types.is_boolean(values.type):
        return Inferred("boolean")
    if _is_numeric(values.type):
        return _as_numbers(name, values)
    if _is_moment(values.type):
        return Inferred("date", as_date)
    return Inferred(None, f"column {name!r} is left out: no model here reads values of type {values.type}")


def check_has_values(name: str, values: pa.ChunkedArray, option: str | None = None) -> None:
    """Refuse a column without a single value, naming the option that chose it if there is one."""
    if not (as_text(values) if is_text(values.type) else values).drop_null().length():
        start, remedy = ("", f"leave it out with --drop {shlex.quote(name)}")
        if option is not None:
            start, remedy = f"{option}: ", "name another column"
        raise CommandError(f"{start}column {name!r} has no values at all; {remedy}")


def check_is_score(name: str, values: pa.ChunkedArray, numbers: NumberFormat = _AS_USUAL) -> None:
    """Refuse a score column that is empty or holds anything but numbers."""
    check_has_values(name, values, "--score")
    given, converted = _converted(values, "number", numbers)
    if converted is None:
        misfit = _misfit(given, "number", numbers)
        raise CommandError(
            f"--score: column {name!r} must hold numbers, {misfit}; name another column, or leave such values blank"
        )


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of this type are text, dictionary-encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_numeric(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _is_moment(kind: pa.DataType) -> bool:
    is_span = pa.types.is_duration(kind) or pa.types.is_time(kind) or pa.types.is_interval(kind)
    return pa.types.is_temporal(kind) and not is_span


def as_text(values: Any) -> Any:
    """Return values as text without spaces around it; null if a value is missing."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    text = pc.utf8_trim_whitespace(values.cast(pa.string()))
    missing = pc.is_in(text, value_set=pa.array(MISSING_TEXTS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), text)


def _infer_from_text(name: str, values: pa.ChunkedArray, numbers: NumberFormat) -> Inferred:
    text = as_text(values).drop_null()
    distinct = text.unique()
    if pc.all(pc.is_in(pc.utf8_lower(distinct), value_set=pa.array(["true", "false"]))).as_py():
        return Inferred("boolean")
    is_number = numbers.are_numbers(text)
    is_code = pc.any(pc.match_substring_regex(distinct, _CODE)).as_py()
    if pc.all(is_number).as_py() and not is_code:
        return _as_numbers(name, numbers.to_floats(text))
    if pc.all(pc.match_substring_regex(distinct, ISO_DATE)).as_py() and _to_days(distinct, True, numbers) is not None:
        return Inferred("date")
    is_dates = bool(date_formats(distinct.slice(0, _DATES_TO_READ).to_pylist()))
    if is_dates:  # that only their writer can read: day or month may come first
        note: str | None = f"holds dates such as {_shown(text[0].as_py())}; write them as 2024-03-31, year first"
    else:
        note = _note_on_numbers(text, is_number, numbers)
    if note:
        if len(distinct) > _FEW_CATEGORIES:
            raise CommandError(f"column {name!r} {note}, or leave the column out with --drop {shlex.quote(name)}")
        meant = ", to have dates" if is_dates else " to have numbers"
        return Inferred("category", f"column {name!r} is read as categories; it {note}{meant}")
    if len(distinct) == len(text) > 1:
        return Inferred(None, f"column {name!r} is left out: its text is different in every row, as in an identifier")
    # Names, account numbers and free text would identify people in the model file.
    if len(distinct) > max(_FEW_CATEGORIES, _NEARLY_UNIQUE * len(text)):
        raise CommandError(
            f"column {name!r} looks like an identifier: {len(distinct):,} different texts in {len(text):,} rows; name "
            f"the rows by it with --id {shlex.quote(name)}, or leave it out with --drop {shlex.quote(name)}"
        )
    return Inferred("category")


def _note_on_numbers(text: pa.ChunkedArray, is_number: pa.ChunkedArray, numbers: NumberFormat) -> str | None:
    """Return a note with the remedy if a column of text was probably meant as numbers; None otherwise."""
    odd = text.filter(pc.invert(is_number))
    if not len(odd):
        return None
    value = _shown(odd[0].as_py())
    if remedy := other_marks(text, numbers):
        return f"holds numbers with marks, such as {value}; {remedy}"
    if (share := 1 - len(odd) / len(text)) >= MOSTLY:
        return f"holds text such as {value}, though {percent_down(share)} of it are numbers; leave such values blank"
    return None


def _shown(value: str, longest: int = 40) -> str:
    return repr(value if len(value) <= longest else f"{value[: longest - 3]}...")


def _as_numbers(name: str, values: pa.ChunkedArray) -> Inferred:
    """Return a column as numbers, or leave it out if it numbers the rows; add a note if it may hold account numbers."""
    numbers = values.drop_null()
    if len(values) < 3 or not len(numbers):
        return Inferred("number")
    ends = pc.min_max(numbers).as_py()
    low, high = ends["min"], ends["max"]
    may_count = not values.null_count and high - low == len(values) - 1
    # Account numbers are whole, long, of one length, and nearly all different.
    may_be_accounts = len(numbers) > _FEW_CATEGORIES and 10 ** (_DIGITS_OF_AN_ACCOUNT - 1) <= low <= high < 1e18
    may_be_accounts = may_be_accounts and len(str(int(low))) == len(str(int(high)))
    if not (may_count or may_be_accounts):
        return Inferred("number")
    floats, n_distinct = numbers.cast(pa.float64()).to_numpy(), len(numbers.unique())
    if not np.array_equal(floats, np.floor(floats)):
        return Inferred("number")
    if may_count and n_distinct == len(values):
        return Inferred(None, f"column {name!r} is left out: it numbers the rows")
    if not may_be_accounts or n_distinct <= MOSTLY * len(numbers):
        return Inferred("number")
    note = (
        f"column {name!r} is used as a number, but looks like account numbers: whole, long and nearly all different; "
        f"--id {shlex.quote(name)} or --drop {shlex.quote(name)} leaves it out"
    )
    return Inferred("number", note)


def convert(name: str, values: Any, kind: Kind, first_row: int = 0, numbers: NumberFormat = _AS_USUAL) -> NDArray[Any]:
    """Return the values of a column as the model reads them: floats, or text and NaN; refuse other kinds of values."""
    given, converted = _converted(values, kind, numbers)
    if converted is None:
        misfit = _misfit(given, kind, numbers, first_row)
        remedy = "correct the file, or leave the value blank if it is missing"
        if is_text(given.type):
            remedy = (kind == "number" and other_marks(given.drop_null(), numbers)) or remedy
        elif not _is_numeric(given.type) or kind in ("date", "category"):
            remedy = "write the file with the types of the training data"
        raise CommandError(f"column {name!r} must hold {_EXPECTED[kind]}, as in training, {misfit}; {remedy}")
    return converted


def _converted(values: Any, kind: Kind, numbers: NumberFormat) -> tuple[Any, NDArray[Any] | None]:
    """Return the trimmed values and their conversion; the conversion is None if a value does not fit."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    text = as_text(values) if is_text(values.type) else None
    given = values if text is None else text
    return given, _CONVERSIONS[kind](given, text is not None, numbers)


def _to_numbers(values: Any, is_from_text: bool, numbers: NumberFormat) -> NDArray[np.float64] | None:
    if not (is_from_text or _is_numeric(values.type) or pa.types.is_boolean(values.type)):
        return None
    try:
        floats = _floats(numbers.to_floats(values) if is_from_text else values)
    except pa.ArrowInvalid:
        return None
    return None if np.isinf(floats).any() else floats


def _floats(values: Any) -> NDArray[np.float64]:
    return np.asarray(pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))


def _to_booleans(values: Any, is_from_text: bool, numbers: NumberFormat) -> NDArray[np.float64] | None:
    if is_from_text:
        lower = pc.utf8_lower(values)
        is_true, is_false = (pc.is_in(lower, value_set=pa.array(words)) for words in (["true", "1"], ["false", "0"]))
        known = pc.or_(pc.or_(is_true, is_false), values.is_null())
        return _floats(pc.if_else(values.is_null(), None, is_true)) if pc.all(known).as_py() is not False else None
    floats = _to_numbers(values, is_from_text, numbers)
    return floats if floats is not None and np.isin(floats[~np.isnan(floats)], (0.0, 1.0)).all() else None


def _to_days(values: Any, is_from_text: bool, _numbers: NumberFormat) -> NDArray[np.float64] | None:
    """Return dates as days since 1970 in UTC, with fractions; None if a value is not a date."""
    if not (is_from_text or _is_moment(values.type)):
        return None
    try:
        if is_from_text:  # each text is read once, as everywhere else
            encoded = values.dictionary_encode()
            values = pa.array(map(moment_of, encoded.dictionary.to_pylist()), pa.timestamp("us")).take(encoded.indices)
        moments = values.cast(options=pc.CastOptions(pa.timestamp("us"), allow_time_truncate=True))
    except ValueError:  # of pyarrow's as well
        return None
    return days_of(moments.to_numpy(zero_copy_only=False))


def _to_categories(values: Any, is_from_text: bool, _numbers: NumberFormat) -> NDArray[Any] | None:
    if not is_from_text:
        if not (pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)):
            return None
        values = values.cast(pa.string())
    encoded = values.dictionary_encode()
    # Each text exists once, whatever the number of rows; the last entry stands for missing.
    words = np.array([*encoded.dictionary.to_pylist(), np.nan], dtype=object)
    codes = pc.fill_null(encoded.indices, len(words) - 1).to_numpy(zero_copy_only=False)
    return words[codes]


_CONVERSIONS: dict[Kind, Any] = {
    "number": _to_numbers,
    "boolean": _to_booleans,
    "date": _to_days,
    "category": _to_categories,
}
_EXPECTED = {"number": "numbers", "boolean": "true or false", "date": "dates such as 2024-03-31", "category": "text"}


def _misfit(values: Any, kind: Kind, numbers: NumberFormat, first_row: int = 0) -> str:
    """Return the words of an error message on the first value that does not fit, or on the type if no value fits."""
    if is_text(values.type):
        for row, value in enumerate(values.to_pylist()):
            if value is not None and _CONVERSIONS[kind](pa.array([value]), True, numbers) is None:
                return f"got {_shown(value)} in row {first_row + row}"
    if _is_numeric(values.type) and kind in ("number", "boolean"):
        floats = _floats(values)
        wrong = np.isinf(floats) if kind == "number" else ~np.isin(floats, (0.0, 1.0)) & ~np.isnan(floats)
        row = int(np.argmax(wrong))
        return f"got {floats[row]:g} in row {first_row + row}"
    return f"got values of type {values.type}"


# ---- the target: two labels, one of them positive ----

# Labels that say themselves which of them is the positive one.
_NEGATIVE_AND_POSITIVE = ({"0", "1"}, {"False", "True"})


def label_text(values: Any) -> pa.Array:
    """Return labels as text in one spelling (1 for 1.0, True for true); null if a label is missing."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    encoded = as_text(values).dictionary_encode()
    spelled = pa.array([spelling(label) for label in encoded.dictionary.to_pylist()], pa.string())
    return spelled.take(encoded.indices)


def spelling(label: str) -> str:
    """Return the standard spelling of a label: 1 for 1.0, True for true."""
    label = label.strip()
    if label.casefold() in ("true", "false"):
        return label.capitalize()
    is_code = re.match(r"[+-]?0[0-9]", label) is not None
    if re.match(_AS_USUAL.pattern, label) and not is_code and float(label).is_integer():
        return str(int(float(label)))
    return label


def choose_labels(target: str, text: pa.Array, positive: str | None) -> tuple[str, str]:
    """Return the negative and the positive label of a training column."""
    labels = sorted(text.drop_null().unique().to_pylist())
    if not labels:
        raise CommandError(f"target {target!r} has no values at all; name another column with --target")
    if len(labels) == 1:
        raise CommandError(
            f"target {target!r} must hold two classes, got only {labels[0]!r}; add rows of the other class, or name "
            "another column with --target"
        )
    if len(labels) > 2:
        raise CommandError(
            f"target {target!r} must be binary, got {len(labels)} classes{_named(labels)}; make it a column of "
            "two values, or name another one with --target"
        )
    if positive is None:
        if set(labels) not in _NEGATIVE_AND_POSITIVE:
            raise CommandError(
                f"target {target!r} holds {labels[0]!r} and {labels[1]!r}; say which is the positive class with "
                f"--positive {shlex.quote(labels[0])} or --positive {shlex.quote(labels[1])}"
            )
        return labels[0], labels[1]
    if (chosen := spelling(positive)) not in labels:
        raise CommandError(
            f"--positive: target {target!r} has no value {positive!r}; it holds {labels[0]!r} and {labels[1]!r}"
        )
    return labels[1] if chosen == labels[0] else labels[0], chosen


def _named(labels: list[str]) -> str:
    """Return a few labels for an error message; empty if there are many, because they may be names of people."""
    return f": {listed(labels, 5)}" if len(labels) <= _FEW_CATEGORIES else ""


def is_positive(target: str, text: pa.Array, labels: tuple[str, str]) -> NDArray[np.int64]:
    """Return 1 for the positive label and 0 for the negative one; refuse other labels."""
    unknown = pc.invert(pc.is_in(text, value_set=pa.array(labels)))
    if pc.any(unknown).as_py():
        others = text.filter(unknown).unique().to_pylist()
        raise CommandError(
            f"target {target!r} must hold {labels[0]!r} and {labels[1]!r}, as in training, got also {len(others)} "
            f"other value(s){_named(others)}; correct or remove those rows"
        )
    return np.asarray(pc.equal(text, labels[1]).to_numpy(zero_copy_only=False), dtype=np.int64)


def output_labels(labels: tuple[str, str]) -> pa.Array:
    """Return both labels in the type of the output: whole numbers, booleans or text."""
    if set(labels) == {"False", "True"}:
        return pa.array([label == "True" for label in labels])
    is_whole = all(re.fullmatch(r"-?[0-9]{1,18}", label) and str(int(label)) == label for label in labels)
    return pa.array([int(label) for label in labels] if is_whole else list(labels))
