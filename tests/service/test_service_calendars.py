"""Calendars over HTTP: what agents and training fetch, and how drafts come to be in force."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from planner.calendar_id import content_id
from planner.errors import ConfigError
from planner.ledger.decisions import DRAFTED, draft, history, in_force, standings
from planner.ledger.issued import keep_issued
from planner.service.publishing import roll_back, stored_calendar
from planner.service.words import calendar_changes
from tests.published import START, off, on
from tests.served import NOON, WINDOWS, calendar, enter, served
from trainer_hooks.agent.calendars import CalendarKeeper
from trainer_hooks.agent.secret import Secret
from trainer_hooks.agent.signature import HmacVerifier, sign_hmac
from trainer_hooks.agent.web import HttpOrigin
from trainer_hooks.calendar import parse_run, read_current
from trainer_hooks.errors import CalendarError

KEY = Secret(b"k" * 32)
LATER = (on(0, 4), off(4, 12), on(12, 16, 500.0), off(16, 24))
NAME = "a/b %2F ü <x>"


def keeper(service, folder: Path, *, verifier=None, role="agent", runs=()):
    origin = HttpOrigin(f"{service.site}/calendars", Secret(service.tokens[role].encode()))
    return CalendarKeeper(folder, origin, verifier, frozenset(runs))


@pytest.mark.parametrize("signed", [False, True])
def test_an_agent_follows_what_is_approved(tmp_path, signed):
    verifier = HmacVerifier(KEY) if signed else None
    sign = (lambda content: sign_hmac(content, KEY)) if signed else None
    with served(tmp_path / "s", sign=sign) as service:
        agent = keeper(service, tmp_path / "node", verifier=verifier)
        with pytest.raises(CalendarError, match="answers 404"):
            agent.pull()
        first = enter(service.state.ledger, calendar(name=NAME))
        service.state.shelf.forget()
        assert (agent.pull(), agent.kept.calendar_id) == (True, first)
        assert agent.pull() is False
        content, _ = agent.text(NAME)
        assert parse_run(content, "x").windows == WINDOWS
        assert read_current(tmp_path / "node", NAME).calendar_id == first

        second = enter(service.state.ledger, calendar(LATER, NAME, NOON - timedelta(hours=2)), approve=False)
        service.state.shelf.forget()
        assert agent.pull() is False
        because = {"why": "the evening is cleaner"}
        answer = service.call("POST", f"/v1/sites/site/calendars/{second}/approve", json=because)
        assert answer.json() == {"calendar_id": second}
        assert (agent.pull(), agent.kept.calendar_id) == (True, second)

        back = service.call("POST", f"/v1/sites/site/rollback/{first}", json={"why": "no"}).json()["calendar_id"]
        assert back not in {first, second}
        assert (agent.pull(), agent.kept.calendar_id) == (True, back)
        assert parse_run(agent.text(NAME)[0], "x").windows == WINDOWS


def test_a_calendar_signed_by_another_key_is_not_followed(tmp_path):
    with served(tmp_path / "s", sign=lambda content: sign_hmac(content, Secret(b"x" * 32))) as service:
        enter(service.state.ledger, calendar())
        agent = keeper(service, tmp_path / "node", verifier=HmacVerifier(KEY))
        with pytest.raises(CalendarError, match="not of this key"):
            agent.pull()
        assert agent.kept is None


def test_a_run_s_file_is_unchanged_until_another_calendar_is_in_force(tmp_path):
    with served(tmp_path) as service:
        enter(service.state.ledger, calendar(name=NAME))
        path = f"/v1/sites/site/runs/{quote(NAME, safe='')}"
        first = service.call("GET", path, "agent")
        assert (first.status_code, parse_run(first.content, "x").windows) == (200, WINDOWS)
        for tags in (first.headers["ETag"], f'"other", W/{first.headers["ETag"]}', "*"):
            again = service.call("GET", path, "agent", headers={"If-None-Match": tags})
            assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
        enter(service.state.ledger, calendar(LATER, NAME, NOON - timedelta(hours=2)))
        service.state.shelf.forget()
        after = service.call("GET", path, "agent", headers={"If-None-Match": first.headers["ETag"]})
        assert (after.status_code, parse_run(after.content, "x").windows) == (200, LATER)
        assert service.call("GET", "/v1/sites/site/runs/none", "agent").status_code == 404


def test_drafts_and_rejected_calendars_are_not_handed_out(tmp_path):
    with served(tmp_path) as service:
        enter(service.state.ledger, calendar())
        drafted = enter(service.state.ledger, calendar(LATER), approve=False)
        assert service.call("GET", f"/v1/sites/site/calendars/{drafted}/calendar.json", "agent").status_code == 404
        no = service.call("POST", f"/v1/sites/site/calendars/{drafted}/reject", json={"why": "too late"})
        assert no.status_code == 200
        assert service.call("GET", f"/v1/sites/site/calendars/{drafted}/calendar.json", "agent").status_code == 404
        yes = service.call("POST", f"/v1/sites/site/calendars/{drafted}/approve", json={"why": "after all"})
        assert (yes.status_code, yes.json()["error"]["kind"]) == (422, "ConfigError")
        last = service.call("GET", "/v1/sites/site/decisions").json()[0]
        assert (last["action"], last["by"], last["why"]) == ("rejected", "planner", "too late")
        assert service.call("POST", f"/v1/sites/site/calendars/{drafted}/approve", json={}).status_code == 422


def test_what_is_in_force_follows_the_clock(tmp_path):
    day = timedelta(hours=24)
    with served(tmp_path) as service:
        ledger = service.state.ledger
        today = enter(ledger, calendar())
        tomorrow = enter(ledger, _shifted(day))
        with ledger.reading() as session:
            found = [in_force(session, "site", START + timedelta(hours=h)) for h in (-5, 0, 23.99, 24, 47.99, 48, 1000)]
        assert found == [today, today, today, tomorrow, tomorrow, tomorrow, tomorrow]
        with ledger.reading() as session:
            assert in_force(session, "elsewhere", NOON) is None


def _shifted(by):
    head, runs = calendar()
    head = replace(head, valid_from=head.valid_from + by, valid_until=head.valid_until + by)
    moved = [
        replace(
            one,
            valid_from=head.valid_from,
            valid_until=head.valid_until,
            windows=tuple(replace(w, start=w.start + by, end=w.end + by) for w in one.windows),
        )
        for one in runs
    ]
    name = content_id(head, moved)
    return replace(head, calendar_id=name), [replace(one, calendar_id=name) for one in moved]


def test_a_newer_draft_of_the_same_week_supersedes_the_one_nobody_decided_about(tmp_path):
    with served(tmp_path) as service:
        first = enter(service.state.ledger, calendar(), approve=False)
        second = enter(service.state.ledger, calendar(LATER), approve=False)
        other_week = enter(service.state.ledger, _shifted(timedelta(days=7)), approve=False)
        with service.state.ledger.reading() as session:
            states = {one.calendar_id: one.state for one in standings(session, "site")}
        assert states == {first: "superseded", second: DRAFTED, other_week: DRAFTED}
        with service.state.ledger.writing() as session:
            assert draft(session, first, by="service", why="again", at=NOON) is False


def test_an_issued_file_never_changes(tmp_path):
    with served(tmp_path) as service:
        name = enter(service.state.ledger, calendar())
        with pytest.raises(ConfigError, match="has another"), service.state.ledger.writing() as session:
            keep_issued(session, name, {"calendar.json": b"{}"}, {})
        with service.state.ledger.reading() as session:
            assert stored_calendar(session, name)[0].calendar_id == name


def test_going_back_is_a_new_calendar_in_the_record_and_only_to_what_was_approved(tmp_path):
    with served(tmp_path) as service:
        ledger = service.state.ledger
        first = enter(ledger, calendar())
        assert roll_back(ledger, first, by="me", why="w", at=NOON) == first
        second = enter(ledger, calendar(LATER), at=NOON)
        back = roll_back(ledger, first, by="me", why="the evening is hot", at=NOON + timedelta(minutes=1))
        assert roll_back(ledger, back, by="me", why="w", at=NOON + timedelta(minutes=2)) == back
        drafted = enter(ledger, calendar((off(0, 24),)), approve=False)
        for name in (drafted, "none"):
            with pytest.raises(ConfigError, match="cannot be put in force again"):
                roll_back(ledger, name, by="me", why="w", at=NOON)
        with pytest.raises(ConfigError, match="is over"):
            roll_back(ledger, second, by="me", why="w", at=START + timedelta(hours=25))
        with ledger.reading() as session:
            told = [(one.calendar_id, one.action, one.why) for one in history(session, "site")[1:3]]
            head, _ = stored_calendar(session, back)
        why = f"back to calendar {first}: the evening is hot"
        assert told == [(back, "approved", why), (back, "drafted", why)]
        assert head.inputs["rollback"] == {"to": first}


def test_what_is_different_is_told_in_words():
    told = calendar_changes(calendar(), calendar(LATER, "r1"))
    fast, slow = (f"runs in pool 'a1' at {watts} W per GPU" for watts in (700, 500))
    assert told == (
        f"Mon 13 May 12:00 to Mon 13 May 14:00: run 'r1' is off ({fast} before).",
        f"Mon 13 May 14:00 to Mon 13 May 16:00: run 'r1' {slow} ({fast} before).",
        f"Mon 13 May 16:00 to Mon 13 May 18:00: run 'r1' {slow} (is off before).",
    )
    assert calendar_changes(calendar(), calendar()) == ("Nothing that a run does is different.",)
    less = calendar_changes(calendar(), calendar((on(0, 4), off(4, 24)), "r1"))
    assert less[:3] == (
        "IT energy of all runs: 40.0 kWh instead of 80.0 kWh (-50.0 %).",
        "Carbon of all runs: 8.00 kg CO2e instead of 16.0 kg CO2e (-50.0 %).",
        "Tokens of all runs: 4e+06 instead of 8e+06 (-50.0 %).",
    )
    other = calendar_changes(calendar(), calendar(name="r2"))
    assert other == ("Run 'r2' is new.", "Run 'r1' is no longer in it.")
    assert calendar_changes(calendar(), _shifted(timedelta(days=7)))[0].startswith(
        "The calendars cover different times"
    )


def test_the_words_come_over_http(tmp_path):
    with served(tmp_path) as service:
        first = enter(service.state.ledger, calendar())
        second = enter(service.state.ledger, calendar(LATER), approve=False)
        found = service.call("GET", f"/v1/sites/site/calendars/{second}/changes", "viewer").json()
        assert (found["before"], found["after"], len(found["sentences"])) == (first, second, 3)
        metrics = service.call("GET", "/metrics", "viewer").text
        assert "gridpace_service_drafts_count 1\n" in metrics
        assert (
            f"gridpace_service_calendar_end_timestamp_seconds {(START + timedelta(days=1)).timestamp():.0f}" in metrics
        )
        assert 'gridpace_service_http_requests_total{status="2xx"}' in metrics
        listed = service.call("GET", "/v1/sites/site/calendars", "viewer").json()
        assert [(one["calendar_id"], one["in_force"]) for one in listed] == [(second, False), (first, True)]
