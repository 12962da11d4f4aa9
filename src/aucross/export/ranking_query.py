"""A ranking by one SQL query: the warehouse counts the scores, and only the counts leave it.

::

    table of scores ──► GROUP BY score ──► read_ranking ──► place, evaluate, promise ──► rule_to_sql ──► table
    (a billion rows)    (65 thousand)

The query rounds scores as :class:`~aucross.core.ScoreRounding` does, using only double precision, so that all
databases find the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.rounding import ScoreRounding
from aucross.export.band_text import refuse_alike, sql_identifier, sql_literal
from aucross.frames import library_of, names_of
from aucross.system.libraries import import_library

_LARGEST = float(np.finfo(np.float32).max)
_COUNTS = ("positives", "negatives", "unusable")
_POWERS = ("weight", "squares", "cubes")

Dialect = Literal["ansi", "duckdb", "postgres", "snowflake", "bigquery", "spark", "databricks", "mysql", "tsql"]


class DialectRules(NamedTuple):
    """Syntax in which a dialect of SQL differs from others; a new dialect is a name and a line of the table below."""

    double: str = "DOUBLE PRECISION"
    single: str | None = None  # name of float32; None if the dialect has none, or none that is surely so
    quote: str = '"'
    natural_logarithm: str = "LN"
    has_booleans: bool = True
    one: str = "1"  # of a type whose sum is large enough


DIALECTS: dict[str, DialectRules] = {
    "ansi": DialectRules(),
    "duckdb": DialectRules(double="DOUBLE", single="FLOAT"),
    "postgres": DialectRules(single="REAL"),
    "snowflake": DialectRules(double="DOUBLE"),
    "bigquery": DialectRules(double="FLOAT64", quote="`"),
    "spark": DialectRules(double="DOUBLE", single="FLOAT", quote="`"),
    "databricks": DialectRules(double="DOUBLE", single="FLOAT", quote="`"),
    "mysql": DialectRules(double="DOUBLE", quote="`"),
    "tsql": DialectRules(
        double="FLOAT", single="REAL", quote="[", natural_logarithm="LOG", has_booleans=False, one="CAST(1 AS BIGINT)"
    ),
}


def ranking_query(
    table: str | Sequence[str],
    score: str,
    label: str | None = None,
    *,
    positive: str | int | bool = 1,
    negative: str | int | bool = 0,
    weight: str | None = None,
    bits: Literal[64, 32, 20] = 20,
    dialect: Dialect = "ansi",
) -> str:
    """Write the SQL query that counts the rows of each class at each score.

    Parameters
    ----------
    table : str or list of str
        Name of a table or view, with its schema before a dot. Pass a list of parts if these contain dots.
    score : str
        Column of scores, higher for rows that are more likely positive.
    label : str, optional
        Column of labels. Rows whose label is NULL are left out. Without it all rows are counted, as negatives, for
        :meth:`~aucross.SelectiveClassifier.recalibrate`.
    positive, negative : str, int or bool, default=1 and 0
        Values of the label. Rows with other values are counted as unusable, and :func:`read_ranking` refuses them.
    weight : str, optional
        Column of weights; rows of weight 0 are left out.
    bits : {64, 32, 20}, default=20
        How scores are rounded before they are counted. 64: not at all. 32: to float32, in dialects that have it. 20: to
        the top 20 bits of the float32 pattern, at most 65 thousand different scores between 2**-32 and 1.
    dialect : {"ansi", "duckdb", "postgres", "snowflake", "bigquery", "spark", "databricks", "mysql", "tsql"}
        The dialect to write.

    Returns
    -------
    str
        A query without a semicolon, in which names are quoted. Pass its result to :func:`read_ranking`. One line of
        the result counts the rows without a score (NULL, NaN, infinite).

    Examples
    --------
    >>> from aucross.export import ranking_query
    >>> print(ranking_query("bank.loans", "pd", "defaulted", bits=64))
    WITH given AS (
      SELECT
        CASE WHEN "pd" BETWEEN -1e308 AND 1e308 THEN CAST("pd" AS DOUBLE PRECISION) END AS score,
        CASE WHEN "defaulted" = 1 THEN 1 ELSE 0 END AS is_positive,
        CASE WHEN "defaulted" = 0 THEN 1 ELSE 0 END AS is_negative
      FROM "bank"."loans"
      WHERE "defaulted" IS NOT NULL
    )
    SELECT
      score,
      SUM(is_positive) AS positives,
      SUM(is_negative) AS negatives,
      SUM(1 - is_positive - is_negative) AS unusable
    FROM given
    GROUP BY score
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    rules = DIALECTS[dialect]
    if isinstance(bits, bool) or bits not in (64, 32, 20):
        raise ValueError(f"bits must be 64, 32 or 20, got {bits!r}; 20 keeps the result small")
    if bits == 32 and rules.single is None:
        able = ", ".join(name for name, other in DIALECTS.items() if other.single is not None)
        raise ValueError(
            f"bits must be 20 or 64 in the dialect {dialect!r}, which has no float32 to round to, got 32; the dialects "
            f"{able} have it"
        )
    given = _given(rules, table, score, (label, positive, negative), weight)
    others = "is_positive, is_negative" + ("" if weight is None else ", weight")
    parts, last = [f"given AS (\n{given}\n)"], "given"
    for name, columns in _rounding_steps(rules, bits).items():
        parts.append(f"{name} AS (\n  SELECT {columns}, {others}\n  FROM {last}\n)")
        last = name
    sums = ["SUM(is_positive) AS positives", "SUM(is_negative) AS negatives"]
    sums.append("SUM(1 - is_positive - is_negative) AS unusable")
    for times, power in enumerate(_POWERS if weight is not None else (), start=1):
        product = " * ".join(["weight"] * times)
        sums += [f"SUM(is_{side} * {product}) AS {side}_{power}" for side in ("positive", "negative")]
    counted = ",\n  ".join(["score", *sums])
    return "\n".join(["WITH " + ",\n".join(parts), f"SELECT\n  {counted}", f"FROM {last}", "GROUP BY score"])


