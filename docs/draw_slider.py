"""Write the slider of the landing page, docs/_static/slider.html: ``python docs/draw_slider.py``.

The loans, the model and the split are those of ``make demo``. Every number is computed here; the page only shows the
one that belongs to the position of the slider. Takes about a minute.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

# Before scikit-learn is imported: on a busy machine its threads wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from aucross import evaluate_selective
from aucross.cli.demo import N_LOANS, SHOWN_COVERAGE, compare_on_loans

PAGE = Path(__file__).parent / "_static" / "slider.html"
COVERAGES = [round(0.5 + 0.01 * step, 2) for step in range(51)]
CASES_A_DAY = 200
WIDTH, HEIGHT, LARGEST_SCORE, BINS = 640, 170, 0.8, 40

FRAGMENT = """<figure class="slider" id="loan-slider">
<svg viewBox="0 0 {width} {total}" role="img" aria-label="Scores of loans, and the band that goes to a person">
<rect class="band" y="0" height="{height}" x="0" width="0"/>
<path class="repaid" d="{repaid}"/>
<path class="defaulted" d="{defaulted}"/>
<line x1="0" y1="{height}" x2="{width}" y2="{height}"/>
{ticks}
<text x="{width}" y="14" text-anchor="end">
<tspan class="repaid-name">repaid</tspan> and <tspan class="defaulted-name">defaulted</tspan> loans by score
</text>
</svg>
<label>Decided automatically <input type="range" min="0" max="{last}" value="{start}" step="1"></label>
<figcaption aria-live="polite">{sentence}</figcaption>
<script type="application/json">{figures}</script>
<script>
(() => {{
  const slider = document.getElementById("loan-slider");
  const figures = JSON.parse(slider.querySelector("script").textContent);
  const number = (value, digits) => value.toFixed(digits).replace(/^0/, "");
  const show = () => {{
    const at = figures.coverages[slider.querySelector("input").value];
    const scale = figures.pixels_per_score;
    const band = slider.querySelector(".band");
    band.setAttribute("x", at.lower * scale);
    band.setAttribute("width", Math.max(at.upper - at.lower, 0) * scale);
    const reviews = at.reviews_a_day ? ", scores from " + number(at.lower, 3) + " to " + number(at.upper, 3) : "";
    slider.querySelector("figcaption").textContent =
      (100 * at.coverage).toFixed(0) + " % asked for, " + (100 * at.achieved_coverage).toFixed(1) + " % of the loans " +
      "decided automatically with an AUC of " + number(at.auc, 3) + "; " + at.reviews_a_day + " of " +
      figures.cases_a_day + " loans a day go to a person" + reviews + ".";
  }};
  slider.querySelector("input").addEventListener("input", show);
  show();
}})();
</script>
</figure>
"""


def slider_figures(clf, X, y) -> dict:
    """Return what the page shows at each coverage, and the outlines of the scores of both classes."""
    scored = clf.scored(X)
    rows = evaluate_selective(clf, scored, y, COVERAGES, n_bootstrap=0).rows()
    return {
        "cases_a_day": CASES_A_DAY,
        "pixels_per_score": WIDTH / LARGEST_SCORE,
        "coverages": [figures_at(row, clf.band(row["target_coverage"])) for row in rows],
        "shares": {
            name: (np.histogram(scored.score[np.asarray(y) == label], BINS, (0, LARGEST_SCORE))[0] / np.sum(y == label))
            .round(4)
            .tolist()
            for label, name in enumerate(("repaid", "defaulted"))
        },
    }


def figures_at(row: dict, band) -> dict:
    """Return the numbers of one coverage; a band that rejects nothing has no ends."""
    lower, upper = (0.0, 0.0) if band.is_empty else (band.lower, band.upper)
    return {
        "coverage": row["target_coverage"],
        "achieved_coverage": round(row["achieved_coverage"], 4),
        "auc": round(row["selective_auc"], 4),
        "lower": round(lower, 6),
        "upper": round(upper, 6),
        "reviews_a_day": round(CASES_A_DAY * (1 - row["achieved_coverage"])),
    }


def outline(shares: list[float], highest: float) -> str:
    """Return the steps of a histogram as a path of SVG."""
    step = WIDTH / BINS
    heights = [HEIGHT - (HEIGHT - 20) * share / highest for share in shares]
    return f"M0 {HEIGHT}" + "".join(f"V{height:.1f}h{step:g}" for height in heights) + f"V{HEIGHT}"


def page(figures: dict) -> str:
    """Return the fragment of HTML that the landing page includes."""
    shares = figures["shares"]
    highest = max(max(of_class) for of_class in shares.values())
    ticks = "\n".join(
        f'<text x="{score * WIDTH / LARGEST_SCORE:g}" y="{HEIGHT + 18}" text-anchor="middle">.{10 * score:g}</text>'
        for score in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    )
    return FRAGMENT.format(
        width=WIDTH,
        height=HEIGHT,
        total=HEIGHT + 24,
        repaid=outline(shares["repaid"], highest),
        defaulted=outline(shares["defaulted"], highest),
        ticks=ticks,
        last=len(COVERAGES) - 1,
        start=COVERAGES.index(SHOWN_COVERAGE),
        sentence="The slider needs scripts; the table of the README has some of its numbers.",
        figures=json.dumps(figures),
    )


if __name__ == "__main__":  # the tests look for doctests here
    compared = compare_on_loans(N_LOANS)
    PAGE.write_text(page(slider_figures(compared.aucross, compared.X, compared.y)), encoding="utf-8")
