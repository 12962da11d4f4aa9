"""A synthetic loan portfolio with what real ones have: mixed types, gaps, drift and rows that nobody can predict.

Each step below is one function with its own random stream::

    dates ──► applicants ──► credit files ──► loans ──► outcome ──► missing entries
              who asks       their past       terms     default     what the table
                                              agreed    or not      does not show

The lender of this portfolio grades and prices with a linear scorecard. The true risk also holds what a linear
scorecard cannot see: thresholds, interactions, and credit files too thin to say anything. A stronger model gains from
the first two; only rejecting helps with the third. All constants are invented; nothing comes from a real borrower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Labels = NDArray[np.str_]
Dates = NDArray[np.datetime64]
Columns = dict[str, NDArray[Any]]

# With fewer rows a class could be missing from a fold: 50 rows hold about ten defaults.
MIN_SAMPLES = 50

# ---- the calendar and the economy: paths are given at each turn of the year and interpolated between ----

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

# A comparison site sends applicants from one day on: the abrupt change of population. Its pilot before that day makes
# the label known to models trained on earlier loans.
PARTNER_OPENING = np.datetime64("2023-01-01")
PARTNER_SHARE_BEFORE = 0.02
PARTNER_SHARE_AFTER = 0.40

# ---- applicants: the partner sends younger people with unsteady incomes and little credit history ----

CHANNELS = ("branch", "online", "partner")
MEAN_AGE = {"branch": 46.0, "online": 40.0, "partner": 32.0}
AGE_SPREAD = 11.0
LEGAL_AGE = 18  # work and credit histories cannot start earlier
WORKING_AGES = (19, 66)
RETIREMENT_AGE, YEARS_RETIRED = 63, 7.0  # mean years since
OLDEST_AGE = 85
YEARS_PER_JOB_SHARE = 0.25  # mean years with the employer, as a share of the years since LEGAL_AGE
EMPLOYMENT_SHARES = {  # within branch, online, partner
    "salaried": (0.52, 0.57, 0.42),
    "public": (0.20, 0.13, 0.06),
    "self_employed": (0.12, 0.15, 0.24),
    "temporary": (0.08, 0.13, 0.27),
    "retired": (0.08, 0.02, 0.01),
}
THIN_FILE_SHARE = {"branch": 0.13, "online": 0.22, "partner": 0.40}
REGION_SHARES = {"north": 0.22, "east": 0.18, "south": 0.26, "west": 0.16, "capital": 0.18}
HOME_OWNERSHIP = ("owner", "mortgage", "rent", "with_family")
PAID_HOME_SHARE, PAID_HOME_AGE, PAID_HOME_SPREAD = 0.5, 48, 9  # of the old; age at which half of that is reached
FAMILY_HOME_SHARE, FAMILY_HOME_AGE, FAMILY_HOME_SPREAD = 0.5, 27, 4  # the same for the young who live with parents
MEDIAN_INCOME = 34_000.0  # a year, of a salaried person in the north at wage level 1
LOWEST_INCOME = 6_000.0
REGION_LOG_INCOME = {"north": 0.0, "east": -0.12, "south": -0.05, "west": 0.03, "capital": 0.20}
EMPLOYMENT_LOG_INCOME = {"salaried": 0.0, "public": 0.02, "self_employed": 0.10, "temporary": -0.35, "retired": -0.30}
LOG_INCOME_SPREAD = {"salaried": 0.38, "public": 0.28, "self_employed": 0.65, "temporary": 0.40, "retired": 0.35}

# ---- credit files ----

THIN_FILE_YEARS = 3.0  # a history shorter than this says little about the future
THICK_FILE_SHAPE, THICK_FILE_SCALE = 2.2, 4.0  # gamma distribution of the years beyond
ACCOUNTS_FIRST_YEAR, ACCOUNTS_GROWTH = 0.5, 0.8  # opened per year of history: fewer later
NO_CARD_SHARE_THIN, NO_CARD_SHARE = 0.35, 0.05
UTILISATION_WITHOUT_CARD = 0.30  # what the lender assumes where there is no credit line
OLD_DELINQUENCY_SHARE, OLD_DELINQUENCY_MONTHS = 0.15, (24, 85)  # no late payment for two years, but one on file

# Carelessness is a standard normal trait that shows in four columns and makes them correlated, as in real files. It
# acts on the outcome only through them. Per column: level of the average person, effect of one unit of carelessness.
UTILISATION_LOG_ODDS = (-0.4, 1.0)
UTILISATION_NOISE = 0.9
LOG_INQUIRIES = (-0.5, 0.35)
PARTNER_INQUIRIES = 0.5  # more of them: a comparison site asks several lenders
LOG_DELINQUENCIES = (-1.5, 0.7)
LOG_OTHER_DEBTS = (-1.8, 0.35)  # yearly payments as a share of income
OTHER_DEBTS_NOISE = 0.45
MORTGAGE_DEBTS = 0.07

# ---- loans ----

PURPOSE_AMOUNT = {
    "debt_consolidation": 12_000.0,
    "vehicle": 14_000.0,
    "home_improvement": 11_000.0,
    "business": 18_000.0,
    "medical": 5_000.0,
}
SMALLEST_AMOUNT, LARGEST_AMOUNT = 1_000.0, 60_000.0
AMOUNT_PER_INCOME = 0.4  # elasticity: who earns twice as much borrows a third more
LOG_AMOUNT_SPREAD = 0.45
TERM_PER_LOG_AMOUNT, TERM_NOISE, LONGEST_TERM = 1.3, 0.8, 6  # years: larger loans run longer
SELF_EMPLOYED_BUSINESS = 2.5  # how much more often the self-employed borrow for business
CALCULATION_RATE = 0.08  # a year; affordability is assessed at one rate for everyone, before pricing
LARGEST_DEBT_TO_INCOME = 1.2  # higher values are recorded as this one
GRADES = ("A", "B", "C", "D", "E")  # best to worst
GRADE_LIMITS = (0.0, 0.5, 1.0, 1.7)  # scorecard points between the grades
GRADE_MARGIN = (3.0, 4.5, 6.5, 9.0, 12.5)  # per cent a year above the policy rate
TERM_PREMIUM, STANDARD_TERM = 0.12, 3  # per cent per year of term
RATE_NOISE = 0.4  # negotiation

# The lender's scorecard: points per unit, more points for more risk.
DELINQUENCY_POINTS = 0.45
INQUIRY_POINTS = 0.16
UTILISATION_POINTS = 1.1
DEBT_TO_INCOME_POINTS = 1.2
HISTORY_YEAR_POINTS = -0.03
LOG_INCOME_POINTS = -0.55
EMPLOYMENT_POINTS = {"salaried": 0.0, "public": -0.30, "self_employed": 0.10, "temporary": 0.35, "retired": -0.10}
HOME_POINTS = {"owner": -0.25, "mortgage": -0.10, "rent": 0.20, "with_family": 0.10}
DISCRETION = 0.35  # spread of the loan officer's corrections, in points; they carry no information

# ---- the true risk, in log-odds of default ----

BASE_RISK = -3.74  # puts the bad rate at about 20 %
SCORECARD_RISK = 1.3  # per point

# What the scorecard does not see. Where a pair has opposite signs, no model without interactions can have both.
FULL_CARDS_LIMIT, FULL_CARDS_RISK = 0.80, 1.5  # no reserve left on the cards
BURDEN_LIMIT = 0.40  # share of income that a household can pay for debts without trouble
BURDEN_RISK_STEADY, BURDEN_RISK_UNSTEADY = 2.0, 9.0  # per unit above the limit; unsteady incomes break first
FRESH_DELINQUENCY_RISK, DELINQUENCY_FADING_MONTHS = 1.4, 9.0
BUSINESS_RISK_EMPLOYED, BUSINESS_RISK_SELF_EMPLOYED = 1.8, -1.2  # a side project against an existing trade
CONSOLIDATION_NEED = 0.5  # utilisation above which consolidating relieves; below it is one more debt
CONSOLIDATION_RISK_NEEDED, CONSOLIDATION_RISK_IDLE = -1.7, 1.0
IMPROVEMENT_RISK_OWN_HOME, IMPROVEMENT_RISK_OTHER_HOME = -0.9, 1.4
YOUNG_DRIVER_AGE, YOUNG_DRIVER_RISK = 27, 1.4

# Thin files: the risk shrinks towards one value that is the same for all. The value lies in the middle of the scores,
# where confusing good and bad costs the AUC most; these are the rows to reject.
THIN_FILE_RISK = -1.4
THIN_FILE_SHRINKAGE = 0.85

# ---- missing entries ----

UNSTATED_INCOME_SHARE = 0.04
UNSTATED_INCOME_SELF_EMPLOYED = 0.12  # on top: income varies, papers are late
LOW_INCOME, UNSTATED_INCOME_LOW = 22_000.0, 0.10  # on top: not stated *because* it is low
UNKNOWN_YEARS_SELF_EMPLOYED = 0.70  # no employer to ask

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
    "channel": CHANNELS,
    "region": tuple(REGION_SHARES),
    "employment_type": tuple(EMPLOYMENT_SHARES),
    "home_ownership": HOME_OWNERSHIP,
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


@overload
def make_credit(n_samples: int = ..., *, random_state: int = ..., return_X_y: Literal[False] = ...) -> Bunch: ...


@overload
def make_credit(
    n_samples: int = ..., *, random_state: int = ..., return_X_y: Literal[True]
) -> tuple[pd.DataFrame, pd.Series[int]]: ...


def make_credit(
    n_samples: int = 20_000, *, random_state: int = 0, return_X_y: bool = False
) -> Bunch | tuple[pd.DataFrame, pd.Series[int]]:
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
        Return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : DataFrame of shape (n_samples, 20)
            The columns, in order of ``issue_date``; drop that one before fitting.
        target : Series of shape (n_samples,), int
            1 for a default.
        frame : DataFrame of shape (n_samples, 21)
            Columns and target.
        feature_names : list of str
            Names of the columns.
        target_names : list of str
            Names of the classes 0 and 1.
        DESCR : str
            What each column means, how the population drifts and what drives the risk.

    (X, y) : tuple of DataFrame and Series
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
    """
    n_samples = _check_integer(n_samples, "n_samples", MIN_SAMPLES, "for small tests pass n_samples=200")
    random_state = _check_integer(random_state, "random_state", 0, "the portfolio is reproducible, so pass e.g. 0")
    X, y = _as_pandas(*_draw_portfolio(n_samples, random_state))
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        frame=X.assign(**{TARGET: y}),
        feature_names=list(COLUMNS),
        target_names=list(TARGET_NAMES),
        DESCR=_describe(n_samples),
    )


