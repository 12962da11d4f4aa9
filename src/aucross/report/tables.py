"""The summary as labelled text: the numbers and tables that both the page and the model card show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from aucross.evaluation.catalogue import words_for
from aucross.report import formats
from aucross.system.text import exact_percent

Summary = Mapping[str, Any]  # its last entry is that of coverage 1, where every row is answered
Entry = Mapping[str, Any]


class Table(NamedTuple):
    """Rows of text under named columns; the first column names the row."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Number(NamedTuple):
    """A number with its name, its key on the page, and its interval if it has one."""

    key: str
    label: str
    text: str
    interval: str = ""


def class_name(summary: Summary, which: str = "positive") -> str:
    """Return the name of the positive or the negative class for a sentence."""
    label = str(summary["data"][f"{which}_class"])
    try:
        float(label)
    except ValueError:
        return f"class {label}" if label in ("True", "False") else label
    return f"class {label}"


def index_in_use(summary: Summary) -> int:
    """Return the index of the entry for the coverage in use."""
    return [entry["target_coverage"] for entry in summary["coverages"]].index(summary["coverage"])


def question(summary: Summary, entry: Entry) -> str:
    """Return, as a question, the decision that readers of the report must make."""
    if not entry["n_review"]:
        return "Shall the model decide all cases alone?"
    reached, of = entry["achieved_coverage"], "the weight" if summary["data"]["weighted"] else "cases"
    where = "that are left"
    if len(entry["bands"]) == 1 and not entry["bands"][0]["empty"]:
        where = f"whose score is from {band_text(summary, entry)}"
    left = formats.percent(1 - reached)
    return f"Shall the model decide {formats.percent(reached)} of {of} alone, and people the {left} {where}?"


def tiles(summary: Summary, entry: Entry) -> list[Number]:
    """Return the four numbers of the first screen, each with a line of explanation."""
    count, percent, area = formats.count, formats.percent, formats.area
    automatic, review = entry["n_automatic"], entry["n_review"]
    rate, wrong = entry["selective_accuracy"], entry["errors"]["n_missed"] + entry["errors"]["n_false_alarm"]
    auc_ends = formats.interval(entry, "selective_auc", area)
    weighted, cost = by_weight(summary), entry["errors"]["cost"]
    money = "" if cost is None else f"; they cost {' '.join(_a_month(summary, cost))}"
    reviews, unit = _a_month(summary, review)
    return [
        Number(
            *("tile_automatic", f"decided automatically{weighted}", reached_text(entry)),
            f"{count(automatic)} of {count(automatic + review)} cases; "
            f"{formats.target(entry['target_coverage'])} asked for",
        ),
        Number(
            *("tile_auc", "AUC of the automatic cases", area(entry["selective_auc"])),
            f"{f'{auc_ends}; ' if auc_ends else ''}{area(summary['coverages'][-1]['selective_auc'])} over all cases",
        ),
        Number(
            *("tile_errors", f"wrong among the automatic cases{weighted}", percent(None if rate is None else 1 - rate)),
            f"{count(wrong)} of {count(automatic)} cases{money}",
        ),
        Number(
            "tile_reviews", f"reviews {unit}", reviews, f"{count(review)} of {count(automatic + review)} test cases"
        ),
    ]


def _a_month(summary: Summary, amount: float) -> tuple[str, str]:
    """Scale an amount from the test cases to a month, or to a thousand cases if the month is unknown."""
    cases = summary["data"].get("cases_a_month")
    return formats.quantity(amount * (cases or 1000) / summary["data"]["n"]), "a month" if cases else "per 1,000 cases"


