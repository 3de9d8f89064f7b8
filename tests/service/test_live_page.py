"""The page on the real server: who sees it, what it decides, and what strangers' names do to it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import timedelta

import requests

from planner.ledger.alarms import Alarm, raise_alarm
from planner.ledger.decisions import standing
from planner.ledger.hours import roll_up
from planner.ledger.jobs import give_lease_back, lease_end, lease_name, take_lease
from planner.service.cookie import COOKIE
from planner.service.live.look import mark
from planner.timegrid import iso
from tests.published import off, on
from tests.served import NOON, calendar, enter, served
from tests.unit.test_ledger import record
from trainer_hooks.telemetry import record_line

SCRIPT = "<script>alert(1)</script>"
NDJSON = {"Content-Type": "application/x-ndjson"}


def entered(service, role: str) -> requests.Session:
    """A browser in which somebody has signed in."""
    browser = requests.Session()
    answer = browser.post(f"{service.url}/login", {"token": service.tokens[role]}, timeout=10)
    assert answer.status_code == 200
    assert answer.url == f"{service.url}/"
    return browser


def test_a_visitor_signs_in_once_and_out_again(tmp_path):
    with served(tmp_path) as service:
        asked = requests.get(f"{service.url}/?view=training", timeout=10, allow_redirects=False)
        assert (asked.status_code, asked.headers["Location"]) == (303, "/login")
        assert requests.get(f"{service.url}/live/changes", timeout=10).status_code == 401
        wrong = requests.post(f"{service.url}/login", {"token": "gp_viewer_guessed"}, timeout=10)
        assert (wrong.status_code, COOKIE in wrong.cookies) == (403, False)
        browser = entered(service, "viewer")
        (cookie,) = browser.cookies
        assert cookie.has_nonstandard_attr("HttpOnly")
        assert cookie.get_nonstandard_attr("SameSite") == "strict"
        assert service.tokens["viewer"] not in browser.get(f"{service.url}/", timeout=10).text
        browser.post(f"{service.url}/logout", timeout=10)
        assert browser.get(f"{service.url}/", timeout=10).url == f"{service.url}/login"


def test_an_agent_s_token_shows_no_page(tmp_path):
    with served(tmp_path) as service:
        browser = requests.Session()
        assert browser.post(f"{service.url}/login", {"token": service.tokens["agent"]}, timeout=10).status_code == 403


def test_planners_decide_with_a_reason_and_viewers_do_not(tmp_path):
    with served(tmp_path) as service:
        enter(service.state.ledger, calendar())
        draft = enter(service.state.ledger, calendar(windows=(on(0, 6), off(6, 24)), issued=NOON), approve=False)
        viewer, planner = entered(service, "viewer"), entered(service, "planner")
        address = f"{service.url}/drafts/{draft}/approve"
        assert "What it changes" in viewer.get(f"{service.url}/", timeout=10).text
        assert viewer.post(address, {"why": "because"}, timeout=10).status_code == 403
        assert planner.post(address, {"why": " "}, timeout=10).status_code == 422
        assert planner.post(address, {"why": "x" * 501}, timeout=10).status_code == 422
        foreign = {"Origin": "https://evil.example"}
        assert planner.post(address, {"why": "because"}, headers=foreign, timeout=10).status_code == 403
        assert planner.post(address.replace(draft, "x"), {"why": "a"}, timeout=10).status_code == 404
        done = planner.post(address, {"why": "cleaner", "view": "training"}, timeout=10)
        assert done.url == f"{service.url}/?view=training"
        with service.state.ledger.reading() as session:
            found = standing(session, draft)
        assert (found.state, found.by, found.why) == ("approved", "planner", "cleaner")
        assert service.state.shelf.current() == draft
        again = planner.post(address.replace("approve", "reject"), {"why": "no"}, timeout=10)
        assert again.status_code == 422


SUMMARY = {
    "carbon_kg": 1234.0, "cost": 56.7, "currency": "EUR", "energy_kwh": 2500.0, "peak_kw": 9.5, "deadlines": 3,
    "deadlines_kept": 2, "shortfalls": [{"sentence": f"{SCRIPT} misses its stage"}],
    "saved": {"against": "asap", "carbon_pct": 12.34, "cost_pct": None, "energy_pct": 0.0, "reason": ""},
}  # fmt: skip


def test_the_first_draft_of_a_week_says_what_it_comes_to(tmp_path):
    with served(tmp_path, tokens=False) as service:
        enter(service.state.ledger, calendar(), approve=False, summary=json.dumps(SUMMARY).encode())
        page = service.call("GET", "/", None).text
        assert "It is the first of its week" in page
        assert "What it changes" not in page
        assert "Carbon 1.23 t CO2e, cost 56.70 EUR, energy 2.50 MWh; the highest import is 9.50 kW." in page.replace(
            "\u202f", " "
        )
        assert "2 of 3 deadlines of the week are kept." in page
        assert "Compared: carbon 12.3 % less than asap; energy the same as asap." in page
        assert "misses its stage" in page
        assert SCRIPT not in page


def test_a_draft_of_a_week_that_follows_the_one_in_force_is_the_first_of_its_week(tmp_path):
    with served(tmp_path, tokens=False) as service:
        enter(service.state.ledger, calendar())
        later = timedelta(days=1)
        windows = tuple(replace(one, start=one.start + later, end=one.end + later) for one in (on(0, 4), off(4, 24)))
        start, end = NOON + timedelta(hours=12), NOON + timedelta(hours=36)
        made = calendar(windows=windows, valid_from=start, valid_until=end)
        made[1][:] = [replace(run, valid_from=start, valid_until=end) for run in made[1]]
        enter(service.state.ledger, made, approve=False)
        assert "It is the first of its week" in service.call("GET", "/", None).text


def test_names_of_script_stay_text_and_no_program_of_the_page_is_its_own(tmp_path):
    with served(tmp_path, tokens=False) as service:
        enter(service.state.ledger, calendar(name=SCRIPT))
        enter(service.state.ledger, calendar(windows=(on(0, 6), off(6, 24)), name=SCRIPT, issued=NOON), approve=False)
        with service.state.ledger.writing() as session:
            raise_alarm(session, Alarm("site", SCRIPT, SCRIPT, "red", SCRIPT, SCRIPT, SCRIPT), NOON)
        for view in ("sustainability", "training", "facilities", SCRIPT):
            answer = service.call("GET", "/", None, params={"view": view, "at": SCRIPT})
            assert answer.status_code == 200
            assert SCRIPT not in answer.text
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
            assert "unsafe-inline" not in answer.headers["Content-Security-Policy"].split("style-src")[0]


def test_the_page_shows_the_hour_asked_for_and_what_was_reported_of_it(tmp_path):
    with served(tmp_path, tokens=False) as service:
        made = calendar()
        enter(service.state.ledger, made)
        lines = [record_line(record(k, k, k + 1, calendar_id=made[0].calendar_id)) for k in range(2)]
        assert service.call("POST", "/v1/telemetry", None, headers=NDJSON, data=b"".join(lines)).json()["added"] == 2
        with service.state.ledger.writing() as session:
            roll_up(session)
        page = service.call("GET", "/", None, params={"view": "training", "at": "2024-05-13T01:00:00Z"}).text
        assert "Then: the hour from Mon 13 May 03:00" in page
        assert "planned 10.0 kW (+0%)" in page
        assert "1.80\u202fM of 2.00\u202fM" in page


def test_a_calendar_that_is_none_is_said(tmp_path):
    with served(tmp_path, tokens=False) as service:
        assert "None was approved yet" in service.call("GET", "/", None).text


def test_a_change_is_sent_while_the_page_is_open(tmp_path, monkeypatch):
    monkeypatch.setattr("planner.service.live.page_routes._LOOK_S", 0.05)
    with served(tmp_path, tokens=False) as service:
        enter(service.state.ledger, calendar())
        with service.call("GET", "/live/changes", None, stream=True) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith(b"id: ")
            assert next(lines) == b"data: first"
            alarm = Alarm("site", "feed", "grid", "amber", "It is stale.", "Look.", "sustainability")

            def change():
                with service.state.ledger.writing() as session:
                    raise_alarm(session, alarm, NOON + timedelta(minutes=1))

            threading.Timer(0.1, change).start()
            assert next(line for line in lines if line.startswith(b"data")) == b"data: changed"


def test_files_of_the_page_may_be_kept_and_no_other_is_given(tmp_path):
    with served(tmp_path) as service:
        for name in ("live.css", "live.js", "plotly.js"):
            answer = service.call("GET", f"/live/{name}", None)
            assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")
        for name in ("live.html.j2", "..%2Frendering.py", "x"):
            assert service.call("GET", f"/live/{name}", "viewer").status_code == 404


def test_the_page_says_that_nobody_works_jobs_off_where_no_alarm_can_be_written(tmp_path):
    with served(tmp_path) as service:
        with service.state.ledger.writing() as session:
            assert take_lease(session, lease_name("site"), "one", 30.0)
            until = lease_end(session, lease_name("site"))
        service.clock.now = until + timedelta(minutes=1)
        early = service.call("GET", "/").text
        with service.state.ledger.reading() as session:
            before = mark(session, "site", service.clock.now)
        service.clock.now = until + timedelta(minutes=3)
        late = service.call("GET", "/").text
        with service.state.ledger.reading() as session:
            assert mark(session, "site", service.clock.now) != before
        assert "No job has been worked off" not in early
        assert f"No job has been worked off since {iso(until)}" in late
        assert '<span class="light red">' in late
        with service.state.ledger.writing() as session:
            give_lease_back(session, lease_name("site"), "one")
        assert "No job has been worked off" not in service.call("GET", "/").text