def _check_integer(value: object, name: str, smallest: int, remedy: str) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        if isinstance(value, float) and value.is_integer():
            remedy = f"pass {int(value)}"
        raise TypeError(f"{name} must be an integer of at least {smallest}, got {value!r}; {remedy}")
    if value < smallest:
        raise ValueError(f"{name} must be at least {smallest}, got {value}; {remedy}")
    return int(value)


def _describe(n_samples: int) -> str:
    columns = "\n".join(f"{name}: {meaning}" for name, meaning in COLUMNS.items())
    return DESCRIPTION.format(n_samples=f"{n_samples:,}", columns=columns)


def _draw_portfolio(n_samples: int, random_state: int) -> tuple[Columns, Integers]:
    # One stream per step: a change to one step leaves the draws of the others as they were.
    rngs = (np.random.default_rng([random_state, step]) for step in count())
    dates = _draw_dates(next(rngs), n_samples)
    applicants = _draw_applicants(next(rngs), dates)
    files = _draw_credit_files(next(rngs), applicants)
    loans = _draw_loans(next(rngs), dates, applicants, files)
    probability = _default_probability(dates, applicants, files, loans)
    defaults = (next(rngs).random(n_samples) < probability).astype(np.int64)
    columns = _as_columns(dates, applicants, files, loans)
    return columns | _hide_entries(next(rngs), applicants, loans), defaults


