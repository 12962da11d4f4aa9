"""Tables of `benchmarks.crossfit_coverage` as Markdown, for the terminal and for the pages that include them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.markdown import figure, table

FAMILIES = ("LightGBM", "XGBoost", "forest", "logistic", "MLP")
COVERAGES = (0.95, 0.90, 0.80, 0.70)
PROMISED = (0.95, 0.90, 0.80)
NEARLY_PERFECT = "lending_2007_2011"
AIM, AIM_ROWS = 6.0, 4_000  # RMSE of coverage in 1e-3, from so many training rows on
SAMPLING = 5.6  # what the sampling of so many training rows gives by itself: the root of the mean of c (1 - c) / 4,000
JUDGES = {
    "none": "refit, no correction",
    "corrected": "refit (default)",
    "judge": 'fold models (`ensemble="judge"`)',
}
BAGS = {
    "corrected": ("five folds (default)", 6),
    "judge": ("five folds, judged by fold models", 6),
    "bags": ("out-of-bag", 1),
}


class Tables:
    """The tables of one run.

    Parameters
    ----------
    lines : DataFrame
        A line for each cell, candidate and method.
    promises : DataFrame
        Coverage of fresh rows with a promise, a line for each data set.
    """

    def __init__(self, lines: pd.DataFrame, promises: pd.DataFrame) -> None:
        self.lines, self.promises = lines, promises

    def texts(self) -> dict[str, str]:
        """All tables by name."""
        makers: dict[str, Callable[[], str]] = {
            "aims": self.aims,
            "without_lending": self.without_lending,
            "coverage_aucross": lambda: self.coverage("AUCross", JUDGES),
            "coverage_scross": lambda: self.coverage("SCross", JUDGES),
            "said": self.said,
            "correction": self.correction,
            "auc": self.auc,
            "promise": self.promise,
            "bags": self.bags,
            "bags_by_set": self.bags_by_set,
            "candidates_aucross": lambda: self.coverage("AUCross", self._all_candidates()),
            "candidates_scross": lambda: self.coverage("SCross", self._all_candidates()),
            "fits": self.fits,
        }
        return {name: make() for name, make in makers.items()}

    def write(self, folder: Path) -> None:
        """Print all tables, and keep each as a file."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.texts().items():
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
            print(f"\n{name}\n\n{text}")

    # ---- coverage ----

    def coverage(self, method: str, names: dict[str, str]) -> str:
        """RMSE of coverage in 1e-3, test sampling taken out; mean error in brackets."""
        rows = []
        for n_rows, part in self._by_size(method):
            means = _by_set(part, ["square", "error"]).groupby(["candidate", "family"]).mean()
            floor = 1e3 * np.sqrt(np.mean([c * (1 - c) / n_rows for c in COVERAGES]))
            first = f"{n_rows:,} ({floor:.1f})"
            for candidate, name in names.items():
                if candidate not in means.index:
                    continue
                of_families = means.loc[candidate]
                cells = [
                    f"{_root(of_families['square'][family]):.1f} ({1e3 * of_families['error'][family]:.1f})"
                    if family in of_families.index
                    else ""
                    for family in FAMILIES
                ]
                rows.append((first, name, *cells))
                first = ""
        return table(("rows (a sample alone)", "judged by", *FAMILIES), rows)

    def _all_candidates(self) -> dict[str, str]:
        return {name: name for name in self.lines["candidate"].unique()}

    def said(self) -> str:
        """Share of fits within 1.96 of the errors that `expected_coverage` states; their mean in 1e-3 in brackets."""
        rows = []
        for (n_rows, method), part in self.lines.groupby(["n_rows", "method"]):
            for candidate in ("corrected", "judge"):
                means = _by_set(part, ["said", "within"]).loc[candidate].groupby("family").mean()
                cells = [
                    f"{figure(means['within'][family])} ({1e3 * means['said'][family]:.1f})"
                    if family in means.index
                    else ""
                    for family in FAMILIES
                ]
                rows.append((f"{n_rows:,}", method, JUDGES[candidate], *cells, figure(means["within"].mean())))
        return table(("rows", "method", "judged by", *FAMILIES, "all"), rows)

    def correction(self) -> str:
        """RMSE of the correction less that without one, in 1e-3, and its standard error over sets."""
        rows = []
        for is_kept_apart, of_sets in self.lines.groupby("is_kept_apart"):
            first = f"{of_sets['data'].nunique()} {'kept apart' if is_kept_apart else 'on which it was chosen'}"
            for (n_rows, method), part in of_sets.groupby(["n_rows", "method"]):
                squares = _by_set(part, ["square"])["square"]
                rows.append((first, f"{n_rows:,}", method, *(_excess(squares, family) for family in FAMILIES)))
                first = ""
        return table(("sets", "rows", "method", *FAMILIES), rows)

    # ---- what it costs ----

    def auc(self) -> str:
        """AUC of the selected rows less that of the default, in 1e-4, and its standard error over sets."""
        rows = []
        for n_rows, part in self._by_size("AUCross"):
            aucs = _by_set(part, ["auc"])["auc"]
            names = {"none": "no correction", "judge": '`ensemble="judge"`', "ensemble": "`ensemble=True`"}
            for candidate, name in names.items():
                cells = [_gain(aucs, family, candidate) for family in FAMILIES]
                rows.append((f"{n_rows:,}" if candidate == "none" else "", name, *cells))
        return table(("rows", "", *FAMILIES), rows)

    def bags(self) -> str:
        """Out-of-bag scores of forests beside folds."""
        forests, rows = self.lines[self.lines["family"] == "forest"], []
        for n_rows, part in forests.groupby("n_rows"):
            squares = {
                method: _by_set(part[part["method"] == method], ["square"])["square"]
                for method in ("AUCross", "SCross")
            }
            aucs = _by_set(part[part["method"] == "AUCross"], ["auc"])["auc"]
            for candidate, (name, n_trainings) in BAGS.items():
                roots = [f"{_root(of_method[candidate, 'forest'].mean()):.1f}" for of_method in squares.values()]
                first = f"{n_rows:,}" if candidate == "corrected" else ""
                rows.append((first, name, n_trainings, *roots, _gain(aucs, "forest", candidate)))
        return table(("rows", "scores that place the band", "trainings", "AUCross", "SCross", "AUC"), rows)

    def bags_by_set(self) -> str:
        """Forests of 4,000 rows set by set: RMSE of coverage in 1e-3, AUC less that of the default in 1e-4."""
        names = ("corrected", "judge", "bags")
        part = self.lines.query("family == 'forest' and method == 'AUCross' and n_rows == 4000")
        means, rows = part.groupby(["data", "candidate"])[["square", "auc"]].mean().unstack(), []
        for data, line in means.iterrows():
            gains = [(line["auc", name] - line["auc", "corrected"]) * 1e4 for name in names]
            roots = [_root(line["square", name]) for name in names]
            rows.append((data, *(f"{root:.1f} ({gain:+.0f})" for root, gain in zip(roots, gains, strict=True))))
        return table(("set", *(BAGS[name][0] for name in names)), rows)

    # ---- the promise ----

    def promise(self) -> str:
        """Share of data sets whose coverage on fresh rows is at least the target."""
        rows = [
            (method, family, f"{target:.2f}", len(shares), f"{_kept(shares, target):.3f}", f"{shares.mean():.4f}")
            for method, family, target, shares in self._promises()
        ]
        return table(("method", "model", "target", "data sets", "kept", "mean coverage"), rows)

    def _promises(self) -> Iterator[tuple[str, str, float, np.ndarray]]:
        for (method, family), part in self.promises.groupby(["method", "family"], sort=False):
            for target in PROMISED:
                yield method, family, target, part[str(target)].to_numpy()

    # ---- all at once ----

    def aims(self) -> str:
        """What was aimed at beside what is reached."""
        return table(("", "aim", "judged by", *FAMILIES), [*self._aims_of_coverage(), *self._aims_of_promise()])

    def without_lending(self) -> str:
        """The same for the coverage, without the one set on which models are nearly perfect."""
        others = Tables(self.lines[self.lines["data"] != NEARLY_PERFECT], self.promises)
        return table(("", "aim", "judged by", *FAMILIES), others._aims_of_coverage())

    def _aims_of_coverage(self) -> list[Sequence[str]]:
        rows: list[Sequence[str]] = []
        for method in ("AUCross", "SCross"):
            roots = self.roots(method)
            for candidate, name in JUDGES.items():
                cells = [f"{roots[candidate, family]:.1f}" for family in FAMILIES]
                rows.append((f"{method}: RMSE", f"{AIM:.1f}", name, *cells))
        return rows

    def roots(self, method: str, n_rows: int = AIM_ROWS) -> pd.Series:
        """RMSE of coverage in 1e-3 by candidate and family, every set counted the same."""
        part = self.lines[(self.lines["n_rows"] == n_rows) & (self.lines["method"] == method)]
        return _by_set(part, ["square"])["square"].groupby(["candidate", "family"]).mean().map(_root)

    def chance(self, method: str, candidate: str) -> pd.Series:
        """Standard error over sets of the RMSE of a candidate, in 1e-3 by family."""
        squares = self._squares(method, candidate).groupby("family")
        return 1e3 * squares.sem() / (2 * squares.mean() ** 0.5)

    def root_without(self, method: str, candidate: str, family: str, left_out: str) -> float:
        """RMSE of one candidate and family without one set, in 1e-3."""
        squares = self._squares(method, candidate).xs(family, level="family").drop(left_out, errors="ignore")
        return _root(squares.mean())

    def stated(self, method: str, candidate: str, left_out: str) -> pd.Series:
        """Errors that fits state, root mean square over sets but one, in 1e-3 by family."""
        part = self._part(method, candidate)
        part = part[part["data"] != left_out]
        squares = (part["said"] ** 2).groupby([part["data"], part["family"]]).mean()
        return 1e3 * squares.groupby("family").mean() ** 0.5

    def _part(self, method: str, candidate: str) -> pd.DataFrame:
        lines = self.lines[(self.lines["n_rows"] == AIM_ROWS) & (self.lines["method"] == method)]
        return lines[lines["candidate"] == candidate]

    def _squares(self, method: str, candidate: str) -> pd.Series:
        return self._part(method, candidate).groupby(["data", "family"])["square"].mean()

    def _aims_of_promise(self) -> list[Sequence[str]]:
        rows: list[Sequence[str]] = []
        lowest = self.lowest_kept()
        for method in ("SCross", "AUCross"):
            cells = [figure(lowest[method, family]) for family in FAMILIES]
            rows.append((f"{method}: kept", ".93", JUDGES["judge"], *cells))
        return rows

    def lowest_kept(self) -> dict[tuple[str, str], float]:
        """Share of data sets in which the promise was kept by method and family, the lowest of three targets."""
        lowest: dict[tuple[str, str], float] = {}
        for method, family, target, shares in self._promises():
            lowest[method, family] = min(lowest.get((method, family), 1.0), _kept(shares, target))
        return lowest

    def fits(self) -> str:
        """Number of data sets, and of fits in brackets."""
        rows = []
        for n_rows, part in self.lines.groupby("n_rows"):
            of_families = part.drop_duplicates(["data", "family", "split"]).groupby("family")["data"]
            counts = {family: f"{data.nunique()} ({len(data)})" for family, data in of_families}
            rows.append((f"{n_rows:,}", *(counts.get(family, "") for family in FAMILIES)))
        return table(("rows", *FAMILIES), rows)

    def _by_size(self, method: str) -> Iterator[tuple[int, pd.DataFrame]]:
        yield from self.lines[self.lines["method"] == method].groupby("n_rows")


