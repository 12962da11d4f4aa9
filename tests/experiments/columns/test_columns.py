"""Weights, groups, time, capacity and patients, on rows that are made here."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

pytest.importorskip("lightgbm", reason='needs `pip install "aucross[experiments]"`')
pytest.importorskip("xgboost", reason='needs `pip install "aucross[experiments]"`')

from aucross import AUCross
from experiments import store
from experiments.columns import __main__ as command
from experiments.columns import alerts, groups, over_time, patients, weights
from experiments.columns.topics import Draw, Topic

MODEL = LogisticRegression()


def rows_of(n_rows, seed, spread=1.5):
    """One feature that tells the log-odds."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, spread, n_rows)
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-x))).astype(np.int64)
    return rng, pd.DataFrame({"x": x}), y


# ---- weights ----


@pytest.fixture(scope="module")
def weighted():
    """Low scores, far from the band, stand for many."""
    rng, X, y = rows_of(3000, 0)
    weight = np.where(X["x"] < -1.5, 20.0, 1.0) * rng.uniform(0.5, 1.5, 3000)
    rows = weights.Weighted(X, y, weight)
    parts = [
        {"dataset": "nass_cds_crash", "draw": seed, "n_train": 1500, "n_test": 1500, **row}
        for seed in (0, 1)
        for row in weights.judged(MODEL, rows, np.arange(1500), np.arange(1500, 3000), seed)
    ]
    return pd.DataFrame(parts)


def test_a_fit_with_weights_keeps_the_share_of_weight_and_one_without_does_not(weighted):
    at = weighted[(weighted["target_coverage"] == 0.8) & (weighted["counted"] == "weights")]
    reached = at.groupby("fit")["coverage"].mean()
    assert reached["no weights"] > 0.9
    assert abs(reached["coverage_weight"] - 0.8) < 0.06
    assert abs(reached["sample_weight"] - 0.8) < 0.06


def test_counting_rows_hides_it(weighted):
    at = weighted[(weighted["target_coverage"] == 0.8) & (weighted["counted"] == "rows")]
    assert abs(at[at["fit"] == "no weights"]["coverage"].mean() - 0.8) < 0.04
    # Both ways the model is the same: only the ranking and the coverage count the weights.
    of_all = weighted.groupby(["counted", "fit"])["auc_all"].mean()
    assert of_all["weights", "no weights"] == pytest.approx(of_all["weights", "coverage_weight"], abs=1e-12)


def test_the_page_of_weights_names_every_fit(weighted):
    text = weights.page(weighted)
    assert [line.split(" | ")[0] for line in text.splitlines()[2:5]] == [f"| {name}" for name in weights.FITS]
    assert "Means over 2 draws of 1,500 training rows" in text
    assert isinstance(weights.draw_picture(weighted), Figure)


# ---- groups ----


@pytest.fixture(scope="module")
def grouped():
    """Scores of the first group lie in the middle, those of the second at the ends."""
    rng, X, y = rows_of(4000, 1)
    group = np.where(np.abs(X["x"] + 1) < 1.2, np.where(rng.random(4000) < 0.8, "a", "b"), "b")
    rows = groups.Grouped(X, y, group)
    return pd.DataFrame(
        {"dataset": "dutch_census", "draw": seed, "n_train": 2000, "n_test": 2000, **row}
        for seed in (0, 1)
        for row in groups.judged(MODEL, rows, np.arange(2000), np.arange(2000, 4000), seed)
    )


def test_one_band_falls_on_the_group_in_the_middle_and_bands_of_their_own_do_not(grouped):
    gaps = grouped[(grouped["kind"] == "gap") & (grouped["name"] == "achieved_coverage")]
    at = gaps[gaps["target_coverage"] == 0.8].set_index(["rule", "draw"])
    assert (at.loc[groups.ONE, "value"] > at.loc[groups.ONE, "by_chance"]).all()
    assert at.loc[groups.EACH, "value"].max() < 0.5 * at.loc[groups.ONE, "value"].min()


def test_the_page_of_groups_has_gaps_shares_and_costs(grouped):
    text = groups.page(grouped)
    assert "| dutch_census by sex | one band |" in text
    assert "; 2 of 2)" in text
    assert "| dutch_census | (all rows) | 2,000 |" in text
    assert "a band for each group changes the AUC of all selected rows by" in text
    assert isinstance(groups.draw_picture(grouped), Figure)