# ---- small tools ----


def _at(dates: Dates, path: tuple[float, ...]) -> Floats:
    """Value of a path on each date."""
    return np.interp(dates.astype(np.int64), YEAR_TURNS.astype(np.int64), path)


def _per_label(labels: Labels, values: Mapping[str, float]) -> Floats:
    """The value that belongs to each label."""
    return np.select([labels == label for label in values], list(values.values()), default=np.nan)


def _draw_labels(rng: np.random.Generator, shares: Mapping[str, Floats]) -> Labels:
    """Draw one label per row, with shares that may differ from row to row and need not sum to one."""
    upper_ends = np.cumsum(np.column_stack(list(shares.values())), axis=1)
    position = rng.random(len(upper_ends)) * upper_ends[:, -1]
    return np.array(list(shares))[(position[:, np.newaxis] >= upper_ends[:, :-1]).sum(axis=1)]


def _sigmoid(values: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-values))


# ---- dates ----


def _draw_dates(rng: np.random.Generator, n_samples: int) -> Dates:
    days = np.arange(YEAR_TURNS[0], YEAR_TURNS[-1])
    volume = _at(days, VOLUME)
    return np.sort(rng.choice(days, size=n_samples, p=volume / volume.sum()))


# ---- applicants ----


@dataclass(frozen=True)
class _Applicants:
    channel: Labels
    region: Labels
    age: Integers
    employment_type: Labels
    employment_years: Floats
    home_ownership: Labels
    income: Floats
    relative_income: Floats  # to the median of the day: what a raise for everybody does not change


