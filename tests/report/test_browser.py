"""The page in a real Chromium: what the slider shows is what the library says, on wide screens, phones and paper."""

from __future__ import annotations

import base64
import json
import re
import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.evaluation import evaluate_selective, expected_calibration_error, selective_ks
from aucross.report import build_summary, write_report
from tests.reference import select_each

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium or chromedriver is not installed")

SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"),
)

# Moves the slider as a person does and waits until the charts are drawn.
MOVE = """
const [value, done] = arguments;
const slider = document.getElementById("coverage");
slider.value = value;
slider.dispatchEvent(new Event("input", { bubbles: true }));
requestAnimationFrame(() => requestAnimationFrame(() => done()));
"""

READ_ALL = """
const slider = document.getElementById("coverage");
const read = () => Object.fromEntries(
  [...document.querySelectorAll("table.numbers [data-field]")].map((e) => [e.dataset.field, e.textContent]));
const found = [];
for (let step = 50; step <= 100; step += 1) {
  slider.value = step / 100;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  found.push(read());
}
return found;
"""


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in SWITCHES:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(executable_path=DRIVER))
    driver.set_script_timeout(30)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(summary, tmp_path_factory):
    return write_report(summary, tmp_path_factory.mktemp("report") / "report.html").as_uri()


UNFOLD = 'document.querySelectorAll("details").forEach((part) => { part.open = true; })'


@pytest.fixture
def page(browser, address):
    """The report on a wide screen at the coverage in use; opened again only if another page was open."""
    if browser.current_url != address:
        return opened(browser, address)
    resize(browser, 1440)
    browser.execute_script('window.scrollTo(0, 0); document.getElementById("reset").click()')
    return browser


def opened(browser, address, width=1440, height=900):
    browser.get_log("browser")
    browser.get_log("performance")
    resize(browser, width, height)
    browser.get(address)
    return browser


def resize(browser, width, height=900):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def move(page, coverage):
    page.execute_async_script(MOVE, coverage)


def texts(page, field):
    found = page.find_elements(By.CSS_SELECTOR, f'[data-field="{field}"]')
    return {element.get_attribute("textContent") for element in found}


def text(page, field):
    """The text of a field, which is the same wherever it stands."""
    (found,) = texts(page, field)
    return found


def plain(shown):
    return shown.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")


def cells(page, table):
    rows = f'return [...document.querySelectorAll("table.{table} tbody tr")]'
    return page.execute_script(f"{rows}.map((row) => [...row.cells].map((cell) => cell.textContent))")


def mark(page, name, attribute="d"):
    element = page.find_element(By.CSS_SELECTOR, f'[data-mark="{name}"]')
    return element.get_attribute("textContent" if attribute == "text" else attribute)


def points(path):
    return [[float(number) for number in place.split()] for place in re.findall(r"[ML]([-\d. ]+)", path)]


# ---- the slider ----


def test_the_numbers_at_every_coverage_are_those_of_the_library(page, credit):
    coverages = [step / 100 for step in range(50, 101)]
    evaluation = evaluate_selective(credit.clf, credit.X, credit.y, coverages, n_bootstrap=100, random_state=0)
    rows, masks = evaluation.rows(), select_each(credit.clf, credit.X, coverages)
    for row, selected, shown in zip(rows, masks, page.execute_script(READ_ALL), strict=True):
        is_missed = not row["achieved_coverage_low"] <= row["target_coverage"] <= row["achieved_coverage_high"]
        found = {name: plain(value) for name, value in shown.items()}
        low, high = row["selective_auc_low"], row["selective_auc_high"]
        gain = row["selective_auc"] - rows[-1]["selective_auc"]
        expected = {
            "target_coverage": f"{100 * row['target_coverage']:.0f} %",
            "achieved_coverage": f"{100 * selected.mean():.1f} %{', missed' if is_missed else ''}",
            "n_automatic": f"{selected.sum():,} of 2,000",
            "n_review": f"{(~selected).sum():,}",
            "selective_auc": f"{row['selective_auc']:.4f}",
            "selective_auc_interval": f"{low:.4f} to {high:.4f}",
            "all_auc": f"{rows[-1]['selective_auc']:.4f}",
            "auc_gain": f"{gain:+.4f}" if round(gain, 4) else "0.0000",
            "selective_gini": f"{2 * row['selective_auc'] - 1:.4f}",
            "selective_ks": f"{selective_ks(credit.positive, credit.score, selected):.4f}",
            "selective_accuracy": f"{100 * row['selective_accuracy']:.1f} %",
            "positive_rate": f"{100 * row['positive_rate']:.1f} %",
            "positives_for_review": f"{100 * (1 - selected[credit.positive].mean()):.1f} %",
            "expected_calibration_error": (
                f"{expected_calibration_error(credit.positive, credit.score, selected):.4f}"
            ),
        }
        assert found == found | expected


