from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli import cli
from planner.errors import ConfigError
from planner.export.slurm import (
    SlurmSite,
    job_name,
    read_pairs,
    reservation_name,
    reservations_script,
    submit_script,
)
from planner.export.slurm_grants import epilog_script, prolog_script
from planner.export.spells import stretches
from tests.published import header, off, on, run
from trainer_hooks.agent.grants import grant_from
from trainer_hooks.agent.sections import read_sections
from trainer_hooks.calendar import write_calendar

SITE = SlurmSite({"pretrain": "/jobs/pretrain.sh"}, "/plans", {}, None, 300, reserved=False)
NOW = datetime(2024, 11, 3, 5, 30, tzinfo=UTC)  # half an hour before New York puts its clocks back
SOON = NOW + timedelta(hours=1)
RECORDER = """\
#!/usr/bin/env python3
import json, os, sys
facts = {"program": os.path.basename(sys.argv[0]), "arguments": sys.argv[1:]}
facts |= {name: os.environ.get(name) for name in ("GRIDPACE_RUN", "GRIDPACE_CALENDAR")}
with open(os.environ["RECORD"], "a", encoding="utf-8") as record:
    print(json.dumps(facts), file=record)
if facts["program"] == "date":
    print(os.environ["NOW"])
if sys.argv[1:3] == ["--oneliner", "show"]:
    print(os.environ.get("RESERVATIONS", ""))
"""


def a_day(start: datetime, name: str = "pretrain"):
    """Trains 0-2 h and 3-5 h, the second time with a lower limit for its last hour."""
    return header(start), run(
        name,
        (
            on(0, 2, 700.0, start=start),
            off(2, 3, start=start),
            on(3, 4, 700.0, start=start),
            on(4, 5, 500.0, start=start),
            off(5, 24, start=start),
        ),
        start,
    )


@pytest.fixture
def executed(tmp_path):
    """Run a script with stand-ins of Slurm's commands, and return what they were called with."""

    def execute(script: bytes, reservations: str = "") -> list[dict]:
        record, programs = tmp_path / "record", tmp_path / "bin"
        programs.mkdir(exist_ok=True)
        for name in ("sbatch", "scancel", "scontrol", "date"):
            (programs / name).write_text(RECORDER)
            (programs / name).chmod(0o755)
        record.write_text("")
        environ = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "RECORD": str(record),
            "RESERVATIONS": reservations,
            "NOW": f"{NOW.timestamp():.0f}",
            "TZ": "America/New_York",
        }
        subprocess.run(["/bin/sh"], input=script, env=environ, check=True, timeout=20, capture_output=True)
        calls = [json.loads(line) for line in record.read_text().splitlines()]
        return [call for call in calls if call["program"] != "date"]

    return execute


def option(call: dict, name: str) -> str:
    return next(a.partition("=")[2] for a in call["arguments"] if a.startswith(f"{name}="))


def test_a_stretch_holds_through_limits_and_holds_and_ends_where_gpus_pool_or_run_change():
    _, day = a_day(header().valid_from)
    assert [(s.number, s.length_s, s.gpus, len(s.windows)) for s in stretches(day)] == [
        (1, 7200.0, 8, 1),
        (2, 7200.0, 8, 2),
    ]
    held = replace(day.windows[2], state="hold", gpu_power_limit_w=None)
    kept = replace(day, windows=(*day.windows[:2], held, *day.windows[3:]))
    assert [s.length_s for s in stretches(kept)] == [7200.0, 7200.0]
    moved = replace(day, windows=(*day.windows[:3], replace(day.windows[3], pool="other"), day.windows[4]))
    assert [s.length_s for s in stretches(moved)] == [7200.0, 3600.0, 3600.0]
    assert [s.pool for s in stretches(moved)][2] == "other"


def test_a_job_may_outlast_its_stretch_by_the_warning_and_not_in_a_reservation():
    stretch = stretches(a_day(header().valid_from)[1])[0]
    assert SITE.grace_s == 300 + 60 + 60
    assert SITE.limit_minutes(stretch) == 127
    assert replace(SITE, reserved=True).limit_minutes(stretch) == 120
    assert replace(SITE, reserved=True).grace_s == 0


