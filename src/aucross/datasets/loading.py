"""One function for all data sets of the paper, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from aucross.datasets.adult import load_adult
from aucross.datasets.cats_vs_dogs import load_cats_vs_dogs
from aucross.datasets.cifar10 import load_cifar10_cat
from aucross.datasets.csds import load_csds
from aucross.datasets.dataset import Dataset
from aucross.datasets.giveme import load_giveme
from aucross.datasets.lending import load_lending
from aucross.datasets.ucicredit import load_ucicredit

LOADERS: dict[str, Callable[..., Dataset]] = {
    "Adult": load_adult,
    "Lending": load_lending,
    "GiveMe": load_giveme,
    "UCICredit": load_ucicredit,
    "CSDS1": partial(load_csds, 1),
    "CSDS2": partial(load_csds, 2),
    "CSDS3": partial(load_csds, 3),
    "CatsVsDogs": load_cats_vs_dogs,
    "CIFAR-10-cat": load_cifar10_cat,
}


def load_dataset(name: str, **options: Any) -> Dataset:
    """Load a data set of the paper by its name in Table 1.

    Parameters
    ----------
    name : str
        One of ``PAPER_DATASETS``.
    **options
        Passed to the loader of that data set, such as ``data_home`` and ``download``, which all have.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If a file has to be placed by hand, or is absent with ``download=False``; the message says which and where.
    ConnectionError
        If a file could not be downloaded.
    DataFileError
        If a file is damaged or another one than expected.
    NotADirectoryError
        If AUCROSS_DATA names no folder.

    Examples
    --------
    >>> from aucross.datasets import PAPER_DATASETS
    >>> PAPER_DATASETS
    ('Adult', 'Lending', 'GiveMe', 'UCICredit', 'CSDS1', 'CSDS2', 'CSDS3', 'CatsVsDogs', 'CIFAR-10-cat')
    """
    if name not in LOADERS:
        raise ValueError(f"name must be one of {', '.join(LOADERS)}, got {name!r}")
    return LOADERS[name](**options)