@pytest.mark.parametrize("coverage", [0.5, 0.63, 0.77, 0.9, 0.99])
def test_the_slider_moves_the_band(coverage, page, credit):
    move(page, coverage)
    band = credit.clf.band(coverage)
    assert plain(text(page, "band")) == f"{band.lower:.4f} to {band.upper:.4f}"
    assert mark(page, "distribution-label", "text") == f"review: {band.lower:.4f} to {band.upper:.4f}"
    assert f"{band.lower:.4f} to {band.upper:.4f}?" in plain(text(page, "question"))


def test_the_band_is_painted_where_the_axis_says(page, credit):
    move(page, 0.6)
    band = credit.clf.band(0.6)
    found = page.execute_script(
        """
        const chart = document.getElementById("chart-distribution");
        const middle = (e) => { const box = e.getBoundingClientRect(); return (box.left + box.right) / 2; };
        const ticks = [...chart.querySelectorAll('text[text-anchor="middle"].tick')];
        const box = chart.querySelector('[data-mark="distribution-band"]').getBoundingClientRect();
        return { ticks: ticks.map((e) => [Number(e.textContent), middle(e)]), band: [box.left, box.right] };
        """
    )
    (low, left), (high, right) = found["ticks"][0], found["ticks"][-1]
    drawn = [low + (pixel - left) / (right - left) * (high - low) for pixel in found["band"]]
    assert drawn == pytest.approx([band.lower, band.upper], abs=0.003)


def test_at_full_coverage_there_is_no_band(page):
    move(page, 1.0)
    assert mark(page, "distribution-band") == ""
    assert text(page, "band") == "none"
    assert page.find_element(By.ID, "nobody").get_property("hidden") is False
    assert cells(page, "features") == []
    assert text(page, "question") == "Shall the model decide all cases alone?"


@pytest.mark.parametrize("coverage", [0.55, 0.85])
def test_the_slider_moves_the_curves(coverage, page, summary):
    move(page, coverage)
    entry = next(entry for entry in summary["coverages"] if entry["target_coverage"] == coverage)
    for name, across in (("roc", "false_positive_rate"), ("cap", "rows")):
        x, y = np.transpose(points(mark(page, f"{name}-own")))
        assert (x - 70) / (414 - 70) == pytest.approx(entry["curve"][across], abs=2e-4)
        assert (330 - y) / (330 - 12) == pytest.approx(entry["curve"]["true_positive_rate"], abs=2e-4)
    across = 70 + (coverage - 0.49) / 0.52 * (632 - 70)
    assert float(mark(page, "auc_coverage-dot", "cx")) == pytest.approx(across, abs=0.051)
    assert mark(page, "calibration-dots").count("M") == len(entry["deciles"])


def test_the_area_of_the_drawn_curve_is_the_auc_that_is_shown(page):
    move(page, 0.7)
    x, y = np.transpose(points(mark(page, "roc-own")))
    area = np.trapezoid((330 - y) / (330 - 12), (x - 70) / (414 - 70))
    assert area == pytest.approx(float(text(page, "selective_auc")), abs=0.002)


def test_the_slider_moves_the_tables(page, summary):
    move(page, 0.6)
    entry = next(entry for entry in summary["coverages"] if entry["target_coverage"] == 0.6)
    deciles = cells(page, "deciles")
    assert [row[4] for row in deciles] == [f"{part['mean_score']:.4f}" for part in entry["deciles"]]
    assert [row[2] for row in deciles] == [f"{part['n']:,}" for part in entry["deciles"]]
    assert [plain(row[2]) for row in cells(page, "groups")] == [
        f"{100 * group['achieved_coverage']:.1f} % ({100 * group['achieved_coverage_low']:.1f} % to "
        f"{100 * group['achieved_coverage_high']:.1f} %)"
        for group in entry["groups"]
    ]
    assert plain(cells(page, "features")[0][3]) == f"{entry['features'][0]['standardised_difference']:+.2f}"
    assert text(page, "guard_message") == f"{entry['base_rate']['message']}."
    assert [row[1] for row in cells(page, "lanes")] == [f"{lane['n']:,}" for lane in entry["lanes"]]
    assert cells(page, "errors")[0][1] == f"{entry['errors']['n_missed']:,}"


