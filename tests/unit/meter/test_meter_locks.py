"""Who meters a board: one process of a node, until it ends however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from trainer_hooks.meter_locks import NODE, MeterLocks, lock_folder

HOLD = """
import sys, pathlib
from trainer_hooks.meter_locks import MeterLocks
print(*MeterLocks(pathlib.Path(sys.argv[1])).take(sys.argv[2:]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Start another process that claims boards and then waits."""
    started = []

    def start(*names):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path), *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process, tuple(process.stdout.readline().split())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_board_is_metered_by_one_process_until_it_is_killed(tmp_path, other):
    process, taken = other("GPU-a", "GPU-b")
    assert taken == ("GPU-a", "GPU-b")
    locks = MeterLocks(tmp_path)
    assert locks.take(["GPU-a", "GPU-c", NODE]) == ("GPU-c", NODE)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # The file is still there and means nothing.
    assert locks.take(["GPU-a", "GPU-b"]) == ("GPU-a", "GPU-b")
    locks.release()
    _, again = other("GPU-a", "GPU-c")
    assert again == ("GPU-a", "GPU-c")


def test_two_meters_of_one_process_do_not_both_have_a_board(tmp_path):
    one, two = MeterLocks(tmp_path), MeterLocks(tmp_path)
    assert one.take(["GPU-a"]) == ("GPU-a",)
    assert two.take(["GPU-a"]) == ()
    assert one.take(["GPU-a"]) == ("GPU-a",)
    one.release()
    assert two.take(["GPU-a"]) == ("GPU-a",)
    two.release()


def test_a_forked_data_loader_neither_keeps_nor_breaks_the_lock(tmp_path, other):
    locks = MeterLocks(tmp_path)
    locks.take(["GPU-a"])
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        mine = MeterLocks(tmp_path).take(["GPU-a"])
        os.write(writer, b"child has it" if mine else b"child has not")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 100) == b"child has not"
    os.close(reader)
    os.close(writer)
    _, taken = other("GPU-a")
    assert taken == ()
    locks.release()


def test_where_no_lock_can_be_had_all_boards_are_metered_and_the_fault_is_kept(tmp_path):
    locks = MeterLocks(tmp_path / "absent")
    assert locks.take(["GPU-a"]) == ("GPU-a",)
    assert isinstance(locks.fault, FileNotFoundError)


def test_a_symlink_in_the_lock_s_place_is_not_followed(tmp_path):
    target = tmp_path / "precious"
    name = f"gridpace-meter-{os.getuid()}-GPU-a.lock"
    (tmp_path / name).symlink_to(target)
    assert MeterLocks(tmp_path).take(["GPU-a"]) == ("GPU-a",)
    assert not target.exists()


def test_a_lock_that_another_user_put_there_is_not_waited_for(tmp_path, monkeypatch, other):
    _, taken = other("GPU-a")
    assert taken == ("GPU-a",)
    real = os.fstat

    def of_another(descriptor):
        return os.stat_result([*real(descriptor)[:4], os.getuid() + 1, *real(descriptor)[5:10]])

    monkeypatch.setattr(os, "fstat", of_another)
    locks = MeterLocks(tmp_path)
    assert locks.take(["GPU-a"]) == ("GPU-a",)
    assert "belongs to another user" in str(locks.fault)


def test_a_name_cannot_leave_the_folder(tmp_path):
    locks = MeterLocks(tmp_path / "in")
    (tmp_path / "in").mkdir()
    assert locks.take(["../out"]) == ("../out",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    locks.release()


def test_locks_lie_on_this_node():
    assert lock_folder().is_dir()
