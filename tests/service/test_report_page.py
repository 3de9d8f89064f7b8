"""The report of a draft: there for those who decide, in a sandbox, and for nobody else."""

from __future__ import annotations

import requests

from planner.ledger.issued import keep_issued
from tests.published import off, on
from tests.served import NOON, calendar, enter, served
from trainer_hooks.calendar import seal

PAGE = b"<!doctype html><p>41 t CO2e</p><script>1</script>"


def test_a_draft_s_report_is_linked_and_shown_in_a_sandbox(tmp_path):
    with served(tmp_path) as service:
        enter(service.state.ledger, calendar())
        made = calendar(windows=(on(0, 6), off(6, 24)), issued=NOON)
        _, files = seal(*made)
        with service.state.ledger.writing() as session:
            service.state.ledger.enter_plan(session, *made, [0.2] * 24, None)
            keep_issued(session, made[0].calendar_id, files, {"report": PAGE})
        draft = enter(service.state.ledger, made, approve=False)
        page = service.call("GET", "/", "viewer").text
        assert page.count('href="/reports/') == 1
        assert f'href="/reports/{draft}"' in page
        answer = service.call("GET", f"/reports/{draft}", "viewer")
        assert (answer.status_code, answer.content) == (200, PAGE)
        assert answer.headers["Content-Security-Policy"].startswith("sandbox allow-scripts; default-src 'none'")


def test_who_may_not_look_and_what_has_no_report(tmp_path):
    with served(tmp_path) as service:
        bare = enter(service.state.ledger, calendar())
        assert service.call("GET", f"/reports/{bare}", "viewer").status_code == 404
        assert service.call("GET", "/reports/x", "planner").status_code == 404
        assert service.call("GET", f"/reports/{bare}", "agent").status_code == 403
        assert requests.get(f"{service.url}/reports/{bare}", timeout=10).status_code == 401
