"""One band as text for systems without Python: JSON for programs, SQL for databases."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from math import inf, isfinite, ulp
from unicodedata import combining, normalize

from aucross.core.bands import RejectionBand


def band_to_json(band: RejectionBand) -> str:
    """Write a band as JSON that another system can apply.

    Parameters
    ----------
    band : RejectionBand
        For instance ``clf.band(0.8)``.

    Returns
    -------
    str
        An object with three keys. ``"review"`` is ``"interval"``, or ``"nothing"`` for the empty band. Scores from
        ``"lower"`` up to ``"upper"`` go to review, both ends included; ``null`` means no limit on that side. All other
        scores are decided automatically.

    Notes
    -----
    Numbers have enough digits to be read back as the same float64; compare scores as float64.

    Examples
    --------
    >>> from aucross.core import RejectionBand
    >>> from aucross.export import band_to_json
    >>> print(band_to_json(RejectionBand(0.2, 0.4)))
    {"lower": 0.2, "upper": 0.4, "review": "interval"}
    >>> print(band_to_json(RejectionBand(-float("inf"), 0.4)))
    {"lower": null, "upper": 0.4, "review": "interval"}
    >>> print(band_to_json(RejectionBand()))
    {"lower": null, "upper": null, "review": "nothing"}
    """
    return json.dumps(band_entries(band))


def band_entries(band: RejectionBand) -> dict[str, float | str | None]:
    """Return the keys and values of :func:`band_to_json`."""
    _check_a_score_can_lie_inside(band)
    lower, upper = (end if isfinite(end) else None for end in (band.lower, band.upper))
    return {"lower": lower, "upper": upper, "review": "nothing" if band.is_empty else "interval"}


def band_from_json(text: str) -> RejectionBand:
    """Read a band that :func:`band_to_json` wrote; further keys of the object are ignored.

    Parameters
    ----------
    text : str
        JSON text of one band.

    Examples
    --------
    >>> from aucross.export import band_from_json
    >>> band_from_json('{"lower": null, "upper": 0.4, "review": "interval"}')
    RejectionBand(lower=-inf, upper=0.4)
    """
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"text must be the JSON of a band, as band_to_json writes it: {error}") from error
    if not isinstance(entries, dict) or not {"lower", "upper", "review"} <= entries.keys():
        raise ValueError(f"the JSON of a band must be an object with the keys lower, upper and review, got {text}")
    lower, upper = ends = entries["lower"], entries["upper"]
    for name, end in zip(("lower", "upper"), ends, strict=True):
        is_number = isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end)
        if end is not None and not is_number:
            raise ValueError(f"{name} must be a finite number or null, got {end!r}")
    if entries["review"] == "interval":
        return RejectionBand(-inf if lower is None else float(lower), inf if upper is None else float(upper))
    if entries["review"] != "nothing":
        raise ValueError(f'review must be "interval" or "nothing", got {entries["review"]!r}')
    if lower is not None or upper is not None:
        raise ValueError(f'a band with "nothing" to review must have null ends, got {lower} and {upper}')
    return RejectionBand()


def band_to_sql(
    band: RejectionBand,
    column: str,
    *,
    automatic: str | int = "automatic",
    review: str | int = "review",
    quote: str = '"',
) -> str:
    """Write a band as an SQL ``CASE`` expression; both ends, and rows without a finite score, go to review.

    Parameters
    ----------
    band : RejectionBand
        For instance ``clf.band(0.8)``.
    column : str
        Name of the column of scores, which must have double precision; it is quoted as one identifier.
    automatic, review : str or int, default="automatic" and "review"
        Values of the expression for scores outside and inside the band.
    quote : {'"', "`", "["}, default='"'
        How identifiers are quoted: ``"`` in standard SQL, a backtick in MySQL, Spark and BigQuery, ``[`` in
        Transact-SQL.

    Examples
    --------
    >>> from aucross.core import RejectionBand
    >>> from aucross.export import band_to_sql
    >>> print(band_to_sql(RejectionBand(0.2, 0.4), "score"))
    CASE
      WHEN ("score" < 2e-1 OR "score" > 4e-1) AND +"score" BETWEEN -1e308 AND 1e308 THEN 'automatic'
      ELSE 'review'
    END
    """
    return sql_case([is_automatic_in_sql(band, sql_identifier(column, quote))], automatic, review)


def sql_case(automatic_when: list[str], automatic: str | int, review: str | int) -> str:
    """Return a ``CASE`` expression: `automatic` if any of the conditions holds, and `review` otherwise."""
    branches = [f"  WHEN {condition} THEN {sql_literal(automatic)}" for condition in automatic_when]
    return "\n".join(["CASE", *branches, f"  ELSE {sql_literal(review)}", "END"])


def is_automatic_in_sql(band: RejectionBand, name: str) -> str:
    """Return the SQL condition for a score outside the band, given the quoted name of its column."""
    _check_a_score_can_lie_inside(band)
    # Of texts and blobs SQLite holds that they are above all numbers, unless the column has the type of text; the sign
    # keeps it from comparing a number as text. PostgreSQL and others hold NaN to be above all numbers.
    is_number = f"+{name} BETWEEN -1e308 AND 1e308"
    if band.is_empty:
        return is_number
    below = [] if band.lower == -inf else [f"{name} < {sql_number(band.lower)}"]
    above = [] if band.upper == inf else [f"{name} > {sql_number(band.upper)}"]
    if not below + above:
        return "1 = 0"
    return f"({' OR '.join(below + above)}) AND {is_number}"


def sql_identifier(name: str, quote: str = '"') -> str:
    """Quote a name as an SQL identifier, and double any closing quote inside it."""
    closing = {'"': '"', "`": "`", "[": "]"}
    if quote not in closing:
        raise ValueError(f"""quote must be one of \", ` and [, got {quote!r}""")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise ValueError(f"the name of an SQL column must be printable text, got {name!r}")
    return f"{quote}{name.replace(closing[quote], 2 * closing[quote])}{closing[quote]}"


