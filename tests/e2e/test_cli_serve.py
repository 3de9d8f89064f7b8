"""`gridpace serve` as it is started: what it says, whom it answers, how it ends."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest
import requests

from planner.cli import run
from tests.mini_site import MINI, ROOT


@pytest.fixture
def site(tmp_path):
    file = tmp_path / "site.toml"
    file.write_text(MINI.replace('week = "2024-W20"', ""), encoding="utf-8")
    return file


def test_it_serves_until_it_is_told_to_end(tmp_path, site):
    command = [sys.executable, "-m", "planner.cli", "serve", str(site), "--listen", "127.0.0.1:0", "--offline"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "GRIDPACE_DATABASE": str(tmp_path / "made" / "g.sqlite"),
        "GRIDPACE_CACHE": str(tmp_path / "cache"),
    }
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with subprocess.Popen(
        ["/bin/sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh", *command],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            address = next(line for line in process.stderr if "gridpace serves at " in line).split()[-1]
            for path in ("healthz", "readyz", "docs"):
                assert requests.get(f"{address}/{path}", timeout=20).status_code == 200
            assert requests.get(f"{address}/v1/sites/Werk%20S%C3%BCd/calendars", timeout=20).json() == []
            assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (most, most)  # held requests are files
            process.send_signal(signal.SIGTERM)
            told = process.stderr.read()
            assert process.wait(30) in {0, -signal.SIGTERM}, told
        finally:
            process.kill()
    assert "Traceback" not in told
    assert (tmp_path / "made" / "g.sqlite").is_file()


def test_a_token_is_printed_once_and_strangers_need_one(tmp_path, site, capsys):
    tokens = tmp_path / "tokens"
    assert run(["token", "node-a", "--role", "agent", "--file", str(tokens)]) == 0
    token = capsys.readouterr().out.strip()
    assert token.startswith("gp_agent_")
    assert token not in tokens.read_text()
    assert run(["serve", str(site), "--listen", "0.0.0.0:0", "--database", str(tmp_path / "g.sqlite")]) == 2
    told = capsys.readouterr().err
    assert "0.0.0.0 can be reached from other machines, and there are no tokens" in told
    assert not (tmp_path / "g.sqlite").exists()


def test_a_week_that_is_over_is_no_week_to_serve(site, capsys):
    site.write_text(MINI, encoding="utf-8")
    assert run(["serve", str(site), "--database", str(site.with_name("g.sqlite"))]) == 2
    told = capsys.readouterr().err
    assert "names the week 2024-W20, which is over" in told
    assert "take `week` out of [horizon]" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--listen", "8470"], "is no address"),
        (["--listen", "127.0.0.1:99999"], "is no address"),
        (["--tls-cert", "c.pem"], "go together"),
        (["--tokens", "none"], "tokens none cannot be read"),
        (["--database", "mysql://u:s3cret@h/d", "--listen", "127.0.0.1:0"], "the ledger cannot be kept in 'mysql'"),
    ],
)
def test_what_is_wrong_is_told(site, capsys, arguments, told):
    assert run(["serve", str(site), *arguments]) == 2
    found = capsys.readouterr().err
    assert told in found
    assert "s3cret" not in found


def test_help_stays_light():
    check = (
        "import sys; from planner.cli import run; run(['--help']); "
        "sys.exit(any(name in sys.modules for name in ('sqlalchemy', 'alembic', 'fastapi', 'uvicorn', 'apscheduler')))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert (
        subprocess.run([sys.executable, "-c", check], env=environment, capture_output=True, check=False).returncode == 0
    )