def _draw_applicants(rng: np.random.Generator, dates: Dates) -> _Applicants:
    n = len(dates)
    channel = _draw_channels(rng, dates)
    region = _draw_labels(rng, {label: np.full(n, share) for label, share in REGION_SHARES.items()})
    employment_type = _draw_labels(
        rng,
        {
            label: _per_label(channel, dict(zip(CHANNELS, shares, strict=True)))
            for label, shares in EMPLOYMENT_SHARES.items()
        },
    )
    age = _draw_ages(rng, channel, employment_type)
    working_years = age - LEGAL_AGE
    # Exponential: most people changed jobs not long ago, a few never did.
    employment_years = np.minimum(rng.exponential(YEARS_PER_JOB_SHARE * working_years), working_years).round(1)
    home_ownership = _draw_homes(rng, age)
    log_income = _per_label(region, REGION_LOG_INCOME) + _per_label(employment_type, EMPLOYMENT_LOG_INCOME)
    log_income += _per_label(employment_type, LOG_INCOME_SPREAD) * rng.standard_normal(n)
    median = MEDIAN_INCOME * _at(dates, WAGE_LEVEL)
    income = np.maximum(median * np.exp(log_income), LOWEST_INCOME).round(-2)
    return _Applicants(channel, region, age, employment_type, employment_years, home_ownership, income, income / median)


def _draw_channels(rng: np.random.Generator, dates: Dates) -> Labels:
    partner = np.where(dates >= PARTNER_OPENING, PARTNER_SHARE_AFTER, PARTNER_SHARE_BEFORE)
    online = (1 - partner) * _at(dates, ONLINE_SHARE)
    return _draw_labels(rng, {"branch": 1 - partner - online, "online": online, "partner": partner})


def _draw_ages(rng: np.random.Generator, channel: Labels, employment_type: Labels) -> Integers:
    working = _per_label(channel, MEAN_AGE) + AGE_SPREAD * rng.standard_normal(len(channel))
    retired = RETIREMENT_AGE + rng.exponential(YEARS_RETIRED, size=len(channel))
    age = np.where(employment_type == "retired", retired, np.clip(working, *WORKING_AGES))
    return np.minimum(age, OLDEST_AGE).astype(np.int64)


def _draw_homes(rng: np.random.Generator, age: Integers) -> Labels:
    """The young live with their family, the old have paid for their homes, the others rent or have a mortgage."""
    owner = PAID_HOME_SHARE * _sigmoid((age - PAID_HOME_AGE) / PAID_HOME_SPREAD)
    with_family = FAMILY_HOME_SHARE * _sigmoid((FAMILY_HOME_AGE - age) / FAMILY_HOME_SPREAD)
    rest = 1 - owner - with_family
    return _draw_labels(rng, dict(zip(HOME_OWNERSHIP, (owner, rest / 2, rest / 2, with_family), strict=True)))


# ---- credit files ----


