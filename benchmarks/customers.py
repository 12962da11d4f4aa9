"""Rows of one customer, which resemble each other: samples from populations whose coverage and AUC are known exactly.

Labels and scores of a customer's rows share a normal effect each: two rows of one customer correlate by one half
on the normal scale, while every single row follows the law of the population. What is true for independent rows is true
here, and only the spread of the estimates grows. Which centre the positives of a customer scatter around is drawn once
per customer.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.stats import norm

from benchmarks.auc_promise import Population, Rows

ROWS_PER_CUSTOMER = 10


def draw_customers(
    population: Population, rng: np.random.Generator, n_rows: int, per_customer: int = ROWS_PER_CUSTOMER
) -> tuple[Rows, np.ndarray]:
    """Rows, and the number of the customer of each."""
    n_customers = n_rows // per_customer
    customer = np.repeat(np.arange(n_customers), per_customer)

    def correlated() -> np.ndarray:
        return sqrt(0.5) * rng.normal(size=n_customers)[customer] + sqrt(0.5) * rng.normal(size=len(customer))

    positive = correlated() > norm.isf(population.share_of_positives)
    centers = rng.choice(list(population.centers), size=n_customers, p=list(population.centers.values()))[customer]
    score = population.scatter.ppf(norm.cdf(correlated())) + np.where(positive, centers, 0.0)
    if population.step is not None:
        score = population.step * np.round(score / population.step)
    if population.slope_of_weight is None:
        return Rows(positive, score, None), customer
    noise = rng.lognormal(size=len(score))
    return Rows(positive, score, np.exp(population.slope_of_weight * score - 0.5) * noise), customer
