"""The rejection band: an interval of scores on which the classifier does not answer.

::

    accept        reject         accept
    ───────┤■■■■■■■■■■■■■■■■├──────────────►  score
         lower            upper            both ends are rejected
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import inf, isfinite, isnan
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class RejectionBand:
    """A closed interval of scores that is rejected; all other scores are selected.

    Parameters
    ----------
    lower, upper : float, default=inf and -inf
        Ends of the interval, both rejected. ``-inf`` and ``inf`` make one-sided bands. The default is the
        empty band, which rejects nothing.

    Examples
    --------
    >>> from aucross.core import RejectionBand
    >>> band = RejectionBand(0.2, 0.4)
    >>> band.selects([0.1, 0.2, 0.3, 0.4, 0.5])
    array([ True, False, False, False,  True])
    >>> RejectionBand().selects([0.1, 0.2])
    array([ True,  True])
    """

    lower: float = inf
    upper: float = -inf

    def __post_init__(self) -> None:
        # Plain floats keep the repr readable and comparisons in float64 whatever numpy scalar came in.
        object.__setattr__(self, "lower", float(self.lower))
        object.__setattr__(self, "upper", float(self.upper))
        if isnan(self.lower) or isnan(self.upper):
            raise ValueError(f"the ends of a RejectionBand must not be NaN, got ({self.lower}, {self.upper})")
        if self.lower > self.upper and not self.is_empty:
            raise ValueError(
                f"lower must not exceed upper, got lower={self.lower}, upper={self.upper}; "
                "RejectionBand() is the empty band"
            )

    @property
    def is_empty(self) -> bool:
        """Whether the band rejects nothing, which is full coverage."""
        return self.lower == inf and self.upper == -inf

    def rejects(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Mask of the scores that fall inside the band.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Scores without NaN; compared as float64.

        Returns
        -------
        ndarray of shape (n,), bool
            True where the score is rejected.
        """
        # float64 on purpose: float32(.1) <= .1 depends on the type of the other side.
        values = np.asarray(scores, dtype=np.float64)
        if np.isnan(values).any():
            # A NaN fails both comparisons and would be accepted in silence.
            raise ValueError(
                f"scores must not contain NaN, got {int(np.isnan(values).sum())} of {values.size}; "
                "impute the features or drop those rows before scoring"
            )
        return np.asarray((values >= self.lower) & (values <= self.upper))

    def selects(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Mask of the scores outside the band, whose predictions are used."""
        return ~self.rejects(scores)

    # ---- as text, for systems that apply the band without this library ----

    def to_json(self) -> str:
        """The band as JSON text.

        Returns
        -------
        str
            An object with three keys. ``"rejects"`` is ``"interval"``, or ``"nothing"`` for the empty band. Of an
            interval, scores from ``"lower"`` up to ``"upper"`` are rejected, both ends included; an end that is
            ``null`` sets no limit on its side.

        Notes
        -----
        Numbers have as many digits as it takes to read the same float64 back; compare scores as float64.

        Examples
        --------
        >>> from aucross.core import RejectionBand
        >>> print(RejectionBand(0.2, 0.4).to_json())
        {"lower": 0.2, "upper": 0.4, "rejects": "interval"}
        >>> print(RejectionBand(-float("inf"), 0.4).to_json())
        {"lower": null, "upper": 0.4, "rejects": "interval"}
        >>> print(RejectionBand().to_json())
        {"lower": null, "upper": null, "rejects": "nothing"}
        """
        if self.is_empty:
            return json.dumps({"lower": None, "upper": None, "rejects": "nothing"})
        self._check_a_score_can_lie_inside()
        lower = None if self.lower == -inf else self.lower
        upper = None if self.upper == inf else self.upper
        return json.dumps({"lower": lower, "upper": upper, "rejects": "interval"})

    @classmethod
    def from_json(cls, text: str) -> RejectionBand:
        """Read a band that :meth:`to_json` wrote; further keys of the object are ignored.

        Parameters
        ----------
        text : str
            JSON text of one band.

        Returns
        -------
        RejectionBand

        Examples
        --------
        >>> from aucross.core import RejectionBand
        >>> RejectionBand.from_json('{"lower": null, "upper": 0.4, "rejects": "interval"}')
        RejectionBand(lower=-inf, upper=0.4)
        """
        try:
            band = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"text must be the JSON of a band, as to_json writes it: {error}") from error
        missing = [key for key in ("lower", "upper", "rejects") if not isinstance(band, dict) or key not in band]
        if missing:
            raise ValueError(f"the JSON of a band must be an object with the keys lower, upper and rejects, got {text}")
        lower, upper = (_end_from_json(band[name], name) for name in ("lower", "upper"))
        if band["rejects"] == "interval":
            return cls(-inf if lower is None else lower, inf if upper is None else upper)
        if band["rejects"] != "nothing":
            raise ValueError(f'rejects must be "interval" or "nothing", got {band["rejects"]!r}')
        if lower is not None or upper is not None:
            raise ValueError(f'a band that rejects "nothing" must have null ends, got {lower} and {upper}')
        return cls()

    def to_sql(self, column: str, accept: str | int = "accept", defer: str | int = "defer", *, quote: str = '"') -> str:
        """The band as an SQL ``CASE`` expression.

        Parameters
        ----------
        column : str
            Name of the column of scores, of a type with double precision; it is quoted as one identifier.
        accept, defer : str or int, default="accept" and "defer"
            Values of the expression for scores outside and inside the band.
        quote : {'"', "`", "["}, default='"'
            How identifiers are quoted: ``"`` in standard SQL, a backtick in MySQL, Spark and BigQuery, ``[`` in
            Transact-SQL.

        Returns
        -------
        str
            Expression without a name; add ``AS decision``.

        Notes
        -----
        Both ends are deferred, and so is a row without a score: NULL, NaN (which PostgreSQL and others hold to be
        above all numbers) and infinite scores, for which ``score - score = 0`` does not hold.

        Examples
        --------
        >>> from aucross.core import RejectionBand
        >>> print(RejectionBand(0.2, 0.4).to_sql("score"))
        CASE
          WHEN ("score" < 0.2 OR "score" > 0.4) AND "score" - "score" = 0 THEN 'accept'
          ELSE 'defer'
        END
        """
        condition = self.sql_condition(sql_identifier(column, quote))
        return f"CASE\n  WHEN {condition} THEN {sql_literal(accept)}\n  ELSE {sql_literal(defer)}\nEND"

    def sql_condition(self, name: str) -> str:
        """When SQL accepts the score of a column, given by its quoted name; see :meth:`to_sql`."""
        is_number = f"{name} - {name} = 0"
        if self.is_empty:
            return is_number
        self._check_a_score_can_lie_inside()
        below = [] if self.lower == -inf else [f"{name} < {self.lower!r}"]
        above = [] if self.upper == inf else [f"{name} > {self.upper!r}"]
        if not below + above:
            return "1 = 0"
        return f"({' OR '.join(below + above)}) AND {is_number}"

    def _check_a_score_can_lie_inside(self) -> None:
        if self.lower == inf or self.upper == -inf:
            raise ValueError(
                f"a band that holds no finite score cannot be written as text, got {self}; RejectionBand() is the "
                "empty band"
            )


def _end_from_json(value: object, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{name} must be a finite number or null, got {value!r}")
    return float(value)


def sql_identifier(name: str, quote: str = '"') -> str:
    """A name as a quoted SQL identifier; the closing quote inside it is doubled."""
    closing = {'"': '"', "`": "`", "[": "]"}
    if quote not in closing:
        raise ValueError(f"""quote must be one of \", ` and [, got {quote!r}""")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise ValueError(f"the name of an SQL column must be printable text, got {name!r}")
    return f"{quote}{name.replace(closing[quote], 2 * closing[quote])}{closing[quote]}"


def sql_literal(value: str | int) -> str:
    """A text or an integer as an SQL literal."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    # A backslash escapes the quote after it in some dialects and is plain text in others.
    if not isinstance(value, str) or not value.isprintable() or "\\" in value:
        raise ValueError(f"an SQL value must be an integer or printable text without backslashes, got {value!r}")
    return "'" + value.replace("'", "''") + "'"


def check_coverage(coverage: object, name: str = "coverage") -> float:
    """Return `coverage` as a float in (0, 1], or say what is wrong with it."""
    if not isinstance(coverage, Real) or isinstance(coverage, bool | np.bool_):
        raise TypeError(f"{name} must be a number in (0, 1], got {coverage!r}")
    value = float(coverage)
    if 0.0 < value <= 1.0:
        return value
    is_percentage = 2.0 <= value <= 100.0  # 1.5 is more likely a slip than one and a half per cent
    remedy = f"for {coverage} % pass {value / 100:g}" if is_percentage else "1 stands for all"
    raise ValueError(f"{name} must be in (0, 1], got {coverage}; {remedy}")