def _by_set(part: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Means over splits first, so that every set counts the same."""
    return part.groupby(["candidate", "family", "data"])[columns].mean()


def _root(square: float) -> float:
    """In 1e-3; a square below 0, which sampling makes of a small one, keeps its sign."""
    return float(np.sign(square) * np.sqrt(abs(square)) * 1e3)


def _kept(shares: np.ndarray, target: float) -> float:
    return float(np.mean(shares >= target - 1e-12))


def _has(values: pd.Series, family: str) -> bool:
    return ("corrected", family) in values.index.droplevel("data")


def _excess(squares: pd.Series, family: str) -> str:
    if not _has(squares, family):
        return ""
    none, other = squares["none", family], squares["corrected", family]
    scale = max(abs(_root(none.mean())) + abs(_root(other.mean())), 1.0)  # a^2 - b^2 = (a - b)(a + b)
    error = f" ({(other - none).std(ddof=1) / np.sqrt(len(none)) * 1e6 / scale:.2f})" if len(none) > 1 else ""
    return f"{(other - none).mean() * 1e6 / scale:.2f}{error}"


def _gain(aucs: pd.Series, family: str, candidate: str) -> str:
    if not _has(aucs, family):
        return ""
    gain = (aucs[candidate, family] - aucs["corrected", family]) * 1e4
    error = f" ± {gain.std(ddof=1) / np.sqrt(len(gain)):.0f}" if len(gain) > 1 else ""
    return f"{gain.mean():+.0f}{error}"
