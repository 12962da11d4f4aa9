"""What a topic is: sets, pieces of work, a picture and a part of the page; and how means over draws are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import pandas as pd
from matplotlib.figure import Figure

from experiments.markdown import figure, signed
from experiments.suite import sets
from experiments.work import Keyed, Named, Rows, Work

LIBRARIES = ("lightgbm", "xgboost-cpu", "scikit-learn", "numpy")
COVERAGE = 0.8  # of every topic that shows one
MOST_TRAINED = 8_000  # rows, as in the suite
MODEL_SEED = 42

WIDTH = 8.0  # inches; the page shows pictures at this width
OURS, OTHER, LOSS, QUIET = "#1b4f72", "#e59866", "#b03a2e", "#888888"


@dataclass(frozen=True, order=True)
class Draw(Named):
    """One draw of the rows of one set."""

    dataset: str
    draw: int


@dataclass(frozen=True)
class Topic:
    """One question about one kind of column.

    Attributes
    ----------
    name : str
        Name of its files.
    datasets : tuple of str
        Sets that have such a column.
    n_draws : int
        How often rows are drawn anew.
    measure : callable
        From one draw to rows of a table.
    draw : callable
        From the table to the picture.
    page : callable
        From the table to its part of the page.
    settings : str
        Numbers that the rows depend on; with others the work is done again.
    """

    name: str
    datasets: tuple[str, ...]
    n_draws: int
    measure: Callable[[Draw], Rows]
    draw: Callable[[pd.DataFrame], Figure]
    page: Callable[[pd.DataFrame], str]
    settings: str

    def works(self, at_hand: Sequence[str], most_draws: int | None = None) -> list[Work]:
        """Draw by draw, so that a run that is interrupted has every set."""
        n_draws = min(self.n_draws, most_draws or self.n_draws)
        there = [name for name in self.datasets if name in at_hand]
        return [self._work(Draw(name, draw)) for draw in range(n_draws) for name in there]

    def _work(self, draw: Keyed) -> Work:
        libraries = [f"{name} {version(name)}" for name in LIBRARIES]
        return Work(f"columns-{self.name}", draw, self.measure, f"{self.settings} {libraries}")


def column(dataset: str, name: str) -> pd.Series:
    """A column that is no feature, in the order of the rows of the set."""
    return pd.read_parquet(sets.file_of(dataset), columns=[name])[name]


# ---- means over draws ----


def with_deviation(values: pd.Series, digits: int = 3, *, sign: bool = False) -> str:
    """Mean ± deviation between draws."""
    return f"{(signed if sign else figure)(values.mean(), digits)} ± {figure(values.std(), digits)}"
