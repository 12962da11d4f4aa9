"""Every number behind the synthetic loan portfolio, with its reason; all are invented."""

from __future__ import annotations

import numpy as np

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