def test_each_stretch_is_one_job_that_begins_with_it_and_is_dropped_after_it(executed):
    calendar, day = a_day(SOON)
    site = replace(SITE, partitions={stretches(day)[0].pool: "hall-a"}, gpus_per_node=4)
    cancel, first, second = executed(submit_script(calendar, [day], site))
    assert cancel["program"] == "scancel"
    assert {"--state=PENDING", "--name=gp-pretrain"} <= set(cancel["arguments"])
    assert (first["GRIDPACE_RUN"], first["GRIDPACE_CALENDAR"]) == ("pretrain", "/plans")
    for call, hours in ((first, (0, 2)), (second, (3, 5))):
        assert option(call, "--begin") == f"now+{3600 * (1 + hours[0])}"
        assert option(call, "--deadline") == f"now+{3600 * (1 + hours[1]) + 420}"
        assert option(call, "--time") == "127"
        assert option(call, "--signal") == "USR1@300"
        assert option(call, "--dependency") == "singleton"
        assert option(call, "--nodes") == "2"
        assert "--requeue" in call["arguments"]
        assert call["arguments"][-1] == "/jobs/pretrain.sh"
    assert option(first, "--comment").endswith("GPU power limit 700 W")
    assert option(second, "--comment").endswith("GPU power limit 500 W then 700 W")


def test_a_stretch_that_is_over_is_not_submitted_and_one_that_has_begun_starts_at_once(executed):
    calendar, day = a_day(NOW - timedelta(hours=4))
    _, *jobs = executed(submit_script(calendar, [day], SITE))
    assert len(jobs) == 1
    assert not [a for a in jobs[0]["arguments"] if a.startswith("--begin")]


def test_a_hostile_name_reaches_the_job_as_it_is_and_runs_nothing(executed, tmp_path):
    name = f"a'; touch {tmp_path}/broken; $(touch {tmp_path}/broken) \"`id`, é = --x"
    calendar, day = a_day(SOON, name)
    site = replace(SITE, scripts={name: "/jobs/a b.sh"}, calendar="/pl ans'")
    _, first, _ = executed(submit_script(calendar, [day], site))
    assert first["GRIDPACE_RUN"] == name
    assert first["GRIDPACE_CALENDAR"] == "/pl ans'"
    assert first["arguments"][-1] == "/jobs/a b.sh"
    assert not (tmp_path / "broken").exists()
    assert option(first, "--job-name") == job_name(name)


def test_job_names_are_plain_and_differ_where_runs_do():
    assert job_name("llama-70b_2") == "gp-llama-70b_2"
    strange = {job_name(name) for name in ("a b", "a_b", "a/b", "ä b", "a,b", "x" * 300, "x" * 301)}
    assert len(strange) == 7
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_") and len(name) < 120 for name in strange)


def test_reservations_replace_those_of_earlier_calendars_of_the_same_run_only(executed):
    calendar, day = a_day(SOON)
    site = replace(SITE, gpus_per_node=8, partitions={stretches(day)[0].pool: "hall-a"}, reserved=True)
    there = "ReservationName=gp-pretrain.old.1 StartTime=x\nReservationName=gp-pretrain2.old.1 StartTime=x"
    calls = executed(reservations_script(calendar, [day], site, ["ana", "ben"]), there)
    cancel, *_ = calls
    assert {"--user=ana,ben", "--state=PENDING", "--name=gp-pretrain"} <= set(cancel["arguments"])
    calls = [call for call in calls if call["program"] == "scontrol"]
    deleted = [c["arguments"][1] for c in calls if c["arguments"][0] == "delete"]
    assert deleted == ["ReservationName=gp-pretrain.old.1"]
    created = [c["arguments"] for c in calls if c["arguments"][0] == "create"]
    assert [a[2] for a in created] == [
        f"ReservationName={reservation_name(calendar, stretch)}" for stretch in stretches(day)
    ]
    assert {"Users=ana,ben", "NodeCnt=1", "PartitionName=hall-a", "Flags=IGNORE_JOBS"} <= set(created[0])
    _, first, _ = executed(submit_script(calendar, [day], site))
    assert option(first, "--reservation") == created[0][2].removeprefix("ReservationName=")
    assert option(first, "--time") == "120"


