"""A service killed at random points, on SQLite and on PostgreSQL: nothing lost, nothing twice, nothing half done."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
import requests

from planner.ledger import Ledger
from planner.ledger.decisions import APPROVED, in_force, standings
from planner.ledger.hours import hours
from planner.service.publishing import stored_calendar
from tests.mini_site import MINI, ROOT
from tests.old_ledger import contents, make_old, move_rows
from tests.published import START
from tests.unit.test_ledger import planned, record, write
from trainer_hooks.telemetry import record_line

pytestmark = pytest.mark.postgres
NDJSON = {"Content-Type": "application/x-ndjson"}
BATCHES, PER_BATCH = 120, 20
RECORDS = [
    replace(record(i, i / 400, (i + 1) / 400), writer=f"w{i % 7}", calendar_id=None) for i in range(BATCHES * PER_BATCH)
]
PLAN_FOREVER = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from planner.ledger import Ledger
from planner.service.planning_jobs import publish_week, replan
from planner.service.worker import Worker, run_job
from planner.sources.cache import ResponseCache

site, where, folder = sys.argv[1:]
begun = datetime.now(UTC)
def clock():
    return datetime(2024, 5, 10, 12, tzinfo=UTC) + 100 * (datetime.now(UTC) - begun)
with Ledger(where if "://" in where else Path(where)) as ledger:
    worker = Worker(Path(site), "Werk S\\u00fcd", ledger, ResponseCache(Path(folder)), clock, "here", offline=True)
    print("begins", flush=True)
    while True:
        run_job(worker, "replan", replan)
        run_job(worker, "publish", publish_week)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    return str(tmp_path / "g.sqlite") if request.param == "sqlite" else request.getfixturevalue("url")


def opened(where: str) -> Ledger:
    return Ledger(where if "://" in where else Path(where))


class Service:
    """`gridpace serve`, killed and started again at the same address."""

    def __init__(self, folder, where):
        (folder / "site.toml").write_text(MINI, encoding="utf-8")
        self.environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "GRIDPACE_DATABASE": where, "GRIDPACE_CACHE": str(folder / "cache"),
        }  # fmt: skip
        self.site, self.log, self.listen = folder / "site.toml", folder / "log", "127.0.0.1:0"
        self.start()

    def start(self):
        command = [sys.executable, "-m", "planner.cli", "serve", str(self.site), "--offline", "--no-jobs"]
        limits = ["--listen", self.listen, "--requests-per-s", "100000"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*command, *limits], env=self.environment, stderr=log)
        while "gridpace serves at " not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        self.address = next(line for line in self.log.read_text().splitlines() if "serves at" in line).split()[-1]
        self.listen = self.address.removeprefix("http://")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def test_telemetry_counts_once_however_often_the_service_is_killed(tmp_path, where):
    service, draw = Service(tmp_path, where), random.Random(8)
    waiting = SimpleQueue()
    for first in range(0, len(RECORDS), PER_BATCH):
        waiting.put(b"".join(record_line(one) for one in RECORDS[first : first + PER_BATCH]))

    def send():
        while not waiting.empty():
            with suppress(Empty):
                deliver(waiting.get_nowait())
                time.sleep(0.03)

    def deliver(body):
        while True:  # as a sender does that got no answer
            try:
                answer = requests.post(f"{service.address}/v1/telemetry", body, headers=NDJSON, timeout=20)
            except requests.RequestException:
                time.sleep(0.02)
            else:
                assert answer.status_code == 200, answer.text
                return

    with ThreadPoolExecutor(3) as senders:
        running = [senders.submit(send) for _ in range(3)]
        for _ in range(6):
            time.sleep(draw.uniform(0.0, 0.4))
            service.kill()
            service.start()
        for one in running:
            one.result()
    service.kill()
    with opened(where) as ledger:
        ledger.roll_up()
        with ledger.reading() as session:
            rows = hours(session, 0, 2**40)
        assert sum(row.records for row in rows) == len(RECORDS)
        assert sum(row.energy_j for row in rows) == pytest.approx(sum(one.energy_j for one in RECORDS), rel=1e-9)
        assert ledger.take_in(RECORDS).added == 0


def test_no_calendar_is_half_published_where_planning_is_killed(tmp_path, where):
    site = tmp_path / "site.toml"
    policy = '\n[service]\napprove = "policy"\n'
    site.write_text(MINI.replace('[horizon]\nweek = "2024-W20"\n', "[plan]\ntime_limit_s = 2\n") + policy, "utf-8")
    draw = random.Random(9)
    command = [sys.executable, "-c", PLAN_FOREVER, str(site), where, str(tmp_path / "cache")]
    opened(where).close()
    seen = 0
    for turn in range(8):
        with subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout.readline() == "begins\n"
            time.sleep(draw.uniform(0.5, 6.0) if turn else 8.0)
            process.kill()
            process.wait()
        with opened(where) as ledger, ledger.reading() as session:
            found = standings(session, "Werk Süd")
            for one in found:
                header, runs = stored_calendar(session, one.calendar_id)
                assert len(header.runs) == len(runs) == 1
            current = in_force(session, "Werk Süd", datetime(2024, 5, 14, tzinfo=UTC))
            assert (current is not None) == any(one.state == APPROVED for one in found)
            seen = max(seen, len(found))
    assert seen >= 2


def test_a_migration_that_is_killed_loses_nothing(tmp_path):
    with Ledger(tmp_path / "new.sqlite") as ledger:
        planned(ledger)
        ledger.ingest(write(tmp_path / "t.jsonl", *(record(i, i / 300, (i + 1) / 300) for i in range(3000))))
    move_rows(tmp_path / "new.sqlite", make_old(tmp_path / "old.sqlite"))
    before = contents(tmp_path / "old.sqlite")
    code = (
        "import sys\nfrom pathlib import Path\nimport alembic.config\nfrom planner.ledger import Ledger\n"
        "print('begins', flush=True)\nLedger(Path(sys.argv[1])).close()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "old.sqlite")]
    draw = random.Random(10)
    for _ in range(10):
        with subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout.readline() == "begins\n"
            time.sleep(draw.uniform(0.0, 0.15))
            process.kill()
            process.wait()
        assert contents(tmp_path / "old.sqlite") == before
    with Ledger(tmp_path / "old.sqlite") as ledger:
        assert ledger.reported_until(before["telemetry"][0][3]) == START + timedelta(hours=10)
    assert contents(tmp_path / "old.sqlite") == before
