"""Capacity: a hundred reviews a day on the transactions of the fraud handbook, by its own split and its own measure.

25 to 31 July trains, the week after waits for its labels, 8 to 14 August tests. A card whose fraud is known is watched
no more: from the training week at once, from later days a week after, and on the day after a reviewer has found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from aucross import AUCross
from aucross.evaluation import selective_auc
from experiments import markdown
from experiments.columns.topics import LOSS, MODEL_SEED, OURS, QUIET, WIDTH, Draw, Topic, column, with_deviation
from experiments.markdown import figure
from experiments.suite import sets
from experiments.work import Rows

CAPACITY = 100  # reviews a day
DELAY = 7  # days until the label of a transaction is known
DRAWN = 0.9  # of the training week, in each draw
MODELS: Mapping[str, Callable[[], Any]] = {
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "XGBoost": lambda: XGBClassifier(random_state=MODEL_SEED, n_jobs=1),
    "LightGBM": lambda: LGBMClassifier(random_state=MODEL_SEED, n_jobs=1, verbose=-1),
}
# As the handbook prints them for this split: AUC, average precision, CardPrecision@100.
PUBLISHED = {"logistic regression": (0.871, 0.606, 0.291), "XGBoost": (0.862, 0.639, 0.273)}
TOP, BAND = "highest scores", "review_queue of AUCross"


class Transactions(NamedTuple):
    """Transactions with the day and the card of each."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    day: NDArray[np.int64]
    card: NDArray[np.int64]

    def take(self, rows: NDArray[Any]) -> Transactions:
        """Some of them."""
        return Transactions(self.X.iloc[rows], self.y[rows], self.day[rows], self.card[rows])


def measure(draw: Draw) -> Rows:
    """One row per model, way to choose and day."""
    of = sets.load(draw.dataset)
    assert of.earlier is not None
    day, card = (column(draw.dataset, name).to_numpy(dtype=np.int64) for name in ("TX_TIME_DAYS", "CUSTOMER_ID"))
    everything = Transactions(of.X, of.y, day, card)
    drawn = train_test_split(of.earlier, train_size=DRAWN, stratify=of.y[of.earlier], random_state=draw.draw)[0]
    first_day = int(day[of.later].min())
    test = everything.take(watched(everything, set(of.earlier.tolist()), first_day))
    rows: Rows = []
    for name, build in MODELS.items():
        clf = AUCross(build(), random_state=draw.draw).fit(of.X.iloc[drawn], of.y[drawn])
        rows += [{**draw.key, "model": name, **row} for row in judged(clf, test)]
    return rows


def watched(everything: Transactions, trained: set[int], first_day: int) -> NDArray[np.intp]:
    """Rows of the test days whose card is not yet known to be compromised."""
    is_fraud = everything.y == 1
    in_training = np.isin(np.arange(len(everything.y)), list(trained))
    known = set(everything.card[in_training & is_fraud].tolist())
    found = []
    for day in range(first_day, int(everything.day.max()) + 1):
        known |= set(everything.card[(everything.day == day - DELAY - 1) & is_fraud].tolist())
        today = np.flatnonzero(everything.day == day)
        found.append(today[~np.isin(everything.card[today], list(known))])
    return np.concatenate(found)


def judged(clf: Any, test: Transactions) -> Iterator[dict[str, Any]]:
    """A week of reviews, chosen in two ways: what they find, and what is left to the model."""
    scored = clf.scored(test.X)
    score = scored.score
    about = {
        "auc_week": float(roc_auc_score(test.y, score)),
        "average_precision": float(average_precision_score(test.y, score)),
        "card_precision": float(np.mean(list(card_precisions(score, test)))),
    }
    choose: Mapping[str, Callable[[NDArray[np.intp]], NDArray[np.bool_]]] = {
        TOP: lambda rows: _highest(score[rows]),
        BAND: lambda rows: ~clf.select(scored.take(rows), capacity=CAPACITY),
    }
    for name, chosen_by in choose.items():
        caught: set[int] = set()
        for day in np.unique(test.day):
            rows = np.flatnonzero(test.day == day)
            rows = rows[~np.isin(test.card[rows], list(caught))]
            chosen = chosen_by(rows)
            found = of_day(score[rows], test.y[rows], test.card[rows], chosen)
            caught |= set(test.card[rows][chosen & (test.y[rows] == 1)].tolist())
            yield {"chosen": name, "day": int(day), **about, **found}


def card_precisions(score: NDArray[np.float64], test: Transactions) -> Iterator[float]:
    """The handbook's measure, day by day: of the hundred cards with the highest scores, the share with a fraud."""
    caught: list[int] = []
    for day in np.unique(test.day):
        today = (test.day == day) & ~np.isin(test.card, caught)
        cards = pd.DataFrame({"card": test.card[today], "score": score[today], "fraud": test.y[today]})
        highest = cards.groupby("card").max().nlargest(CAPACITY, "score")
        caught += highest.index[highest["fraud"] == 1].tolist()
        yield float((highest["fraud"] == 1).sum() / CAPACITY)


