"""The oversight report: one dictionary, from the record, of what was decided, who reviewed it and how it turned out.

Each table answers a question and includes its SQL (``oversight.sql``), so that anyone with the database can check it.
Intervals and p-values, which SQL lacks, are computed from the rows of such a query.
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
from aucross.evaluation.auc_metrics import wilson_interval
from aucross.evaluation.evaluate import evaluate_selections
from aucross.files.fingerprints import model_fingerprint
from aucross.system.text import json_ready, plural

if TYPE_CHECKING:
    from aucross.record import Record

# Groups with fewer cases are not shown, and of a single hidden group the next smallest is hidden with it, so that no
# number of it follows from the others.
FEWEST_SHOWN = 10

# Blocks of the SQL file that are not tables of the page.
_INGREDIENTS = ("audited", "audited_auc", "effect", "group", "labelled", "ranked", "costs", "scores", "label_free")
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
    """Compute the oversight report of a record as a dictionary ready for JSON.

    Parameters
    ----------
    record : Record
        The record of decisions, reviews and outcomes.
    title : str
        Title of the report.
    promised_auc : float, optional
        AUC promised for automatic decisions.
    validated_auc : tuple of two floats, optional
        AUC of the initial validation and its standard error.
    by : sequence of str
        Kept columns whose groups are compared; groups of fewer than 10 cases are hidden.
    costs : tuple of three floats, optional
        Costs of a missed positive case, of a false alarm and of a review.
    clf : SelectiveClassifier, optional
        The classifier in force, for the AUC to expect without labels.
    confidence_level : float in (0, 1), default=0.95
        Confidence of all intervals.
    hide_people : bool, default=False
        Whether to leave out the names of reviewers and the time they took.
    now : datetime, optional
        Time of the report; the present by default.

    Returns
    -------
    dict
        ``headline`` (four numbers), ``tables`` (each with question, columns, rows and SQL), and answers, each with a
        sentence: ``audit``, ``treatment``, ``risks``, ``effect``, ``ranking``, ``strip``, ``trend``, ``drift`` and
        ``integrity``.
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
        automatic, reviewed, scores, labelled = (
            _columns(connection, asked[name][1]) for name in ("audited", "effect", "scores", "labelled")
        )
        if costs is not None and (positive := _positive(classes)) is not None:
            question, sql = asked["costs"]
            words = dict(zip(("missed", "alarm", "review"), (repr(float(cost)) for cost in costs), strict=True))
            tables["costs"] = _table(connection, "costs", question, _filled(sql, positive=_quoted(positive), **words))
        if clf is not None:
            question, sql = asked["label_free"]
            tables["label_free"] = _label_free(connection, clf, question, _filled(sql, model=model_fingerprint(clf)))
    found["tables"] = list(tables.values())
    against: dict[str, Any] = {"promised": promised_auc, "validated": validated_auc}
    found["audit"] = _audit(automatic, classes, asked["audited_auc"], level=confidence_level, **against)
    effect = review_effect(
        *(reviewed[name] for name in ("outcome", "prediction", "final_decision")), confidence_level=confidence_level
    )
    told = {name: getattr(effect, name) for name in (*_OF_EFFECT, "sentence")}
    found["effect"] = json_ready({"question": asked["effect"][0], "sql": asked["effect"][1], **told})
    found["strip"] = {"question": asked["strip"][0], "sql": asked["strip"][1], **_strip(record, confidence_level)}
    if found["audit"].get("low") is None:  # labels that do not tell of automatic cases do not tell of all cases either
        unknown = "Not known: this takes an audit that can say how good the automatic decisions are."
        found["ranking"] = {"question": asked["ranked"][0], "before": None, "after": None, "sentence": unknown}
    else:
        found["ranking"] = _ranking(labelled, classes, asked["ranked"], confidence_level)
    found["trend"] = _trend(tables["months"])
    found["drift"] = {"question": asked["scores"][0], "sql": asked["scores"][1], **_drift(scores)}
    verified = record.verify()
    found["integrity"] = {
        "question": "Was anything in the record changed afterwards?",
        "is_clean": verified.is_clean,
        "sentence": str(verified),
    }
    found["headline"] = _headline(tables["months"], found)
    found["treatment"] = {"question": "Who is treated differently?", **_treatment(tables, by, confidence_level)}
    found["risks"] = {"question": "What can go wrong?", "sentence": _risks(tables, found)}
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
    """Hide small groups, and further ones until at least two groups are hidden and their total is not small."""
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
    """Compare the audited quality of automatic decisions with the promise and the validation."""
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
    options: dict[str, Any] = {"confidence_level": level, "was_drawn": was_drawn, "labels": "outcomes"}
    found = audited_auc(rows["score"], label, rows["audit_probability"], **options)
    told |= {name: getattr(found, name) for name in ("auc", "low", "high", "n_effective", "n_labels", "n_positive")}
    sentences = [found.sentence]
    if found.is_known and promised is not None:
        told["promised"] = promised
        open_ = "is broken" if found.high < promised else "is neither shown nor refuted"
        verdict = "is kept" if found.low >= promised else open_
        sentences.append(f"The promise of {promised:.3f} {verdict}.")
    elif promised is not None:
        sentences.append(f"Whether the promise of {promised:.3f} is kept is not known.")
    if found.is_known and validated is not None:
        change = found.change_from(*validated)
        told |= {"validated": validated[0], "change": change._asdict()}
        sentences.append(change.sentence)
    return json_ready(told | {"sentence": " ".join(sentences)})


