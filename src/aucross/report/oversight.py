"""The oversight report: what was decided, who looked at it and what came of it, as one dictionary from the record.

Each table answers a question and carries the SQL that makes it (``oversight.sql``), so that anyone with the database
can check it. What SQL does not give (intervals, p-values) is computed from the rows of such a query.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.resources import files
from math import erfc, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import kolmogorov

from aucross.audit import audited_auc, review_effect
from aucross.audit.selective_estimate import expected_auc
from aucross.files.fingerprints import model_fingerprint
from aucross.system.text import json_ready, plural

if TYPE_CHECKING:
    from aucross.record import Record

# Groups with fewer cases are not shown, and of a single hidden group the next smallest is hidden with it, so that no
# number of it follows from the others.
FEWEST_SHOWN = 10

# Blocks of the SQL file that are not tables of the page.
_INGREDIENTS = ("audited", "audited_auc", "effect", "group", "labelled", "costs", "scores", "label_free")
_OF_EFFECT = ("effect", "low", "high", "n_reviewed")
_OF_PEOPLE = ("reviewers", "machine_shown", "time_to_review")


def build_oversight(
    record: Record,
    *,
    title: str = "Oversight of automatic decisions",
    promised_auc: float | None = None,
    validated_auc: tuple[float, float] | None = None,
    by: Sequence[str] = (),
    costs: tuple[float, float, float] | None = None,
    clf: Any = None,
    confidence_level: float = 0.95,
    hide_people: bool = False,
    now: dt.datetime | None = None,
) -> dict[str, Any]:
    """Gather the oversight report of a record as a dictionary that is ready for JSON.

    Parameters
    ----------
    record : Record
        The record of decisions, reviews and outcomes.
    title : str
        Title of the report.
    promised_auc : float, optional
        AUC that was promised for automatic decisions.
    validated_auc : tuple of two floats, optional
        AUC of the initial validation and its standard error.
    by : sequence of str
        Kept columns whose groups are compared; groups of fewer than 10 cases are hidden.
    costs : tuple of three floats, optional
        What a missed positive case, a false alarm and a review cost.
    clf : SelectiveClassifier, optional
        The classifier in force, from which the AUC that is expected without labels comes.
    confidence_level : float in (0, 1), default=0.95
        Confidence of all intervals.
    hide_people : bool, default=False
        Whether to leave out names of reviewers and the time that they took.
    now : datetime, optional
        Time of the report; by default the present.

    Returns
    -------
    dict
        ``headline`` (four numbers), ``sentences``, ``tables`` (each with question, columns, rows and SQL), ``audit``,
        ``effect``, ``strip``, ``trend``, ``drift`` and ``integrity``.
    """
    found: dict[str, Any] = {"title": title, "confidence_level": confidence_level}
    found["made_at"] = (now or dt.datetime.now(dt.UTC)).isoformat(timespec="seconds")
    with record.reading() as connection:
        asked = queries(connection.dialect.name)
        classes = _columns(connection, "SELECT DISTINCT classes FROM batches WHERE shadow_of IS NULL")["classes"]
        left_out = (*_INGREDIENTS, *(_OF_PEOPLE if hide_people else ()))
        tables = {name: _table(connection, name, *asked[name]) for name in asked if name not in left_out}
        for column in by:
            names = {"column": column, "key": _quoted(column), "path": _quoted(json.dumps(column))}
            question, sql = (_filled(text, **names) for text in asked["group"])
            tables[f"by {column}"] = _without_small(_table(connection, f"by {column}", question, sql))
        automatic, reviewed, scores = (_columns(connection, asked[name][1]) for name in ("audited", "effect", "scores"))
        if costs is not None and (positive := _positive(classes)) is not None:
            question, sql = asked["costs"]
            words = dict(zip(("missed", "alarm", "review"), (repr(float(cost)) for cost in costs), strict=True))
            tables["costs"] = _table(connection, "costs", question, _filled(sql, positive=_quoted(positive), **words))
        if clf is not None:
            question, sql = asked["label_free"]
            tables["label_free"] = _label_free(connection, clf, question, _filled(sql, model=model_fingerprint(clf)))
    found["tables"] = list(tables.values())
    found["audit"] = _audit(
        automatic,
        classes,
        asked["audited_auc"],
        level=confidence_level,
        promised=promised_auc,
        validated=validated_auc,
    )
    effect = review_effect(
        *(reviewed[name] for name in ("outcome", "prediction", "final_decision")), confidence_level=confidence_level
    )
    told = {name: getattr(effect, name) for name in (*_OF_EFFECT, "sentence")}
    found["effect"] = json_ready({"question": asked["effect"][0], "sql": asked["effect"][1], **told})
    found["strip"] = {"question": asked["strip"][0], "sql": asked["strip"][1], **_strip(record, confidence_level)}
    found["trend"] = _trend(tables["months"])
    found["drift"] = {"question": asked["scores"][0], "sql": asked["scores"][1], **_drift(scores)}
    verified = record.verify()
    found["integrity"] = {
        "question": "Was anything in the record changed afterwards?",
        "is_clean": verified.is_clean,
        "sentence": str(verified),
    }
    found["headline"] = _headline(tables["months"], found)
    return found


# ---- tables ----


def queries(dialect: str) -> dict[str, tuple[str, str]]:
    """Return the question and the SQL of each table, by name, for a database."""
    found = {}
    for block in files("aucross.report").joinpath("oversight.sql").read_text("utf-8").strip().split("\n\n")[1:]:
        head, question, sql = block.split("\n", 2)
        name, _, only = head.removeprefix("-- ").partition(" (")
        if not only or only == f"{dialect})":
            found[name] = (question.removeprefix("-- "), sql)
    labelled = found["labelled"][1].replace("\n", "\n  ")
    return {name: (question, _filled(sql, labelled=f"\n  {labelled}\n")) for name, (question, sql) in found.items()}


def _columns(connection: Any, sql: str) -> dict[str, list[Any]]:
    result = connection.exec_driver_sql(sql)
    names, rows = list(result.keys()), result.fetchall()
    # PostgreSQL gives means of whole numbers as decimals.
    plain = [[float(value) if isinstance(value, Decimal) else value for value in row] for row in rows]
    return {name: [row[place] for row in plain] for place, name in enumerate(names)}


def _table(connection: Any, name: str, question: str, sql: str) -> dict[str, Any]:
    columns = _columns(connection, sql)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    table: dict[str, Any] = json_ready({"columns": list(columns), "rows": rows})
    return {"name": name, "question": question, **table, "sql": sql}


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _filled(text: str, **words: str) -> str:
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


def _without_small(table: dict[str, Any]) -> dict[str, Any]:
    """Hide small groups, and larger ones until what is hidden is two groups or more, and no small number of cases."""
    by_size = sorted(table["rows"], key=lambda row: row[1])
    n_hidden = sum(row[1] < FEWEST_SHOWN for row in by_size)
    while 0 < n_hidden < len(by_size) and (n_hidden == 1 or sum(row[1] for row in by_size[:n_hidden]) < FEWEST_SHOWN):
        n_hidden += 1
    shown = by_size[n_hidden:]
    table["rows"] = [row for row in table["rows"] if row in shown]
    if n_hidden:
        table["note"] = f"{n_hidden} groups are not shown: some have fewer than {FEWEST_SHOWN} cases."
    return table


# ---- what SQL does not give ----


def _audit(
    rows: Mapping[str, Sequence[Any]],
    classes: Sequence[str],
    asked: tuple[str, str],
    *,
    level: float,
    promised: float | None,
    validated: tuple[float, float] | None,
) -> dict[str, Any]:
    """Return how good the automatic decisions are by the audit, against what was promised and validated."""
    told: dict[str, Any] = {"question": asked[0]}
    positive = _positive(classes)
    if positive is None:
        return told | {"sentence": "The audit gives an AUC where all models have the same two classes; these have not."}
    told["sql"] = _filled(asked[1], positive=_quoted(positive))
    outcome = rows["outcome"]
    if not any(value is not None for value in outcome):
        return told | {
            "sentence": "No audited case has an outcome yet, so nothing is known of the automatic decisions."
        }
    label = [np.nan if value is None else float(value == positive) for value in outcome]
    was_drawn = [decision == "review" for decision in rows["decision"]]
    found = audited_auc(rows["score"], label, rows["audit_probability"], confidence_level=level, was_drawn=was_drawn)
    told |= {name: getattr(found, name) for name in ("auc", "low", "high", "n_effective", "n_labels", "n_positive")}
    sentences = [found.sentence]
    if found.is_known and promised is not None:
        told["promised"] = promised
        verdict = (
            "is kept"
            if found.low >= promised
            else "is broken"
            if found.high < promised
            else "is neither shown nor refuted"
        )
        sentences.append(f"The promise of {promised:.3f} {verdict}.")
    elif promised is not None:
        sentences.append(f"Whether the promise of {promised:.3f} is kept is not known.")
    if found.is_known and validated is not None:
        change = found.change_from(*validated)
        told |= {"validated": validated[0], "change": change._asdict()}
        sentences.append(change.sentence)
    return json_ready(told | {"sentence": " ".join(sentences)})


def _positive(classes: Sequence[str]) -> str | None:
    """Return the positive class, if all models have the same two."""
    pairs = [json.loads(text) for text in classes]
    return str(pairs[0][1]) if len(pairs) == 1 and len(pairs[0]) == len(("negative", "positive")) else None


def _label_free(connection: Any, clf: Any, question: str, sql: str) -> dict[str, Any]:
    """Return the AUC by month that is expected if scores mean what they meant at the fit."""
    rows = _columns(connection, sql)
    month, score = np.array(rows["month"], dtype=object), np.array(rows["score"], dtype=np.float64)
    by_month = {own: score[month == own] for own in sorted(set(rows["month"]))}
    table = [[own, len(scores), expected_auc(clf, scores)] for own, scores in by_month.items()]
    note = "An estimate, which assumes that a score means what it meant at the fit; only an audit measures."
    columns = ["month", "automatic", "expected_auc"]
    return {"name": "label_free", "question": question, "columns": columns, "rows": table, "sql": sql, "note": note}


def _strip(record: Record, level: float) -> dict[str, Any]:
    """Return what the strip at the edges of the band tells of review."""
    try:
        effect = record.strip_effect(level)
    except ValueError as error:
        return {"sentence": f"The strip tells nothing yet: {error}."}
    if not effect.n_reviewed + effect.n_automatic:
        return {"sentence": "No case was sent to either side by a coin; pass strip=0.02 where batches are decided."}
    return dict(json_ready({"sentence": effect.sentence, **{name: getattr(effect, name) for name in _OF_EFFECT}}))


def _drift(rows: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return the test of Kolmogorov and Smirnov of the last month's scores against those before, of one model."""
    month, score = np.array(rows["month"], dtype=object), np.array(rows["score"], dtype=np.float64)
    last = score[month == max(rows["month"], default="")]
    before = score[month != max(rows["month"], default="")]
    if not len(before):
        return {"p_value": None, "sentence": "Too few months of this model to see a drift of its scores."}
    places = np.sort(score)
    shares = [np.searchsorted(np.sort(part), places, side="right") / len(part) for part in (last, before)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    p_value = float(kolmogorov(distance * sqrt(len(last) * len(before) / len(score))))
    verdict = "they are like those before" if p_value > 0.05 else "they have drifted"
    told = f"Scores of the last month differ from those before by at most {distance:.1%} of cases: {verdict}"
    return {"distance": distance, "p_value": p_value, "sentence": f"{told} (p = {p_value:.3f})."}


def _trend(months: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Cochran-Armitage test of whether the share of overrides rises or falls over the months."""
    told: dict[str, Any] = {"question": "Do overrides become more or fewer?", "p_value": None}
    reviewed, overrides = (np.array(_column(months, name), dtype=float) for name in ("reviewed", "overrides"))
    month, total = np.arange(len(reviewed), dtype=float), reviewed.sum()
    share = overrides.sum() / total if total else 0.0
    spread = share * (1 - share) * (reviewed @ month**2 - (reviewed @ month) ** 2 / total) if total else 0.0
    if spread <= 0:
        return told | {"sentence": "Too few months or overrides to see a trend."}
    z = (overrides @ month - share * (reviewed @ month)) / sqrt(spread)
    p_value = erfc(abs(z) / sqrt(2))
    verdict = "no trend is seen" if p_value > 0.05 else "they become more" if z > 0 else "they become fewer"
    return told | {
        "p_value": p_value,
        "sentence": f"{share:.1%} of answers are overrides; {verdict} (p = {p_value:.3f}).",
    }


def _column(table: Mapping[str, Any], name: str) -> list[Any]:
    place = table["columns"].index(name)
    return [row[place] for row in table["rows"]]


def _headline(months: Mapping[str, Any], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = ("cases", "automatic", "for_review", "reviewed")
    cases, automatic, for_review, reviewed = (sum(_column(months, name)) for name in names)
    kept = sum(share * n for share, n in zip(_column(months, "coverage_kept"), _column(months, "cases"), strict=True))
    asked = [coverage for coverage in _column(months, "coverage_asked") if coverage is not None]
    wished = f"{asked[-1]:.0%} asked for" if asked else "as many as people could not take"
    audit, effect = found["audit"], found["effect"]
    return [
        {
            "name": "cases decided",
            "value": cases,
            "kind": "count",
            "note": f"in {len(months['rows'])} {plural('month', len(months['rows']))}",
        },
        {
            "name": "automatic",
            "value": automatic / cases if cases else None,
            "kind": "share",
            "note": f"{kept / cases:.1%} before audits and the like; {wished}" if cases else wished,
        },
        {
            "name": "AUC of automatic decisions",
            "value": audit.get("auc") if audit.get("low") is not None else None,
            "kind": "area",
            "note": "by audit" if audit.get("low") is not None else "not known",
        },
        {
            "name": "reviewed of those for review",
            "value": reviewed / for_review if for_review else None,
            "kind": "share",
            "note": "" if effect["low"] is None else f"{100 * effect['effect']:+.1f} points of right answers by review",
        },
    ]
