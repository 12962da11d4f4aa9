"""A synthetic loan portfolio with mixed types, missing values, drift and rows that nobody can predict.

Each step below is one function with its own random stream::

    dates ──► applicants ──► credit files ──► loans ──► outcome ──► missing entries
              who asks       their past       terms     default     what the table
                                              agreed    or not      does not show

The lender of this portfolio grades and prices with a linear scorecard. The true risk also has parts that a linear
scorecard misses: thresholds, interactions, and credit files too thin to tell anything. A stronger model learns the
first two; only rejection helps with the third. All numbers are invented; nothing comes from a real borrower.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.str_]
Dates = NDArray[np.datetime64]
Columns = dict[str, NDArray[Any]]

# With fewer rows a class could be missing from a fold: 50 rows hold about ten defaults.
MIN_SAMPLES = 50

# Paths of the economy are given at each turn of the year and interpolated between.
YEAR_TURNS = np.arange("2018", "2025", dtype="datetime64[Y]").astype("datetime64[D]")
VOLUME = (1.0, 1.1, 1.2, 1.2, 1.4, 1.6, 1.8)  # loans per day, relative: the lender grows
POLICY_RATE = (1.0, 1.25, 1.0, 0.25, 0.25, 2.5, 4.0)  # per cent a year: cheap money, then a steep rise
WAGE_LEVEL = (1.0, 1.02, 1.04, 1.07, 1.11, 1.17, 1.23)
STRESS = (-0.1, -0.1, 0.0, -0.15, -0.1, 0.25, 0.45)  # log-odds of default on every loan: calm, then a squeeze
ONLINE_SHARE = (0.25, 0.30, 0.38, 0.48, 0.54, 0.58, 0.60)  # of the applicants that no partner sends
PURPOSE_SHARES = {  # refinancing fades when rates rise; vehicles and business take its place
    "debt_consolidation": (0.42, 0.41, 0.40, 0.38, 0.36, 0.28, 0.24),
    "vehicle": (0.20, 0.20, 0.19, 0.20, 0.21, 0.25, 0.27),
    "home_improvement": (0.20, 0.20, 0.20, 0.23, 0.22, 0.18, 0.16),
    "business": (0.08, 0.09, 0.10, 0.09, 0.11, 0.17, 0.20),
    "medical": (0.10, 0.10, 0.11, 0.10, 0.10, 0.12, 0.13),
}
PURPOSE_AMOUNT = dict(zip(PURPOSE_SHARES, (12_000.0, 14_000.0, 11_000.0, 18_000.0, 5_000.0), strict=True))

# The partner, a comparison site, sends younger people with unsteady incomes and little credit history.
MEAN_AGE = {"branch": 46.0, "online": 40.0, "partner": 32.0}
THIN_FILE_SHARE = {"branch": 0.13, "online": 0.22, "partner": 0.40}
EMPLOYMENT_SHARES = {  # within branch, online, partner
    "salaried": (0.52, 0.57, 0.42),
    "public": (0.20, 0.13, 0.06),
    "self_employed": (0.12, 0.15, 0.24),
    "temporary": (0.08, 0.13, 0.27),
    "retired": (0.08, 0.02, 0.01),
}
EMPLOYMENT_LOG_INCOME = {"salaried": 0.0, "public": 0.02, "self_employed": 0.10, "temporary": -0.35, "retired": -0.30}
LOG_INCOME_SPREAD = {"salaried": 0.38, "public": 0.28, "self_employed": 0.65, "temporary": 0.40, "retired": 0.35}
EMPLOYMENT_POINTS = {"salaried": 0.0, "public": -0.30, "self_employed": 0.10, "temporary": 0.35, "retired": -0.10}
REGION_SHARES = {"north": 0.22, "east": 0.18, "south": 0.26, "west": 0.16, "capital": 0.18}
REGION_LOG_INCOME = {"north": 0.0, "east": -0.12, "south": -0.05, "west": 0.03, "capital": 0.20}
HOME_POINTS = {"owner": -0.25, "mortgage": -0.10, "rent": 0.20, "with_family": 0.10}
LEGAL_AGE = 18  # work and credit histories cannot start earlier
THIN_FILE_YEARS = 3.0  # a history shorter than this says little about the future
SMALLEST_AMOUNT = 1_000.0
GRADES = ("A", "B", "C", "D", "E")  # best to worst

# Income is not stated: by anybody, on top by the self-employed, whose papers are late, and *because* it is low.
UNSTATED_INCOME_SHARE, UNSTATED_INCOME_SELF_EMPLOYED, UNSTATED_INCOME_LOW = 0.04, 0.12, 0.10

COLUMNS = {
    "issue_date": "day the loan was paid out; rows are in this order",
    "channel": "how the applicant came: branch, online or partner (a comparison site)",
    "region": "region of residence",
    "age": "years",
    "employment_type": "salaried, public, self_employed, temporary or retired",
    "employment_years": "years with the employer; missing for the retired and most of the self-employed",
    "home_ownership": "owner, mortgage, rent or with_family",
    "income": "yearly income; missing where not stated, most often by low earners and the self-employed",
    "debt_to_income": "payments on all debts, this loan included, as a share of income; missing with income",
    "credit_history_years": "age of the oldest credit account; below 3 years the file is thin",
    "open_accounts": "number of credit accounts",
    "credit_utilisation": "used share of credit lines; missing without a credit line",
    "inquiries_6m": "credit inquiries in the last 6 months",
    "delinquencies_2y": "payments more than 30 days late in the last 2 years",
    "months_since_delinquency": "months since the last late payment; missing if there was none",
    "purpose": "what the loan is for",
    "loan_amount": "amount lent; the exposure, usable as sample weight",
    "term_months": "months to repay",
    "grade": "the lender's grade, A (best) to E, ordered",
    "interest_rate": "per cent a year: policy rate + margin of the grade + term premium",
}
CATEGORIES = {
    "channel": tuple(MEAN_AGE),
    "region": tuple(REGION_SHARES),
    "employment_type": tuple(EMPLOYMENT_SHARES),
    "home_ownership": tuple(HOME_POINTS),
    "purpose": tuple(PURPOSE_SHARES),
    "grade": GRADES,
}
TARGET = "default"
TARGET_NAMES = ("repaid", "default")

DESCRIPTION = """\
Synthetic loan portfolio
========================

