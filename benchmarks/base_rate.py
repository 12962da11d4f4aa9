"""What rejecting does to the share of positives: the figures behind the limits of the base-rate guard.

    python -m benchmarks.base_rate

For AUCross and SCross on LightGBM, per data set and coverage: shift of the positive rate, absolute and relative, how
many times as often as any row a positive is rejected, and which limits are exceeded.
"""

from __future__ import annotations

from aucross import AUCross, SCross
from aucross.evaluation.guard import BaseRateGuard
from benchmarks.paper_data import BASE_MODEL, COVERAGES, NAMES, load
from experiments.selections import select_each


def main() -> None:
    guard = BaseRateGuard()
    print(f"{'data':12}{'method':10}{'coverage':>9}{'shift':>9}{'relative':>10}{'ratio':>7}  beyond the limits")
    for name in NAMES:
        rows = load(name)
        for method in (AUCross, SCross):
            clf = method(BASE_MODEL, random_state=42).fit(rows.X_train, rows.y_train)
            for coverage, selected in zip(COVERAGES, select_each(clf, rows.X_test, COVERAGES), strict=True):
                check = guard.check(rows.y_test, selected, warn=False)
                print(
                    f"{name:12}{method.__name__:10}{coverage:9.2f}{check.shift:9.4f}{check.relative_shift:10.3f}"
                    f"{check.review_ratio:7.2f}  {', '.join(check.exceeded)}".rstrip(),
                    flush=True,
                )


if __name__ == "__main__":
    main()