@dataclass(frozen=True)
class _CreditFiles:
    carelessness: Floats  # a trait behind utilisation, inquiries, late payments and debts; not a column
    history_years: Floats
    open_accounts: Integers
    utilisation: Floats  # NaN without a credit line
    inquiries: Integers
    delinquencies: Integers
    months_since_delinquency: Floats  # NaN if there was none

    @property
    def thin(self) -> Booleans:
        return self.history_years < THIN_FILE_YEARS

    @property
    def assumed_utilisation(self) -> Floats:
        return np.where(np.isnan(self.utilisation), UTILISATION_WITHOUT_CARD, self.utilisation)


def _draw_credit_files(rng: np.random.Generator, applicants: _Applicants) -> _CreditFiles:
    n = len(applicants.age)
    carelessness = rng.standard_normal(n)
    history_years = _draw_history_years(rng, applicants)
    thin = history_years < THIN_FILE_YEARS
    open_accounts = 1 + rng.poisson(ACCOUNTS_FIRST_YEAR * history_years**ACCOUNTS_GROWTH)
    no_card = rng.random(n) < np.where(thin, NO_CARD_SHARE_THIN, NO_CARD_SHARE)
    utilisation_log_odds = _shown(carelessness, UTILISATION_LOG_ODDS) + UTILISATION_NOISE * rng.standard_normal(n)
    partner_inquiries = PARTNER_INQUIRIES * (applicants.channel == "partner")
    inquiries = rng.poisson(np.exp(_shown(carelessness, LOG_INQUIRIES)) + partner_inquiries)
    # Who has had credit for a short time only has had little time to be late.
    time_at_risk = np.minimum(history_years / THIN_FILE_YEARS, 1.0)
    delinquencies = rng.poisson(np.exp(_shown(carelessness, LOG_DELINQUENCIES)) * time_at_risk)
    return _CreditFiles(
        carelessness,
        history_years,
        open_accounts,
        np.where(no_card, np.nan, _sigmoid(utilisation_log_odds).round(3)),
        inquiries,
        delinquencies,
        _draw_months_since_delinquency(rng, delinquencies, history_years),
    )


def _shown(carelessness: Floats, level_and_effect: tuple[float, float]) -> Floats:
    level, effect = level_and_effect
    return level + effect * carelessness


def _draw_history_years(rng: np.random.Generator, applicants: _Applicants) -> Floats:
    n = len(applicants.age)
    short = rng.random(n) < _per_label(applicants.channel, THIN_FILE_SHARE)
    thin = rng.uniform(0.1, THIN_FILE_YEARS, size=n)
    thick = THIN_FILE_YEARS + rng.gamma(THICK_FILE_SHAPE, THICK_FILE_SCALE, size=n)
    return np.minimum(np.where(short, thin, thick), applicants.age - LEGAL_AGE).round(1)


def _draw_months_since_delinquency(rng: np.random.Generator, delinquencies: Integers, history_years: Floats) -> Floats:
    n = len(delinquencies)
    # The last of k late payments, spread evenly over two years or a shorter history: the smallest of k uniforms.
    smallest = 1 - (1 - rng.random(n)) ** (1 / np.maximum(delinquencies, 1))
    recent = np.floor(np.minimum(12 * history_years, 24) * smallest)
    old = np.floor(rng.uniform(*OLD_DELINQUENCY_MONTHS, size=n))
    has_old = (rng.random(n) < OLD_DELINQUENCY_SHARE) & (old < 12 * history_years)
    return np.where(delinquencies > 0, recent, np.where(has_old, old, np.nan))


# ---- loans ----


@dataclass(frozen=True)
class _Loans:
    purpose: Labels
    amount: Floats
    term_months: Integers
    debt_to_income: Floats
    points: Floats  # of the scorecard; not a column
    grade: Labels
    interest_rate: Floats


