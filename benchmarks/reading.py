"""How soon a committee finds its five answers in both reports: ``python -m benchmarks.reading``.

Counted are the words that stand before the end of each answer, from the top of the page, in the order of the page,
without what is folded, drawn or hidden. Somebody who reads every word reads about 230 a minute (Brysbaert 2019). The
model report is that of the synthetic loans, the oversight report that of six months of them.

    python -m benchmarks.reading report.html oversight.html   pages of your own
"""

from __future__ import annotations

import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross
from aucross.datasets import make_credit
from aucross.record import Record
from aucross.report import build_oversight, build_summary, render_html, render_oversight

WORDS_A_MINUTE = 230
# By question of a committee: where its answer begins in the model report, and in the oversight report.
ANSWERS = {
    "what is decided": ("The decision", "What is decided?"),
    "how well": ("AUC of the automatic cases", "How good are the decisions that nobody looked at?"),
    "what is promised": ("What can be promised", "What is promised?"),
    "who is treated differently": ("Who is treated differently", "Who is treated differently?"),
    "what can go wrong": ("What can go wrong", "What can go wrong?"),
}


class Reader(HTMLParser):
    """Words of a page in reading order, in blocks: paragraphs, items of lists, cells of tables, headings."""

    unread = ("style", "script", "svg", "template", "noscript", "title", "button", "pre")
    blocks = ("p", "li", "th", "td", "h1", "h2", "h3", "summary", "dt", "dd", "caption", "figcaption", "label")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = [""]
        self._closed: list[str] = []
        self.feed(page)
        self.texts = [" ".join(text.split()) for text in self.found if text.split()]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """Begin a block, or something that nobody reads."""
        if tag in self.unread or (tag == "details" and not self._closed):
            self._closed.append(tag)
        if tag in self.blocks:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        """End something that nobody reads."""
        if self._closed and self._closed[-1] == tag:
            self._closed.pop()

    def handle_data(self, data: str) -> None:
        """Add words to the block."""
        if not self._closed:
            self.found[-1] += f" {data}"


def words_until(page: str, number: int) -> dict[str, int]:
    """Return the words until each question is answered, and those of the whole page that is not folded."""
    texts = Reader(page).texts
    so_far = np.cumsum([len(text.split()) for text in texts])
    found = {}
    for question, begins in ANSWERS.items():
        place = next(at for at, text in enumerate(texts) if text.startswith(begins[number]))
        # The heading of the decision stands alone: its answer is the next block.
        found[question] = int(so_far[place + (texts[place] == begins[number])])
    return found | {"the whole page": int(so_far[-1])}


def made_pages() -> tuple[str, str]:
    """Return the model report and the oversight report of synthetic loans."""
    X, y = make_credit(18_000, return_X_y=True)
    X, y = X.drop(columns="issue_date"), y.to_numpy()
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    clf = AUCross(model, coverage=0.8, random_state=0).fit(X[:6000], y[:6000])
    region, rng = X["region"].astype(str).to_numpy(), np.random.default_rng(0)
    last, purpose = slice(15_000, 18_000), X["purpose"].astype(str).to_numpy()
    names = {"class_names": ("repaid", "default"), "cases_a_month": 12_000, "date": "2026-01-01"}
    summary = build_summary(clf, X[last], y[last], by=region[last], cost_matrix=((0, 300), (4000, 0)), **names)
    with tempfile.TemporaryDirectory() as folder, Record.open(Path(folder) / "cases.db") as record:
        for month in range(6):
            rows = np.arange(6000 + 2000 * month, 8000 + 2000 * month)
            kept = {"region": region[rows], "purpose": purpose[rows]}
            drawn = {"audit": 0.2, "strip": 0.02, "audit_key": bytes(range(32))}
            record.decide(clf, X.iloc[rows], batch=f"month-{month}", ids=rows, keep=kept, **drawn)
            seen = record.queue(f"month-{month}").to_pandas()["id"].astype(int)
            answers = np.where(rng.random(len(seen)) < 0.9, y[seen], 1 - y[seen])
            answered = zip(seen, answers, strict=True)
            record.add_reviews([{"id": case, "reviewer": "ann", "answer": answer} for case, answer in answered])
            record.add_outcomes([{"id": case, "outcome": y[case]} for case in rows])
        found = build_oversight(record, promised_auc=0.75, by=["region", "purpose"], clf=clf)
    return render_html(summary), render_oversight(found)


def main() -> None:
    """Print words and seconds until each answer, for both reports."""
    pages = [Path(name).read_text("utf-8") for name in sys.argv[1:]] or made_pages()
    for number, (name, page) in enumerate(zip(("model report", "oversight report"), pages, strict=True)):
        print(f"{name:<30}{'words':>8}{'seconds':>9}")
        for question, words in words_until(page, number).items():
            print(f"{question:<30}{words:>8,}{60 * words / WORDS_A_MINUTE:>9.0f}")


if __name__ == "__main__":
    main()
