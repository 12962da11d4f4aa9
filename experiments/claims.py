"""What the evidence comes down to: every aim with what was reached, met or missed, and one picture.

``python -m experiments.claims`` reads the tables that the other commands have written, trains nothing, and writes
``claims.md`` and ``claims.png`` to ``experiments/results``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.crossfit_tables import AIM, FAMILIES, Tables
from benchmarks.figures import HOLDS_AIM, WIDTH_AIM, read_intervals, read_promises
from experiments import markdown, tables
from experiments.drawing import LOSS_COLOUR, OTHER_COLOUR, OURS_COLOUR, WIDTH, legend_below, page_style, write_figure
from experiments.markdown import figure, share, signed
from experiments.methods import PUBLISHED
from experiments.protocol import RANDOM_SPLIT_DATASETS
from experiments.suite.deferral import PUBLISHED_GAPS

HERE = Path(__file__).parent
RESULTS, BENCHMARKS = HERE / "results", HERE.parent / "benchmarks" / "results"
SHOWN_COVERAGE = 0.8
BY_CHANCE = 0.95  # share of figures within two deviations of the paper's if nothing but chance is between them
OWN_SCORE = "optimal band on its own score"


@dataclass(frozen=True)
class Claim:
    """One line of the table of claims."""

    statement: str
    aim: str
    reached: str
    is_met: bool
    page: str
    command: str

    def cells(self) -> list[str]:
        """Statement, aim, what was reached, verdict, and where it comes from."""
        verdict = "met" if self.is_met else "**missed**"
        return [
            self.statement,
            self.aim,
            self.reached,
            verdict,
            f"[{self.page}]({self.page}.md), `{self.command}`",
        ]


class Evidence:
    """The tables in a folder of results, each read once."""

    def __init__(self, results: Path = RESULTS, benchmarks: Path = BENCHMARKS) -> None:
        self.results, self.benchmarks = results, benchmarks
        self.intervals = read_intervals(benchmarks / "intervals.csv")
        self.promises = read_promises(benchmarks / "intervals.csv")
        self.crossfit = Tables(
            pd.read_csv(benchmarks / "crossfit_coverage.csv"), pd.read_csv(benchmarks / "crossfit_promise.csv")
        )

    def table(self, name: str) -> pd.DataFrame:
        """A table by the name of its file."""
        return pd.read_csv(self.results / f"{name}.csv")

    @property
    def suite_is_complete(self) -> bool:
        """Whether every cell of the suite is done."""
        return "Not complete" not in (self.results / "suite" / "done.md").read_text(encoding="utf-8")


# ---- claims ----


def claims(evidence: Evidence) -> Iterator[Claim]:
    """Every aim of the evidence, topic by topic."""
    yield from _of_the_paper(evidence)
    yield from _of_random_splits(evidence)
    yield from _of_the_suite(evidence)
    yield from _of_deferral(evidence)
    yield _of_peers(evidence)
    yield from _of_networks(evidence)
    yield from _of_crossfit(evidence)
    yield from _of_intervals(evidence)


def _of_the_paper(evidence: Evidence) -> Iterator[Claim]:
    both = tables.agreement(evidence.table("cells"))
    both = both[
        both["dataset"].isin(RANDOM_SPLIT_DATASETS) & both["method"].isin(PUBLISHED) & ~tables.of_networks(both)
    ]
    first = both[both["table"] == 3].groupby("metric")["within_two_sd"]
    others = both[both["table"].isin((6, 7)) & (both["classifier"] != "LightGBM")].groupby("metric")["within_two_sd"]
    for words, found in (("LightGBM, Table 3", first), ("other models, Tables 6 and 7", others)):
        within, size = found.mean(), found.size()
        for name, metric in (("AUC", "selective_auc"), ("coverage", "coverage")):
            yield Claim(
                f"The paper's {name} is reproduced, published methods, {words}: cells within two deviations",
                share(BY_CHANCE),
                f"{share(within[metric])} of {size[metric]}",
                bool(within[metric] >= BY_CHANCE),
                "tables",
                "make paper",
            )


def _of_random_splits(evidence: Evidence) -> Iterator[Claim]:
    distances = evidence.table("oracle_distance")
    n_closer = int(distances["closer"].sum())
    yield Claim(
        "Optimal placement is closer to the Oracle than both published placements, 20 random splits",
        "every set and coverage",
        f"{n_closer} of {len(distances)}; in single splits {int(distances['splits_closer'].sum())} of "
        f"{int(distances['n_random_splits'].sum())}",
        n_closer == len(distances),
        "studies",
        "make paper",
    )
    splits = evidence.table("coverage_over_splits")
    means = splits[splits["dataset"].isin(RANDOM_SPLIT_DATASETS)].groupby("method")["violation"].mean()
    ours, one_sided = means["AUCross optimal"], means["SCross"]
    yield Claim(
        "Coverage is kept as closely as by a threshold on one side (SCross)",
        f"{figure(one_sided, 4)} off on average",
        f"{figure(ours, 4)} (published AUCross {figure(means['AUCross'], 4)})",
        bool(ours <= one_sided),
        "studies",
        "make paper",
    )
    cells = evidence.table("cells")
    cells = cells[(cells["table"] == 3) & (cells["dataset"] == "Lending") & (cells["metric"] == "coverage")]
    reached = cells[cells["target_coverage"] == 0.75].set_index("method")["mean"]
    yield Claim(
        "Coverage is kept when time goes by (Lending, loans of 2014)",
        ".75",
        f"{figure(reached['AUCross optimal'], 2)}; published {figure(reached['AUCross'], 2)}; "
        f"{figure(reached['AUCross recalibrated'], 2)} after `recalibrate`",
        bool(abs(reached["AUCross optimal"] - 0.75) < 0.01),
        "tables",
        "make paper",
    )


def _of_the_suite(evidence: Evidence) -> Iterator[Claim]:
    sets, expected = (pd.read_csv(evidence.results / "suite" / f"{name}.csv") for name in ("sets", "expected"))
    so_far = "" if evidence.suite_is_complete else ", so far"
    n_raised = int((sets["gain"] > 0).sum())
    yield Claim(
        f"Abstaining raises the AUC at coverage .80 on data sets of others ({len(sets)} sets{so_far})",
        "every set",
        f"{n_raised} of {len(sets)}, median {signed(sets['gain'].median())}",
        n_raised == len(sets),
        "suite",
        "make suite",
    )
    for row, least in zip(expected.itertuples(), (0.9, 1.0), strict=True):
        found, words = (row.above, "above") if least < 1 else (row.not_below, "not below")
        yield Claim(
            f"AUC {words} that of max probability at equal coverage, sets with {row.sets}{so_far}",
            f"{share(least)} of the sets",
            f"{found} of {row.n_sets}",
            bool(found >= least * row.n_sets),
            "suite",
            "make suite",
        )


def _of_deferral(evidence: Evidence) -> Iterator[Claim]:
    """The task of MLS-Bench on Adult, which `make suite` runs too."""
    means = (
        pd.read_csv(evidence.results / "suite" / "deferral.csv").groupby("policy")[["deferral_gap", "errors"]].mean()
    )
    ours, theirs = means.loc["SCross, capacity shared by group"], means.loc["group thresholds"]
    yield Claim(
        "Selective deferral on Adult, capacity shared by group: gap between groups at most that of group thresholds",
        f"{figure(theirs['deferral_gap'])} here, {figure(PUBLISHED_GAPS['group thresholds'])} published",
        figure(ours["deferral_gap"]),
        bool(ours["deferral_gap"] <= min(theirs["deferral_gap"], PUBLISHED_GAPS["group thresholds"])),
        "suite",
        "make suite",
    )
    yield Claim(
        "The same: no more errors than group thresholds",
        f"{theirs['errors']:.0f}",
        f"{ours['errors']:.0f}",
        bool(ours["errors"] <= theirs["errors"]),
        "suite",
        "make suite",
    )


def _of_peers(evidence: Evidence) -> Claim:
    rows = peer_differences(evidence.table("peers"))
    ahead, behind = int((rows["low"] > 0).sum()), int((rows["high"] < 0).sum())
    return Claim(
        "AUC above that of every peer at equal coverage .90, LightGBM",
        "every peer and set",
        f"ahead {ahead}, neither {len(rows) - ahead - behind}, behind {behind} (all on Lending, by "
        f"{figure(-rows['ours_minus_peer'].min(), 5)} at most)",
        ahead == len(rows),
        "peers",
        "make paper",
    )


def peer_differences(peers: pd.DataFrame) -> pd.DataFrame:
    """Lines of the peers that can be asked for a coverage of .90."""
    return peers[
        (peers["target_coverage"] == 0.9)
        & (peers["classifier"] == "LightGBM")
        & peers["heeds_coverage"]
        & (peers["library"] != "aucross")
    ]


def _of_networks(evidence: Evidence) -> Iterator[Claim]:
    compared = evidence.table("networks")
    compared = compared[compared["ours"] == OWN_SCORE].dropna(subset=["low"])
    better, worse = int((compared["low"] > 0).sum()), int((compared["high"] < 0).sum())
    yield Claim(
        "A band on a network's score ranks better than the selection that the network learnt",
        "clearly worse at no coverage",
        f"clearly better at {better} of {len(compared)}, worse at {worse}",
        worse == 0,
        "networks",
        "make networks",
    )
    runs = evidence.table("network_runs")
    distance = (runs["coverage"] - runs["target_coverage"]).abs().groupby([runs["method"], runs["dataset"]]).mean()
    ours, kept = distance["AUCross optimal"], distance["PlugInAUC optimal"]
    yield Claim(
        "Cross-fitted networks keep their coverage as closely as one network does (PlugInAUC)",
        f"{figure(kept.min())} to {figure(kept.max())} off",
        f"{figure(ours.min())} to {figure(ours.max())} off",
        bool(ours.max() <= kept.max()),
        "networks",
        "make networks",
    )


def _of_crossfit(evidence: Evidence) -> Iterator[Claim]:
    command = "python -m benchmarks.crossfit_coverage"
    roots = evidence.crossfit.roots("AUCross")
    for words, candidate in (("by default", "corrected"), ('with `ensemble="judge"`', "judge")):
        found = roots[candidate].reindex(list(FAMILIES))
        yield Claim(
            f"AUCross keeps its coverage {words}: RMSE in 1e-3, 4,000 rows, five model families",
            f"{AIM:g}",
            f"{found.min():.1f} to {found.max():.1f}; median {found.median():.1f}",
            bool(found.max() <= AIM),
            "crossfit",
            command,
        )
    kept = evidence.crossfit.lowest_kept()
    for method in ("AUCross", "SCross"):
        shares = [kept[method, family] for family in FAMILIES]
        yield Claim(
            f"`coverage_confidence=.95` of {method} is kept in 200 data sets a family",
            figure(HOLDS_AIM, 2),
            f"{figure(min(shares))} to {figure(max(shares))}",
            min(shares) >= HOLDS_AIM,
            "crossfit",
            command,
        )


def _of_intervals(evidence: Evidence) -> Iterator[Claim]:
    lines, command = evidence.intervals, "python -m benchmarks.intervals"
    holds, narrow = lines["holds"] >= HOLDS_AIM, lines["width"] <= WIDTH_AIM
    yield Claim(
        "95 % intervals hold the truth in at least .93 of samples",
        f"all {len(lines)} lines",
        f"{int(holds.sum())}; lowest {figure(lines['holds'].min())}",
        bool(holds.all()),
        "intervals",
        command,
    )
    yield Claim(
        "They are at most twice as wide as an interval that knows the distribution of the samples",
        f"all {len(lines)} lines",
        f"{int(narrow.sum())}; widest {lines['width'].max():.2f}",
        bool(narrow.all()),
        "intervals",
        command,
    )
    yield Claim(
        "Joint promises hold with ten rows per customer and `customers=`",
        ".95",
        f"{figure(min(evidence.promises))} to {figure(max(evidence.promises))}",
        min(evidence.promises) >= BY_CHANCE,
        "intervals",
        f"{command} customers",
    )


# ---- page and picture ----


def claims_page(found: list[Claim]) -> str:
    """How many are met, and the table."""
    n_met = sum(claim.is_met for claim in found)
    header = ["claim", "aim", "reached", "verdict", "page, command"]
    return (
        f"**{n_met} of {len(found)} aims are met, {len(found) - n_met} are missed.**\n\n"
        f"{markdown.table(header, [claim.cells() for claim in found])}"
    )


def gains(evidence: Evidence) -> pd.DataFrame:
    """AUC of the selected rows minus that of all rows, same model and held-out rows, by set: band and confidence."""
    peers = evidence.table("peers")
    peers = peers[(peers["classifier"] == "LightGBM") & (peers["target_coverage"] == SHOWN_COVERAGE)]
    of_tables = peers.pivot_table("selective_auc", "dataset", "peer")
    all_rows = of_tables["scikit-learn tuned threshold"]
    found = (
        of_tables[["aucross PlugInAUC", "aucross PlugIn"]]
        .sub(all_rows, axis=0)
        .set_axis(["band", "confidence"], axis=1)
    )
    runs, models = evidence.table("network_runs"), evidence.table("network_models")
    runs = runs[(runs["target_coverage"] == SHOWN_COVERAGE) & (runs["classifier"] == "VGG16")]
    of_images = runs.pivot_table("selective_auc", "dataset", "method")[["PlugInAUC optimal", "PlugIn"]]
    of_images = of_images.sub(models[models["role"] == "hold-out"].set_index("dataset")["auc"], axis=0).dropna()
    found = pd.concat([found, of_images.set_axis(["band", "confidence"], axis=1)])
    positives = evidence.table("data").set_index("dataset")["positive_rate"]
    return found.assign(positive_rate=positives).sort_values("positive_rate")


def picture(found: pd.DataFrame) -> Figure:
    """What two ways to abstain do to the AUC, set by set; red where a band for the AUC loses."""
    drawn = Figure(figsize=(WIDTH, 0.45 * len(found) + 1.7), layout="constrained")
    axes = drawn.subplots()
    names = [f"{name} ({rate:.0%})" for name, rate in found["positive_rate"].items()][::-1]
    band, confidence = found["band"].to_numpy()[::-1], found["confidence"].to_numpy()[::-1]
    places = range(len(names))
    axes.hlines(places, band, confidence, "#ccc", zorder=1)
    axes.plot(confidence, places, "s", color=OTHER_COLOUR, markersize=8, label="least confident rows go to a person")
    axes.plot(band, places, "o", color=OURS_COLOUR, markersize=9, label="band for the AUC (this library)")
    lost = [place for place in places if band[place] < 0]
    axes.plot(band[lost], lost, "o", color=LOSS_COLOUR, markersize=9, label="the same, and the AUC falls")
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, names)
    axes.set(ylim=(-0.6, len(names) - 0.4), xlabel="change of the AUC, one row in five goes to a person")
    axes.locator_params(axis="x", nbins=6)
    legend_below(drawn, axes, columns=1)
    return drawn


def main(output: Path = RESULTS) -> None:
    """Write table and picture."""
    evidence = Evidence()
    (output / "claims.md").write_text(claims_page(list(claims(evidence))), encoding="utf-8")
    with page_style():
        write_figure(picture(gains(evidence)), output / "claims.png")


if __name__ == "__main__":
    main()