def read_ranking(result: Any, *, missing: Literal["refuse", "leave out"] = "refuse") -> RankedScores:
    """Read the result of a query of :func:`ranking_query`.

    Parameters
    ----------
    result : frame, Arrow table, dict of columns, or object with ``__arrow_c_stream__``
        The result, with lines and columns in any order and column names in upper or lower case.
    missing : {"refuse", "leave out"}, default="refuse"
        How to treat rows without a score. No band can be placed on them, so a person must decide them.

    Examples
    --------
    >>> from aucross.export import read_ranking
    >>> read_ranking({"score": [0.5, 0.1], "positives": [2, 1], "negatives": [3, 9], "unusable": [0, 0]})
    RankedScores(2 distinct scores, 3 positives, 12 negatives)
    """
    check_missing(missing)
    columns = _columns_of(result)
    score, counts = columns["score"], {name: columns[name] for name in _COUNTS}
    unusable = int(counts["unusable"].sum())
    if unusable:
        raise ValueError(
            f"the query must count rows of two labels and, if any, weights from 0 to 1e30, got {unusable:,} rows with "
            "another label or weight; name the labels with positive= and negative=, or select the rows in a view"
        )
    is_missing = ~np.isfinite(score)
    n_missing = int((counts["positives"] + counts["negatives"])[is_missing].sum())
    check_missing(missing, n_missing)
    kept = np.flatnonzero(~is_missing)
    scores, place = np.unique(score[kept], return_inverse=True)

    def sums(name: str) -> FloatArray:
        return np.bincount(place, columns[name][kept], minlength=len(scores)).astype(np.float64, copy=False)

    if "positive_weight" not in columns:
        return RankedScores(scores, sums("positives"), sums("negatives"))
    sides = ([sums(f"{side}s"), *(sums(f"{side}_{power}") for power in _POWERS)] for side in ("positive", "negative"))
    return RankedScores.of_powers(scores, np.array(list(sides)))


