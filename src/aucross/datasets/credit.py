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
from itertools import count
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from aucross.datasets import credit_assumptions as assumed

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.str_]
Dates = NDArray[np.datetime64]
Columns = dict[str, NDArray[Any]]

# With fewer rows a class could be missing from a fold: 50 rows hold about ten defaults.
MIN_SAMPLES = 50


@overload
def make_credit(
    n_samples: int = ..., *, random_state: int = ..., return_X_y: Literal[False] = ..., as_frame: bool = ...
) -> Bunch: ...


@overload
def make_credit(
    n_samples: int = ..., *, random_state: int = ..., return_X_y: Literal[True], as_frame: Literal[True] = ...
) -> tuple[pd.DataFrame, pd.Series[int]]: ...


@overload
def make_credit(
    n_samples: int = ..., *, random_state: int = ..., return_X_y: Literal[True], as_frame: Literal[False]
) -> tuple[Floats, Integers]: ...


def make_credit(
    n_samples: int = 20_000, *, random_state: int = 0, return_X_y: bool = False, as_frame: bool = True
) -> Bunch | tuple[pd.DataFrame, pd.Series[int]] | tuple[Floats, Integers]:
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
    as_frame : bool, default=True
        Columns as a pandas DataFrame. If False, pandas is not needed: all columns are one array of floats, with
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
            The categories of each column that has them; as an array it holds their positions in these lists.
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
    columns, defaults = _draw_portfolio(n_samples, random_state)
    X, y = _as_pandas(columns, defaults) if as_frame else (_as_array(columns), defaults)
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        frame=X.assign(**{assumed.TARGET: y}) if not isinstance(X, np.ndarray) else None,
        feature_names=list(assumed.COLUMNS),
        target_names=list(assumed.TARGET_NAMES),
        categories={name: list(labels) for name, labels in assumed.CATEGORIES.items()},
        DESCR=assumed.DESCRIPTION.format(
            n_samples=f"{n_samples:,}",
            columns="\n".join(f"{name}: {meaning}" for name, meaning in assumed.COLUMNS.items()),
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


def _draw_portfolio(n_samples: int, random_state: int) -> tuple[Columns, Integers]:
    # One stream per step: a change to one step leaves the draws of the others as they were.
    rngs = (np.random.default_rng([random_state, step]) for step in count())
    rows: Columns = {"issue_date": _draw_dates(next(rngs), n_samples)}
    for draw in (_draw_applicants, _draw_credit_files, _draw_loans):
        rows |= draw(next(rngs), rows)
    defaults = (next(rngs).random(n_samples) < _default_probability(rows)).astype(np.int64)
    return rows | _hide_entries(next(rngs), rows), defaults


# ---- small tools ----


def _at(dates: Dates, path: tuple[float, ...]) -> Floats:
    return np.interp(dates.astype(np.int64), assumed.YEAR_TURNS.astype(np.int64), path)


def _per_label(labels: Labels, values: Mapping[str, float]) -> Floats:
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
    days = np.arange(assumed.YEAR_TURNS[0], assumed.YEAR_TURNS[-1])
    volume = _at(days, assumed.VOLUME)
    return np.sort(rng.choice(days, size=n_samples, p=volume / volume.sum()))


# ---- applicants ----


def _draw_applicants(rng: np.random.Generator, rows: Columns) -> Columns:
    dates = rows["issue_date"]
    n = len(dates)
    channel = _draw_channels(rng, dates)
    region = _draw_labels(rng, {label: np.full(n, share) for label, share in assumed.REGION_SHARES.items()})
    employment_type = _draw_labels(
        rng,
        {
            label: _per_label(channel, dict(zip(assumed.CHANNELS, shares, strict=True)))
            for label, shares in assumed.EMPLOYMENT_SHARES.items()
        },
    )
    age = _draw_ages(rng, channel, employment_type)
    working_years = age - assumed.LEGAL_AGE
    # Exponential: most people changed jobs not long ago, a few never did.
    employment_years = np.minimum(rng.exponential(assumed.YEARS_PER_JOB_SHARE * working_years), working_years).round(1)
    home_ownership = _draw_homes(rng, age)
    log_income = _per_label(region, assumed.REGION_LOG_INCOME) + _per_label(
        employment_type, assumed.EMPLOYMENT_LOG_INCOME
    )
    log_income += _per_label(employment_type, assumed.LOG_INCOME_SPREAD) * rng.standard_normal(n)
    median = assumed.MEDIAN_INCOME * _at(dates, assumed.WAGE_LEVEL)
    income = np.maximum(median * np.exp(log_income), assumed.LOWEST_INCOME).round(-2)
    return {
        "channel": channel,
        "region": region,
        "age": age,
        "employment_type": employment_type,
        "employment_years": employment_years,
        "home_ownership": home_ownership,
        "income": income,
        "relative_income": income / median,  # what a raise for everybody does not change; not in the table
    }


def _draw_channels(rng: np.random.Generator, dates: Dates) -> Labels:
    partner = np.where(dates >= assumed.PARTNER_OPENING, assumed.PARTNER_SHARE_AFTER, assumed.PARTNER_SHARE_BEFORE)
    online = (1 - partner) * _at(dates, assumed.ONLINE_SHARE)
    return _draw_labels(rng, {"branch": 1 - partner - online, "online": online, "partner": partner})


def _draw_ages(rng: np.random.Generator, channel: Labels, employment_type: Labels) -> Integers:
    working = _per_label(channel, assumed.MEAN_AGE) + assumed.AGE_SPREAD * rng.standard_normal(len(channel))
    retired = assumed.RETIREMENT_AGE + rng.exponential(assumed.YEARS_RETIRED, size=len(channel))
    age = np.where(employment_type == "retired", retired, np.clip(working, *assumed.WORKING_AGES))
    return np.minimum(age, assumed.OLDEST_AGE).astype(np.int64)


def _draw_homes(rng: np.random.Generator, age: Integers) -> Labels:
    """Draw homes: the young live with family, the old own, the others rent or have a mortgage."""
    owner = assumed.PAID_HOME_SHARE * _sigmoid((age - assumed.PAID_HOME_AGE) / assumed.PAID_HOME_SPREAD)
    with_family = assumed.FAMILY_HOME_SHARE * _sigmoid((assumed.FAMILY_HOME_AGE - age) / assumed.FAMILY_HOME_SPREAD)
    rest = 1 - owner - with_family
    return _draw_labels(rng, dict(zip(assumed.HOME_OWNERSHIP, (owner, rest / 2, rest / 2, with_family), strict=True)))


# ---- credit files ----


def _draw_credit_files(rng: np.random.Generator, rows: Columns) -> Columns:
    n = len(rows["age"])
    # A trait behind utilisation, inquiries, late payments and debts.
    carelessness = rng.standard_normal(n)
    history_years = _draw_history_years(rng, rows["channel"], rows["age"])
    thin = history_years < assumed.THIN_FILE_YEARS
    open_accounts = 1 + rng.poisson(assumed.ACCOUNTS_FIRST_YEAR * history_years**assumed.ACCOUNTS_GROWTH)
    no_card = rng.random(n) < np.where(thin, assumed.NO_CARD_SHARE_THIN, assumed.NO_CARD_SHARE)
    noise = assumed.UTILISATION_NOISE * rng.standard_normal(n)
    utilisation = _sigmoid(_shown(carelessness, assumed.UTILISATION_LOG_ODDS) + noise).round(3)
    partner_inquiries = assumed.PARTNER_INQUIRIES * (rows["channel"] == "partner")
    inquiries = rng.poisson(np.exp(_shown(carelessness, assumed.LOG_INQUIRIES)) + partner_inquiries)
    # Who has had credit for a short time only has had little time to be late.
    time_at_risk = np.minimum(history_years / assumed.THIN_FILE_YEARS, 1.0)
    delinquencies = rng.poisson(np.exp(_shown(carelessness, assumed.LOG_DELINQUENCIES)) * time_at_risk)
    return {
        "credit_history_years": history_years,
        "open_accounts": open_accounts,
        "credit_utilisation": np.where(no_card, np.nan, utilisation),
        "inquiries_6m": inquiries,
        "delinquencies_2y": delinquencies,
        "months_since_delinquency": _draw_months_since_delinquency(rng, delinquencies, history_years),
        # Not in the table:
        "carelessness": carelessness,
        "assumed_utilisation": np.where(no_card, assumed.UTILISATION_WITHOUT_CARD, utilisation),
    }


def _shown(carelessness: Floats, level_and_effect: tuple[float, float]) -> Floats:
    level, effect = level_and_effect
    return level + effect * carelessness


def _draw_history_years(rng: np.random.Generator, channel: Labels, age: Integers) -> Floats:
    n = len(age)
    short = rng.random(n) < _per_label(channel, assumed.THIN_FILE_SHARE)
    thin = rng.uniform(0.1, assumed.THIN_FILE_YEARS, size=n)
    thick = assumed.THIN_FILE_YEARS + rng.gamma(assumed.THICK_FILE_SHAPE, assumed.THICK_FILE_SCALE, size=n)
    return np.minimum(np.where(short, thin, thick), age - assumed.LEGAL_AGE).round(1)


def _draw_months_since_delinquency(rng: np.random.Generator, delinquencies: Integers, history_years: Floats) -> Floats:
    n = len(delinquencies)
    # The last of k late payments, spread evenly over two years or a shorter history: the smallest of k uniforms.
    smallest = 1 - (1 - rng.random(n)) ** (1 / np.maximum(delinquencies, 1))
    recent = np.floor(np.minimum(12 * history_years, 24) * smallest)
    old = np.floor(rng.uniform(*assumed.OLD_DELINQUENCY_MONTHS, size=n))
    has_old = (rng.random(n) < assumed.OLD_DELINQUENCY_SHARE) & (old < 12 * history_years)
    return np.where(delinquencies > 0, recent, np.where(has_old, old, np.nan))


# ---- loans ----


def _draw_loans(rng: np.random.Generator, rows: Columns) -> Columns:
    dates = rows["issue_date"]
    n = len(dates)
    purpose = _draw_purposes(rng, rows)
    amount = _draw_amounts(rng, purpose, rows["relative_income"], _at(dates, assumed.WAGE_LEVEL))
    term_years = assumed.TERM_PER_LOG_AMOUNT * np.log(
        amount / assumed.SMALLEST_AMOUNT
    ) + assumed.TERM_NOISE * rng.standard_normal(n)
    term_years = np.clip(term_years.round(), 1, assumed.LONGEST_TERM)
    other_debts = np.exp(
        _shown(rows["carelessness"], assumed.LOG_OTHER_DEBTS) + assumed.OTHER_DEBTS_NOISE * rng.standard_normal(n)
    )
    other_debts += assumed.MORTGAGE_DEBTS * (rows["home_ownership"] == "mortgage")
    debt_to_income = other_debts + _yearly_payment(amount, term_years) / rows["income"]
    debt_to_income = np.minimum(debt_to_income, assumed.LARGEST_DEBT_TO_INCOME).round(3)
    points = _scorecard(rows, debt_to_income)
    grade = np.searchsorted(assumed.GRADE_LIMITS, points + assumed.DISCRETION * rng.standard_normal(n))
    margin = np.array(assumed.GRADE_MARGIN)[grade] + assumed.TERM_PREMIUM * (term_years - assumed.STANDARD_TERM)
    interest_rate = _at(dates, assumed.POLICY_RATE) + margin + assumed.RATE_NOISE * rng.standard_normal(n)
    return {
        "purpose": purpose,
        "loan_amount": amount,
        "term_months": (12 * term_years).astype(np.int64),
        "debt_to_income": debt_to_income,
        "grade": np.array(assumed.GRADES)[grade],
        "interest_rate": interest_rate.round(2),
        "points": points,  # of the scorecard; not in the table
    }


def _draw_amounts(rng: np.random.Generator, purpose: Labels, relative_income: Floats, wage_level: Floats) -> Floats:
    typical = wage_level * _per_label(purpose, assumed.PURPOSE_AMOUNT) * relative_income**assumed.AMOUNT_PER_INCOME
    amount = typical * np.exp(assumed.LOG_AMOUNT_SPREAD * rng.standard_normal(len(purpose)))
    return np.clip(amount, assumed.SMALLEST_AMOUNT, assumed.LARGEST_AMOUNT).round(-2)


def _draw_purposes(rng: np.random.Generator, rows: Columns) -> Labels:
    shares = {label: _at(rows["issue_date"], path) for label, path in assumed.PURPOSE_SHARES.items()}
    is_self_employed = rows["employment_type"] == "self_employed"
    shares["business"] *= np.where(is_self_employed, assumed.SELF_EMPLOYED_BUSINESS, 1.0)
    return _draw_labels(rng, shares)


def _yearly_payment(amount: Floats, term_years: Floats) -> Floats:
    monthly = assumed.CALCULATION_RATE / 12
    return 12 * amount * monthly / (1 - (1 + monthly) ** (-12 * term_years))


def _scorecard(rows: Columns, debt_to_income: Floats) -> Floats:
    """Compute the lender's points: linear, with counts and years capped as scorecards do."""
    return (
        assumed.DELINQUENCY_POINTS * np.minimum(rows["delinquencies_2y"], 4)
        + assumed.INQUIRY_POINTS * np.minimum(rows["inquiries_6m"], 6)
        + assumed.UTILISATION_POINTS * rows["assumed_utilisation"]
        + assumed.DEBT_TO_INCOME_POINTS * debt_to_income
        + assumed.HISTORY_YEAR_POINTS * np.minimum(rows["credit_history_years"], 20)
        + assumed.LOG_INCOME_POINTS * np.log(rows["relative_income"])
        + _per_label(rows["employment_type"], assumed.EMPLOYMENT_POINTS)
        + _per_label(rows["home_ownership"], assumed.HOME_POINTS)
    )


# ---- outcome ----


def _default_probability(rows: Columns) -> Floats:
    risk = assumed.BASE_RISK + assumed.SCORECARD_RISK * rows["points"]
    risk += _risk_of_purpose(rows)
    risk += _risk_of_strain(rows)
    is_thin = rows["credit_history_years"] < assumed.THIN_FILE_YEARS
    shrinkage = np.where(is_thin, assumed.THIN_FILE_SHRINKAGE, 0.0)
    risk = shrinkage * assumed.THIN_FILE_RISK + (1 - shrinkage) * risk
    return _sigmoid(risk + _at(rows["issue_date"], assumed.STRESS))


def _risk_of_purpose(rows: Columns) -> Floats:
    self_employed = rows["employment_type"] == "self_employed"
    needed = rows["assumed_utilisation"] > assumed.CONSOLIDATION_NEED
    own_home = np.isin(rows["home_ownership"], ("owner", "mortgage"))
    young = rows["age"] <= assumed.YOUNG_DRIVER_AGE
    risk_by_purpose = {
        "business": np.where(self_employed, assumed.BUSINESS_RISK_SELF_EMPLOYED, assumed.BUSINESS_RISK_EMPLOYED),
        "debt_consolidation": np.where(needed, assumed.CONSOLIDATION_RISK_NEEDED, assumed.CONSOLIDATION_RISK_IDLE),
        "home_improvement": np.where(own_home, assumed.IMPROVEMENT_RISK_OWN_HOME, assumed.IMPROVEMENT_RISK_OTHER_HOME),
        "vehicle": np.where(young, assumed.YOUNG_DRIVER_RISK, 0.0),
    }
    return np.select([rows["purpose"] == purpose for purpose in risk_by_purpose], list(risk_by_purpose.values()), 0.0)


def _risk_of_strain(rows: Columns) -> Floats:
    """Full cards, debts beyond what the income carries, a late payment not long ago."""
    full_cards = assumed.FULL_CARDS_RISK * (rows["assumed_utilisation"] > assumed.FULL_CARDS_LIMIT)
    unsteady = np.isin(rows["employment_type"], ("self_employed", "temporary"))
    burden = np.maximum(rows["debt_to_income"] - assumed.BURDEN_LIMIT, 0.0)
    burden *= np.where(unsteady, assumed.BURDEN_RISK_UNSTEADY, assumed.BURDEN_RISK_STEADY)
    months = np.nan_to_num(rows["months_since_delinquency"], nan=np.inf)
    return full_cards + burden + assumed.FRESH_DELINQUENCY_RISK * np.exp(-months / assumed.DELINQUENCY_FADING_MONTHS)


# ---- the table ----


def _hide_entries(rng: np.random.Generator, rows: Columns) -> Columns:
    """Hide entries that an application form would not hold; the outcome knows them all."""
    n = len(rows["income"])
    self_employed = rows["employment_type"] == "self_employed"
    retired = rows["employment_type"] == "retired"
    unstated = rng.random(n) < (
        assumed.UNSTATED_INCOME_SHARE
        + assumed.UNSTATED_INCOME_SELF_EMPLOYED * self_employed
        + assumed.UNSTATED_INCOME_LOW * (rows["income"] < assumed.LOW_INCOME)
    )
    no_years = retired | (self_employed & (rng.random(n) < assumed.UNKNOWN_YEARS_SELF_EMPLOYED))
    return {
        "employment_years": np.where(no_years, np.nan, rows["employment_years"]),
        "income": np.where(unstated, np.nan, rows["income"]),
        "debt_to_income": np.where(unstated, np.nan, rows["debt_to_income"]),
    }


def _as_array(columns: Columns) -> Floats:
    numbers = columns | {"issue_date": columns["issue_date"].astype("datetime64[D]").astype(np.int64)}
    for name, labels in assumed.CATEGORIES.items():
        numbers[name] = _per_label(columns[name], {label: code for code, label in enumerate(labels)})
    return np.column_stack([numbers[name] for name in assumed.COLUMNS]).astype(np.float64)


def _as_pandas(columns: Columns, defaults: Integers) -> tuple[pd.DataFrame, pd.Series[int]]:
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(
            'make_credit needs pandas; install it with: pip install "aucross[frames]", or pass as_frame=False'
        ) from error
    # Nanoseconds on purpose: the unit that pandas picks by itself depends on its version.
    values: dict[str, object] = columns | {"issue_date": columns["issue_date"].astype("datetime64[ns]")}
    for name, labels in assumed.CATEGORIES.items():
        values[name] = pd.Categorical(columns[name], categories=list(labels), ordered=name == "grade")
    return pd.DataFrame({name: values[name] for name in assumed.COLUMNS}), pd.Series(defaults, name=assumed.TARGET)