def test_one_refusal_does_not_keep_the_rest_from_being_submitted(executed, tmp_path):
    calendar, day = a_day(SOON)
    refusing = submit_script(calendar, [day], SITE).replace(b"sbatch --export", b"refuse sbatch --export", 1)
    refusing = refusing.replace(b"set -eu\n", b'set -eu\nrefuse() { "$@"; return 7; }\n', 1)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        executed(refusing)
    assert caught.value.returncode == 1
    called = [json.loads(line)["program"] for line in (tmp_path / "record").read_text().splitlines()]
    assert called.count("sbatch") == 2


def test_what_cannot_be_written_is_refused_with_the_mend():
    calendar, day = a_day(header().valid_from)
    with pytest.raises(ConfigError, match=r"no run .* has a batch script"):
        submit_script(calendar, [day], replace(SITE, scripts={}))
    with pytest.raises(ConfigError, match="'other', which the calendar does not have"):
        submit_script(calendar, [day], replace(SITE, scripts={"other": "x"}))
    with pytest.raises(ConfigError, match="number of nodes and users"):
        reservations_script(calendar, [day], SITE, ["ana"])
    with pytest.raises(ConfigError, match="is not NAME=VALUE"):
        read_pairs("--script", ["pretrain"], ["pretrain"])
    assert read_pairs("--script", ["a=b=c"], ["a", "a=b"]) == {"a=b": "c"}


def test_a_job_is_granted_its_gpus_while_it_runs(tmp_path):
    grants, programs = tmp_path / "gran'ts", tmp_path / "bin"
    grants.mkdir()
    programs.mkdir()
    smi = programs / "nvidia-smi"
    smi.write_text('#!/bin/sh\n[ "$1" = --id=0,3 ] && printf "GPU-a0\\nGPU-b3\\n"\n')
    smi.chmod(0o755)
    job = {"PATH": f"{programs}:{os.environ['PATH']}", "SLURM_JOB_ID": "71", "SLURM_JOB_GPUS": "0,3"}

    def executed_as(script: bytes, environ: dict[str, str]) -> str:
        done = subprocess.run(["/bin/sh"], input=script, env=environ, capture_output=True, timeout=20, check=True)
        return done.stderr.decode()

    assert not executed_as(prolog_script(str(grants)), job)
    (section,) = read_sections(grants / "slurm-71.ini")
    grant = grant_from(section)
    assert (grant.slurm_jobs, grant.gpus) == ({71}, {"GPU-a0", "GPU-b3"})
    assert "does not tell the UUIDs of GPUs 1" in executed_as(prolog_script(str(grants)), job | {"SLURM_JOB_GPUS": "1"})
    assert "no grant can be written" in executed_as(prolog_script(str(tmp_path / "absent")), job)
    assert not executed_as(prolog_script(str(grants)), {k: v for k, v in job.items() if k != "SLURM_JOB_GPUS"})
    assert not executed_as(epilog_script(str(grants)), job)
    assert list(grants.iterdir()) == []
    with pytest.raises(ConfigError, match="not an absolute path"):
        prolog_script("grants")


def test_the_command_writes_scripts_that_can_be_run_and_names_what_it_leaves_out(tmp_path):
    calendar, day = a_day(header().valid_from)
    write_calendar(tmp_path / "calendars", calendar, (day, replace(day, run="tune")))
    script = tmp_path / "pretrain.sh"
    script.write_text("#!/bin/sh\n")
    command = ["export", "slurm", str(tmp_path), "--out", str(tmp_path / "slurm"), "--script", f"pretrain={script}"]
    done = CliRunner().invoke(
        cli, [*command, "--reserve", "--user", "ana", "--gpus-per-node", "8", "--grants", "/run/g"]
    )
    assert done.exit_code == 0, done.output
    assert "not submitted: tune" in done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == [
        "submit.sh",
        "reserve.sh",
        "prolog.sh",
        "epilog.sh",
    ]
    assert all(os.access(line, os.X_OK) for line in done.stdout.splitlines())
    assert str(tmp_path / "calendars") in (tmp_path / "slurm" / "submit.sh").read_text()
    absent = CliRunner().invoke(cli, [*command[:-1], "pretrain=/nowhere.sh"])
    assert isinstance(absent.exception, ConfigError)
