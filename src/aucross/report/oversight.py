"""The oversight report, made from the record: what was decided, who reviewed it and how it turned out.

Each table answers a question and includes its SQL (``oversight.sql``), so that anyone with the database can check it.
Intervals and p-values, which SQL lacks, are computed in Python from the rows of such queries.
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
from aucross.audit.audited_auc import FEWEST_LABELLED
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
_INGREDIENTS = (
    *("answered", "audited", "audited_auc", "cells", "costs", "decided", "drift_test", "effect", "group", "label_free"),
    *("labelled", "ranked", "scores", "trend"),
)
# What the databases write differently: a kept value, and hours between two times.
_DIALECTS = {
    "sqlite": {
        "value": "coalesce(cast(json_extract(kept, '$.{path}') AS text), 'not kept')",
        "hours": "(strftime('%s', substr(reviewed_at, 1, 19)) - strftime('%s', substr(decided_at, 1, 19))"
        " + substr(reviewed_at, 20, 7) - substr(decided_at, 20, 7)) / 3600.0",
    },
    "postgresql": {
        "value": "coalesce(kept::json ->> '{key}', 'not kept')",
        "hours": "extract(epoch FROM reviewed_at::timestamptz - decided_at::timestamptz)::float8 / 3600.0",
    },
}
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
        The classifier in force; it is needed for the AUC that can be expected without labels.
    confidence_level : float in (0, 1), default=0.95
        Confidence of all intervals.
    hide_people : bool, default=False
        Whether to leave out the names of reviewers and the times that they took.
    now : datetime, optional
        Time of the report; the present by default.

    Returns
    -------
    dict
        ``headline`` (four numbers), ``tables`` (each with question, columns, rows and SQL), and answers, each with a
        sentence: ``decided``, ``audit``, ``promise``, ``treatment``, ``risks``, ``effect``, ``ranking``, ``strip``,
        ``trend``, ``drift`` and ``integrity``.
    """
    found: dict[str, Any] = {"title": title, "confidence_level": confidence_level}
    found["made_at"] = (now or dt.datetime.now(dt.UTC)).isoformat(timespec="seconds")
    with record.reading() as connection:
        dialect = connection.dialect.name
        months = _table(connection, "months", *queries(dialect)["months"])
        late, unaudited = _months_left_out(months)
        asked = queries(dialect, late=_listed(late), unaudited=_listed(unaudited))
        classes = _columns(connection, "SELECT DISTINCT classes FROM batches WHERE shadow_of IS NULL")["classes"]
        left_out = ("months", *_INGREDIENTS, *(_OF_PEOPLE if hide_people else ()))
        tables = {"months": months}
        tables |= {name: _table(connection, name, *asked[name]) for name in asked if name not in left_out}
        tables |= _group_tables(connection, by, asked)
        decided, automatic, reviewed, scores, labelled = (
            _columns(connection, asked[name][1]) for name in ("decided", "audited", "answered", "scores", "labelled")
        )
        if costs is not None and (positive := _positive(classes)) is not None:
            question, sql = asked["costs"]
            words = dict(zip(("missed", "alarm", "review"), (repr(float(cost)) for cost in costs), strict=True))
            tables["costs"] = _table(connection, "costs", question, _filled(sql, positive=_quoted(positive), **words))
        if clf is not None:
            question, sql = asked["label_free"]
            tables["label_free"] = _label_free(connection, clf, question, _filled(sql, model=model_fingerprint(clf)))
    found["tables"] = list(tables.values())
    counts = {name: values[0] for name, values in decided.items()}
    found["decided"] = _answer(asked["decided"], counts | {"sentence": _decided(counts, tables["changes"])})
    against: dict[str, Any] = {"promised": promised_auc, "validated": validated_auc}
    found |= _audit(automatic, classes, asked["audited_auc"], late=late, level=confidence_level, **against)
    effect = review_effect(
        *(reviewed[name] for name in ("outcome", "prediction", "final_decision")), confidence_level=confidence_level
    )
    found["effect"] = _answer(asked["effect"], {name: getattr(effect, name) for name in (*_OF_EFFECT, "sentence")})
    found["strip"] = _answer(asked["strip"], _strip(record, confidence_level))
    if found["audit"].get("low") is None:  # labels that do not tell of automatic cases do not tell of all cases either
        unknown = "Not known: this takes an audit that can say how good the automatic decisions are."
        found["ranking"] = {"question": asked["ranked"][0], "before": None, "after": None, "sentence": unknown}
    else:
        found["ranking"] = _ranking(labelled, unaudited, classes, asked["ranked"], confidence_level)
    found["trend"] = _answer(asked["trend"], _trend(tables["months"]))
    found["drift"] = _answer(asked["drift_test"], _drift(scores))
    verified = record.verify()
    found["integrity"] = {
        "question": "Was anything in the record changed afterwards?",
        "is_clean": verified.is_clean,
        "sentence": str(verified),
    }
    found["headline"] = _headline(counts, found)
    found["treatment"] = {"question": "Who is treated differently?", **_treatment(tables, by, confidence_level)}
    found["risks"] = {"question": "What can go wrong?", "sentence": _risks(tables, counts, found)}
    return found


