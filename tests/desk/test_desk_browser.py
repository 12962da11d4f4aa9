"""The desk in a real Chromium: by keyboard alone, with two people, and without scripts."""

from __future__ import annotations

import re
import shutil
import socket
import threading
import time

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

uvicorn = pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "aucross[desk]"')

from aucross.desk import Desk, Rules, create_desk  # noqa: E402
from aucross.desk.people import form_token  # noqa: E402
from aucross.desk.work import Wanted, Work  # noqa: E402
from aucross.record import Record  # noqa: E402
from tests.desk.conftest import person_of  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium or chromedriver is not installed")
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"),
)


def new_browser(*switches):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in (*SWITCHES, *switches):
        options.add_argument(switch)
    return webdriver.Chrome(options=options, service=Service(executable_path=DRIVER))


@pytest.fixture(scope="module")
def started():
    """A browser for all tests: it takes a second to start."""
    browser = new_browser()
    yield browser
    browser.quit()


@pytest.fixture
def browser(started):
    """The browser of somebody who has not been here before."""
    started.get("about:blank")
    started.execute_cdp_cmd("Network.clearBrowserCookies", {})
    started.execute_cdp_cmd("Network.clearBrowserCache", {})
    return started


@pytest.fixture
def browser_without_scripts():
    """The browser of another person."""
    browser = new_browser("--blink-settings=scriptEnabled=false")
    yield browser
    browser.quit()


