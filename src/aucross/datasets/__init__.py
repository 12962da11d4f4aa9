"""Data to try the library on: a synthetic loan portfolio that needs no download, and the paper's data sets."""

from aucross.datasets.adult import load_adult
from aucross.datasets.cats_vs_dogs import load_cats_vs_dogs
from aucross.datasets.cifar10 import load_cifar10_cat
from aucross.datasets.credit import make_credit
from aucross.datasets.csds import load_csds
from aucross.datasets.damage import DataFileError
from aucross.datasets.dataset import Dataset, Split
from aucross.datasets.folders import data_home
from aucross.datasets.giveme import load_giveme
from aucross.datasets.lending import load_lending
from aucross.datasets.loading import load_dataset
from aucross.datasets.paper import PAPER_DATASETS, TABLE_1, PaperFigures
from aucross.datasets.summary import summarize
from aucross.datasets.ucicredit import load_ucicredit

__all__ = [
    "PAPER_DATASETS",
    "TABLE_1",
    "DataFileError",
    "Dataset",
    "PaperFigures",
    "Split",
    "data_home",
    "load_adult",
    "load_cats_vs_dogs",
    "load_cifar10_cat",
    "load_csds",
    "load_dataset",
    "load_giveme",
    "load_lending",
    "load_ucicredit",
    "make_credit",
    "summarize",
]
