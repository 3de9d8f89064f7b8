"""Who has the calendar in force and would wait is held, and hears of the next one as soon as it is in force."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from planner.service.state import Limits
from planner.service.waiting import Waiting
from tests.agents import PlainGpu, agent_here, grant, place, until
from tests.served import NOON, calendar, enter, served

POINTER = "/v1/sites/site/calendars/current"
EVENT_S = 2.0
SLACK_S = 1.0  # what the machine may be late: two cores that run other tests too


def prefer(tag: str, wait_s: int) -> dict[str, str]:
    return {"If-None-Match": f'"{tag}"', "Prefer": f"wait={wait_s}"}


def approved(service, issued=NOON):
    """Approve another calendar as the schedule's thread does."""
    name = enter(service.state.ledger, calendar(issued=issued))
    service.state.shelf.forget()
    return name


def test_a_request_that_waits_is_answered_as_soon_as_there_is_another_calendar(tmp_path):
    with served(tmp_path) as service:
        first = enter(service.state.ledger, calendar())
        found = []

        def wait():
            answer = service.call("GET", POINTER, "agent", headers=prefer(first, 15))
            found.append((answer.status_code, answer.text.strip(), answer.headers.get("Preference-Applied")))

        waiting = threading.Thread(target=wait)
        waiting.start()
        until(lambda: service.state.waiting.held == 1, 10.0)
        assert not found
        second = approved(service)
        begin_s = time.monotonic()
        waiting.join()
        assert time.monotonic() - begin_s < EVENT_S + SLACK_S
        assert found == [(200, second, "wait")]
        assert service.state.waiting.held == 0


def test_nobody_is_held_where_there_is_no_room_or_who_did_not_ask(tmp_path):
    limits = Limits(requests_per_s=1000.0, request_burst=1000.0, most_waiting=0)
    with served(tmp_path, limits=limits) as service:
        first = enter(service.state.ledger, calendar())
        for headers in (prefer(first, 15), {"If-None-Match": f'"{first}"'}, prefer(first, 15) | {"Prefer": "wait=-1"}):
            begin_s = time.monotonic()
            answer = service.call("GET", POINTER, "agent", headers=headers)
            assert (answer.status_code, answer.headers.get("Preference-Applied")) == (304, None)
            assert time.monotonic() - begin_s < 5.0


def test_who_has_another_calendar_is_answered_at_once_and_learns_that_it_may_wait(tmp_path):
    with served(tmp_path) as service:
        first = enter(service.state.ledger, calendar())
        answer = service.call("GET", POINTER, "agent", headers=prefer("another", 60))
        assert (answer.status_code, answer.text.strip()) == (200, first)
        assert answer.headers["Preference-Applied"] == "wait"
        assert service.call("GET", POINTER, None, headers=prefer(first, 60)).status_code == 401


def test_a_caller_who_has_gone_is_held_no_longer(tmp_path):
    with served(tmp_path) as service:
        first = enter(service.state.ledger, calendar())
        host, port = service.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            token = service.tokens["agent"]
            lines = (f"GET {POINTER} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}")
            told = (f"{key}: {value}" for key, value in prefer(first, 50).items())
            connection.sendall("\r\n".join((*lines, *told, "", "")).encode())
            until(lambda: service.state.waiting.held == 1, 10.0)
        until(lambda: service.state.waiting.held == 0, 10.0)


def held(shelf, scene, **given):
    waiting = Waiting(shelf, 10_000, look_s=0.01, **given)

    async def never():
        await asyncio.sleep(60.0)

    async def scenes():
        await asyncio.wait_for(scene(waiting, never), 20.0)
        assert waiting.held == 0

    asyncio.run(scenes())


def test_thousands_share_one_look():
    looks = []

    class Shelf:
        fresh, known = False, "a"

        def current(self):
            looks.append(1)
            return self.known

    shelf = Shelf()

    async def scene(waiting, never):
        many = [asyncio.create_task(waiting.until_changed("a", 50.0, never)) for _ in range(3000)]
        await asyncio.sleep(0.1)
        assert waiting.held == 3000
        assert len(looks) <= 20
        shelf.known = "b"
        await asyncio.gather(*many)

    held(shelf, scene)


@pytest.mark.parametrize("how", ["late", "over"])
def test_a_wait_ends_with_its_time_and_with_the_service(how):
    async def scene(waiting, never):
        if how == "over":
            asyncio.get_running_loop().call_later(0.05, waiting.end)
        begin_s = time.monotonic()
        await waiting.until_changed("a", 0.05 if how == "late" else 50.0, never)
        assert time.monotonic() - begin_s >= 0.04
        assert waiting.has_room is (how == "late")

    held(SimpleNamespace(fresh=True, known="a"), scene)


def test_a_node_agent_that_polls_once_a_minute_hears_of_an_emergency_within_two_seconds(tmp_path):
    with served(tmp_path / "s") as service, place() as folder:
        first = enter(service.state.ledger, calendar())
        (folder / "token").write_text(service.tokens["agent"])
        (folder / "token").chmod(0o600)
        source = f"[calendar]\nsource = {service.site}/calendars\ntoken_file = {folder}/token\npoll_s = 60\n"
        with agent_here(folder, [PlainGpu("GPU-a")], grant(), source) as agent:
            until(lambda: agent.keeper.kept is not None, 10.0)
            assert agent.keeper.kept.calendar_id == first
            until(lambda: service.state.waiting.held == 1, 10.0)
            second = approved(service)
            assert until(lambda: agent.keeper.kept.calendar_id == second, 30.0) < EVENT_S + SLACK_S
            until(lambda: service.state.waiting.held == 1, 10.0)
