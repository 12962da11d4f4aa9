"""Draw what abstention does to the AUC, and print the numbers beside it: ``python docs/draw_abstention.py``.

The portfolio, the model and the split are those of ``make demo``. Every picture is drawn twice, for light and for dark
pages. Takes about a minute.
"""

from __future__ import annotations

import os

# Before scikit-learn is imported: on a busy machine its threads wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross, evaluate_selective
from aucross.datasets import make_credit

FOLDER = Path(__file__).parent / "images"
COVERAGES = (1.0, 0.99, 0.95, 0.90, 0.85, 0.80, 0.75)
SHOWN_COVERAGE = 0.80
NAMES = ("AUCross", "max probability")


class Theme(NamedTuple):
    """Colours of one kind of page; blue and orange stay apart without colour vision."""

    text: str
    muted: str
    blue: str
    orange: str


THEMES = {
    "light": Theme(text="#222832", muted="#6b7280", blue="#0072b2", orange="#d55e00"),
    "dark": Theme(text="#e6e8eb", muted="#9aa4b2", blue="#56b4e9", orange="#f0a05a"),
}


class Portfolio(NamedTuple):
    """Test loans with their score, and what either rule does with them at the coverage shown."""

    defaulted: np.ndarray
    score: np.ndarray
    selected: dict[str, np.ndarray]
    band: dict[str, tuple[float, float]]
    curve: dict[str, list[dict]]


def main() -> None:
    portfolio = fitted_portfolio()
    print_numbers(portfolio)
    FOLDER.mkdir(exist_ok=True)
    for name, theme in THEMES.items():
        with drawn(FOLDER / f"auc-by-coverage-{name}.svg", theme) as axes:
            draw_curves(axes, portfolio, theme)
        with drawn(FOLDER / f"band-{name}.svg", theme) as axes:
            draw_band(axes, portfolio, theme)
        with drawn(FOLDER / f"influence-{name}.svg", theme, rows=2, size=(5.2, 5.0)) as both:
            draw_influence(both, portfolio, theme)


def fitted_portfolio() -> Portfolio:
    X, y = make_credit(20_000, return_X_y=True)
    X = X.drop(columns="issue_date")
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    rules = {
        name: method(model, coverage=SHOWN_COVERAGE, random_state=0).fit(X_train, y_train)
        for name, method in zip(NAMES, (AUCross, SCross), strict=True)
    }
    lowest_confidence = rules["max probability"].band().upper
    return Portfolio(
        defaulted=np.asarray(y_test) == 1,
        score=rules["AUCross"].scored(X_test).score,
        selected={name: clf.select(X_test) for name, clf in rules.items()},
        band={
            "AUCross": (rules["AUCross"].band().lower, rules["AUCross"].band().upper),
            # A confidence up to c is a probability between 1 - c and c.
            "max probability": (1 - lowest_confidence, lowest_confidence),
        },
        curve={
            name: evaluate_selective(clf, X_test, y_test, COVERAGES, random_state=0).rows()
            for name, clf in rules.items()
        },
    )


