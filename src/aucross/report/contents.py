"""Compute one plain dictionary, which every form of the report shows, from a fitted classifier and labelled rows.

::

    clf, X, y ──► build_summary ──► dict ──┬──► render_html       one page, works offline
                                           ├──► render_markdown   model card
                                           └──► render_json       the same for programs
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.evaluation import inputs
from aucross.evaluation.auc_metrics import decile_rows
from aucross.evaluation.evaluate import asks_for_at_least
from aucross.evaluation.metrics import positive_rate
from aucross.evaluation.promise import SelectivePromise, promise_selection, promise_selective
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.evaluation.unscored import UnscoredRows
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.files.model_file import versions_of
from aucross.report import formats
from aucross.report.coverage_numbers import Costs, base_rate, coverage_numbers, errors, group_tables, lanes
from aucross.report.curves import bin_edges, class_shares, edges_at, in_points, roc_and_cap, score_bands
from aucross.report.html import render_html
from aucross.report.markdown import render_markdown
from aucross.report.review_differences import feature_differences, score_summary
from aucross.report.rows import GRID, ReportRows, read_rows
from aucross.system.text import exact_percent, json_ready
from aucross.system.whole_files import write_whole

# Raised when a key is renamed, removed or changes its meaning; new keys do not raise it.
SCHEMA_VERSION = 2


def build_summary(
    clf: Any,
    X: Any,
    y: ArrayLike,
    *,
    coverage: float | None = None,
    by: Any = None,
    features: Any = None,
    sample_weight: ArrayLike | None = None,
    band_groups: Any = None,
    customers: Any = None,
    unscored: UnscoredRows | None = None,
    class_names: Sequence[str] | None = None,
    cost_matrix: Sequence[Sequence[float]] | None = None,
    review_cost: float = 0.0,
    cases_a_month: float | None = None,
    title: str = "Which cases should the model decide alone?",
    data_name: str | None = None,
    training: str | None = None,
    command: str | None = None,
    date: str | None = None,
    confidence: float = 0.95,
    with_intervals: bool = True,
    evaluation: SelectiveEvaluation | None = None,
) -> dict[str, Any]:
    """Compute everything that a report shows, as a dictionary ready for JSON.

    Parameters
    ----------
    clf, X, y, band_groups, sample_weight
        As in :func:`~aucross.evaluate_selective`, for two classes.
    coverage : float in (0, 1], optional
        Coverage in use, for which the report makes its promise; the classifier's by default.
    by : array-like or series of shape (n_samples,), optional
        Group of each row, for the tables by group; it need not be a feature. Groups of fewer than five rows are only
        counted, in a sentence.
    features : array-like or frame of shape (n_samples, n_columns), optional
        Columns in which automatic cases and reviews are compared; `X` by default, or none if `X` is scored rows.
    customers : array-like of shape (n_samples,), optional
        The customer of each row, as in :func:`~aucross.evaluate_selective`. Bounds and intervals become wider; only the
        intervals of deciles and lanes and the test of the base-rate guard still treat rows as independent.
    unscored : UnscoredRows, optional
        Further labelled cases that have no score and go to review. They count in the coverage and its promise, the
        reviews and the base-rate guard, but not in areas, deciles, scores and features.
    class_names : pair of str, optional
        Names of the negative and the positive class; their labels by default.
    cost_matrix : array-like of shape (2, 2), optional
        ``cost_matrix[true][predicted]``, negatives first: the cost of an automatic answer, in the readers' unit; a row
        of weight w counts as w cases. If it is given, the report shows errors in money, too.
    review_cost : float, default=0.0
        Cost of a review.
    cases_a_month : float, optional
        Number of cases a month, for which the report then gives reviews and costs.
    title, data_name, training, command, date : str, optional
        Heading, name of the data, training data of the model with its date, the command that makes this report, and its
        date, today by default. They are only printed.
    confidence : float in (0, 1), default=0.95
        Confidence of bounds and intervals.
    with_intervals : bool, default=True
        Whether numbers have intervals.
    evaluation : SelectiveEvaluation, optional
        Result of :func:`~aucross.evaluate_selective` on the same rows, including `unscored` ones, at all coverages of
        the report and with its confidence and customers. Passing it saves computing it again.

    Returns
    -------
    dict
        Strings, numbers, booleans, None, lists and dictionaries. An undefined number is None. ``coverages`` holds one
        entry for each step of the slider, .50 to 1.00 by .01, and one for `coverage` if it is not a step.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.report import build_summary
    >>> X, y = make_classification(3000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X[:2000], y[:2000])
    >>> summary = build_summary(clf, X[2000:], y[2000:])
    >>> summary["coverage"], len(summary["coverages"]), summary["data"]["n"]
    (0.8, 51, 1000)
    """
    inputs.check_two_classes(clf, "ROC and CAP curves of a report know two; evaluate_selective tabulates more")
    coverage = inputs.check_probability(clf.coverage if coverage is None else coverage, "coverage")
    # A step of the slider, if it is one up to rounding.
    coverage = next((step for step in GRID if abs(step - coverage) < 1e-9), coverage)
    confidence = inputs.check_probability(confidence, "confidence", ends=False)
    costs = _costs(cost_matrix, review_cost)
    if cases_a_month is not None and not 0 < cases_a_month < np.inf:
        raise ValueError(f"cases_a_month must be a positive number of cases, got {cases_a_month!r}")
    if features is None and not isinstance(X, inputs.ScoredRows):
        features = X
    scored = inputs.label_rows(clf, X, y, sample_weight=sample_weight, band_groups=band_groups, warns=False)
    share, doubt = inputs.rows_of_fit(clf, features, scored)
    if doubt is not None:
        warnings.warn(doubt, inputs.TrainingRowsWarning, stacklevel=2)
    rows = read_rows(clf, scored, coverage, customers, unscored)
    names = _class_names(clf, class_names)
    made = _promise(clf, scored, rows, coverage, customers, confidence=confidence)
    promise = replace(made, share_of_fit=share).to_dict() | {"warnings": [] if doubt is None else [doubt]}
    if doubt is not None:
        promise["sentence"] = "Nothing: these are rows that the classifier was fitted on."
    by_group, group_notes = group_tables(rows, by, confidence_level=confidence, with_intervals=with_intervals)
    lies_on, bands = score_bands(clf, scored.band_groups, rows)
    scale, edges = bin_edges(rows)
    score = {
        "kind": "probability" if rows.is_probability else "decision value",
        "band_lies_on": lies_on,
        "scale": scale,
        "bin_edges": edges,
        "shares": class_shares(rows, edges),
    }
    numbers = coverage_numbers(
        rows, evaluation, confidence=confidence, with_intervals=with_intervals, at_least=asks_for_at_least(clf)
    )
    entries = [
        {**number, **_entry(rows, mask, band, edges, confidence)}
        for number, mask, band in zip(numbers, rows.selected, bands, strict=True)
    ]
    more = zip(entries, rows.selected, feature_differences(rows, features), by_group, strict=True)
    for entry, mask, differences, tables in more:
        ways = lanes(rows, mask, entry["bands"], confidence if with_intervals else None)
        entry |= {"lanes": ways, "errors": errors(rows, mask, costs), "features": differences, **tables}
    score, entries = in_points(clf, score, entries)
    at = rows.coverages.index(coverage)
    sizes = [group["n"] for group in by_group[at]["groups"]]
    summary = {
        "schema": "aucross.report",
        "schema_version": SCHEMA_VERSION,
        "title": title,
        "coverage": coverage,
        "sentence": _sentence(rows, json_ready(entries[at]), json_ready(entries[-1]), confidence),
        "promise": promise,
        "data": {"name": data_name, **_data(clf, rows, names), "cases_a_month": cases_a_month},
        "score": score,
        "coverages": entries,
        "group_notes": group_notes,
        "method": {
            **_method_card(clf),
            "training": training,
            "confidence": confidence,
            "with_intervals": with_intervals,
            "command": command,
            "date": date or dt.date.today().isoformat(),
            # Without a table of groups there is no other place that names those which are not shown.
            "limits": [*_limits(rows, coverage, sizes), *([] if sizes else group_notes)],
        },
    }
    return {key: json_ready(value) for key, value in summary.items()}


def _class_names(clf: Any, names: Sequence[str] | None) -> tuple[str, str]:
    if names is None:
        return str(clf.fitted_.classes[0]), str(clf.fitted_.classes[1])
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f'class_names must be a pair (negative, positive), got {names!r}; pass ("repaid", "default")')
    return str(names[0]), str(names[1])


def _costs(matrix: Any, review: float) -> Costs:
    """Return checked costs of answers and of a review; refuse a review cost without costs of answers."""
    if matrix is None:
        if review:
            raise ValueError(f"review_cost needs cost_matrix, the costs of answers, got {review!r} alone; pass both")
        return Costs(None, 0.0)
    checked = np.asarray(matrix, dtype=np.float64)
    if checked.shape != (2, 2) or not (np.isfinite(checked).all() and np.isfinite(review)):
        raise ValueError(
            "cost_matrix must be a finite 2 x 2 array, cost_matrix[true][predicted], and review_cost a number, got "
            f"shape {checked.shape} and {review!r}"
        )
    return Costs(checked.tolist(), float(review))


def _entry(rows: ReportRows, mask: Any, bands: Any, edges: Any, confidence: float) -> dict[str, Any]:
    """Return the part of the summary for one coverage."""
    own = edges_at(edges, bands)
    return {
        "bands": bands,
        "base_rate": base_rate(rows, mask),
        "bin_edges": own,
        "shares": class_shares(rows, own),
        "review_shares": class_shares(rows, own, ~mask),
        "curve": roc_and_cap(rows, mask),
        "deciles": decile_rows(rows.positive[mask], rows.score[mask], rows.weights[mask], confidence),
        "scores": {"automatic": score_summary(rows, mask), "review": score_summary(rows, ~mask)},
    }


def _data(clf: Any, rows: ReportRows, names: tuple[str, str]) -> dict[str, Any]:
    positive = rows.positive_of_all
    return {
        "n": len(positive),
        "n_positive": int(positive.sum()),
        "n_negative": int((~positive).sum()),
        "n_without_score": 0 if rows.unscored is None else len(rows.unscored),
        "n_customers": rows.n_customers,
        "positive_rate": positive_rate(positive, sample_weight=rows.weight_of_all),
        "n_features": getattr(clf, "n_features_in_", None),
        "weighted": rows.weight is not None,
        "negative_class": names[0],
        "positive_class": names[1],
    }


def _sentence(rows: ReportRows, entry: Mapping[str, Any], everyone: Mapping[str, Any], confidence: float) -> str:
    """Return a sentence with the result at the coverage in use."""
    n_rows = entry["n_automatic"] + entry["n_review"]
    reached, asked = entry["achieved_coverage"], entry["target_coverage"]
    ends = formats.interval(entry, "selective_auc", formats.area)
    unit, in_rows, rows_left = "the rows", "", ""
    if rows.weight is not None:
        unit, share = "the weight", formats.percent(entry["n_automatic"] / n_rows)
        in_rows, rows_left = f" ({entry['n_automatic']:,} rows, {share} of them)", f" ({entry['n_review']:,} rows)"
    of_weight = " of the weight" if in_rows else ""
    missed = ""
    if entry["coverage_missed"]:
        span = formats.interval(entry, "achieved_coverage", formats.percent)
        missed = f" The coverage asked for was missed: the {exact_percent(confidence)} interval is {span}."
    return (
        f"Asked to decide {formats.target(asked)} of {unit}, the classifier decides {formats.percent(reached)}"
        f"{of_weight} of {formats.count(n_rows)} test rows{in_rows} automatically and sends "
        f"{formats.percent(1 - reached)}{of_weight}{rows_left} to review.{missed} Among the automatic rows the AUC is "
        f"{formats.area(entry['selective_auc'])}{f' ({exact_percent(confidence)} interval {ends})' if ends else ''}; "
        f"over all rows it is {formats.area(everyone['selective_auc'])}."
        f"{'' if rows.unscored is None else f' {rows.unscored.sentence(n_rows)}'}"
    )


def _promise(
    clf: Any, scored: inputs.ScoredRows, rows: ReportRows, coverage: float, customers: Any, *, confidence: float
) -> SelectivePromise:
    """Return the bounds that can be promised for all cases; cases without a score are never selected."""
    assert scored.labels is not None
    options: dict[str, Any] = {"confidence": confidence, "customers": customers, "allow_fit_rows": True}
    made = promise_selective(clf, scored, scored.labels, coverage, **options)
    if rows.unscored is None:
        return made
    of_all = promise_selection(
        rows.positive_of_all,
        np.append(rows.score, np.zeros(len(rows.unscored))),
        rows.selected_of_all(rows.selected[rows.coverages.index(coverage)]),
        confidence=confidence,
        sample_weight=rows.weight_of_all,
        customers=rows.customers_of_all,
    )
    return replace(of_all, target_coverage=made.target_coverage)


# ---- the method card: classifier, seeds, versions and limits ----

# With fewer rows of a class an interval for the AUC is a rough guess.
_FEW_ROWS = 100

_ALWAYS = (
    (
        "The numbers describe rows like these test rows. Where applicants, prices or policy change, the coverage and "
        "the AUC change too: watch both after going live."
    ),
    (
        "The bounds hold for coverage {coverage}, fixed before these rows were seen. Whoever picks the best-looking "
        "coverage on the slider and quotes its numbers is too optimistic: confirm that choice on fresh rows."
    ),
    (
        "The AUC of the automatic rows is measured on fewer rows than the AUC of all rows. Compare it with other "
        "classifiers at equal coverage only."
    ),
    "Rows for review still need a decision. How good the review is, is not part of this report.",
    "The best band in hindsight has seen the outcomes of these very rows. It is a limit for comparison, not a method.",
)


def _method_card(clf: Any) -> dict[str, Any]:
    """Describe what was fitted, with its parameters and the versions of all packages."""
    model = getattr(clf, "estimator_", None)
    parts = [clf, *(value for value in clf.get_params(deep=True).values() if hasattr(value, "get_params"))]
    versions = versions_of(type(part).__module__.partition(".")[0] for part in parts)
    return {
        "classifier": type(clf).__name__,
        "parameters": {name: _repr(value) for name, value in clf.get_params(deep=False).items() if name != "estimator"},
        "model": _repr(getattr(clf, "estimator", model)),
        "response_method": getattr(getattr(clf, "fitted_", None), "response_method", None),
        # Training rows that placed the bands, each counted once.
        "held_out_rows": getattr(getattr(clf, "held_out_", None), "n_rows", None),
        "seed": _repr(getattr(clf, "random_state", None)),
        "model_fingerprint": _fingerprint(model_fingerprint, clf),
        "rule_fingerprint": _fingerprint(rule_fingerprint, clf),
        "versions": {"scikit-learn" if name == "sklearn" else name: version for name, version in versions.items()},
    }


def _fingerprint(of: Callable[[Any], str], clf: Any) -> str | None:
    """Return a model's fingerprint; None if the model has no stored form."""
    try:
        return of(clf)
    except (TypeError, ValueError):
        return None


