"""Effect of review from a randomised strip, beside a regression discontinuity: ``python -m benchmarks.strip``.

Both see equally many cases, the nearest to an edge of the band. In the strip a coin sends each to a person or to the
machine; without it the edge decides, and lines on both sides, fitted with triangular weights, are compared at the edge.
``made`` draws cases whose effect is known; ``real`` draws with replacement from the test cases of four sets on which
both answers are known (``experiments/deferral``). With ``rdrobust`` installed, which is GPL and no part of this
package, its robust estimate from all cases stands beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pandas as pd

from aucross.audit import strip_effect
from experiments.deferral import REAL_SETS, folder

ALL_CASES = 20_000
# Share of wrong answers of the machine and of people by the distance from the edge, from -1 to 1.
WORLDS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "constant": lambda x: (np.full(len(x), 0.30), np.full(len(x), 0.20)),
    "steep": lambda x: (0.30 + 0.20 * x, 0.20 - 0.05 * x),
    "curved": lambda x: (0.30 + 0.15 * np.sin(4 * x), 0.20 + 0.10 * x**2),
}
Estimate = tuple[float, float, float]


def by_strip(x: np.ndarray, machine: np.ndarray, people: np.ndarray, rng: np.random.Generator) -> Estimate:
    """Effect and ends of its interval, from a coin for each case."""
    reviewed = rng.random(len(x)) < 0.5
    found = strip_effect(np.where(reviewed, people, machine), reviewed, np.full(len(x), 0.5))
    return found.effect, found.low, found.high


def by_discontinuity(x: np.ndarray, machine: np.ndarray, people: np.ndarray) -> Estimate:
    """Effect at the edge, from a line on each side of it, and a normal interval with robust errors."""
    width, ends, variance = np.abs(x).max(), [], 0.0
    for own, loss in ((x < 0, machine), (x >= 0, people)):
        design, weight = np.column_stack([np.ones(own.sum()), x[own]]), 1.0 - np.abs(x[own]) / width
        inverse = np.linalg.pinv(design.T @ (weight[:, None] * design))
        line = inverse @ design.T @ (weight * loss[own])
        scaled = (weight * (loss[own] - design @ line))[:, None] * design
        ends.append(line[0])
        variance += (inverse @ (scaled.T @ scaled) @ inverse)[0, 0]
    effect, reach = ends[0] - ends[1], 1.96 * np.sqrt(variance)
    return effect, effect - reach, effect + reach


def by_rdrobust(x: np.ndarray, machine: np.ndarray, people: np.ndarray) -> Estimate:
    """Robust effect of the package, which chooses its own width from all cases."""
    from rdrobust import rdrobust  # noqa: PLC0415

    found = rdrobust(np.where(x >= 0, people, machine), x)
    low, high = found.ci.loc["Robust"]
    return -float(found.coef.loc["Robust"].iloc[0]), -float(high), -float(low)


def line(name: str, n_cases: int, target: float, found: np.ndarray) -> str:
    """Mean error, its size and how often the interval holds."""
    effect, low, high = found.T
    errors = effect - target
    level = np.mean((low <= target) & (target <= high))
    return (
        f"{name:<34}{n_cases:>7,}{target:>9.4f}{errors.mean():>10.4f}{np.sqrt(np.mean(errors**2)):>9.4f}{level:>8.3f}"
    )


def made(draws: int) -> None:
    """Cases of made worlds."""
    for world, errors in WORLDS.items():
        for share in (0.02, 0.1, 0.4):
            rng, found = np.random.default_rng(0), {"strip": [], "discontinuity": [], "rdrobust": []}
            grid = np.linspace(-share, share, 100_001)
            target = float(np.subtract(*errors(grid)).mean())
            at_edge = float(np.subtract(*errors(np.zeros(1)))[0])
            for number in range(draws):
                x = rng.uniform(-1, 1, ALL_CASES)
                machine, people = (rng.random(ALL_CASES) < wrong for wrong in errors(x))
                near = np.abs(x) <= share
                found["strip"].append(by_strip(x[near], machine[near], people[near], rng))
                found["discontinuity"].append(by_discontinuity(x[near], machine[near] * 1.0, people[near] * 1.0))
                if share == 0.1 and number < draws // 10 and find_spec("rdrobust"):
                    found["rdrobust"].append(by_rdrobust(x, machine * 1.0, people * 1.0))
            n_near = int(share * ALL_CASES)
            print(line(f"{world}: strip", n_near, target, np.array(found["strip"])))
            print(line(f"{world}: discontinuity, mean of strip", n_near, target, np.array(found["discontinuity"])))
            print(line(f"{world}: discontinuity, at the edge", n_near, at_edge, np.array(found["discontinuity"])))
            if found["rdrobust"]:
                print(line(f"{world}: rdrobust, at the edge", ALL_CASES, at_edge, np.array(found["rdrobust"])))


def real(draws: int) -> None:
    """Cases of four real sets, whose effect among the cases of the strip is known."""
    answers = pd.read_parquet(folder() / "answers.parquet")
    for name in REAL_SETS:
        rows = answers[(answers["set"] == name) & (answers["system"] == "SP")]
        test = rows[rows["part"] == "test"]
        cutoff = np.quantile(rows.loc[rows["part"] == "cal", "rejection_score"], 0.5)
        x = test["rejection_score"].to_numpy() - cutoff
        near = np.argsort(np.abs(x), kind="stable")[: min(1000, len(x) // 2)]
        x, test = x[near], test.iloc[near]
        wrong = [(test[who] != test["label"]).to_numpy() * 1.0 for who in ("model", "human")]
        target, rng = float(wrong[0].mean() - wrong[1].mean()), np.random.default_rng(0)
        found: dict[str, list[Estimate]] = {"strip": [], "discontinuity": []}
        for _ in range(draws):
            at = rng.integers(0, len(x), len(x))
            drawn = (x[at], wrong[0][at], wrong[1][at])
            found["strip"].append(by_strip(*drawn, rng))
            found["discontinuity"].append(by_discontinuity(*drawn))
        for way, estimates in found.items():
            print(line(f"{name}: {way}", len(x), target, np.array(estimates)))


def main() -> None:
    """Print one line for each world, number of cases and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", choices=("made", "real"), nargs="?", default="made")
    parser.add_argument("--draws", type=int, default=500)
    options = parser.parse_args()
    print(f"{'way':<34}{'cases':>7}{'effect':>9}{'bias':>10}{'error':>9}{'held':>8}")
    (made if options.cases == "made" else real)(options.draws)


if __name__ == "__main__":
    main()