@pytest.fixture
def running(tmp_path, clf, loans):
    """A desk on loopback, with some sixty cases that wait: its address and itself."""
    record = Record.open(tmp_path / "cases.db")
    ids = [f"A-{number}" for number in range(200)]
    record.decide(
        clf,
        loans[0][1000:1200],
        batch="2026-01",
        ids=ids,
        keep={"amount": [100] * 200},
        audit=0.3,
        audit_key=b"sixteen bytes or more",
    )
    desk = Desk(record)
    desk.set_reason("income", is_used=True, person=person_of(desk, "Zed"))
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(create_desk(desk), log_config=None, access_log=False, timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", desk
    server.should_exit = True
    thread.join(30)
    record.close()


def entered(browser, address, token):
    browser.get(f"{address}/enter/{token}")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    wait(browser, lambda page: "wait" in page.title or page.find_element(By.TAG_NAME, "h1").text != "Enter the desk")


def wait(browser, condition):
    # On a busy machine the page may change between finding an element and reading it.
    return WebDriverWait(browser, 120, ignored_exceptions=[StaleElementReferenceException]).until(condition)


def heading(browser):
    return browser.find_element(By.TAG_NAME, "h1").text


def pressed(browser, *keys):
    """Send keys to what has the focus, and wait for the next page if there is one."""
    page = browser.find_element(By.TAG_NAME, "html")
    browser.switch_to.active_element.send_keys(*keys)
    return page


def gone(browser, page):
    """Wait until another page has come."""
    wait(browser, lambda _: _is_stale(page))
    wait(browser, lambda driver: driver.execute_script("return document.readyState") == "complete")


def _is_stale(element):
    try:
        element.is_enabled()
    except Exception:
        return True
    return False


def test_twenty_cases_by_keyboard_alone(browser, running):
    address, desk = running
    entered(browser, address, desk.add_person("Ann", "reviewer"))
    before = int(heading(browser).split()[0])
    for _ in range(20):
        gone(browser, pressed(browser, Keys.ENTER))  # the button for the next case has the focus
        assert "machine says" not in browser.page_source
        browser.find_element(By.TAG_NAME, "body").send_keys("2")
        gone(browser, pressed(browser, Keys.ENTER))
        assert "the machine says" in browser.page_source
        browser.find_element(By.TAG_NAME, "body").send_keys("2")
        gone(browser, pressed(browser, Keys.ENTER))
        assert browser.current_url == f"{address}/?said=recorded"
        assert browser.find_element(By.CSS_SELECTOR, "[role=status]").text.startswith("Your answer is recorded.")
    assert int(heading(browser).split()[0]) == before - 20
    cases = desk.record.cases().to_pandas()
    assert (cases["reviewer"] == "Ann").sum() == 20
    assert set(cases.query("reviewer == 'Ann'")["final_decision"]) == {"1"}
    # The last answer is taken back and given otherwise, still by keys alone.
    last = int(cases.loc[cases["review_number"].idxmax(), "case_number"])
    browser.get(f"{address}/mine")
    while not browser.switch_to.active_element.text.startswith("Undo"):
        browser.switch_to.active_element.send_keys(Keys.TAB)
    gone(browser, pressed(browser, Keys.ENTER))
    assert browser.current_url == f"{address}/case/{last}"
    browser.find_element(By.TAG_NAME, "body").send_keys("1")
    gone(browser, pressed(browser, Keys.ENTER))
    with desk.record.reading() as connection:
        query = f"SELECT answer, saw_machine FROM reviews WHERE case_number = {last} ORDER BY number"
        given = [tuple(row) for row in connection.exec_driver_sql(query)]
    assert given == [("1", 0), ("1", 1), ("cannot decide", 1), ("0", 1)]
    assert desk.record.verify().is_clean


def test_two_browsers_on_one_case_and_a_page_without_scripts(browser, browser_without_scripts, running):
    address, desk = running
    ann, bob = browser, browser_without_scripts
    entered(ann, address, desk.add_person("Ann", "reviewer"))
    gone(ann, pressed(ann, Keys.ENTER))
    bob.get(f"{address}/enter/{desk.add_person('Bob', 'reviewer')}")
    page = bob.find_element(By.TAG_NAME, "html")
    bob.find_element(By.CSS_SELECTOR, "button.main").click()
    gone_without_scripts(bob, page)
    bob.get(ann.current_url)
    assert "somebody else" in bob.page_source
    bob.get(f"{address}/")
    page = bob.find_element(By.TAG_NAME, "html")
    bob.find_element(By.CSS_SELECTOR, "button.main").click()
    gone_without_scripts(bob, page)
    assert re.search(r"/case/\d+$", bob.current_url)
    assert bob.current_url != ann.current_url
    bob.find_elements(By.NAME, "answer")[0].click()
    page = bob.find_element(By.TAG_NAME, "html")
    bob.find_element(By.CSS_SELECTOR, "button.main").click()
    gone_without_scripts(bob, page)
    assert "You answered 0" in bob.page_source


def gone_without_scripts(browser, page):
    wait(browser, lambda _: _is_stale(page))
    wait(browser, lambda driver: driver.find_elements(By.TAG_NAME, "h1"))


def test_every_control_has_a_name_and_nothing_is_wider_than_a_phone(browser, running):
    address, desk = running
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    entered(browser, address, desk.add_person("Ann", "reviewer"))
    nameless = """
    return [...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, a")].filter((each) =>
      !each.textContent.trim() && !each.getAttribute("aria-label") && !(each.labels && each.labels.length)).length
    """
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    browser.get(f"{address}/")
    gone(browser, pressed(browser, Keys.ENTER))
    case = browser.current_url
    for path in (f"{address}/", f"{address}/?page=1", case, f"{address}/mine", f"{address}/reasons"):
        browser.get(path)
        assert browser.execute_script(nameless) == 0, path
        assert browser.execute_script(wide) <= 0, path
    assert browser.execute_script("return window.innerWidth") == 390
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_an_audit_cannot_be_told_by_what_the_browser_gets(browser, running):
    address, desk = running
    work = Work(desk, Rules())
    entered(browser, address, desk.add_person("Ann", "reviewer"))
    seen = {}
    for row in desk.record.cases().to_pylist():
        if row["decision"] == "review" and row["why"] not in seen:
            work.claim(row["case_number"], desk.named("Ann"))
            browser.get(f"{address}/case/{row['case_number']}")
            page = browser.page_source.replace(f"/case/{row['case_number']}/", "/case/N/")
            seen[row["why"]] = re.sub(rf"\b{row['id']}\b", "ID", page)
    assert set(seen) == {"band", "audit"}
    assert seen["audit"] == seen["band"]


def test_links_roles_and_forms_of_other_sites(browser, running):
    address, desk = running
    for token in ("wrong", Desk(desk.record, link_days=-1.0).add_person("Old", "reviewer")):
        entered(browser, address, token)
        assert heading(browser) == "This link is not good"
    entered(browser, address, desk.add_person("Val", "validator"))
    assert browser.current_url == f"{address}/oversight"
    browser.get(f"{address}/mine")
    assert "Only a reviewer may do this" in browser.page_source
    entered(browser, address, desk.add_person("Ann", "reviewer"))
    # Another site sends a form in Ann's name, and one that would let her work under the name of somebody else.
    for path, field in (("next", "form_token"), ("enter", "token")):
        value = form_token("") if field == "form_token" else desk.add_person("Eve", "reviewer")
        form = (
            f"<form method=post action={address}/{path}><input name={field} value={value}><button>Win</button></form>"
        )
        browser.get(f"data:text/html,{form}")
        page = browser.find_element(By.TAG_NAME, "html")
        browser.find_element(By.TAG_NAME, "button").click()
        gone(browser, page)
        assert "sent from another site" in browser.page_source
    browser.get(f"{address}/")
    assert browser.find_element(By.CSS_SELECTOR, ".who span").text == "Ann"
    with desk.record.reading() as connection:
        assert not connection.exec_driver_sql("SELECT count(*) FROM desk_open WHERE claimed_by IS NOT NULL").scalar()
    desk.revoke("Ann")
    browser.get(f"{address}/")
    assert "Open your personal link" in browser.page_source


def test_scripts_in_every_field_do_not_run(browser, running, clf, loans):
    address, desk = running
    bad = '"><img src=x onerror="window.ran=1"><script>window.ran=1</script>'
    kept = {bad: [bad] * 100}
    desk.record.decide(clf, loans[0][1200:1300], batch=bad, ids=[f"{bad}{row}" for row in range(100)], keep=kept)
    desk.set_reason(bad, is_used=True, person=desk.named("Zed"))
    person_of(desk, f"{bad}2")
    token = desk.add_person(bad, "reviewer")
    work = Work(desk, Rules())
    entered(browser, address, token)
    number = work.next_case(desk.named(bad), Wanted(batch=bad))
    work.answer(number, desk.named(bad), {"answer": "1", "note": bad, "reason_code": bad})
    for path in ("/", "/mine", "/reasons", f"/case/{number}", f"/case/{work.next_case(desk.named(bad), Wanted(bad))}"):
        browser.get(f"{address}{path}")
        assert "<img" in browser.find_element(By.TAG_NAME, "body").text, path
        assert browser.execute_script("return window.ran === undefined && !document.images.length"), path
