"""The live page in a browser, on the real server; screenshots lie in GRIDPACE_SCREENSHOTS, else with pytest's files."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from planner.ledger.alarms import Alarm, raise_alarm
from planner.ledger.hours import roll_up
from planner.ledger.intake import enter_records
from tests.browser.pages import DESK, DRAWN, chromium, watched
from tests.published import off, on
from tests.served import NOON, calendar, enter, served
from tests.unit.test_ledger import record

pytestmark = pytest.mark.browser
SMALL = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def service(tmp_path):
    with served(tmp_path / "service", tokens=False) as running:
        made = calendar()
        enter(running.state.ledger, made)
        enter(running.state.ledger, calendar(windows=(on(0, 6), off(6, 24)), issued=NOON), approve=False)
        told = [record(k, k, k + 1, calendar_id=made[0].calendar_id) for k in (0, 1, 2, 3, 10, 11)]
        with running.state.ledger.writing() as session:
            enter_records(session, told)
            roll_up(session)
            alarm = Alarm("site", "feed", "grid", "amber", "It is stale.", "Look at it.", "training")
            raise_alarm(session, alarm, NOON - timedelta(hours=1))
        yield running


def kept(page, tmp_path: Path, name: str) -> None:
    folder = Path(os.environ.get("GRIDPACE_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png", full_page=True)


@pytest.mark.parametrize("view", ["sustainability", "training", "facilities"])
@pytest.mark.parametrize("size", [DESK, SMALL], ids=["desk", "phone"])
def test_each_view_is_drawn_within_its_width_from_this_server_alone(browser, service, tmp_path, view, size):
    with watched(browser, f"{service.url}/?view={view}", size) as (page, complaints, asked):
        kept(page, tmp_path, f"live-{view}-{size['width']}")
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert page.locator(".chart .main-svg").count() >= 2
        assert not complaints
        assert all(address.startswith((service.url, "data:", "blob:")) for address in asked)


def test_everything_is_reached_by_keys_and_the_slider_replays_the_week(browser, service):
    with watched(browser, f"{service.url}/?view=training", DESK) as (page, complaints, _):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        wanted = page.locator("main a, main button, main input:not([type=hidden]), main select").count()
        reached = set()
        for _ in range(wanted + 20):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
        found = page.evaluate(
            "[...document.querySelectorAll('main a, main button, main input:not([type=hidden]), main select')]"
            ".map((e) => [...document.querySelectorAll('*')].indexOf(e))"
        )
        assert set(found) <= reached
        slider = page.locator("#slider")
        slider.focus()
        assert page.locator("#hour").inner_text() == "Now: the hour from Mon 13 May 14:00"
        page.keyboard.press("Home")
        page.wait_for_function("() => document.getElementById('hour').textContent.includes('Then')")
        assert page.locator("#hour").inner_text() == "Then: the hour from Mon 13 May 02:00"
        assert page.evaluate("document.activeElement.id") == "slider"
        assert "at=2024-05-13" in page.url
        assert not complaints


def test_a_draft_is_approved_on_the_page(browser, service):
    with watched(browser, f"{service.url}/", DESK) as (page, complaints, _):
        page.get_by_label("Why").fill("cleaner hours")
        page.get_by_role("button", name="Approve").click()
        page.wait_for_function("() => document.querySelector('.draft') === null")
        assert page.locator("#alarms").inner_text().startswith("amber")
        assert not complaints


def test_an_alarm_appears_by_itself_and_what_is_being_written_stays(browser, service):
    with watched(browser, f"{service.url}/", DESK) as (page, complaints, _):
        page.wait_for_timeout(300)
        with service.state.ledger.writing() as session:
            raise_alarm(session, Alarm("site", "cdu", "hall", "red", "It is hot.", "Open it.", "facilities"), NOON)
        page.wait_for_function("() => document.querySelector('.light').textContent === 'red'", timeout=15_000)
        assert "Brought up to date" in page.locator("#told").inner_text()
        page.get_by_label("Why").fill("half a sen")
        with service.state.ledger.writing() as session:
            raise_alarm(session, Alarm("site", "cdu", "other", "red", "It too.", "Open it.", "facilities"), NOON)
        page.wait_for_timeout(3000)
        assert page.get_by_label("Why").input_value() == "half a sen"
        assert not complaints


def test_numbers_are_there_before_the_figures_and_nothing_moves_when_they_come(browser, service):
    page = browser.new_page(viewport=DESK)
    held = []

    def hold(route):
        held.append(route)

    page.route("**/live/plotly.js*", hold)
    page.goto(f"{service.url}/?view=training", wait_until="domcontentloaded")
    page.wait_for_selector(".cards .value")
    page.wait_for_timeout(300)
    tall = page.evaluate("document.documentElement.scrollHeight")
    top = page.locator("#runs").bounding_box()["y"]
    assert len(held) == 1
    held[0].continue_()
    page.wait_for_function(DRAWN)
    assert page.evaluate("document.documentElement.scrollHeight") == tall
    assert page.locator("#runs").bounding_box()["y"] == top
    page.close()
