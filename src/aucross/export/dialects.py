"""SQL dialects: what each database writes in its own way.

A further dialect is a name and a line of the table.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from aucross.export.band_text import sql_identifier

Dialect = Literal["ansi", "duckdb", "postgres", "snowflake", "bigquery", "spark", "databricks", "mysql", "tsql"]


class DialectRules(NamedTuple):
    """What a dialect writes in its own way."""

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


def checked_dialect(dialect: str) -> DialectRules:
    """Return the special syntax of a dialect, or say which dialects there are."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    return DIALECTS[dialect]


def quoted_name(rules: DialectRules, name: str) -> str:
    """Quote a name. Dialects differ in how they escape quotes and backslashes, so names with them are refused."""
    closing = {"[": "]"}.get(rules.quote, rules.quote)
    if isinstance(name, str) and (closing in name or rules.quote in name or "\\" in name):
        raise ValueError(f"names must hold no {closing} and no backslash, got {name!r}; name it otherwise in a view")
    return sql_identifier(name, rules.quote)