# ---- tables ----


def queries(dialect: str, late: str = "''", unaudited: str = "''") -> dict[str, tuple[str, str]]:
    """Return the question and the SQL of each block by name, for an SQL dialect and lists of months to leave out."""
    found = {}
    for block in files("aucross.report").joinpath("oversight.sql").read_text("utf-8").strip().split("\n\n")[1:]:
        name, question, sql = block.split("\n", 2)
        found[name.removeprefix("-- ")] = (question.removeprefix("-- "), sql)
    inner = {name: f"\n  {found[name][1]}\n".replace("\n", "\n  ") for name in ("labelled", "scores")}
    words = {**inner, **_DIALECTS[dialect], "late": late, "unaudited": unaudited}
    return {name: (question, _filled(sql, **words)) for name, (question, sql) in found.items()}


def _answer(asked: tuple[str, str], told: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json_ready({"question": asked[0], "sql": asked[1], **told}))


def _months_left_out(months: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the months whose drawn cases lack outcomes, if others have them, and the months without an audit."""
    names = ("month", "audits_planned", "audits_drawn", "audits_labelled")
    rows = list(zip(*(_column(months, name) for name in names), strict=True))
    drawn, labelled = (sum(row[place] for row in rows) for place in (2, 3))
    late = [month for month, _, n, n_labelled in rows if n_labelled < FEWEST_LABELLED * n]
    is_needed = labelled < FEWEST_LABELLED * drawn and any(row[2] and row[0] not in late for row in rows)
    return late if is_needed else [], [month for month, planned, *_ in rows if not planned]


def _listed(months: Sequence[str]) -> str:
    return ", ".join(f"'{month}'" for month in months) or "''"


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


# ---- groups ----


def _group_tables(connection: Any, by: Sequence[str], asked: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the table of each kept column; hide small groups, and right answers of groups with few outcomes."""
    tables, values = {}, []
    for column in by:
        names = {"column": column, "key": _quoted(column), "path": _quoted(json.dumps(column))}
        question, sql = (_filled(text, **names) for text in asked["group"])
        values.append(sql.removeprefix("SELECT ").partition(" AS value")[0])
        tables[f"by {column}"] = _table(connection, f"by {column}", question, sql)
    if not tables:
        return {}
    places = ", ".join(map(str, range(1, len(values) + 1)))
    every = _columns(connection, _filled(asked["cells"][1], values=", ".join(values), places=places)).values()
    *cells, sizes, labelled = [np.array(column, dtype=object) for column in every]
    shown = _shown_groups(cells, sizes.astype(np.int64))
    judged = _shown_groups(cells, labelled.astype(np.int64), shown)
    for table, groups, told in zip(tables.values(), shown, judged, strict=True):
        small = [row for row in table["rows"] if row[0] not in groups]
        large = [f"{row[0]!r}" for row in small if row[1] >= FEWEST_SHOWN]
        table["rows"] = [[*row[:-1], row[-1] if row[0] in told else None] for row in table["rows"] if row[0] in groups]
        if small:
            count = len(small) - len(large)
            of_them = f"; {', '.join(large)} from which their numbers would follow" if large else ""
            hidden = f"{count} {plural('group', count)} of fewer than {FEWEST_SHOWN} cases{of_them}"
            table["note"] = f"Not shown: {hidden}."
    return tables


def _shown_groups(cells: Sequence[Any], sizes: Any, shown: Sequence[set[Any]] | None = None) -> list[set[Any]]:
    """Return the groups of each column whose numbers can be shown, among `shown` if given.

    `cells` are the combinations of values that occur, one array for each column, and `sizes` their cases. Small groups
    are hidden, then larger ones, until adding and subtracting shown numbers no longer reveals a small set of cases.
    """
    names, codes = zip(*(np.unique(column, return_inverse=True) for column in cells), strict=True)
    counts = [np.bincount(code, weights=sizes) for code in codes]
    kept = []
    for place, (name, n_cases) in enumerate(zip(names, counts, strict=True)):
        is_hidden = (n_cases > 0) & (n_cases < FEWEST_SHOWN)
        is_hidden |= False if shown is None else ~np.isin(name, list(shown[place]))
        by_size, n_hidden = np.lexsort((n_cases, ~is_hidden)), int(is_hidden.sum())
        while 0 < n_hidden < len(name) and (n_hidden == 1 or n_cases[by_size[:n_hidden]].sum() < FEWEST_SHOWN):
            n_hidden += 1
        kept.append(np.isin(np.arange(len(name)), by_size[n_hidden:]))
    while any(own.any() for own in kept):
        places = [(column, group) for column, own in enumerate(kept) for group in np.flatnonzero(own)]
        told = np.array([np.ones(len(sizes)), *(codes[column] == group for column, group in places)], dtype=np.float64)
        few = _few_that_follow(told, codes, sizes)
        if few is None:
            break
        used = np.abs(np.linalg.lstsq(told.T, few, rcond=None)[0][1:]) > 1e-9
        own = [place for place, is_used in zip(places, used, strict=True) if is_used or not used.any()]
        column, group = min(own, key=lambda place: counts[place[0]][place[1]])
        kept[column][group] = False
    return [set(name[own]) for name, own in zip(names, kept, strict=True)]


def _few_that_follow(told: Any, codes: Sequence[Any], sizes: Any) -> Any:
    """Return the cells of a small set of cases whose numbers follow from the published sets, or None.

    Tries differences of two published sets, and all sums of their multiples that give a group, a cell or two cells.
    """
    counts, both = told @ sizes, (told * sizes) @ told.T
    more = counts[:, None] - counts
    whole, part = np.nonzero((both == counts) & (more > 0) & (more < FEWEST_SHOWN))
    if len(whole):
        return told[whole[0]] - told[part[0]]
    # A set follows if it equals its projection on the span of the sets told.
    _, spread, across = np.linalg.svd(told, full_matrices=False)
    across = across[spread > 1e-9 * spread[0]]
    small = np.flatnonzero((sizes > 0) & (sizes < FEWEST_SHOWN))
    left = np.eye(len(small)) - across[:, small].T @ across[:, small]
    alone = np.diag(left) / 2.0
    distance = np.where(np.eye(len(small), dtype=bool), left, 2.0 * (alone[:, None] + alone + left))
    together = np.where(np.eye(len(small), dtype=bool), sizes[small], sizes[small][:, None] + sizes[small])
    one, other = np.nonzero((distance < 1e-9) & (together < FEWEST_SHOWN))
    if len(one):
        return np.isin(np.arange(len(sizes)), small[[one[0], other[0]]]).astype(np.float64)
    for code in codes:
        n_cases, projected = np.bincount(code, weights=sizes), np.array([np.bincount(code, row) for row in across])
        is_told = np.square(projected).sum(axis=0) > np.bincount(code) - 1e-9
        few = np.flatnonzero((n_cases > 0) & (n_cases < FEWEST_SHOWN) & is_told)
        if len(few):
            return (code == few[0]).astype(np.float64)
    return None


# ---- what SQL does not give ----


def _decided(counts: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """Say how many cases the machine and people decided, and what is in force."""
    if not counts["cases"]:
        return "Nothing so far."
    said = f"The machine decided {counts['automatic']:.1%} of {counts['cases']:,} cases alone"
    if counts["for_review"]:
        done = counts["reviewed"] / counts["for_review"]
        said += f"; {counts['for_review']:,} went to people, who have answered {done:.1%} of them"
    time, *_, coverage, capacity, who = changes["rows"][-1]
    asked = f"room for {capacity:,} reviews" if coverage is None else f"a coverage of {coverage:.0%}"
    return f"{said}. In force since {time[:10]}: {asked}, allowed by {who or 'nobody on record'}."


def _audit(
    rows: Mapping[str, Sequence[Any]],
    classes: Sequence[str],
    asked: tuple[str, str],
    *,
    late: Sequence[str],
    level: float,
    promised: float | None,
    validated: tuple[float, float] | None,
) -> dict[str, Any]:
    """Compare the audited quality of automatic decisions with the promise and the validation."""
    told: dict[str, Any] = {"question": asked[0]}
    verdict = "cannot be checked yet"
    sentences, validity = [], []
    positive = _positive(classes)
    if positive is None:
        sentences.append("The audit gives an AUC where all models have the same two classes; these have not.")
    elif not any(value is not None for value in rows["outcome"]):
        sentences.append("No audited case has an outcome yet, so nothing is known of the automatic decisions.")
        told["sql"] = _filled(asked[1], positive=_quoted(positive))
    else:
        told["sql"] = _filled(asked[1], positive=_quoted(positive))
        label = [np.nan if value is None else float(value == positive) for value in rows["outcome"]]
        was_drawn = [decision == "review" for decision in rows["decision"]]
        options: dict[str, Any] = {"confidence_level": level, "was_drawn": was_drawn, "labels": "outcomes"}
        found = audited_auc(rows["score"], label, rows["audit_probability"], **options)
        told |= {name: getattr(found, name) for name in ("auc", "low", "high", "n_effective", "n_labels", "n_positive")}
        sentences.append(found.sentence)
        if late:
            sentences.append(f"Left out, because outcomes of audited cases are still missing: {', '.join(late)}.")
        if found.is_known and promised is not None:
            open_ = "is broken" if found.high < promised else "is neither shown nor refuted"
            verdict = "is kept" if found.low >= promised else open_
        if found.is_known and validated is not None:
            change = found.change_from(*validated)
            told |= {"validated": validated[0], "change": change._asdict()}
            validity.append(change.sentence)
    promise: dict[str, Any] = {"question": "What is promised?", "promised": promised, "is_kept": None}
    if promised is None:
        validity.insert(0, "No promised AUC was given for this report.")
    else:
        told["promised"] = promised
        promise["is_kept"] = {"is kept": True, "is broken": False}.get(verdict)
        validity.insert(0, f"An AUC of {promised:.3f} of the automatic decisions. The promise {verdict}.")
    return {
        "audit": json_ready(told | {"sentence": " ".join(sentences)}),
        "promise": json_ready(promise | {"sentence": " ".join(validity)}),
    }


def _ranking(
    rows: Mapping[str, Sequence[Any]],
    unaudited: Sequence[str],
    classes: Sequence[str],
    asked: tuple[str, str],
    level: float,
) -> dict[str, Any]:
    """Return the AUC of labelled cases before review, and after it, where a person's answer outweighs every score.

    Months without an audit do not count, because no labelled case stands for their automatic cases.
    """
    told: dict[str, Any] = {"question": asked[0], "before": None, "after": None}
    both = zip(rows["score"], rows["month"], strict=True)
    counts = np.array([score is not None and month not in unaudited for score, month in both], dtype=bool)
    columns = {name: np.array(values, dtype=object)[counts] for name, values in rows.items()}
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
            texts = [f"{share:.1%} ({low:.1%} to {high:.1%}) of {name!r}" for name, share, low, high in ends[column]]
            apart = "further apart than chance" if found[0][3] < found[-1][2] else "the intervals overlap"
            said.append(f"By {column}, automatic with audits: from {texts[0]} to {texts[1]}; {apart}.")
    return {"ends": ends, "sentence": " ".join(said) or "Not known: no groups of 10 cases or more were compared."}


def _risks(tables: Mapping[str, Any], counts: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Say with figures of the record what is wrong, what is waiting and what is not known."""
    is_known, effect = found["audit"].get("low") is not None, found["effect"]
    said = [] if is_known else ["Nobody knows yet how good the automatic decisions are."]
    said += ["The promised AUC is broken."] if found["promise"]["is_kept"] is False else []
    for side, machine, people, n_cases in tables["right_answers"]["rows"]:
        who, wrong = ("automatic answers", 1 - machine) if side == "automatic" else ("answers of people", 1 - people)
        unseen = ", and nobody looks at them" * (side == "automatic")
        said.append(f"About {1000 * wrong:.0f} of 1,000 {who} are wrong{unseen} ({n_cases:,} labelled cases).")
    if (effect["high"] or 0.0) < 0.0:
        said.append(f"Where people answer, {-effect['effect']:.1%} more answers are wrong than without them.")
    waiting = counts["for_review"] - counts["reviewed"]
    said += [f"{waiting:,} {plural('case', waiting)} for review still wait for a person."] if waiting else []
    differ = tables["second_reviews"]["rows"][0]
    said += [f"Two people disagree on {differ[1]:,} of {differ[0]:,} cases."] if differ[1] else []
    drift = found["drift"]["p_value"]  # so many rows may differ so much that it is 0
    said += ["The scores of the last month have drifted."] if drift is not None and drift <= 0.05 else []
    said += [] if found["integrity"]["is_clean"] else [found["integrity"]["sentence"]]
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
    """Return what cases near the edges of the band (the strip), reviewed or not at random, show about review."""
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


def _headline(counts: Mapping[str, Any], found: Mapping[str, Any]) -> list[dict[str, Any]]:
    audit, effect, promised = found["audit"], found["effect"], found["promise"]["promised"]
    kept, asked, n_months = counts["coverage_kept"], counts["coverage_asked"], counts["months"]
    wanted = "as many as people could not take" if counts["cases"] else ""
    if asked is not None:
        wanted = f"{kept:.1%} before audits and the like, {asked:.1%} asked for"
    is_known = audit.get("low") is not None
    auc = ("AUC of automatic decisions", audit.get("auc") if is_known else None, "area")
    seen = f"by audit, {audit['low']:.3f} to {audit['high']:.3f}" if is_known else "not known"
    seen += "" if promised is None else f"; {promised:.3f} promised"
    done = counts["reviewed"] / counts["for_review"] if counts["for_review"] else None
    tiles = (
        ("cases decided", counts["cases"], "count", f"in {n_months} {plural('month', n_months)}"),
        ("automatic", counts["automatic"], "share", wanted),
        (*auc, seen),
        ("reviewed of those for review", done, "share", "" if effect["low"] is None else _points(effect)),
    )
    return [dict(zip(("name", "value", "kind", "note"), tile, strict=True)) for tile in tiles]