Drawn from a random number generator by `aucross.datasets.make_credit`. No row describes a real borrower, and no figure
was taken from a real lender. Use it for demonstrations and tests, not for conclusions about credit.

{n_samples} loans issued from 2018 to 2023, in order of issue date. Target `default`: 1 if the loan defaulted (about
20 %), 0 if it was repaid.

Columns
-------
{columns}

Drift
-----
Volume, wages, the share of online applicants and the mix of purposes move slowly over the six years. The policy rate
rises from 2022 on and takes interest rates with it; the risk of every loan rises at the same time. On 2023-01-01 a
comparison site (channel `partner`), until then a pilot, starts to send 40 % of the applicants, who are younger, with
less steady incomes and thinner credit files: a change of population within one day.

Risk
----
The lender's grade follows a linear scorecard. The true risk adds thresholds (full cards, heavy debt), interactions (of
the purpose with employment, utilisation, home and age; of debt with employment) and a fading effect of late payments.
For thin credit files it shrinks towards one value, so that hardly any feature tells their good from their bad loans.
"""


def make_credit(
    n_samples: int = 20_000, *, random_state: int = 0, return_X_y: bool = False, as_frame: bool = True
) -> Any:
    """Draw a synthetic loan portfolio for demonstrations and tests; no row is a real borrower.

    About 20 % of the loans default. The 20 columns are floats, integers, categories (one of them ordered) and a date;
    five have missing values, not at random. The population drifts over six years and changes abruptly in the last
    one. About a fifth of the loans have outcomes close to chance, so that rejecting pays.

    Parameters
    ----------
    n_samples : int, default=20_000
        Number of loans, at least 50.
    random_state : int, default=0
        Seed; the same seed and size give the same portfolio.
    return_X_y : bool, default=False
        Whether to return ``(X, y)`` instead of a Bunch.
    as_frame : bool, default=True
        Whether to return a pandas DataFrame. If False, pandas is not needed: all columns are one array of floats, with
        categories as numbers (see `categories` below) and the date in days since 1970.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : DataFrame or ndarray of shape (n_samples, 20)
            The columns, in order of ``issue_date``; drop that one before fitting.
        target : Series or ndarray of shape (n_samples,), int
            1 for a default.
        frame : DataFrame of shape (n_samples, 21)
            Columns and target; None without ``as_frame``.
        feature_names : list of str
            Names of the columns.
        target_names : list of str
            Names of the classes 0 and 1.
        categories : dict of str to list of str
            The categories of each column that has them; an array holds positions in these lists instead.
        DESCR : str
            What each column means, how the population drifts and what drives the risk.

    (X, y) : tuple of DataFrame and Series, or of two arrays
        If ``return_X_y`` is True.

    Examples
    --------
    >>> from aucross.datasets import make_credit
    >>> credit = make_credit(n_samples=200)
    >>> credit.data.shape
    (200, 20)
    >>> credit.target.name, credit.target_names
    ('default', ['repaid', 'default'])
    >>> X, y = make_credit(n_samples=200, return_X_y=True)
    >>> X["grade"].cat.categories.tolist()
    ['A', 'B', 'C', 'D', 'E']
    >>> bool(X["issue_date"].is_monotonic_increasing)
    True

    Without pandas:

    >>> X, y = make_credit(n_samples=200, return_X_y=True, as_frame=False)
    >>> X.dtype, X.shape
    (dtype('float64'), (200, 20))
    """
    n_samples = _check_integer(n_samples, "n_samples", MIN_SAMPLES, "for small tests pass n_samples=200")
    random_state = _check_integer(random_state, "random_state", 0, "the portfolio is reproducible, so pass e.g. 0")
    # One stream per step: a change to one step leaves the draws of the others as they were.
    rngs = (np.random.default_rng([random_state, step]) for step in count())
    days = np.arange(YEAR_TURNS[0], YEAR_TURNS[-1])
    volume = _at(days, VOLUME)
    columns: Columns = {"issue_date": np.sort(next(rngs).choice(days, size=n_samples, p=volume / volume.sum()))}
    for draw in (_draw_applicants, _draw_credit_files, _draw_loans):
        columns |= draw(next(rngs), columns)
    defaults = (next(rngs).random(n_samples) < _default_probability(columns)).astype(np.int64)
    columns |= _hide_entries(next(rngs), columns)
    X, y = _as_pandas(columns, defaults) if as_frame else (_as_array(columns), defaults)
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        frame=X.assign(**{TARGET: y}) if not isinstance(X, np.ndarray) else None,
        feature_names=list(COLUMNS),
        target_names=list(TARGET_NAMES),
        categories={name: list(labels) for name, labels in CATEGORIES.items()},
        DESCR=DESCRIPTION.format(
            n_samples=f"{n_samples:,}", columns="\n".join(f"{name}: {meaning}" for name, meaning in COLUMNS.items())
        ),
    )


def _check_integer(value: object, name: str, smallest: int, remedy: str) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        if isinstance(value, float) and value.is_integer():
            remedy = f"pass {int(value)}"
        raise TypeError(f"{name} must be an integer of at least {smallest}, got {value!r}; {remedy}")
    if value < smallest:
        raise ValueError(f"{name} must be at least {smallest}, got {value}; {remedy}")
    return int(value)


def _at(dates: Dates, path: tuple[float, ...]) -> Floats:
    return np.interp(dates.astype(np.int64), YEAR_TURNS.astype(np.int64), path)


def _per_label(labels: Labels, values: Mapping[str, float]) -> Floats:
    return np.select([labels == label for label in values], list(values.values()), default=np.nan)


def _draw_labels(rng: np.random.Generator, shares: Mapping[str, Floats]) -> Labels:
    """Draw one label per row by the given shares; they may differ between rows and need not sum to one."""
    upper_ends = np.cumsum(np.column_stack(list(shares.values())), axis=1)
    position = rng.random(len(upper_ends)) * upper_ends[:, -1]
    return np.array(list(shares))[(position[:, np.newaxis] >= upper_ends[:, :-1]).sum(axis=1)]


def _sigmoid(values: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-values))


def _draw_applicants(rng: np.random.Generator, rows: Columns) -> Columns:
    dates = rows["issue_date"]
    n = len(dates)
    # The abrupt change of population; a pilot before it makes the label known to models trained on earlier loans.
    partner = np.where(dates >= np.datetime64("2023-01-01"), 0.40, 0.02)
    online = (1 - partner) * _at(dates, ONLINE_SHARE)
    channel = _draw_labels(rng, {"branch": 1 - partner - online, "online": online, "partner": partner})
    region = _draw_labels(rng, {label: np.full(n, share) for label, share in REGION_SHARES.items()})
    employment_shares = {
        label: _per_label(channel, dict(zip(MEAN_AGE, shares, strict=True)))
        for label, shares in EMPLOYMENT_SHARES.items()
    }
    employment_type = _draw_labels(rng, employment_shares)
    working = _per_label(channel, MEAN_AGE) + 11.0 * rng.standard_normal(n)
    retired = 63 + rng.exponential(7.0, size=n)
    age = np.where(employment_type == "retired", retired, np.clip(working, 19, 66))
    age = np.minimum(age, 85).astype(np.int64)
    working_years = age - LEGAL_AGE
    # Exponential: most people changed jobs not long ago, a few never did.
    employment_years = np.minimum(rng.exponential(0.25 * working_years), working_years).round(1)
    # The young live with family, the old own, the others rent or have a mortgage.
    owner = 0.5 * _sigmoid((age - 48) / 9)
    with_family = 0.5 * _sigmoid((27 - age) / 4)
    rest = 1 - owner - with_family
    homes = _draw_labels(rng, dict(zip(HOME_POINTS, (owner, rest / 2, rest / 2, with_family), strict=True)))
    log_income = _per_label(region, REGION_LOG_INCOME) + _per_label(employment_type, EMPLOYMENT_LOG_INCOME)
    log_income += _per_label(employment_type, LOG_INCOME_SPREAD) * rng.standard_normal(n)
    median = 34_000.0 * _at(dates, WAGE_LEVEL)  # of a salaried person in the north
    income = np.maximum(median * np.exp(log_income), 6_000.0).round(-2)
    return {
        "channel": channel,
        "region": region,
        "age": age,
        "employment_type": employment_type,
        "employment_years": employment_years,
        "home_ownership": homes,
        "income": income,
        "relative_income": income / median,  # what a raise for everybody does not change; not in the table
    }


def _draw_credit_files(rng: np.random.Generator, rows: Columns) -> Columns:
    n = len(rows["age"])
    # A standard normal trait that shows in four columns and makes them correlated, as in real files. It acts on the
    # outcome only through them.
    carelessness = rng.standard_normal(n)
    is_thin = rng.random(n) < _per_label(rows["channel"], THIN_FILE_SHARE)
    thin = rng.uniform(0.1, THIN_FILE_YEARS, size=n)
    thick = THIN_FILE_YEARS + rng.gamma(2.2, 4.0, size=n)
    history_years = np.minimum(np.where(is_thin, thin, thick), rows["age"] - LEGAL_AGE).round(1)
    open_accounts = 1 + rng.poisson(0.5 * history_years**0.8)
    no_card = rng.random(n) < np.where(history_years < THIN_FILE_YEARS, 0.35, 0.05)
    noise = 0.9 * rng.standard_normal(n)
    utilisation = _sigmoid(-0.4 + carelessness + noise).round(3)
    partner_inquiries = 0.5 * (rows["channel"] == "partner")  # a comparison site asks several lenders
    inquiries = rng.poisson(np.exp(-0.5 + 0.35 * carelessness) + partner_inquiries)
    # Who has had credit for a short time only has had little time to be late.
    time_at_risk = np.minimum(history_years / THIN_FILE_YEARS, 1.0)
    delinquencies = rng.poisson(np.exp(-1.5 + 0.7 * carelessness) * time_at_risk)
    # The last of k late payments, spread evenly over two years or a shorter history: the smallest of k uniforms.
    smallest = 1 - (1 - rng.random(n)) ** (1 / np.maximum(delinquencies, 1))
    recent = np.floor(np.minimum(12 * history_years, 24) * smallest)
    old = np.floor(rng.uniform(24, 85, size=n))
    has_old = (rng.random(n) < 0.15) & (old < 12 * history_years)
    return {
        "credit_history_years": history_years,
        "open_accounts": open_accounts,
        "credit_utilisation": np.where(no_card, np.nan, utilisation),
        "inquiries_6m": inquiries,
        "delinquencies_2y": delinquencies,
        "months_since_delinquency": np.where(delinquencies > 0, recent, np.where(has_old, old, np.nan)),
        # Not in the table:
        "carelessness": carelessness,
        "assumed_utilisation": np.where(no_card, 0.30, utilisation),  # what the lender assumes without a credit line
    }


def _draw_loans(rng: np.random.Generator, rows: Columns) -> Columns:
    dates = rows["issue_date"]
    n = len(dates)
    shares = {label: _at(dates, path) for label, path in PURPOSE_SHARES.items()}
    shares["business"] *= np.where(rows["employment_type"] == "self_employed", 2.5, 1.0)
    purpose = _draw_labels(rng, shares)
    # Who earns twice as much borrows a third more.
    typical = _at(dates, WAGE_LEVEL) * _per_label(purpose, PURPOSE_AMOUNT) * rows["relative_income"] ** 0.4
    amount = np.clip(typical * np.exp(0.45 * rng.standard_normal(n)), SMALLEST_AMOUNT, 60_000.0).round(-2)
    term_years = 1.3 * np.log(amount / SMALLEST_AMOUNT) + 0.8 * rng.standard_normal(n)  # larger loans run longer
    term_years = np.clip(term_years.round(), 1, 6)
    other_debts = np.exp(-1.8 + 0.35 * rows["carelessness"] + 0.45 * rng.standard_normal(n))  # as a share of income
    other_debts += 0.07 * (rows["home_ownership"] == "mortgage")
    monthly = 0.08 / 12  # affordability is assessed at one rate for everyone, before pricing
    yearly_payment = 12 * amount * monthly / (1 - (1 + monthly) ** (-12 * term_years))
    debt_to_income = np.minimum(other_debts + yearly_payment / rows["income"], 1.2).round(3)
    points = _scorecard(rows, debt_to_income)
    # The loan officer corrects the points; corrections carry no information.
    grade = np.searchsorted((0.0, 0.5, 1.0, 1.7), points + 0.35 * rng.standard_normal(n))
    margin = np.array((3.0, 4.5, 6.5, 9.0, 12.5))[grade] + 0.12 * (term_years - 3)  # above the policy rate
    interest_rate = _at(dates, POLICY_RATE) + margin + 0.4 * rng.standard_normal(n)  # negotiated
    return {
        "purpose": purpose,
        "loan_amount": amount,
        "term_months": (12 * term_years).astype(np.int64),
        "debt_to_income": debt_to_income,
        "grade": np.array(GRADES)[grade],
        "interest_rate": interest_rate.round(2),
        "points": points,  # of the scorecard; not in the table
    }


def _scorecard(rows: Columns, debt_to_income: Floats) -> Floats:
    """Return the points of the lender's linear scorecard: more points mean more risk; counts and years are capped."""
    return (
        0.45 * np.minimum(rows["delinquencies_2y"], 4)
        + 0.16 * np.minimum(rows["inquiries_6m"], 6)
        + 1.1 * rows["assumed_utilisation"]
        + 1.2 * debt_to_income
        + -0.03 * np.minimum(rows["credit_history_years"], 20)
        + -0.55 * np.log(rows["relative_income"])
        + _per_label(rows["employment_type"], EMPLOYMENT_POINTS)
        + _per_label(rows["home_ownership"], HOME_POINTS)
    )


