"""A data set in figures, beside those of Table 1 of the paper."""

from __future__ import annotations

from typing import Any

from aucross.datasets.dataset import Dataset
from aucross.datasets.paper import TABLE_1


def summarize(dataset: Dataset, random_state: int = 42) -> dict[str, Any]:
    """Size, features and positive rate of a data set beside the paper's.

    Parameters
    ----------
    dataset : Dataset
        From a loader.
    random_state : int, default=42
        Seed of the split where the test rows are not given.

    Returns
    -------
    dict
        ``name``, ``features``, ``n_train``, ``n_test``, ``positive_rate`` (of the test rows); ``paper_features`` and
        so on, None if the name is not in Table 1; ``differences``, ``source``, ``licence``.
    """
    split = dataset.split(random_state)
    ours = {
        "features": _features(dataset.X),
        "n_train": len(split.y_train),
        "n_test": len(split.y_test),
        "positive_rate": float((split.y_test == 1).mean()),
    }
    paper = TABLE_1.get(dataset.name)
    theirs = {f"paper_{key}": getattr(paper, key) if paper else None for key in ours}
    about = {"differences": dataset.differences, "source": dataset.source, "licence": dataset.licence}
    return {"name": dataset.name, **ours, **theirs, **about}


def _features(X: Any) -> str:
    """As Table 1 has it: the number of columns, or height and width of the images."""
    return str(X.shape[1]) if X.ndim == 2 else "x".join(map(str, X.shape[1:3]))
