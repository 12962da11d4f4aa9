"""The evidence as Markdown pages, written from its tables alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from experiments import tables
from experiments.pages.grid import Evidence
from experiments.pages.networks import networks_page
from experiments.pages.paper import (
    agreement_page,
    classifiers_page,
    data_page,
    folds_page,
    metrics_page,
    oracle_page,
    times_page,
)
from experiments.pages.studies import coverage_page, gate_page, learning_page, peers_page, robustness_page, speed_page
from experiments.pages.summary import summary_page

__all__ = ["PAGES", "write_pages"]

PAGES: Mapping[str, Callable[[Evidence], Iterator[str]]] = {
    "summary": summary_page,
    "table1": data_page,
    "table2": oracle_page,
    "table3": metrics_page(3),
    "table4": metrics_page(4),
    "table5": times_page,
    **{f"table{number}": classifiers_page(number) for number in sorted(tables.CLASSIFIER_TABLES)},
    "table10": folds_page,
    "agreement": agreement_page,
    "robustness": robustness_page,
    "gate": gate_page,
    "coverage": coverage_page,
    "learning": learning_page,
    "peers": peers_page,
    "speed": speed_page,
}


def write_pages(evidence: Evidence, output: Path) -> None:
    """Write every page."""
    pages = {**PAGES, **({"networks": networks_page} if "networks" in evidence else {})}
    for name, page in pages.items():
        (output / f"{name}.md").write_text("\n".join(page(evidence)), encoding="utf-8")