def sql_number(value: float) -> str:
    """Write a float64 as SQL that every database reads as the same number.

    SQLite misreads about one shortest literal in ten thousand, so a digit is added where the shortest one is nearly
    ambiguous. Numbers below 1e-30 or above 1e30 in size are written with powers of two as factors.
    """
    value, factor = float(value), ""
    while value and not 1e-30 <= abs(value) <= 1e30:
        is_small = abs(value) < 1.0
        value = value * 2.0**100 if is_small else value * 2.0**-100
        factor += f" * {_digits(2.0**-100 if is_small else 2.0**100)}"
    return f"({_digits(value)}{factor})" if factor else _digits(value)


def _digits(value: float) -> str:
    spare = Fraction(127, 256) * Fraction(ulp(value))
    enough = (
        text
        for text in (f"{value:.{digits}e}" for digits in range(18))
        if float(text) == value and abs(Fraction(text) - Fraction(value)) < spare
    )
    mantissa, exponent = next(enough).split("e")
    return f"{mantissa}e{int(exponent)}"


def sql_literal(value: str | int) -> str:
    """Write a text or an integer as an SQL literal."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    # A backslash escapes the quote after it in some dialects and is plain text in others.
    if not isinstance(value, str) or not value.isprintable() or "\\" in value:
        raise ValueError(f"an SQL value must be an integer or printable text without backslashes, got {value!r}")
    return "'" + value.replace("'", "''") + "'"


def refuse_alike(values: Iterable[object], name: str) -> None:
    """Raise if texts differ only by case, accents or trailing blanks, which some collations ignore.

    A database with such a collation would decide on the rows of both texts by one branch.
    """
    seen: dict[str, str] = {}
    for value in values:
        if not isinstance(value, str):
            continue
        plain = "".join(sign for sign in normalize("NFKD", value) if not combining(sign)).casefold().rstrip()
        if plain in seen:
            raise ValueError(
                f"{name} must differ by more than case, accents and blanks at the end to be told apart by most "
                f"databases, got {seen[plain]!r} and {value!r}; give them names that differ in letters, or numbers"
            )
        seen[plain] = value


def _check_a_score_can_lie_inside(band: RejectionBand) -> None:
    if not band.is_empty and (band.lower == inf or band.upper == -inf):
        raise ValueError(
            f"a band that holds no finite score cannot be written as text, got {band}; "
            "RejectionBand() is the empty band"
        )