def check_missing(missing: str, n_missing: int = 0) -> None:
    """Refuse rows without a score unless they are to be left out."""
    if missing not in ("refuse", "leave out"):
        raise ValueError(f'missing must be "refuse" or "leave out", got {missing!r}')
    if n_missing and missing == "refuse":
        raise ValueError(
            f'{n_missing:,} rows have no score (NULL, NaN or infinite); pass missing="leave out" to rank the others, '
            "and have those rows decided by a person"
        )


def check_different(positive: Any, negative: Any) -> None:
    """Refuse equal labels for both classes."""
    if positive == negative:
        raise ValueError(f"positive and negative must be different labels, got {positive!r} for both")


# ---- the query ----


def _quoted(rules: DialectRules, name: str) -> str:
    """Quote a name; refuse names with quotes or backslashes, which dialects escape differently."""
    closing = {"[": "]"}.get(rules.quote, rules.quote)
    if isinstance(name, str) and (closing in name or rules.quote in name or "\\" in name):
        raise ValueError(f"names must hold no {closing} and no backslash, got {name!r}; name it otherwise in a view")
    return sql_identifier(name, rules.quote)


def _label(rules: DialectRules, value: str | int | bool) -> str:
    if isinstance(value, bool | np.bool_):
        if not rules.has_booleans:
            raise ValueError(f"labels of this dialect must be text or integers, got {value}; a bit is 0 or 1")
        return "TRUE" if value else "FALSE"
    return sql_literal(int(value) if isinstance(value, np.integer) else value)


def _given(
    rules: DialectRules, table: str | Sequence[str], score: str, labels: tuple[str | None, Any, Any], weight: str | None
) -> str:
    """Write the step that selects columns under plain names; an unusable row is neither positive nor negative."""
    label, positive, negative = labels
    value = _quoted(rules, score)
    columns = [f"CASE WHEN {value} BETWEEN -1e308 AND 1e308 THEN CAST({value} AS {rules.double}) END AS score"]
    conditions, is_usable = [], ""
    if weight is not None:
        own = _quoted(rules, weight)
        is_usable = f"{own} BETWEEN 0 AND 1e30"
        columns.append(f"CASE WHEN {is_usable} THEN CAST({own} AS {rules.double}) ELSE 0e0 END AS weight")
        conditions.append(f"({own} <> 0 OR {own} IS NULL)")
    if label is None:
        of_classes = {"positive": "1 = 0", "negative": is_usable or "1 = 1"}
    else:
        check_different(positive, negative)
        refuse_alike((positive, negative), "positive and negative labels")
        name, also = _quoted(rules, label), f" AND {is_usable}" if is_usable else ""
        of_classes = {
            side: f"{name} = {_label(rules, own_label)}{also}"
            for side, own_label in (("positive", positive), ("negative", negative))
        }
        conditions.insert(0, f"{name} IS NOT NULL")
    columns += [
        f"CASE WHEN {condition} THEN {rules.one} ELSE 0 END AS is_{side}" for side, condition in of_classes.items()
    ]
    parts = table.split(".") if isinstance(table, str) else list(table)
    if not parts:
        raise ValueError("table must be the name of a table or view, got none")
    source = ".".join(_quoted(rules, part) for part in parts)
    lines = ["  SELECT", ",\n".join(f"    {column}" for column in columns), f"  FROM {source}"]
    return "\n".join([*lines, *([f"  WHERE {' AND '.join(conditions)}"] if conditions else [])])


