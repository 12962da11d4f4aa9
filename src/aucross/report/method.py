"""The method card: data, classifier, seeds, versions, the command to regenerate the report, and its limits."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable
from typing import Any

from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.report.rows import ReportRows

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


def method_card(clf: Any) -> dict[str, Any]:
    """Describe what was fitted, with its parameters and the versions of all packages."""
    model = getattr(clf, "estimator_", None)
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
        "versions": _versions(clf),
    }


def _fingerprint(of: Callable[[Any], str], clf: Any) -> str | None:
    """Return a fingerprint; None for a model that has no stored form."""
    try:
        return of(clf)
    except (TypeError, ValueError):
        return None


def _repr(value: Any) -> str:
    # Addresses in memory change from run to run and mean nothing to a reader.
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _versions(clf: Any) -> dict[str, str]:
    parts = [clf, *(value for value in clf.get_params(deep=True).values() if hasattr(value, "get_params"))]
    used = (type(part).__module__.partition(".")[0] for part in parts)
    packages = dict.fromkeys(["aucross", "numpy", "scipy", "sklearn", *used])
    versions = {package: getattr(sys.modules.get(package), "__version__", None) for package in packages}
    named = {"scikit-learn" if package == "sklearn" else package: version for package, version in versions.items()}
    return {"python": platform.python_version()} | {name: version for name, version in named.items() if version}


def limits(rows: ReportRows, coverage: float, group_sizes: list[int]) -> list[str]:
    """Say what the numbers do not tell, in plain words."""
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