def _default_probability(rows: Columns) -> Floats:
    risk = -3.74 + 1.3 * rows["points"]  # about 20 % default
    # Pairs of opposite signs, which no model without interactions can have both, and young drivers.
    own_home = np.isin(rows["home_ownership"], ("owner", "mortgage"))
    by_purpose = {
        "business": np.where(rows["employment_type"] == "self_employed", -1.2, 1.8),  # a trade, or a side project
        "debt_consolidation": np.where(rows["assumed_utilisation"] > 0.5, -1.7, 1.0),  # relief, or one more debt
        "home_improvement": np.where(own_home, -0.9, 1.4),
        "vehicle": np.where(rows["age"] <= 27, 1.4, 0.0),
    }
    risk += np.select([rows["purpose"] == purpose for purpose in by_purpose], list(by_purpose.values()), 0.0)
    # Full cards, debts beyond what the income carries, a late payment not long ago.
    full_cards = 1.5 * (rows["assumed_utilisation"] > 0.80)  # no reserve left on the cards
    unsteady = np.isin(rows["employment_type"], ("self_employed", "temporary"))
    burden = np.maximum(rows["debt_to_income"] - 0.40, 0.0)
    burden *= np.where(unsteady, 9.0, 2.0)  # unsteady incomes break first
    months = np.nan_to_num(rows["months_since_delinquency"], nan=np.inf)
    risk += full_cards + burden + 1.4 * np.exp(-months / 9.0)
    # Thin files shrink towards one value in the middle of the scores, where confusing good and bad costs the AUC most:
    # these are the rows to reject.
    shrinkage = np.where(rows["credit_history_years"] < THIN_FILE_YEARS, 0.85, 0.0)
    risk = shrinkage * -1.4 + (1 - shrinkage) * risk
    return _sigmoid(risk + _at(rows["issue_date"], STRESS))