def numbers(summary: Summary, entry: Entry) -> list[Number]:
    """Return the numbers at one coverage, in the order of reading."""
    total = entry["n_automatic"] + entry["n_review"]
    percent, area, change = formats.percent, formats.area, formats.change

    def metric(key: str, form: Any) -> Number:
        label = _capital(words_for(key, positive=class_name(summary)))
        # Areas and losses are no shares; the limits say that they count weight.
        label += by_weight(summary) if form is percent else ""
        text = reached_text(entry) if key == "achieved_coverage" else form(entry[key])
        return Number(key, label, text, formats.interval(entry, key, form))

    def n_rows(number: int) -> str:
        # Beside shares of weight the rows need a share of their own.
        return f" ({percent(number / total)})" if by_weight(summary) and total else ""

    listed = [
        Number("target_coverage", f"Coverage asked for{by_weight(summary)}", formats.target(entry["target_coverage"])),
        metric("achieved_coverage", percent),
        Number(
            "n_automatic",
            "Automatic rows",
            f"{formats.count(entry['n_automatic'])} of {formats.count(total)}{n_rows(entry['n_automatic'])}",
        ),
        Number("n_review", "Rows for review", f"{formats.count(entry['n_review'])}{n_rows(entry['n_review'])}"),
        Number("reviews", f"Reviews {_a_month(summary, 0)[1]}", _a_month(summary, entry["n_review"])[0]),
        metric("selective_auc", area),
        Number("all_auc", "AUC, all rows", area(summary["coverages"][-1]["selective_auc"])),
        metric("auc_gain", change),
        metric("selective_gini", area),
        metric("selective_ks", area),
        metric("selective_accuracy", percent),
        metric("positive_rate", percent),
        metric("positives_for_review", percent),
        Number("oracle_auc", "AUC of the best band in hindsight", area(entry["oracle_auc"])),
        Number("max_probability_auc", "AUC of the usual rule", area(entry["max_probability_auc"])),
        Number("band", "Band of scores for review", band_text(summary, entry)),
    ]
    if summary["score"]["kind"] == "probability":
        listed[-1:-1] = [metric("selective_brier", area), metric("expected_calibration_error", area)]
    return listed


def by_weight(summary: Summary) -> str:
    """Return words that mark a share as a share of weight; empty without weights."""
    return ", by weight" if summary["data"]["weighted"] else ""


def reached_text(entry: Entry) -> str:
    """Say which coverage was reached, and whether it misses the request."""
    return formats.percent(entry["achieved_coverage"]) + (", missed" if entry.get("coverage_missed") else "")


def score_form(summary: Summary) -> Callable[..., str]:
    """Return the function that formats scores: points as in their column, other scores with four decimals."""
    return formats.points if summary["score"]["kind"] == "points" else formats.score


def score_words(summary: Summary) -> str:
    """Say what the score is, and which of its ends speaks for the positive class."""
    score, positive = summary["score"], class_name(summary)
    if score["kind"] == "points":
        return f"{score['column']}, {'higher' if score['higher_is_positive'] else 'lower'} for {positive}"
    if score["kind"] != "probability":
        return f"decision value, higher for {positive}"
    return f"estimated probability of {positive}{', on a scale of log-odds' if score['scale'] == 'log-odds' else ''}"


def direction_words(summary: Summary) -> dict[str, str]:
    """Return words for the end of the scores that speaks for the positive class: high, unless the summary says low."""
    if summary["score"].get("higher_is_positive", True):
        return {"first": "highest", "onwards": "down", "beyond": "higher", "side": "above"}
    return {"first": "lowest", "onwards": "up", "beyond": "lower", "side": "below"}


def band_text(summary: Summary, entry: Entry) -> str:
    """Say where the band lies."""
    if not entry["n_review"] and all(band["empty"] for band in entry["bands"]):
        return "none"
    if summary["score"]["band_lies_on"] == "other":
        return "no single band"
    if len(entry["bands"]) > 1:
        return "one per group"
    return one_band_text(entry["bands"][0], score_form(summary))


def one_band_text(band: Mapping[str, Any], form: Callable[..., str]) -> str:
    """Write the two ends of a band."""
    if band["empty"]:
        return "none"
    return f"{form(band['lower'], open_end='lowest')} to {form(band['upper'], open_end='highest')}"


def band_table(summary: Summary, entry: Entry) -> Table:
    """Return the band of each group, if groups have their own bands."""
    form = score_form(summary)
    rows = [(band["group"], one_band_text(band, form)) for band in entry["bands"] if band["group"] is not None]
    return Table(("Group", "Scores for review"), rows)


def lane_table(summary: Summary, entry: Entry) -> Table:
    """Return the number of cases below, in and above the band, and of positives among them."""
    positive, weighted = class_name(summary), by_weight(summary)
    low, high = ("Below", "Above") if summary["score"].get("higher_is_positive", True) else ("Above", "Below")
    called = {
        "low": f"{low} the band: automatic",
        "review": "In the band: review",
        "high": f"{high} the band: automatic",
    }
    if entry["lanes"][0]["by"] == "answer":
        names = {"low": class_name(summary, "negative"), "high": positive}
        called = {lane: f"Automatic, answer {name}" for lane, name in names.items()} | {"review": "Review"}
    rows = [
        (
            called[lane["lane"]],
            formats.count(lane["n"]),
            formats.percent(lane["share"]),
            _a_month(summary, lane["n"])[0],
            formats.count(lane["n_answered_positive"]),
            formats.count(lane["n_positive"]),
            _estimate(lane, "positive_rate", formats.percent),
        )
        for lane in entry["lanes"]
    ]
    a_month = _capital(_a_month(summary, 0)[1])
    columns = ("What becomes of a case", "Rows", f"Share{weighted}", a_month, f"Answer {positive}")
    return Table((*columns, f"Rows of {positive}", f"Rate of {positive}{weighted}"), rows)


