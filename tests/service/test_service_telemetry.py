"""What trainings on a node measure is in the ledger, though the server was away and the job cleaned up after itself.

The node agent runs as a process of its own on the twin of NVML, the training as another one, the service on loopback.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planner.ledger.hours import hours
from planner.service.tokens import add_token
from tests.agents import agent_on, free_port, grant, place, until
from tests.served import served

TRAIN = """
import json, time
from trainer_hooks import Governor
governor = Governor.from_env()
for _ in range(30):
    governor.step(tokens=1000)
    time.sleep(0.02)
governor.close()
report = governor.report()
print(json.dumps({"energy_j": report.energy.energy_j, "tokens": report.tokens}))
"""


def sums(service):
    service.state.ledger.roll_up()
    with service.state.ledger.reading() as session:
        rows = [row for row in hours(session, 0, 2**40) if row.run == "llm-8b"]
    return {name: sum(getattr(row, name) for row in rows) for name in ("energy_j", "tokens", "records")}


def test_the_ledger_says_what_the_training_measured(tmp_path, nvml_twin):
    port = free_port()
    with place() as folder:
        twin = nvml_twin("h100")
        records = folder / "telemetry"
        records.mkdir()
        (folder / "s").mkdir()
        (folder / "token").write_text(add_token(folder / "s/tokens", "node-a", "agent"))
        (folder / "token").chmod(0o600)
        sends = (
            f"[telemetry]\nfolder = {records}\nserver = http://127.0.0.1:{port}\ntoken_file = {folder}/token\n"
            "every_s = 1\n"
        )
        with agent_on(folder, twin, grant(), sends) as agent:
            environ = {name: text for name, text in os.environ.items() if not name.startswith("GRIDPACE_")}
            environ |= twin.environment(root=False) | {"PYTHONPATH": str(Path.cwd()), "GRIDPACE_RUN": "llm-8b"}
            environ |= {"GRIDPACE_AGENT": str(agent.socket), "GRIDPACE_TELEMETRY": str(records)}
            before_j = twin[0].energy_j
            done = subprocess.run(
                [sys.executable, "-c", TRAIN], env=environ, capture_output=True, text=True, check=True, timeout=120
            )
            measured = json.loads(done.stdout.splitlines()[-1])
            spent_j = twin[0].energy_j - before_j
            # The server is away; the agent has taken the records to its own spool, and the job's folder goes.
            spool = folder / "state/telemetry"
            until(lambda: list(spool.glob("*.jsonl")) and not list(spool.glob("*.new")), 30.0)
            until(lambda: "telemetry waits on this node's disk" in agent.log.read_text(), 30.0)
            shutil.rmtree(records)
            with served(folder / "s", port=port) as service:
                service.clock.now = datetime.now(UTC)
                until(lambda: sums(service)["records"] and not list(spool.iterdir()), 60.0)
                found = sums(service)
            log = agent.log.read_text()
        assert found["tokens"] == measured["tokens"] == 30_000
        assert found["energy_j"] == pytest.approx(measured["energy_j"], rel=1e-6)
        assert 0.0 < measured["energy_j"] <= spent_j
        assert (folder / "token").read_text() not in log
        assert "telemetry goes out again" in log
