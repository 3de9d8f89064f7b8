"""A real PyTorch training under a run calendar: the same losses, digit for digit, as without one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from trainer_hooks.telemetry import read_records

pytest.importorskip("torch", reason="PyTorch is not installed; make test-frameworks installs it")
pytestmark = pytest.mark.frameworks


@pytest.fixture
def train(root, tmp_path):
    def start(folder, *options):
        done = subprocess.run(
            [sys.executable, str(root / "docs/examples/train_tiny.py"), "--out", str(tmp_path / folder), *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start


def test_throttled_held_saved_ended_and_resumed_exactly(train, tmp_path):
    morning = train("followed")
    # 2 h at 60 steps an hour, 2 h at 250 W and so at 0.78 of them, 1 h held, 1 h at full rate; then off.
    assert "06:00 end at step 274, exit" in morning
    # The step that was on its way at 04:00 ended half a minute into the hold.
    assert "99.9% of the time as planned" in morning
    noon = train("followed", "--hour", "8")
    assert "08:00 begin at step 274" in noon
    assert "09:39 end at step 360, cap" in noon
    train("free", "--free")
    followed = (tmp_path / "followed" / "losses.txt").read_text().splitlines()
    free = (tmp_path / "free" / "losses.txt").read_text().splitlines()
    assert len(free) == 360
    assert followed == free
    losses = [float.fromhex(line.split()[1]) for line in free]
    assert sum(losses[-20:]) < 0.6 * sum(losses[:20])

    records = list(read_records(tmp_path / "followed" / "telemetry"))
    assert {(record.state, record.gpu_power_limit_w) for record in records} == {
        ("run", 400.0),
        ("run", 250.0),
        ("hold", None),
        ("run", 300.0),
    }
    assert len({record.writer for record in records}) == 2
    assert sum(record.tokens for record in records) == 360 * 8 * 32
    for record in records:
        assert record.enforced_limit_w in {record.gpu_power_limit_w, 400.0}
    throttled = [record for record in records if record.gpu_power_limit_w == 250.0 and record.state == "run"]
    full = [record for record in records if record.gpu_power_limit_w == 400.0]
    # 250 W at 0.78 of the rate costs 0.801 of the joules for each token.
    ratio = _joules_per_token(throttled) / _joules_per_token(full)
    assert ratio == pytest.approx(250.0 / 400.0 / 0.78, rel=0.02)


def test_a_crash_between_checkpoints_trains_the_lost_steps_again(train, tmp_path):
    train("crashed", "--steps", "20")
    whole = (tmp_path / "crashed" / "losses.txt").read_text()
    train("plain", "--steps", "25", "--free")
    with (tmp_path / "crashed" / "losses.txt").open("a") as file:
        file.write("21 0x0p+0\n")  # a step after the last checkpoint, lost in the crash
    train("crashed", "--steps", "25", "--hour", "1")
    losses = (tmp_path / "crashed" / "losses.txt").read_text()
    assert losses.startswith(whole)
    assert losses == (tmp_path / "plain" / "losses.txt").read_text()


def _joules_per_token(records):
    return sum(record.energy_j for record in records) / sum(record.tokens for record in records)