def test_the_page_starts_at_the_coverage_in_use_and_returns_to_it(page):
    assert plain(text(page, "target_coverage")) == "85 %"
    move(page, 0.6)
    assert plain(text(page, "target_coverage")) == "60 %"
    page.find_element(By.ID, "reset").click()
    assert plain(text(page, "target_coverage")) == "85 %"
    assert page.find_element(By.ID, "coverage").get_property("value") == "0.85"


def test_the_keyboard_moves_the_slider(page):
    slider = page.find_element(By.ID, "coverage")
    for key, shown in ((Keys.ARROW_LEFT, "84 %"), (Keys.HOME, "50 %"), (Keys.END, "100 %"), (Keys.ARROW_LEFT, "99 %")):
        slider.send_keys(key)
        assert plain(text(page, "target_coverage")) == shown
    assert plain(slider.get_attribute("aria-valuetext")).startswith("99 %, AUC 0.")


def test_buttons_move_by_one_step_and_stop_at_the_ends(page):
    page.find_element(By.ID, "more").click()
    assert plain(text(page, "target_coverage")) == "86 %"
    move(page, 0.5)
    assert not page.find_element(By.ID, "less").is_enabled()
    assert page.find_element(By.ID, "more").is_enabled()


# ---- silence ----


def test_nothing_is_logged_and_nothing_is_requested(browser, address):
    page = opened(browser, address)
    for coverage in (0.5, 0.8, 1.0):
        move(page, coverage)
    page.execute_cdp_cmd("Page.printToPDF", {})
    assert page.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [address]


def test_a_request_would_be_blocked(page):
    blocked = page.execute_async_script(
        'fetch("http://localhost:9/").then(() => arguments[0]("sent"), () => arguments[0]("blocked"))'
    )
    assert blocked == "blocked"
    assert any("Content Security Policy" in entry["message"] for entry in page.get_log("browser"))


# ---- widths ----


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_nothing_sticks_out_of_the_screen(width, browser, address):
    page = opened(browser, address, width)
    page.execute_script(UNFOLD)
    move(page, 0.7)
    assert page.execute_script("return document.documentElement.scrollWidth") == width
    boxes = page.execute_script(
        'return [...document.querySelectorAll(".chart, .picture, .picture text, section, .controls, .legend")]'
        ".map((e) => e.getBoundingClientRect()).map((box) => [box.left, box.right])"
    )
    assert len(boxes) > 20
    assert all(left >= 0 and right <= width + 0.5 for left, right in boxes)


@pytest.mark.parametrize("width", [390, 1440])
def test_numbers_in_charts_can_be_read_and_do_not_touch(width, browser, address):
    page = opened(browser, address, width)
    page.execute_script(UNFOLD)
    found = page.execute_script(
        """
        return [...document.querySelectorAll(".picture")].map((picture) => ["middle", "end"].map((anchor) =>
          [...picture.querySelectorAll(`.tick[text-anchor="${anchor}"]`)].map((e) => e.getBoundingClientRect())
            .map((box) => [box.left, box.right, box.top, box.bottom])));
        """
    )
    assert len(found) == 5
    for across, up in found:
        assert all(bottom - top >= 11 for _, _, top, bottom in across)
        assert all(first[1] < second[0] for first, second in pairwise(sorted(across)))
        places = sorted(up, key=lambda box: box[2])
        assert all(first[3] < second[2] + 2 for first, second in pairwise(places))


def test_the_first_screen_holds_question_numbers_picture_and_slider(browser, address):
    page = opened(browser, address, 1440, 900)
    bottoms = page.execute_script(
        'return [".question", ".tiles", "#chart-distribution", "#coverage", ".promise"]'
        ".map((name) => document.querySelector(name).getBoundingClientRect().bottom)"
    )
    assert max(bottoms) < 900


def test_details_are_folded_and_unfold(page):
    folded = page.find_elements(By.CSS_SELECTOR, "details")
    assert len(folded) == 7
    assert not page.find_element(By.ID, "chart-roc").is_displayed()
    page.find_element(By.XPATH, "//summary[contains(., 'ranked')]").click()
    assert page.find_element(By.ID, "chart-roc").is_displayed()
    page.find_element(By.XPATH, "//summary[contains(., 'ranked')]").click()