def _repr(value: Any) -> str:
    # Addresses in memory change from run to run and mean nothing to a reader.
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _limits(rows: ReportRows, coverage: float, group_sizes: list[int]) -> list[str]:
    """Say in plain words what the numbers do not show."""
    at = rows.coverages.index(coverage)
    selected = rows.selected[at]
    smaller = int(min(rows.positive[selected].sum(), (~rows.positive[selected]).sum()))
    said = [limit.format(coverage=f"{coverage:g}") for limit in _ALWAYS]
    if not rows.is_probability:
        said.append("The scores are not probabilities: there is no calibration to check.")
    if rows.weight is not None:
        said.append("Rows carry weights: shares, rates and areas count weight, numbers of rows count rows.")
    if rows.n_customers is not None:
        said.append(
            f"Rows of one customer count together: intervals and promise are those of {rows.n_customers:,} customers. "
            "Only the bars of the deciles and the test of the base-rate guard count each row by itself."
        )
    if rows.unscored is not None:
        said.append(
            f"{len(rows.unscored):,} cases have no score and go to review. Coverage, promise, reviews and the "
            "base-rate guard count them; areas, deciles, scores and features are those of the others."
        )
    if smaller < _FEW_ROWS:
        said.append(f"Only {smaller} automatic rows are of the smaller class: read its numbers as rough.")
    if group_sizes and min(group_sizes) < _FEW_ROWS:
        said.append(f"The smallest group has {min(group_sizes)} rows: read its numbers as rough.")
    return said