def sides_text(summary: Summary, entry: Entry) -> str:
    """Say how many cases on each side of the band get the answer that is usual on the other side."""
    low, _, high = entry["lanes"]
    if low["by"] == "answer":
        return ""
    places = ("below", "above") if summary["score"].get("higher_is_positive", True) else ("above", "below")
    unlike = (
        (places[0], low["n_answered_positive"], low["n"], class_name(summary)),
        (places[1], high["n"] - high["n_answered_positive"], high["n"], class_name(summary, "negative")),
    )
    told = [
        f"{_capital(place)} the band {n:,} of {of:,} get the answer {name}, which is likelier."
        for place, n, of, name in unlike
        if n
    ]
    return " ".join(told)


def error_table(summary: Summary, entry: Entry) -> Table:
    """Return number and cost of wrong answers among automatic cases, and among all cases without review."""
    positive, negative = class_name(summary), class_name(summary, "negative")
    a_month = _capital(_a_month(summary, 0)[1])
    found = [part["errors"] for part in (entry, summary["coverages"][-1])]

    def line(words: str, amounts: list[Any], form: Callable[[Any], str] = lambda _: "") -> tuple[str, ...]:
        return (words, *(text for amount in amounts for text in (form(amount), _a_month(summary, amount)[0])))

    kinds = {"n_missed": f"{positive} taken for {negative}", "n_false_alarm": f"{negative} taken for {positive}"}
    rows = [line(_capital(words), [part[name] for part in found], formats.count) for name, words in kinds.items()]
    if entry["errors"]["cost"] is not None:
        rows.append(line("Cost of automatic answers", [part["cost"] for part in found]))
        rows.append(line("Cost of reviews", [part["review_cost"] for part in found]))
        rows.append(line("Cost in all", [part["cost"] + part["review_cost"] for part in found]))
    return Table(("Wrong answers", "Rows", a_month, "Rows, all automatic", f"{a_month}, all automatic"), rows)


def decile_table(summary: Summary, entry: Entry) -> Table:
    """Return deciles of the automatic rows, starting with the scores that speak for the positive class."""
    positive, form = class_name(summary), score_form(summary)
    weighted = by_weight(summary)
    columns = ("Decile", "Scores", "Rows", f"Rows of {positive}", "Mean score", f"Rate of {positive}{weighted}")
    rows = [
        (
            str(part["decile"]),
            f"{form(part['lowest_score'])} to {form(part['highest_score'])}",
            formats.count(part["n"]),
            formats.count(part["n_positive"]),
            form(part["mean_score"]),
            formats.area(part["observed_rate"]),
            formats.times(part["lift"]),
            formats.percent(part["positives_so_far"]),
        )
        for part in entry["deciles"]
    ]
    return Table((*columns, "Lift", _capital(f"{positive} found so far{weighted}")), rows)


def score_table(summary: Summary, entry: Entry) -> Table:
    """Return the scores of automatic and of rejected rows as a table."""
    form = score_form(summary)
    parts = {"Automatic": entry["scores"]["automatic"], "Review": entry["scores"]["review"]}
    shares = list((parts["Automatic"]["quantiles"] or parts["Review"]["quantiles"]).items())
    columns = ("Rows", "Number", "Mean score", *(f"{exact_percent(float(share))} below" for share, _ in shares))
    rows = [
        (
            name,
            formats.count(part["n"]),
            form(part["mean"]),
            *(form(part["quantiles"] and part["quantiles"][share]) for share, _ in shares),
        )
        for name, part in parts.items()
    ]
    return Table(columns, rows)