def share_of_pairs_won(defaulted: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Of each loan, the share of loans of the other class that it is ranked correctly against; ties count half."""
    repaid, bad = np.sort(score[~defaulted]), np.sort(score[defaulted])

    def below(others: np.ndarray, at: np.ndarray) -> np.ndarray:
        return (np.searchsorted(others, at, "left") + np.searchsorted(others, at, "right")) / (2 * len(others))

    return np.where(defaulted, below(repaid, score), 1 - below(bad, score))


def print_numbers(portfolio: Portfolio) -> None:
    defaulted, score, won = portfolio.defaulted, portfolio.score, share_of_pairs_won(*portfolio[:2])
    print(f"{len(score):,} loans, {defaulted.mean():.1%} defaulted, AUC {roc_auc_score(defaulted, score):.3f}")
    for name in NAMES:
        selected, (low, high) = portfolio.selected[name], portfolio.band[name]
        bad = ~selected & defaulted
        print(
            f"{name}: rejects scores {low:.3f} to {high:.3f}, selects {selected.mean():.1%}\n"
            f"  AUC {roc_auc_score(defaulted[selected], score[selected]):.3f}, "
            f"accuracy {accuracy_score(defaulted[selected], score[selected] >= 0.5):.3f} "
            f"(all: {accuracy_score(defaulted, score >= 0.5):.3f}), "
            f"defaults among the selected {defaulted[selected].mean():.1%}\n"
            f"  rejects {bad.sum()} of {defaulted.sum()} defaults, which win {won[bad].mean():.3f} of their pairs, "
            f"and {(~selected & ~defaulted).sum()} of {(~defaulted).sum()} repaid loans, which win "
            f"{won[~selected & ~defaulted].mean():.3f}"
        )


@contextmanager
def drawn(path: Path, theme: Theme, rows: int = 1, size: tuple[float, float] = (4.7, 3.3)):
    """Axes without a background, which are written as SVG with the letters as outlines, the same on every machine."""
    colours = dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), theme.text
    )
    settings = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "aucross"}
    with mpl.rc_context(settings | colours):
        figure, axes = plt.subplots(rows, 1, figsize=size, layout="constrained", sharex=rows > 1)
        yield axes
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)


def draw_curves(axes, portfolio: Portfolio, theme: Theme) -> None:
    for name, color, style in zip(NAMES, (theme.blue, theme.orange), ("o-", "s--"), strict=True):
        rows = sorted(portfolio.curve[name], key=lambda row: row["achieved_coverage"])
        coverage, auc, low, high = (
            [row[column] for row in rows]
            for column in ("achieved_coverage", "selective_auc", "selective_auc_low", "selective_auc_high")
        )
        axes.plot(coverage, auc, style, color=color, markersize=5)
        axes.fill_between(coverage, low, high, color=color, alpha=0.15, linewidth=0)
    everyone = portfolio.curve["AUCross"][0]["selective_auc"]
    axes.axhline(everyone, color=theme.muted, linewidth=1)
    axes.text(0.752, 0.843, "band for the AUC (AUCross)", color=theme.blue, ha="right", va="bottom")
    axes.text(0.752, 0.744, "max probability", color=theme.orange, ha="right", va="bottom")
    axes.text(0.752, everyone + 0.001, "no abstention", color=theme.muted, ha="right", va="bottom")
    axes.invert_xaxis()
    axes.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0, decimals=0))
    axes.set(xlabel="share decided automatically (coverage)", ylabel="AUC on these loans")


def draw_band(axes, portfolio: Portfolio, theme: Theme) -> None:
    draw_scores(axes, portfolio, theme)
    low, high = portfolio.band["AUCross"]
    mark_band(axes, low, high, theme.text, "goes to a person")
    axes.legend(frameon=False, loc="upper right")
    axes.set(xlabel="predicted probability of default")


def draw_influence(both, portfolio: Portfolio, theme: Theme) -> None:
    top, bottom = both
    draw_scores(top, portfolio, theme)
    mark_band(top, *portfolio.band["AUCross"], theme.text, "rejected for the AUC")
    mark_band(top, *portfolio.band["max probability"], theme.orange, "rejected by max probability")
    top.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    at, effect = effect_of_a_loan(portfolio)
    bottom.axhline(0, color=theme.muted, linewidth=1)
    bottom.plot(at, effect, color=theme.text, linewidth=1.5)
    bottom.fill_between(at, effect, 0, where=effect < 0, color=theme.blue, alpha=0.35, linewidth=0)
    bottom.fill_between(at, effect, 0, where=effect > 0, color=theme.orange, alpha=0.35, linewidth=0)
    bottom.text(
        0.03, 0.7, "keeping such a loan\nraises the AUC", transform=bottom.get_xaxis_transform(), color=theme.orange
    )
    bottom.text(0.44, 0.03, "keeping such a loan lowers it", transform=bottom.get_xaxis_transform(), color=theme.blue)
    bottom.set(xlabel="predicted probability of default", ylabel="effect of a loan on the AUC", yticks=[])


def draw_scores(axes, portfolio: Portfolio, theme: Theme) -> None:
    bins = np.linspace(0, 1, 51)
    axes.hist(portfolio.score[~portfolio.defaulted], bins=bins, color=theme.blue, alpha=0.65, label="repaid")
    axes.hist(portfolio.score[portfolio.defaulted], bins=bins, color=theme.orange, alpha=0.9, label="defaulted")
    axes.set(ylabel="test loans", xlim=(0, 1))


def mark_band(axes, low: float, high: float, color: str, label: str) -> None:
    axes.axvspan(low, high, facecolor=color, edgecolor="none", alpha=0.2, label=label)
    for end in (low, high):
        axes.axvline(end, color=color, linewidth=1.2, linestyle=(0, (4, 3)))


def effect_of_a_loan(portfolio: Portfolio) -> tuple[np.ndarray, np.ndarray]:
    """What a loan at each score adds to the AUC, on average over loans with about this score.

    A default stands in as many pairs as there are repaid loans, so it weighs one over the number of defaults; it adds
    what it wins beyond the AUC. The same for a repaid loan, whose weight is smaller because there are more of them.
    """
    defaulted, score = portfolio.defaulted, portfolio.score
    beyond = share_of_pairs_won(defaulted, score) - roc_auc_score(defaulted, score)
    effect = beyond * np.where(defaulted, 1 / defaulted.sum(), 1 / (~defaulted).sum())
    at = np.linspace(0.005, 0.95, 200)
    # Few loans score high: the window is wider there.
    weight = np.exp(-0.5 * ((score - at[:, np.newaxis]) / (0.012 + 0.05 * at[:, np.newaxis])) ** 2)
    return at, weight @ effect / weight.sum(axis=1)


if __name__ == "__main__":
    mpl.use("svg")
    main()
