"""The loop closed: planned, followed, taken in, laid side by side."""

from __future__ import annotations

import sqlite3

from planner.folders import read_published
from tests.mini_site import gridpace


def test_the_demo_plans_follows_and_accounts_without_network_and_gpu(tmp_path):
    # A proxy that nobody answers: whatever would go to the network fails.
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    done = gridpace("demo", cwd=tmp_path, COLUMNS="100", **nowhere)
    assert done.returncode == 0, done.stderr
    assert "Synthetic data" in done.stderr
    header, runs, home = read_published(tmp_path / "out" / "demo")
    for run in runs:
        assert run.run in done.stdout
    assert "all runs" in done.stdout
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        (plans,) = ledger.execute("SELECT count(*) FROM plan WHERE calendar_id = ?", (header.calendar_id,)).fetchone()
        planned, (reported, useful) = (
            ledger.execute("SELECT sum(tokens) FROM planned_window").fetchone()[0],
            ledger.execute("SELECT count(*), sum(useful_tokens) FROM telemetry").fetchone(),
        )
    ledger.close()
    assert plans == 1
    assert reported > 20
    assert 0 < useful < planned
    assert "Planned, and what happened" in (home / "report.html").read_text(encoding="utf-8")