def feature_table(summary: Summary, entry: Entry) -> Table:
    """Return the columns in which rejected and automatic rows differ most."""
    rows = []
    for feature in entry["features"]:
        of_kind = {"missing": " is missing", "category": f" = {feature.get('level')}"}.get(feature["kind"], "")
        form = formats.percent if of_kind else formats.quantity
        difference = formats.difference(feature["standardised_difference"])
        rows.append((f"{feature['feature']}{of_kind}", form(feature["automatic"]), form(feature["review"]), difference))
    weighted = by_weight(summary)
    return Table(("Feature", f"Automatic{weighted}", f"Review{weighted}", "Difference"), rows)


def _capital(text: str) -> str:
    # str.capitalize would also make small letters of the others, which can be a name.
    return text[:1].upper() + text[1:]


def group_table(summary: Summary, entry: Entry) -> Table:
    """Return, for each group, the share of automatic cases and how good their answers are."""
    positive, weighted = class_name(summary), by_weight(summary)
    rows = [
        (
            group["group"],
            formats.count(group["n"]),
            _estimate(group, "achieved_coverage", formats.percent),
            _estimate(group, "selective_auc", formats.area),
            formats.percent(group["positive_rate"]),
            formats.percent(group["positives_for_review"]),
            "within limits" if group["base_rate_ok"] else "limit exceeded",
        )
        for group in entry["groups"]
    ]
    shares = (f"Rate of {positive}{weighted}", f"Share of {positive} for review{weighted}")
    return Table(("Group", "Rows", f"Automatic{weighted}", "AUC", *shares, "Base rate"), rows)


def _estimate(entry: Entry, key: str, form: Any) -> str:
    ends = formats.interval(entry, key, form)
    return form(entry[key]) + (f" ({ends})" if ends else "")


def treatment_text(entry: Entry) -> str:
    """Name the groups that differ most, with intervals, and say whether chance explains the difference."""
    groups, told = {group["group"]: group for group in entry["groups"]}, []
    for what, metric, form in (
        ("Decided automatically", "achieved_coverage", formats.percent),
        ("AUC", "selective_auc", formats.area),
    ):
        for gap in entry["group_gaps"]:
            if gap["metric"] == metric and gap["gap"] is not None and gap["gap_by_chance"] is not None:
                names = [str(gap[f"{end}_group"]) for end in ("lowest", "highest")]
                pair = " and ".join(
                    f"{_estimate(groups[name], metric, form)} of \N{LEFT DOUBLE QUOTATION MARK}{name}"
                    "\N{RIGHT DOUBLE QUOTATION MARK}"
                    for name in names
                )
                verdict = "more than" if gap["gap"] > gap["gap_by_chance"] else "no more than"
                told.append(f"{what}: {pair}, {verdict} chance makes of equal groups.")
    nobody = "Too few rows to compare groups." if groups else "Not known: this report was made without groups."
    return " ".join(told) or nobody


def go_wrong_text(summary: Summary, entry: Entry) -> str:
    """Say what can go wrong: wrong automatic answers, a ranking worse than it looks, cases that change."""
    positive, negative, unit = class_name(summary), class_name(summary, "negative"), _a_month(summary, 0)[1]
    counts = entry["errors"]["n_missed"], entry["errors"]["n_false_alarm"], entry["n_automatic"]
    wrong, missed, alarms, automatic = (_a_month(summary, n)[0] for n in (counts[0] + counts[1], *counts))
    low = entry.get("selective_auc_low")
    worse = "" if low is None else f" The AUC may be as low as {formats.area(low)}."
    return (
        f"{_capital(unit)} about {wrong} of {automatic} automatic answers are wrong, and nobody looks at them: "
        f"{missed} times {positive} taken for {negative}, {alarms} times {negative} taken for {positive}.{worse} If "
        "new cases differ from these, all of this can change unseen: have a random share of automatic cases audited."
    )


def gap_table(summary: Summary, entry: Entry) -> Table:
    """Return the largest differences between groups, beside those that chance alone produces."""
    rows = []
    for gap in entry["group_gaps"]:
        if gap["metric"] not in ("achieved_coverage", "selective_auc", "positives_for_review"):
            continue
        form = formats.area if gap["metric"] == "selective_auc" else formats.percent
        name = words_for(gap["metric"], positive=class_name(summary))
        name += "" if form is formats.area else by_weight(summary)
        known = gap["gap"] is not None and gap["gap_by_chance"] is not None
        verdict = formats.UNKNOWN if not known else "yes" if gap["gap"] > gap["gap_by_chance"] else "no"
        names = (str(gap["lowest_group"]), str(gap["highest_group"]))
        rows.append((_capital(name), form(gap["gap"]), form(gap["gap_by_chance"]), verdict, *names))
    return Table(("Gap in", "Gap", "By chance up to", "More than chance", "Lowest group", "Highest group"), rows)