def _rounding_steps(rules: DialectRules, bits: int) -> dict[str, str]:
    """Return further parts of the WITH clause, in order, each with its columns."""
    if bits == 64:
        return {}
    if bits == 32:
        # A number that rounds to 0, or to none, is an error in some databases when it is cast.
        single = (
            f"CASE WHEN ABS(score) <= {_plain(2.0**-150)} THEN 0e0 "
            f"WHEN score > {_plain(_LARGEST)} THEN {_plain(_LARGEST)} "
            f"WHEN score < {_plain(-_LARGEST)} THEN {_plain(-_LARGEST)} "
            f"ELSE CAST(CAST(score AS {rules.single}) AS {rules.double}) END"
        )
        return {"rounded": f"{single} AS score"}
    largest, smallest = _plain(float(ScoreRounding(20).round(_LARGEST))), _plain(2.0**-126)
    guess = f"POWER(2e0, FLOOR({rules.natural_logarithm}(size) / {rules.natural_logarithm}(2e0)))"
    # The logarithm may be off by a rounding error next to a power of two, so the guess is set right. Adding half of
    # the last digit of float32 is rounding to float32 first, adding half of the last of 11 digits is rounding to these,
    # and all is exact in doubles.
    return {
        "sizes": f"score, CASE WHEN ABS(score) > {largest} THEN {largest} ELSE ABS(score) END AS size",
        "guesses": f"score, size, CASE WHEN size >= {smallest} THEN {guess} ELSE {smallest} END AS unit",
        "units": f"score, size, CASE WHEN unit > size AND unit > {smallest} THEN unit / 2e0 WHEN unit * 2e0 <= size "
        "THEN unit * 2e0 ELSE unit END AS unit",
        "rounded": "CASE WHEN score < 0 THEN -1e0 ELSE 1e0 END "
        f"* (FLOOR((size / unit + {_plain(2.0**-12 + 2.0**-24)}) * 2048e0) / 2048e0 * unit) + 0e0 AS score",
    }


def _plain(value: float) -> str:
    """Write a float64 as a literal with an exponent, which has double precision in every dialect."""
    return f"{value:.16e}"


# ---- the result ----


def _columns_of(result: Any) -> dict[str, FloatArray]:
    """Return the columns of a result as numbers, by names in lower case."""
    names, column = _named_columns(result)
    lower = [str(name).lower() for name in names]
    wanted = ["score", *_COUNTS]
    if "positive_weight" in lower:
        wanted += [f"{side}_{power}" for power in _POWERS for side in ("positive", "negative")]
    absent = [name for name in wanted if lower.count(name) != 1]
    if absent:
        raise ValueError(
            f"result must have the columns {', '.join(wanted)} of a ranking query, each once, got "
            f"{', '.join(map(str, names))}"
        )
    columns = {name: _numbers(column(names[lower.index(name)]), name) for name in wanted}
    for name in wanted[1:]:
        values = columns[name]
        if not (values >= 0).all() or (name in _COUNTS and (values != np.floor(values)).any()):
            raise ValueError(f"the column {name} of a ranking query must hold sums of 0 or more, got {values.min():g}")
    return columns


def _named_columns(result: Any) -> tuple[list[Any], Callable[[Any], Any]]:
    if isinstance(result, Mapping):
        return list(result), result.__getitem__
    if library_of(result) == "pandas":  # which needs pyarrow for a stream
        return names_of(result) or [], result.__getitem__
    if hasattr(result, "__arrow_c_stream__"):  # pyarrow, polars, DuckDB and others
        table = import_library("pyarrow", purpose="reading an Arrow stream", extra="arrow").table(result)
        return list(table.column_names), table.__getitem__
    raise TypeError(
        f"result must be a frame, an Arrow table or stream, or a dict of columns, got {type(result).__name__}; pass "
        "for instance cursor.fetch_pandas_all()"
    )


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        # Sums come as decimal numbers from some databases, NULL as None.
        return np.array(np.asarray(values).tolist(), dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the column {name} of a ranking query must hold numbers: {error}") from None
