"""Real columns: ``python -m experiments.columns [--quick] [--plan] [--write-only] [--jobs 2] [--output FOLDER]``.

Goes on where it was interrupted. ``make suite`` runs it after the cells of the suite.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.columns import alerts, groups, over_time, patients, weights
from experiments.columns.topics import Topic
from experiments.figures import write_figure
from experiments.suite.__main__ import HERE, sets_at_hand
from experiments.work import Work, finish_all, results

TOPICS: tuple[Topic, ...] = tuple(module.TOPIC for module in (weights, groups, over_time, alerts, patients))
QUICK_DRAWS = 2


def main(arguments: list[str] | None = None) -> None:
    """Do what is missing, then write a table, a picture and a part of the page for each topic."""
    options = _options(arguments)
    at_hand = sets_at_hand()
    most_draws = QUICK_DRAWS if options.quick else None
    works = {topic: topic.works(at_hand, most_draws) for topic in TOPICS if topic.name in options.only}
    for topic, planned in works.items():
        print(told(topic, planned))
    if options.plan:
        return
    if not options.write_only:
        finish_all([work for planned in works.values() for work in planned], n_jobs=options.jobs)
    output = options.output or HERE / ("results-quick" if options.quick else "results") / "columns"
    for topic, planned in works.items():
        write_topic(topic, [work for work in planned if work.stored() is not None], output)
    print(f"written to {output}")


def write_topic(topic: Topic, done: Sequence[Work], output: Path) -> None:
    """Every number of a topic, its picture and its part of the page; nothing where no draw is done."""
    if not done:
        return
    output.mkdir(parents=True, exist_ok=True)
    table = output / f"{topic.name}.csv"
    in_order = sorted(done, key=lambda work: (topic.datasets.index(work.key["dataset"]), work.key["draw"]))
    pd.DataFrame(results(in_order)).to_csv(table, index=False, float_format="%.5g")
    rows = pd.read_csv(table)  # as anybody else reads it
    (output / f"{topic.name}.md").write_text(topic.page(rows), encoding="utf-8")
    write_figure(topic.draw(rows), output / f"{topic.name}.png")


def told(topic: Topic, works: Sequence[Work]) -> str:
    """How much of a topic is done, and how long the rest takes by the time that the others took."""
    seconds = [stored.seconds for work in works if (stored := work.stored()) is not None]
    left = len(works) - len(seconds)
    about = f", about {left * sum(seconds) / len(seconds):.0f} seconds of one core left" if seconds and left else ""
    return f"{topic.name}: {len(seconds)} of {len(works)} draws done{about}"


def _options(arguments: list[str] | None) -> argparse.Namespace:
    names = [topic.name for topic in TOPICS]
    parser = argparse.ArgumentParser(prog="python -m experiments.columns", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_DRAWS} draws of every set, in minutes")
    parser.add_argument("--plan", action="store_true", help="say what is done and how long the rest takes, then stop")
    parser.add_argument("--write-only", action="store_true", help="write the results of the draws that are done")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="TOPIC", help=", ".join(names))
    parser.add_argument("--jobs", type=int, default=2, help="draws side by side (default 2)")
    parser.add_argument("--output", type=Path, help="where to write (default experiments/results/columns)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