def _ranking(
    rows: Mapping[str, Sequence[Any]], classes: Sequence[str], asked: tuple[str, str], level: float
) -> dict[str, Any]:
    """Return the AUC of labelled cases before and after review; after it, a person's answer outweighs every score."""
    told: dict[str, Any] = {"question": asked[0], "before": None, "after": None}
    has_score = np.array([score is not None for score in rows["score"]], dtype=bool)
    columns = {name: np.array(values, dtype=object)[has_score] for name, values in rows.items()}
    positive, score = columns["outcome"] == _positive(classes), columns["score"].astype(np.float64)
    if not positive.any() or positive.all():
        return told | {"sentence": "Too few labelled cases to compare the AUC before and after review."}
    said = np.where(columns["used"] == _positive(classes), score.max() + 1.0, score.min() - 1.0)
    after = np.where(columns["the_band_says"] == "review", said, score)
    everyone = {1.0: np.ones(len(score), dtype=bool)}
    options: dict[str, Any] = {"n_bootstrap": 1, "confidence_level": level}
    for name, by in (("before", score), ("after", after)):
        weight = columns["w"].astype(np.float64)
        (row,) = evaluate_selections(positive, by, positive, everyone, sample_weight=weight, **options).rows()
        told[name] = {"auc": row["selective_auc"], "low": row["selective_auc_low"], "high": row["selective_auc_high"]}
    texts = ["{auc:.3f} ({low:.3f} to {high:.3f})".format(**told[name]) for name in ("before", "after")]
    sentence = f"By the machine alone the AUC is {texts[0]}, and {texts[1]} once people have answered theirs"
    sql = _filled(asked[1], positive=_quoted(str(_positive(classes))))
    told["sentence"] = f"{sentence}, from {len(score):,} labelled cases; a person's answer outweighs every score."
    return dict(json_ready(told | {"sql": sql}))


def _treatment(tables: Mapping[str, Any], by: Sequence[str], level: float) -> dict[str, Any]:
    """Return the groups that differ most in their share of automatic cases, with Wilson's intervals.

    The intervals of all groups of a column hold jointly, because the two groups shown are chosen among them.
    """
    ends, said = {}, []
    for column in by:
        groups = sorted((share, name, n) for name, n, share, *_ in tables[f"by {column}"]["rows"])
        each = 1.0 - (1.0 - level) / max(len(groups), 1)
        found = [[name, share, *wilson_interval(share, np.ones(n), each)] for share, name, n in groups]
        if len(found) > 1:
            ends[column] = [found[0], found[-1]]
            texts = (f"{share:.1%} ({low:.1%} to {high:.1%}) of {name!r}" for name, share, low, high in ends[column])
            apart = "further apart than chance" if found[0][3] < found[-1][2] else "the intervals overlap"
            said.append(f"By {column}, automatic or audited: {' and '.join(texts)}; {apart}.")
    return {"ends": ends, "sentence": " ".join(said) or "Not known: no groups of 10 cases or more were compared."}


