"""The nine data sets of the paper: read from a folder or fetched, checked, and split as in the paper."""

from experiments.datasets.adult import load_adult
from experiments.datasets.cats_vs_dogs import load_cats_vs_dogs
from experiments.datasets.cifar10 import load_cifar10_cat
from experiments.datasets.csds import load_csds
from experiments.datasets.dataset import Dataset, Split
from experiments.datasets.giveme import load_giveme
from experiments.datasets.lending import load_lending
from experiments.datasets.paper import TABLE_1, PaperFigures
from experiments.datasets.ucicredit import load_ucicredit

__all__ = [
    "TABLE_1",
    "Dataset",
    "PaperFigures",
    "Split",
    "load_adult",
    "load_cats_vs_dogs",
    "load_cifar10_cat",
    "load_csds",
    "load_giveme",
    "load_lending",
    "load_ucicredit",
]
