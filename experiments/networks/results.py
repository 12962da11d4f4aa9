"""Finished studies as tables of the evidence, without training and without torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from experiments import protocol, store
from experiments.networks.budgets import NETWORK_DATASETS, Name
from experiments.networks.studies import Study
from experiments.networks.trainings import KIND
from experiments.work import finish_all

# The paper's schedule where it was run.
BEST_FIRST: tuple[Name, ...] = ("full", "budget")


def finished_studies(names: Sequence[Name] = BEST_FIRST) -> list[Study]:
    """One study per data set that is trained: at the first of these budgets that is. Missing figures are computed."""
    found: list[Study] = []
    # Only where something is stored is the data looked at, which may mean to fetch it.
    if not (store.CACHE / KIND).is_dir():
        return found
    for dataset in NETWORK_DATASETS:
        try:
            protocol.load(dataset)
        except (FileNotFoundError, ConnectionError):
            continue
        studies = (Study(dataset, name) for name in names)
        found += [study for study in studies if all(training.work.stored() for training in study.trainings)][:1]
    finish_all([work for study in found for work in study.works], n_jobs=1)
    return found


def network_evidence(studies: Iterable[Study]) -> dict[str, pd.DataFrame]:
    """Tables of finished studies by the names of their files: figures, comparisons, models, budgets."""
    studies = list(studies)
    if not studies:
        return {}
    figures, comparisons, models = (
        pd.DataFrame([row for study in studies for row in study.works[part].stored().rows])  # type: ignore[union-attr]
        for part in (0, 1, 2)
    )
    budgets = [
        {
            "dataset": study.dataset,
            "budget": study.budget_name,
            "short": study.budget.short(),
            "trained": study.budget.sentence(),
        }
        for study in studies
    ]
    return {
        "network_runs": figures,
        "networks": comparisons,
        "network_models": models,
        "network_budgets": pd.DataFrame(budgets),
    }