def _draw_loans(rng: np.random.Generator, dates: Dates, applicants: _Applicants, files: _CreditFiles) -> _Loans:
    n = len(dates)
    purpose = _draw_purposes(rng, dates, applicants)
    amount = _draw_amounts(rng, purpose, applicants, _at(dates, WAGE_LEVEL))
    term_years = TERM_PER_LOG_AMOUNT * np.log(amount / SMALLEST_AMOUNT) + TERM_NOISE * rng.standard_normal(n)
    term_years = np.clip(term_years.round(), 1, LONGEST_TERM)
    other_debts = np.exp(_shown(files.carelessness, LOG_OTHER_DEBTS) + OTHER_DEBTS_NOISE * rng.standard_normal(n))
    other_debts += MORTGAGE_DEBTS * (applicants.home_ownership == "mortgage")
    debt_to_income = other_debts + _yearly_payment(amount, term_years) / applicants.income
    debt_to_income = np.minimum(debt_to_income, LARGEST_DEBT_TO_INCOME).round(3)
    points = _scorecard(applicants, files, debt_to_income)
    grade = np.searchsorted(GRADE_LIMITS, points + DISCRETION * rng.standard_normal(n))
    margin = np.array(GRADE_MARGIN)[grade] + TERM_PREMIUM * (term_years - STANDARD_TERM)
    interest_rate = _at(dates, POLICY_RATE) + margin + RATE_NOISE * rng.standard_normal(n)
    return _Loans(
        purpose,
        amount,
        (12 * term_years).astype(np.int64),
        debt_to_income,
        points,
        np.array(GRADES)[grade],
        interest_rate.round(2),
    )


def _draw_amounts(rng: np.random.Generator, purpose: Labels, applicants: _Applicants, wage_level: Floats) -> Floats:
    typical = wage_level * _per_label(purpose, PURPOSE_AMOUNT) * applicants.relative_income**AMOUNT_PER_INCOME
    amount = typical * np.exp(LOG_AMOUNT_SPREAD * rng.standard_normal(len(purpose)))
    return np.clip(amount, SMALLEST_AMOUNT, LARGEST_AMOUNT).round(-2)


def _draw_purposes(rng: np.random.Generator, dates: Dates, applicants: _Applicants) -> Labels:
    shares = {label: _at(dates, path) for label, path in PURPOSE_SHARES.items()}
    shares["business"] *= np.where(applicants.employment_type == "self_employed", SELF_EMPLOYED_BUSINESS, 1.0)
    return _draw_labels(rng, shares)


def _yearly_payment(amount: Floats, term_years: Floats) -> Floats:
    """Twelve instalments of an annuity at the calculation rate."""
    monthly = CALCULATION_RATE / 12
    return 12 * amount * monthly / (1 - (1 + monthly) ** (-12 * term_years))


def _scorecard(applicants: _Applicants, files: _CreditFiles, debt_to_income: Floats) -> Floats:
    """The lender's points: linear, with counts and years capped as scorecards do."""
    return (
        DELINQUENCY_POINTS * np.minimum(files.delinquencies, 4)
        + INQUIRY_POINTS * np.minimum(files.inquiries, 6)
        + UTILISATION_POINTS * files.assumed_utilisation
        + DEBT_TO_INCOME_POINTS * debt_to_income
        + HISTORY_YEAR_POINTS * np.minimum(files.history_years, 20)
        + LOG_INCOME_POINTS * np.log(applicants.relative_income)
        + _per_label(applicants.employment_type, EMPLOYMENT_POINTS)
        + _per_label(applicants.home_ownership, HOME_POINTS)
    )


# ---- outcome ----


def _default_probability(dates: Dates, applicants: _Applicants, files: _CreditFiles, loans: _Loans) -> Floats:
    risk = BASE_RISK + SCORECARD_RISK * loans.points
    risk += _risk_of_purpose(applicants, files, loans)
    risk += _risk_of_strain(applicants, files, loans)
    shrinkage = np.where(files.thin, THIN_FILE_SHRINKAGE, 0.0)
    risk = shrinkage * THIN_FILE_RISK + (1 - shrinkage) * risk
    return _sigmoid(risk + _at(dates, STRESS))