def _highest(score: NDArray[np.float64]) -> NDArray[np.bool_]:
    chosen = np.zeros(len(score), dtype=bool)
    chosen[np.argsort(-score, kind="stable")[:CAPACITY]] = True
    return chosen


def of_day(
    score: NDArray[np.float64], y: NDArray[np.int64], card: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> dict[str, float]:
    """What reviewers find among the chosen rows, and what lies above and below them."""
    fraud, above = y == 1, score > score[chosen].max()
    return {
        "n": len(y),
        "frauds": int(fraud.sum()),
        "frauds_found": int((fraud & chosen).sum()),
        "cards_found": len(np.unique(card[fraud & chosen])),
        "frauds_above": int((fraud & above & ~chosen).sum()),
        "genuine_above": int((~fraud & above & ~chosen).sum()),
        "frauds_below": int((fraud & ~above & ~chosen).sum()),
        "auc_all": selective_auc(y, score),
        "auc_rest": selective_auc(y, score, ~chosen),
    }


def page(rows: pd.DataFrame) -> str:
    """The handbook's measure, then a day's work by either way."""
    of_models = rows.drop_duplicates(["draw", "model"])
    measured = []
    for name, found in of_models.groupby("model", sort=False):
        published = PUBLISHED.get(str(name), (None, None, None))
        values = ("auc_week", "average_precision", "card_precision")
        measured.append(
            [name]
            + [
                f"{with_deviation(found[value])} ({figure(them)})"
                for value, them in zip(values, published, strict=True)
            ]
        )
    # Each draw is a week of seven days.
    by_draw = rows.groupby(["model", "chosen", "draw"], sort=False).mean(numeric_only=True)
    work = [
        [
            model,
            chosen,
            f"{found['frauds'].mean():.0f}",
            f"{found['frauds_found'].mean():.1f} on {found['cards_found'].mean():.1f} cards",
            f"{found['frauds_above'].mean():.1f} and {found['genuine_above'].mean():.1f}",
            f"{found['frauds_below'].mean():.1f}",
            figure(found["auc_all"].mean()),
            with_deviation(found["auc_rest"]),
        ]
        for (model, chosen), found in by_draw.groupby(level=["model", "chosen"], sort=False)
    ]
    n_draws = rows["draw"].nunique()
    told = (
        f"Means a day, over {rows['day'].nunique()} days and {n_draws} draws; reviewers recognise every fraud that "
        "they see, and its card is left out on the following days.\n"
    )
    return "\n".join(
        [
            markdown.table(
                ["model", "AUC (published)", "average precision (published)", f"CardPrecision@{CAPACITY} (published)"],
                measured,
            ),
            f"Means over {n_draws} draws of {DRAWN:.0%} of the training week ± their deviation.\n",
            markdown.table(
                [
                    "model",
                    f"{CAPACITY} reviews a day chosen by",
                    "frauds a day",
                    "found by reviewers",
                    "above them: frauds and genuine",
                    "frauds below",
                    "AUC of all",
                    "AUC of the rest",
                ],
                work,
            ),
            told,
        ]
    )


def draw_picture(rows: pd.DataFrame) -> Figure:
    """Where the frauds of a day end up, and the AUC of what is left to the model."""
    means = rows.groupby(["model", "chosen"], sort=False).mean(numeric_only=True)
    labels = [f"{model}:\n{chosen}" for model, chosen in means.index]
    places = np.arange(len(means))[::-1]
    picture = Figure(figsize=(WIDTH, 0.55 * len(means) + 1.5), layout="constrained")
    left, right = picture.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    start = np.zeros(len(means))
    for name, colour, label in (
        ("frauds_found", OURS, "found by reviewers"),
        ("frauds_above", "#7fb3d5", "above them, left to the model"),
        ("frauds_below", LOSS, "below them, missed"),
    ):
        left.barh(places, means[name], left=start, color=colour, label=label)
        start += means[name].to_numpy()
    left.set_yticks(places, labels, fontsize=8)
    left.set(title="frauds a day")
    right.plot(means["auc_all"], places, "|", color=QUIET, markersize=16, label="AUC of all")
    right.plot(means["auc_rest"], places, "o", color="black", label="AUC of the rest")
    right.set(title="AUC of a day")
    right.grid(axis="x", color="#eeeeee")
    handles = {
        label: handle for axes in (left, right) for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return picture


TOPIC = Topic(
    name="alerts",
    datasets=("fraud_handbook_3w",),
    n_draws=4,
    measure=measure,
    draw=draw_picture,
    page=page,
    settings=repr((CAPACITY, DELAY, DRAWN, sorted(MODELS))),
)