# ---- time ----


@pytest.fixture(scope="module")
def streams():
    """The scores wander upwards in time, so that fewer and fewer lie in the band."""
    _, X, y = rows_of(8000, 2)
    drifting = X + np.linspace(0, 4, 8000)[:, None]
    orders = {over_time.IN_TIME: np.arange(8000), over_time.SHUFFLED: np.random.default_rng(0).permutation(8000)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the scores contradict another share of positives
        return pd.DataFrame(
            {"dataset": "elec2", "draw": 0, "order": name, **row}
            for name, order in orders.items()
            for row in over_time.streamed(MODEL, drifting, y, order, 0)
        )


def test_drift_moves_the_band_as_placed_and_rings_the_alarm(streams):
    drifted, quiet = (streams[streams["order"] == order] for order in (over_time.IN_TIME, over_time.SHUFFLED))
    placed, moved = ((drifted[f"{rule}: coverage"] - 0.8).abs().mean() for rule in (over_time.PLACED, over_time.MOVED))
    assert placed > 2 * moved
    assert drifted["alarm"].iloc[-1]
    assert not quiet["alarm"].any()
    assert drifted["n"].sum() == quiet["n"].sum() == 4800


def test_label_shift_finds_the_share_where_nothing_else_changed(streams):
    quiet = streams[streams["order"] == over_time.SHUFFLED]
    assert (quiet["estimated"] - quiet["positive"]).abs().mean() < 0.06


def test_the_page_of_time_says_when_the_alarm_rang(streams):
    text = over_time.page(streams)
    assert "| 1 of 1, " in text
    assert "| 0 of 1 |" in text
    assert isinstance(over_time.draw_picture(streams), Figure)


# ---- capacity ----


@pytest.fixture
def transactions():
    rng, X, y = rows_of(4000, 3)
    return alerts.Transactions(X, y, np.repeat(np.arange(20), 200), rng.integers(0, 900, 4000))


def test_cards_that_are_known_are_watched_no_more(transactions):
    everything = transactions
    trained = set(np.flatnonzero(everything.day < 7).tolist())
    rows = alerts.watched(everything, trained, 14)
    known = set(everything.card[(everything.day < 7) & (everything.y == 1)])
    assert set(everything.day[rows]) == set(range(14, 20))
    assert not known & set(everything.card[rows])
    # The labels of day 7 are known on day 15, and not before.
    later = set(everything.card[(everything.day == 7) & (everything.y == 1)]) - known
    assert later & set(everything.card[rows[everything.day[rows] == 14]])
    assert not later & set(everything.card[rows[everything.day[rows] >= 15]])


def test_card_precision_counts_the_cards_of_the_highest_scores_once(monkeypatch):
    monkeypatch.setattr(alerts, "CAPACITY", 2)
    day, card = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([1, 1, 2, 3, 1, 3, 4])
    y, score = np.array([1, 0, 0, 1, 1, 0, 1]), np.array([0.9, 0.8, 0.7, 0.1, 0.9, 0.2, 0.6])
    test = alerts.Transactions(pd.DataFrame({"x": score}), y, day, card)
    # Day 0: cards 1 and 2, one of them with a fraud. Day 1: card 1 is out, so 4 and 3 are looked at.
    assert list(alerts.card_precisions(score, test)) == [0.5, 0.5]


def test_the_highest_scores_find_frauds_and_the_queue_raises_the_auc_of_the_rest(transactions, monkeypatch):
    monkeypatch.setattr(alerts, "CAPACITY", 20)
    train, test = np.arange(2000), np.arange(2000, 4000)
    clf = AUCross(MODEL, random_state=0).fit(transactions.X.iloc[train], transactions.y[train])
    rows = pd.DataFrame({"draw": 0, "model": "LightGBM", **row} for row in alerts.judged(clf, transactions.take(test)))
    means = rows.groupby("chosen").mean(numeric_only=True)
    assert means.loc[alerts.TOP, "frauds_found"] > 1.5 * means.loc[alerts.BAND, "frauds_found"]
    assert means.loc[alerts.BAND, "auc_rest"] > means.loc[alerts.TOP, "auc_rest"]
    assert means.loc[alerts.BAND, "auc_rest"] > means.loc[alerts.BAND, "auc_all"]
    assert means.loc[alerts.TOP, ["frauds_above", "genuine_above"]].sum() == 0
    accounted = means[["frauds_found", "frauds_above", "frauds_below"]].sum(axis=1)
    np.testing.assert_allclose(accounted, means["frauds"])
    assert "| LightGBM | highest scores |" in alerts.page(rows)
    assert isinstance(alerts.draw_picture(rows), Figure)


# ---- patients ----


@pytest.fixture(scope="module")
def stays():
    """Twenty stays of each patient, all nearly alike."""
    rng, X, y = rows_of(400, 4)
    copies = np.repeat(np.arange(400), 20)
    X = pd.DataFrame({"x": X["x"].to_numpy()[copies] + rng.normal(0, 0.05, len(copies))})
    everyone = patients.Patients(X, y[copies], copies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patients, "N_SAMPLES", 20)
        return pd.DataFrame(
            {"dataset": "diabetes130", "draw": seed, "fewest": 1, **row}
            for seed in (0, 1)
            for row in patients.judged(MODEL, everyone, seed, most_trained=2000)
        )


def test_intervals_that_know_the_patients_are_wider_and_hold_more_often(stays):
    found = stays[stays["kind"] == "interval"].groupby(["fit", "metric"])[["held", "width"]].mean()
    for metric in patients.METRICS:
        known, unknown = (found.loc[(name, metric)] for name in (patients.WITH, patients.WITHOUT))
        assert known["width"] > 2 * unknown["width"]
        assert known["held"] > unknown["held"] + 0.2


def test_no_patient_trains_and_tests():
    patient = np.repeat(np.arange(50), 3)
    first, rest = patients._split(patient, 60, np.random.default_rng(0))
    assert not set(patient[first]) & set(patient[rest])
    assert 60 <= len(first) <= 63
    assert len(first) + len(rest) == 150


def test_the_page_of_patients_has_both_tables(stays):
    text = patients.page(stays)
    assert "| all | groups | 2,000 / 100 |" in text
    assert "new patients, 40 intervals a line" in text
    assert isinstance(patients.draw_picture(stays), Figure)


# ---- the command ----


def measure_here(draw):
    return [{**draw.key, "value": draw.draw + 0.5}]


def test_the_command_goes_on_and_writes_what_is_done(monkeypatch, tmp_path, capsys):
    topic = Topic(
        name="weights",
        datasets=("nass_cds_crash", "compas"),
        n_draws=3,
        measure=measure_here,
        draw=lambda rows: Figure(),
        page=lambda rows: f"{len(rows)} rows\n",
        settings="",
    )
    monkeypatch.setattr(store, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(command, "TOPICS", (topic,))
    monkeypatch.setattr(command, "sets_at_hand", lambda: ["compas", "nass_cds_crash"])
    command.main(["--plan"])
    assert "weights: 0 of 6 draws done" in capsys.readouterr().out
    command.main(["--write-only", "--output", str(tmp_path / "none")])
    assert not (tmp_path / "none").exists()
    command.main(["--quick", "--jobs", "1", "--output", str(tmp_path)])
    table = pd.read_csv(tmp_path / "weights.csv")
    assert table[["dataset", "draw"]].to_numpy().tolist() == [
        ["nass_cds_crash", 0],
        ["nass_cds_crash", 1],
        ["compas", 0],
        ["compas", 1],
    ]
    assert (tmp_path / "weights.md").read_text(encoding="utf-8") == "4 rows\n"
    assert (tmp_path / "weights.png").exists()
    capsys.readouterr()
    command.main(["--plan"])
    assert "weights: 4 of 6 draws done, about 0 seconds of one core left" in capsys.readouterr().out


def test_every_topic_is_kept_under_its_own_name():
    works = [work for topic in command.TOPICS for work in topic.works(topic.datasets, 1)]
    assert {work.kind for work in works} == {f"columns-{topic.name}" for topic in command.TOPICS}
    assert len(works) == 10  # every set of the page once
    assert all(isinstance(work.argument, Draw) for work in works)