def _risk_of_purpose(applicants: _Applicants, files: _CreditFiles, loans: _Loans) -> Floats:
    """Whether the purpose fits the borrower."""
    self_employed = applicants.employment_type == "self_employed"
    needed = files.assumed_utilisation > CONSOLIDATION_NEED
    own_home = np.isin(applicants.home_ownership, ("owner", "mortgage"))
    young = applicants.age <= YOUNG_DRIVER_AGE
    risk_by_purpose = {
        "business": np.where(self_employed, BUSINESS_RISK_SELF_EMPLOYED, BUSINESS_RISK_EMPLOYED),
        "debt_consolidation": np.where(needed, CONSOLIDATION_RISK_NEEDED, CONSOLIDATION_RISK_IDLE),
        "home_improvement": np.where(own_home, IMPROVEMENT_RISK_OWN_HOME, IMPROVEMENT_RISK_OTHER_HOME),
        "vehicle": np.where(young, YOUNG_DRIVER_RISK, 0.0),
    }
    return np.select([loans.purpose == purpose for purpose in risk_by_purpose], list(risk_by_purpose.values()), 0.0)


def _risk_of_strain(applicants: _Applicants, files: _CreditFiles, loans: _Loans) -> Floats:
    """Full cards, debts beyond what the income carries, a late payment not long ago."""
    full_cards = FULL_CARDS_RISK * (files.assumed_utilisation > FULL_CARDS_LIMIT)
    unsteady = np.isin(applicants.employment_type, ("self_employed", "temporary"))
    burden = np.maximum(loans.debt_to_income - BURDEN_LIMIT, 0.0)
    burden *= np.where(unsteady, BURDEN_RISK_UNSTEADY, BURDEN_RISK_STEADY)
    months = np.where(np.isnan(files.months_since_delinquency), np.inf, files.months_since_delinquency)
    return full_cards + burden + FRESH_DELINQUENCY_RISK * np.exp(-months / DELINQUENCY_FADING_MONTHS)


# ---- the table ----


def _as_columns(dates: Dates, applicants: _Applicants, files: _CreditFiles, loans: _Loans) -> Columns:
    """Everything the lender knows, before anything is hidden."""
    return {
        "issue_date": dates,
        "channel": applicants.channel,
        "region": applicants.region,
        "age": applicants.age,
        "employment_type": applicants.employment_type,
        "employment_years": applicants.employment_years,
        "home_ownership": applicants.home_ownership,
        "income": applicants.income,
        "debt_to_income": loans.debt_to_income,
        "credit_history_years": files.history_years,
        "open_accounts": files.open_accounts,
        "credit_utilisation": files.utilisation,
        "inquiries_6m": files.inquiries,
        "delinquencies_2y": files.delinquencies,
        "months_since_delinquency": files.months_since_delinquency,
        "purpose": loans.purpose,
        "loan_amount": loans.amount,
        "term_months": loans.term_months,
        "grade": loans.grade,
        "interest_rate": loans.interest_rate,
    }


def _hide_entries(rng: np.random.Generator, applicants: _Applicants, loans: _Loans) -> Columns:
    """The columns with entries that an application form would not hold; the outcome knows them all."""
    n = len(applicants.income)
    self_employed = applicants.employment_type == "self_employed"
    retired = applicants.employment_type == "retired"
    unstated = rng.random(n) < (
        UNSTATED_INCOME_SHARE
        + UNSTATED_INCOME_SELF_EMPLOYED * self_employed
        + UNSTATED_INCOME_LOW * (applicants.income < LOW_INCOME)
    )
    no_years = retired | (self_employed & (rng.random(n) < UNKNOWN_YEARS_SELF_EMPLOYED))
    return {
        "employment_years": np.where(no_years, np.nan, applicants.employment_years),
        "income": np.where(unstated, np.nan, applicants.income),
        "debt_to_income": np.where(unstated, np.nan, loans.debt_to_income),
    }


def _as_pandas(columns: Columns, defaults: Integers) -> tuple[pd.DataFrame, pd.Series[int]]:
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError as error:
        raise ImportError('make_credit needs pandas; install it with: pip install "aucross[frames]"') from error
    # Nanoseconds on purpose: the unit that pandas picks by itself depends on its version.
    values: dict[str, object] = columns | {"issue_date": columns["issue_date"].astype("datetime64[ns]")}
    for name, labels in CATEGORIES.items():
        values[name] = pd.Categorical(columns[name], categories=list(labels), ordered=name == "grade")
    return pd.DataFrame({name: values[name] for name in COLUMNS}), pd.Series(defaults, name=TARGET)
