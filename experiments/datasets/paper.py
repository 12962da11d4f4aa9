"""What the paper prints about its data: Table 1 of Pugnana and Ruggieri, AISTATS 2023."""

from __future__ import annotations

from typing import NamedTuple


class PaperFigures(NamedTuple):
    """One row of Table 1; the positive rate is that of the test rows."""

    features: str
    n_train: int
    n_test: int
    positive_rate: float


TABLE_1 = {
    "Adult": PaperFigures("55", 30_162, 15_060, 0.246),
    "Lending": PaperFigures("65", 1_364_697, 445_912, 0.225),
    "GiveMe": PaperFigures("12", 112_500, 37_500, 0.067),
    "UCICredit": PaperFigures("23", 22_500, 7_500, 0.221),
    "CSDS1": PaperFigures("155", 230_409, 76_939, 0.144),
    "CSDS2": PaperFigures("35", 37_100, 12_533, 0.018),
    "CSDS3": PaperFigures("144", 71_177, 23_288, 0.253),
    "CatsVsDogs": PaperFigures("64x64", 20_000, 5_000, 0.500),
    "CIFAR-10-cat": PaperFigures("32x32", 50_000, 10_000, 0.100),
}