# ---- renderings: HTML, JSON or Markdown by the ending of a name ----


def render_json(summary: Mapping[str, Any]) -> str:
    """Render the summary as JSON, for programs and for rendering again later; undefined numbers are null.

    Parameters
    ----------
    summary : dict
        From :func:`build_summary`.
    """
    return json.dumps(summary, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


RENDERERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    ".html": render_html,
    ".htm": render_html,
    ".json": render_json,
    ".md": render_markdown,
}


def write_report(summary: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write a report as HTML, JSON or Markdown, by the file's ending.

    Parameters
    ----------
    summary : dict
        From :func:`build_summary`.
    path : str or path
        A name that ends in ``.html``, ``.json`` or ``.md``; it is returned. An existing file is replaced only once the
        new one is complete.

    Examples
    --------
    >>> from aucross.report import write_report
    >>> write_report({}, "report.pdf")
    Traceback (most recent call last):
    ...
    ValueError: path must end in .html, .htm, .json or .md, got 'report.pdf'; for PDF print the HTML page
    """
    target = Path(path)
    render = RENDERERS.get(target.suffix.lower())
    if render is None:
        known = list(RENDERERS)
        hint = "; for PDF print the HTML page" if target.suffix.lower() == ".pdf" else ""
        raise ValueError(f"path must end in {', '.join(known[:-1])} or {known[-1]}, got {str(path)!r}{hint}")
    # Half of a pair of characters has no bytes of its own; its escape is what JSON has for it.
    write_whole(target, render(summary).encode(errors="backslashreplace"))
    return target