def _risks(tables: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Say, with figures of the record, what is wrong, waiting or unknown."""
    said = [found["audit"]["sentence"]] if found["audit"].get("low") is None else []
    for side, machine, people, n_cases in tables["right_answers"]["rows"]:
        who, wrong = ("automatic answers", 1 - machine) if side == "automatic" else ("answers of people", 1 - people)
        unseen = ", and nobody looks at them" * (side == "automatic")
        said.append(f"About {1000 * wrong:.0f} of 1,000 {who} are wrong{unseen} ({n_cases:,} labelled cases).")
    waiting = sum(_column(tables["months"], "for_review")) - sum(_column(tables["months"], "reviewed"))
    said += [f"{waiting:,} {plural('case', waiting)} for review still wait for a person."] if waiting else []
    differ = tables["second_reviews"]["rows"][0]
    said += [f"Two people disagree on {differ[1]:,} of {differ[0]:,} cases."] if differ[1] else []
    drift = found["drift"]["p_value"]  # so many rows may differ so much that it is 0
    bad = {"drift": drift is not None and drift <= 0.05, "effect": (found["effect"]["high"] or 0.0) < 0.0}
    bad["integrity"] = not found["integrity"]["is_clean"]
    said += [found[name]["sentence"] for name, is_bad in bad.items() if is_bad]
    return " ".join(said)


def _positive(classes: Sequence[str]) -> str | None:
    """Return the positive class, if all models have the same two."""
    pairs = [json.loads(text) for text in classes]
    return str(pairs[0][1]) if len(pairs) == 1 and len(pairs[0]) == len(("negative", "positive")) else None


def _label_free(connection: Any, clf: Any, question: str, sql: str) -> dict[str, Any]:
    """Return the expected AUC of each month if scores still mean what they meant at the fit."""
    rows = _columns(connection, sql)
    month, score = np.array(rows["month"], dtype=object), np.array(rows["score"], dtype=np.float64)
    by_month = {own: score[month == own] for own in sorted(set(rows["month"]))}
    table = [[own, len(scores), expected_auc(clf, scores)] for own, scores in by_month.items()]
    note = "An estimate, which assumes that a score means what it meant at the fit; only an audit measures."
    columns = ["month", "automatic", "expected_auc"]
    return {"name": "label_free", "question": question, "columns": columns, "rows": table, "sql": sql, "note": note}


def _strip(record: Record, level: float) -> dict[str, Any]:
    """Return what the strip at the edges of the band shows about review."""
    try:
        effect = record.strip_effect(level)
    except ValueError as error:
        return {"sentence": f"The strip tells nothing yet: {error}."}
    if not effect.n_reviewed + effect.n_automatic:
        return {"sentence": "No case was sent to either side by a coin; pass strip=0.02 where batches are decided."}
    return dict(json_ready({"sentence": effect.sentence, **{name: getattr(effect, name) for name in _OF_EFFECT}}))


def _drift(rows: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Compare the last month's scores with earlier ones of the same model by the Kolmogorov-Smirnov test."""
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
    """Test by Cochran-Armitage whether the share of overrides rises or falls over the months."""
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


def _points(effect: Mapping[str, Any]) -> str:
    is_seen = effect["low"] > 0.0 or effect["high"] < 0.0
    return f"{100 * effect['effect']:+.1f} points of right answers by review" if is_seen else "no change of errors seen"


def _headline(months: Mapping[str, Any], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = ("cases", "automatic", "for_review", "reviewed")
    cases, automatic, for_review, reviewed = (sum(_column(months, name)) for name in names)
    kept = sum(share * n for share, n in zip(_column(months, "coverage_kept"), _column(months, "cases"), strict=True))
    asked = [coverage for coverage in _column(months, "coverage_asked") if coverage is not None]
    audit, effect, n_months = found["audit"], found["effect"], len(months["rows"])
    is_known, share = audit.get("low") is not None, automatic / cases if cases else None
    wanted = f"{asked[-1]:.0%} asked for" if asked else "as many as people could not take"
    wanted = f"{kept / cases:.1%} before audits and the like; {wanted}" if cases else wanted
    auc = ("AUC of automatic decisions", audit.get("auc") if is_known else None, "area")
    done, seen = reviewed / for_review if for_review else None, "" if effect["low"] is None else _points(effect)
    tiles = (
        ("cases decided", cases, "count", f"in {n_months} {plural('month', n_months)}"),
        ("automatic", share, "share", wanted),
        (*auc, "by audit" if is_known else "not known"),
        ("reviewed of those for review", done, "share", seen),
    )
    return [dict(zip(("name", "value", "kind", "note"), tile, strict=True)) for tile in tiles]
