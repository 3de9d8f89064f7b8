"""Several instances of the service on one PostgreSQL: what one is told, all of them know."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from planner.ledger.jobs import take_lease
from tests.served import NOON, calendar, enter, served
from tests.service.test_service_calendars import LATER
from tests.service.test_service_security import EVENT, NDJSON
from tests.unit.test_ledger import record
from trainer_hooks.telemetry import record_line

pytestmark = pytest.mark.postgres


@pytest.fixture
def two(tmp_path, url):
    with served(tmp_path / "a", where=url) as one, served(tmp_path / "b", where=url) as other:
        yield one, other


def current(service):
    answer = service.call("GET", "/v1/sites/site/calendars/current", "agent")
    return answer.text.strip() if answer.status_code == 200 else None


def test_what_one_instance_approves_the_other_hands_out_within_two_seconds(two):
    one, other = two
    first = enter(one.state.ledger, calendar())
    second = enter(one.state.ledger, calendar(LATER), approve=False)
    one.state.shelf.forget()
    assert (current(one), current(other)) == (first, first)
    path = f"/v1/sites/site/calendars/{second}/approve"
    with ThreadPoolExecutor(2) as at_once:
        answers = list(at_once.map(lambda s: s.call("POST", path, json={"why": "w"}).status_code, two))
    assert answers == [200, 200]
    end = time.monotonic() + 2.0
    while current(other) != second:
        assert time.monotonic() < end
        time.sleep(0.05)
    decided = other.call("GET", "/v1/sites/site/decisions").json()
    assert [one["action"] for one in decided].count("approved") == 2
    back = other.call("POST", f"/v1/sites/site/rollback/{first}", json={"why": "w"}).json()["calendar_id"]
    one.state.shelf.forget()
    assert current(one) == back


def test_of_the_same_event_sent_to_both_one_is_new(two):
    _one, other = two
    for number in range(6):
        event = EVENT | {"id": str(number)}
        with ThreadPoolExecutor(2) as at_once:
            answers = list(at_once.map(lambda s, e=event: s.call("POST", "/v1/sites/site/events", json=e), two))
        assert sorted(answer.json()[0]["receipt"] for answer in answers) == ["known", "new"]
    assert len(other.call("GET", "/v1/sites/site/events").json()) == 6


def test_batches_that_overlap_sent_to_both_at_once_count_once(two):
    records = [record(i, i / 100, (i + 1) / 100) for i in range(400)]

    def send(turn):
        body = b"".join(record_line(one) for one in records[50 * (turn % 6) : 50 * (turn % 6) + 150])
        answer = two[turn % 2].call("POST", "/v1/telemetry", "agent", headers=NDJSON, data=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["added"]

    with ThreadPoolExecutor(6) as at_once:
        assert sum(at_once.map(send, range(24))) == 400


def test_a_lease_is_one_s_by_the_database_s_clock(two):
    one, other = two

    def ask(service, holder):
        with service.state.ledger.writing() as session:
            return take_lease(session, "x", holder, 0.5)

    assert (ask(one, "a"), ask(other, "b"), ask(one, "a")) == (True, False, True)
    time.sleep(0.6)
    assert (ask(other, "b"), ask(one, "a")) == (True, False)


def test_an_answer_tells_nothing_of_a_database_that_is_gone(two):
    one, _ = two
    enter(one.state.ledger, calendar(), at=NOON)
    with one.state.ledger.writing() as session:
        session.execute(text("ALTER TABLE alarm RENAME TO gone"))
    answer = one.call("GET", "/v1/sites/site/alarms")
    assert answer.status_code == 503
    assert "gone" not in json.dumps(answer.json())
    assert "alarm" not in json.dumps(answer.json())
