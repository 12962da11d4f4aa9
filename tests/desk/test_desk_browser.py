"""The desk in a real Chromium: by keyboard alone, with two people, and without scripts."""

from __future__ import annotations

import re
import shutil
import socket
import threading
import time

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

uvicorn = pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "aucross[desk]"')

from aucross.desk import Desk, create_desk  # noqa: E402
from aucross.record import Record  # noqa: E402
from tests.desk.conftest import person_of  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium or chromedriver is not installed")
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"),
)


@pytest.fixture
def open_browser():
    """A function that opens a browser of its own, as another person has."""
    opened = []

    def make(*switches):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for switch in (*SWITCHES, *switches):
            options.add_argument(switch)
        opened.append(webdriver.Chrome(options=options, service=Service(executable_path=DRIVER)))
        return opened[-1]

    yield make
    for browser in opened:
        browser.quit()


@pytest.fixture
def running(tmp_path, clf, loans):
    """A desk on loopback, with some sixty cases that wait: its address and itself."""
    record = Record.open(tmp_path / "cases.db")
    ids = [f"A-{number}" for number in range(200)]
    record.decide(clf, loans[0][1000:1200], batch="2026-01", ids=ids, keep=["x0", "x1"])
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
    return WebDriverWait(browser, 30).until(condition)


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


def test_twenty_cases_by_keyboard_alone(open_browser, running):
    address, desk = running
    browser = open_browser()
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
        assert browser.current_url == f"{address}/"
    assert int(heading(browser).split()[0]) == before - 20
    cases = desk.record.cases().to_pandas()
    assert (cases["reviewer"] == "Ann").sum() == 20
    assert set(cases.query("reviewer == 'Ann'")["final_decision"]) == {"1"}
    assert desk.record.verify().is_clean


def test_two_browsers_on_one_case_and_a_page_without_scripts(open_browser, running):
    address, desk = running
    ann, bob = open_browser(), open_browser("--blink-settings=scriptEnabled=false")
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


def test_every_control_has_a_name_and_nothing_is_wider_than_a_phone(open_browser, running):
    address, desk = running
    browser = open_browser("--window-size=390,844")
    entered(browser, address, desk.add_person("Ann", "reviewer"))
    nameless = """
    return [...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, a")].filter((each) =>
      !each.textContent.trim() && !each.getAttribute("aria-label") && !(each.labels && each.labels.length)).length
    """
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    browser.get(f"{address}/")
    gone(browser, pressed(browser, Keys.ENTER))
    case = browser.current_url
    for path in (f"{address}/", case, f"{address}/mine", f"{address}/reasons"):
        browser.get(path)
        assert browser.execute_script(nameless) == 0, path
        assert browser.execute_script(wide) <= 0, path
