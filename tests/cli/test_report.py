"""What a report is told on the shell (heading, cases a month, costs), and what it knows of its model."""

from __future__ import annotations

import datetime as dt
import json
from html.parser import HTMLParser

import pytest

from aucross.files import model_fingerprint, read_header
from aucross.files.model_file import load
from tests.cli.commands import aucross

SMALL = ("--target", "default", "--base", "logistic", "--method", "plugin-auc", "--coverage", "0.8")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, loans):
    folder = tmp_path_factory.mktemp("report")
    loans.drop(columns=["loan", "customer"]).to_csv(folder / "loans.csv", index=False)
    model = folder / "model.aucross"
    result = aucross("fit", folder / "loans.csv", *SMALL, "--out", model, "--report", folder / "fit.json")
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def told(fitted, loans):
    rows = fitted / "new.csv"
    loans.drop(columns=["loan", "customer"]).iloc[:400].to_csv(rows, index=False)
    options = ("--title", "A new heading", "--cases-a-month", 5000, "--costs", 4000, 300, 25)
    result = aucross("report", fitted / "model.aucross", rows, "--out", fitted / "told.json", *options)
    assert result.exit_code == 0, result.stderr
    return json.loads((fitted / "told.json").read_text(encoding="utf-8"))


def test_heading_month_and_costs_reach_the_report(told):
    assert told["title"] == "A new heading"
    assert told["data"]["cases_a_month"] == 5000
    for entry in told["coverages"]:
        errors = entry["errors"]
        assert errors["cost"] == 4000 * errors["n_missed"] + 300 * errors["n_false_alarm"]
        assert errors["review_cost"] == 25 * entry["n_review"]


class Heads(HTMLParser):
    """The texts of the title elements and headings of a page, as a browser shows them."""

    def __init__(self):
        super().__init__()
        self.texts, self.within = {"title": [], "h1": []}, None

    def handle_starttag(self, tag, attrs):
        if tag in self.texts:
            self.within = tag
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        self.within = None if tag == self.within else self.within

    def handle_data(self, data):
        if self.within is not None:
            self.texts[self.within][-1] += data


def test_the_title_stands_escaped_in_title_element_and_heading(fitted):
    title = """R&D </title><script>alert("1")</script> 'pilot' <b>"""
    page = fitted / "titled.html"
    result = aucross("report", fitted / "model.aucross", fitted / "loans.csv", "--out", page, "--title", title)
    assert result.exit_code == 0, result.stderr
    text, heads = page.read_text(encoding="utf-8"), Heads()
    heads.feed(text)
    assert heads.texts == {"title": [title], "h1": [title]}
    assert "<script>alert(" not in text


def test_both_reports_say_what_the_model_was_trained_on(fitted, told):
    after_fit = json.loads((fitted / "fit.json").read_text(encoding="utf-8"))
    header = read_header(fitted / "model.aucross")
    n_train = header.metadata["n_train"]
    assert after_fit["method"]["training"] == f"{n_train:,} rows of loans.csv, fitted {dt.date.today().isoformat()}"
    assert told["method"]["training"] == f"{n_train:,} rows of loans.csv; model file of {header.saved_at[:10]}"
    assert after_fit["title"] == "Automatic decisions and review: default"
    fingerprint = model_fingerprint(load(fitted / "model.aucross"))
    assert {part["method"]["model_fingerprint"] for part in (after_fit, told)} == {fingerprint}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cases-a-month", 0), "--cases-a-month must be a positive number of cases, got 0"),
        (("--costs", 4000, -1, 25), "--costs must be three numbers of 0 or more, got 4000 -1 25"),
    ],
)
def test_numbers_that_cannot_be_are_refused_before_any_work(options, message, fitted):
    result = aucross("report", fitted / "model.aucross", fitted / "loans.csv", "--out", fitted / "no.html", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (fitted / "no.html").exists()