def guard_table(summary: Summary, entry: Entry) -> Table:
    """Return the three measures of the base-rate guard with their limits."""
    rate, weighted = entry["base_rate"], by_weight(summary)
    rarer = class_name(summary) if rate["rarer_class"] == "positive" else class_name(summary, "negative")
    shift = f"Rate of {class_name(summary)}, automatic rows minus all rows", formats.change(rate["shift"])
    share = f"Change of the share of {rarer}", formats.percent_change(rate["relative_shift"])
    ratio = f"How often {rarer} goes to review, as a multiple of any row", formats.times(rate["review_ratio"])
    limits = {
        "max_shift": f"\N{PLUS-MINUS SIGN}{rate['max_shift']:g}",
        "max_relative_shift": f"\N{PLUS-MINUS SIGN}{formats.percent(rate['max_relative_shift'])}",
        "max_review_ratio": f"up to {formats.times(rate['max_review_ratio'])}",
    }
    rows = [
        (f"{words}{weighted}", value, limit, "exceeded" if name in rate["exceeded"] else "within")
        for (words, value), (name, limit) in zip((shift, share, ratio), limits.items(), strict=True)
    ]
    return Table(("Measure", "Value", "Limit", "Verdict"), rows)


def coverage_table(summary: Summary) -> Table:
    """Return the result in steps of five per cent and at the coverage in use, for readers without a slider."""
    positive, weighted = class_name(summary), by_weight(summary)
    columns = ("Asked", f"Reached{weighted}", "AUC", "Interval", "Best in hindsight", "Usual rule", "Gini")
    rows = [
        (
            formats.target(entry["target_coverage"]),
            reached_text(entry),
            formats.area(entry["selective_auc"]),
            formats.interval(entry, "selective_auc", formats.area),
            formats.area(entry["oracle_auc"]),
            formats.area(entry["max_probability_auc"]),
            formats.area(entry["selective_gini"]),
            formats.percent(entry["positive_rate"]),
            formats.percent(entry["positives_for_review"]),
            band_text(summary, entry),
        )
        for entry in summary["coverages"]
        if round(100 * entry["target_coverage"], 6) % 5 == 0 or entry["target_coverage"] == summary["coverage"]
    ]
    shares = (f"Rate of {positive}{weighted}", _capital(f"{positive} for review{weighted}"))
    return Table((*columns, *shares, "Scores for review"), rows)


def method_items(summary: Summary) -> list[tuple[str, str]]:
    """Return the method card as pairs of name and text."""
    data, method, kind, count = summary["data"], summary["method"], summary["score"]["kind"], formats.count
    rows = f"{count(data['n'])}{f', {count(n)} of them without a score' if (n := data['n_without_score']) else ''}"
    rows += "" if data["n_features"] is None else f", {data['n_features']} features"
    classes = (
        f"{class_name(summary)} (the positive class) {count(data['n_positive'])}, "
        f"{class_name(summary, 'negative')} {count(data['n_negative'])}; "
        f"positive rate {formats.percent(data['positive_rate'])}{by_weight(summary)}"
    )
    placed, customers, level = method["held_out_rows"], data["n_customers"], exact_percent(method["confidence"])
    level += "" if customers is None else f", {count(customers)} customers whose rows count together"
    scores = score_words(summary) if kind == "points" else f"{kind} ({method['response_method'] or 'predict_proba'})"
    return [
        ("Data", data["name"] or "not named"),
        ("Rows", f"{rows}{', weighted' if data['weighted'] else ''}"),
        ("Classes", classes),
        ("Classifier", method["classifier"]),
        ("Parameters", ", ".join(f"{name}={value}" for name, value in method["parameters"].items())),
        ("Model", method["model"]),
        ("Scores", scores),
        ("Trained on", method.get("training") or "not recorded"),
        ("Bands placed on", "unknown" if placed is None else f"{formats.count(placed)} held-out training rows"),
        ("Fingerprint of the model", method.get("model_fingerprint") or "none: the model has no stored form"),
        ("Fingerprint of the rule", method.get("rule_fingerprint") or "none: the rule has no stored form"),
        ("Seed of the fit", method["seed"]),
        ("Intervals", level if method["with_intervals"] else "none"),
        ("Versions", ", ".join(f"{name} {version}" for name, version in method["versions"].items())),
        ("Date", method["date"]),
    ]