def test_dark_screens_get_dark_paper_and_light_ink(page):
    style = "const style = getComputedStyle(document.querySelector('section')); "
    colours = f"{style}return [style.backgroundColor, style.color]"
    found = {}
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        found[scheme] = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in page.execute_script(colours)]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    for lighter, darker in (found["light"], found["dark"][::-1]):
        assert lighter > 600
        assert darker < 200


def test_fingers_can_hit_the_controls_of_a_phone(page):
    resize(page, 390, 844)
    for name in ("less", "more"):
        size = page.find_element(By.ID, name).size
        assert min(size["width"], size["height"]) >= 40


def test_the_slider_stays_in_sight(page):
    page.execute_script("window.scrollTo(0, 3000)")
    top = page.execute_script('return document.getElementById("coverage").getBoundingClientRect().top')
    assert 0 <= top < 60


# ---- paper ----


def printed(page, **options):
    result = page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True, **options})
    return base64.b64decode(result["data"])


def test_the_page_prints_on_four_sheets_of_a4_with_all_details(page):
    pdf = printed(page)
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) <= 4
    assert page.execute_script('return document.querySelectorAll("details[open]").length') == 0
    width, height = (float(number) for number in re.search(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", pdf).groups())
    assert (width, height) == pytest.approx((595, 842), abs=1.5)


def test_paper_has_the_coverage_instead_of_the_slider(page):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not page.find_element(By.ID, "coverage").is_displayed()
        assert not page.find_element(By.ID, "more").is_displayed()
        assert plain(page.find_element(By.CSS_SELECTOR, "output").text) == "85 %"
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


# ---- without a script, and with other classifiers ----


def test_without_a_script_the_numbers_are_there(browser, address, summary):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(address)
        body = plain(browser.find_element(By.TAG_NAME, "body").get_attribute("textContent"))
        drawn = mark(browser, "distribution-positive")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        browser.get("about:blank")  # the page without scripts has the address of the one with them
    assert "All numbers, tables and charts are for a coverage of 85 %" in body
    assert plain(summary["sentence"]) in body
    assert f"{summary['coverages'][0]['selective_auc']:.4f}" in body
    assert drawn.startswith("M70 ")


def test_a_gate_is_shown_without_a_band(browser, gate, tmp_path):
    made = build_summary(gate.clf, gate.X, gate.y, with_intervals=False, date="2025-01-31")
    page = opened(browser, write_report(made, tmp_path / "gate.html").as_uri())
    move(page, 0.6)
    selected = gate.clf.select(gate.X, 0.6)
    assert text(page, "n_review") == f"{(~selected).sum():,}"
    assert text(page, "band") == "no single band"
    assert mark(page, "distribution-band") == ""
    entry = next(entry for entry in made["coverages"] if entry["target_coverage"] == 0.6)
    hatched = [sum(entry["review_shares"][name]) for name in ("positive", "negative")]
    assert hatched == pytest.approx([(~selected)[gate.positive].mean(), (~selected)[~gate.positive].mean()], abs=1e-4)
    assert mark(page, "distribution-positive-review").count("Z") == np.count_nonzero(entry["review_shares"]["positive"])
    assert page.get_log("browser") == []


def test_names_that_look_like_markup_do_nothing(browser, summary, tmp_path):
    attack = '</script><img src=x onerror="window.attacked=1"><script>window.attacked=1</script>'
    made = json.loads(json.dumps(summary).replace('"to 25"', json.dumps(attack)))
    made["title"] = made["data"]["positive_class"] = attack
    for entry in made["coverages"]:
        for feature in entry["features"]:
            feature["feature"] = attack
    page = opened(browser, write_report(made, tmp_path / "attack.html").as_uri())
    move(page, 0.6)
    assert page.execute_script("return window.attacked") is None
    assert page.title == attack
    assert page.find_elements(By.TAG_NAME, "img") == []
    assert cells(page, "groups")[0][0] == attack
    assert page.get_log("browser") == []


# ---- attacks ----

RUN = "window.attacked=1"
MARKUP = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</noscript><script>{RUN}</script>",
    f"--><script>{RUN}</script><!--",
    f"]]><script>{RUN}</script>",
    "<!--<script>",
    f'<img src=x onerror="{RUN}">',
    f'"><svg onload={RUN}>',
    f"' onmouseover='{RUN}",
    f'" autofocus onfocus="{RUN}" x="',
    f'<a href="javascript:{RUN}">x</a>',
    "<iframe srcdoc='<script>parent.attacked=1</script>'></iframe>",
    f"<math><mtext></p><style><img src=x onerror={RUN}>",
    f"<b>%{{x}}</b><extra>hi</extra><a href='javascript:{RUN}'>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"\\u003cscript\\u003e{RUN}",
    f'"; {RUN}; "',
    f"`${{{RUN}}}`",
    "{{ 7 * 7 }}{% raw %}",
    '<meta http-equiv="refresh" content="0;url=http://localhost:9/">',
    '<base href="http://localhost:9/">',
    "<link rel=stylesheet href=http://localhost:9/x.css>",
    "<style>* { display: none }</style>",
]
UNSEEN = [
    *("\u202e", "\u202d", "\u2066", "\u2069", "\u200f", "\u061c"),
    *("\u200b", "\ufeff", "\u2028", "\0", "\x1b[31m", "\x85"),
]

# What an attack would leave behind: elements and attributes of its own, characters that cannot be seen.
TRACES = """
const everything = [...document.querySelectorAll("*")];
const attributes = everything.flatMap((e) => [...e.attributes]);
const texts = [document.title, document.body.innerText, ...attributes.map((a) => a.value)];
const foreign = "img, iframe, math, form, base, object, embed, a[href], meta[http-equiv=refresh]";
return {
  ran: window.attacked !== undefined,
  scripts: document.scripts.length - 2,
  elements: document.querySelectorAll(foreign).length,
  sheets: document.querySelectorAll("link[rel=stylesheet], body style").length,
  handlers: attributes.filter((a) => a.name.startsWith("on")).length,
  unseen: texts.filter((text) => /[\\p{Cf}\\p{Zl}\\p{Zp}]|(?![\\n\\t])\\p{Cc}/u.test(text)).length,
};
"""
ADD_STYLE = """
const style = document.createElement("style");
style.textContent = "body { order: 7 }";
document.head.append(style);
if (getComputedStyle(document.body).order === "7") window.attacked = 1;
"""


def hostile_summary(name):
    """A summary in which every name that a user gives is the one given."""
    X, y = make_classification(900, n_features=3, n_informative=3, n_redundant=0, flip_y=0.3, random_state=0)
    labels = np.array([f"{name} good", f"bad {name}"])
    columns = pd.DataFrame(X, columns=[f"{name}{number}" for number in range(3)])
    clf = AUCross(LogisticRegression(), cv=2, random_state=0).fit(columns[:500], labels[y[:500]])
    groups = np.where(X[500:, 0] > 0, f"{name} in", f"out {name}")
    return build_summary(
        clf,
        columns[500:],
        labels[y[500:]],
        by=groups,
        features=columns[500:].assign(**{f"value {name}": groups}),
        title=f"Title {name}",
        data_name=name,
        command=f"python {name}",
        with_intervals=False,
        date="2025-01-31",
    )


def traces_of(browser, name, path):
    """What a page about rows with such names ran, added, asked for or hid."""
    page = opened(browser, write_report(hostile_summary(name), path).as_uri())
    move(page, 0.6)
    page.execute_script(UNFOLD)
    page.find_element(By.ID, "more").click()
    traces = page.execute_script(TRACES)
    traces["messages"] = len(page.get_log("browser"))
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    traces["requests"] = len([url for url in requests if not url.startswith(("data:", "blob:", path.as_uri()))])
    shown = name.encode("unicode_escape").decode()
    return [f"{shown}: {trace} is {found}" for trace, found in traces.items() if found]


@pytest.mark.attack("report, scripts and control characters")
def test_names_run_nothing_add_nothing_and_hide_nothing(browser, tmp_path, attacked, full_size):
    names = [*MARKUP, *(f"safe {character}elbairav" for character in UNSEEN)]
    # Every name has a page of its own at full size, else all are one name on one page.
    names = names if full_size else [" ".join(names)]
    wrong = [trace for name in names for trace in traces_of(browser, name, tmp_path / "attack.html")]
    attacked(len(names), wrong)


@pytest.mark.attack("report, scripts and control characters")
@pytest.mark.parametrize(
    "inject",
    [
        'const e = document.createElement("script"); e.textContent = "window.attacked = 1"; document.body.append(e)',
        'document.body.setAttribute("onclick", "window.attacked = 1"); document.body.click()',
        'location.href = "javascript:window.attacked = 1"',
        ADD_STYLE,
    ],
    ids=["script", "attribute", "address", "style"],
)
def test_a_script_or_style_that_got_into_the_page_would_be_blocked(page, inject):
    page.get_log("browser")
    page.execute_script(inject)
    assert page.execute_script("return window.attacked") is None
    assert any("Content Security Policy" in entry["message"] for entry in page.get_log("browser"))