def _hide_entries(rng: np.random.Generator, rows: Columns) -> Columns:
    """Hide entries that an application form would lack; the outcome was drawn from all entries."""
    n = len(rows["income"])
    self_employed = rows["employment_type"] == "self_employed"
    retired = rows["employment_type"] == "retired"
    unstated = rng.random(n) < (
        UNSTATED_INCOME_SHARE
        + UNSTATED_INCOME_SELF_EMPLOYED * self_employed
        + UNSTATED_INCOME_LOW * (rows["income"] < 22_000.0)
    )
    no_years = retired | (self_employed & (rng.random(n) < 0.70))  # no employer to ask
    return {
        "employment_years": np.where(no_years, np.nan, rows["employment_years"]),
        "income": np.where(unstated, np.nan, rows["income"]),
        "debt_to_income": np.where(unstated, np.nan, rows["debt_to_income"]),
    }


def _as_array(columns: Columns) -> Floats:
    numbers = columns | {"issue_date": columns["issue_date"].astype("datetime64[D]").astype(np.int64)}
    for name, labels in CATEGORIES.items():
        numbers[name] = _per_label(columns[name], {label: code for code, label in enumerate(labels)})
    return np.column_stack([numbers[name] for name in COLUMNS]).astype(np.float64)


def _as_pandas(columns: Columns, defaults: Integers) -> tuple[pd.DataFrame, pd.Series[int]]:
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            'make_credit needs pandas; install it with: pip install "aucross[frames]", or pass as_frame=False'
        ) from error
    # Nanoseconds on purpose: the unit that pandas picks by itself depends on its version.
    values: dict[str, object] = columns | {"issue_date": columns["issue_date"].astype("datetime64[ns]")}
    for name, labels in CATEGORIES.items():
        values[name] = pd.Categorical(columns[name], categories=list(labels), ordered=name == "grade")
    return pd.DataFrame({name: values[name] for name in COLUMNS}), pd.Series(defaults, name=TARGET)
