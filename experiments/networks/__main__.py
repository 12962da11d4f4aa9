"""Train the networks and put the methods together: ``python -m experiments.networks``.

Goes on where it was stopped. The figures reach the paper's tables with the next ``make paper``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments import figures, markdown
from experiments.__main__ import HERE, datasets_at_hand
from experiments.networks.budgets import NETWORK_DATASETS, Name
from experiments.networks.estimate import minutes_expected, seconds_expected
from experiments.networks.results import BEST_FIRST, finished_studies, network_evidence
from experiments.networks.seeds import seeds_from, tables_at_hand, train_seeds, trainings_of_seed, write_seeds
from experiments.networks.studies import Study
from experiments.networks.trainings import Training
from experiments.pages.networks import networks_page
from experiments.work import finish_all


def main(arguments: list[str] | None = None) -> None:
    """Train what is missing, then write the page and the figure of the networks."""
    options = _options(arguments)
    name: Name = "full" if options.full else "quick" if options.quick else "budget"
    output = options.output or HERE / ("results-quick" if options.quick else "results")
    if options.seeds:
        finish_seeds(tables_at_hand(datasets_at_hand(options.only)), name, seeds_from(options.seeds), options, output)
        return
    studies = [Study(dataset, name) for dataset in datasets_at_hand(options.only)]
    _say(plan_text(studies))
    if options.plan:
        return
    failures = []
    for study in studies:
        failures += finish(study, n_jobs=options.jobs)
        # After each data set, with those of earlier calls: what is there can be read while the rest is trained.
        finished = finished_studies(("quick",) if options.quick else BEST_FIRST)
        write_results(finished, output)
        _say(f"written to {output}: {', '.join(study.dataset for study in finished) or 'nothing'}")
    if failures:
        raise SystemExit("\n".join(failures))


def finish_seeds(
    datasets: Sequence[str], name: Name, seeds: Sequence[int], options: argparse.Namespace, output: Path
) -> None:
    """The tables with several seeds, instead of all studies with one."""
    trainings = [each for data in datasets for seed in seeds for each in trainings_of_seed(data, name, seed)]
    _say(f"{len(trainings)} trainings, {minutes_expected(trainings):.0f} minutes on two idle cores")
    if options.plan:
        return
    train_seeds(datasets, name, seeds, n_jobs=options.jobs)
    write_seeds(datasets, name, seeds, output)
    _say(f"written to {output}: {', '.join(datasets)}")


def finish(study: Study, *, n_jobs: int) -> list[str]:
    """Do what is missing of a study, first what others start from; failures are returned so that other data go on."""
    first = [training for training in study.trainings if training.start is None]
    then = [training for training in study.trainings if training.start is not None]
    # Trainings that use all cores come one after the other.
    n_jobs = n_jobs if study.budget.n_threads == 1 else 1
    try:
        for trainings in (first, then):
            finish_all([training.work for training in trainings], n_jobs=n_jobs)
        finish_all(study.works, n_jobs=1)
    except RuntimeError as error:
        return [f"{study.dataset}: {error}"]
    return []


def write_results(studies: Sequence[Study], output: Path) -> None:
    """The page, the figure and their tables."""
    evidence = network_evidence(studies)
    if not evidence:
        return
    output.mkdir(parents=True, exist_ok=True)
    for name, frame in evidence.items():
        frame.to_csv(output / f"{name}.csv", index=False, float_format="%.6g")
    (output / "networks.md").write_text("\n".join(networks_page(evidence)), encoding="utf-8")
    figures.write_figure(figures.networks(evidence), output / "networks.png")


def plan_text(studies: Sequence[Study]) -> str:
    """Budgets, trainings, and minutes on two idle cores, with what is done already."""
    parts = []
    for study in studies:
        trainings = study.trainings
        parts.append(f"{study.dataset} ({study.budget_name}): {study.budget.sentence()}.\n")
        parts.append(markdown.table(["training", "rows", "epochs", "seconds"], map(_plan_row, trainings)))
        parts.append(f"{len(trainings)} trainings, {minutes_expected(trainings):.0f} minutes.\n")
    everything = [training for study in studies for training in study.trainings]
    missing = [training for training in everything if training.work.stored() is None]
    parts.append(
        f"All: {len(everything)} trainings, {minutes_expected(everything):.0f} minutes on two idle cores; "
        f"{len(missing)} of them to do, {minutes_expected(missing):.0f} minutes."
    )
    return "\n".join(parts)


def _plan_row(training: Training) -> list[str]:
    stored = training.work.stored()
    seconds = f"about {seconds_expected(training):.0f}" if stored is None else f"{stored.rows[0]['seconds']:.0f}, done"
    epochs = training.parameters().get("max_epochs", "-")
    return [str(training), f"{len(training.parts[0]):,}", str(epochs), seconds]


def _say(text: str) -> None:
    print(text, flush=True)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.networks", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="the paper's schedule: 300 epochs, full width, five folds")
    size.add_argument("--quick", action="store_true", help="tiny networks on few rows, in minutes, to see the shape")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=NETWORK_DATASETS,
        default=list(NETWORK_DATASETS),
        metavar="DATASET",
        help="data sets",
    )
    parser.add_argument("--plan", action="store_true", help="print trainings and minutes, and do nothing")
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="instead: the tables with N seeds, at one coverage, into network_seeds.md",
    )
    parser.add_argument("--jobs", type=int, default=2, help="trainings of tables side by side (default 2)")
    parser.add_argument("--output", type=Path, help="where to write (default experiments/results)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
