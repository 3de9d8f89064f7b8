"""A disk that refuses: nothing half-written remains, and the calendar in force stays in force."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run_calendars import two_hours
from trainer_hooks import publish
from trainer_hooks.calendar import CalendarError, read_calendar, run_file, write_calendar

# Three runs and the header; the calendar's folder and `runs`.
N_FILES, N_FOLDERS = 4, 2


def _publish(folder, calendar_id, n_runs=3):
    header, runs = two_hours(*(f"run-{i}" for i in range(n_runs)), calendar_id=calendar_id)
    return write_calendar(folder, header, runs)


def test_disk_full_at_any_moment(tmp_path, monkeypatch):
    """Let every call that secures data fail in turn; only from the rename on may the new folder be seen."""
    real = os.fsync
    moments = 0
    while True:
        moments += 1
        root = tmp_path / str(moments)
        _publish(root, "old")
        before = sorted(root.rglob("*"))
        left = moments

        def full(descriptor):
            nonlocal left
            left -= 1
            if left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            real(descriptor)

        monkeypatch.setattr(publish.os, "fsync", full)
        try:
            _publish(root, "new")
        except CalendarError as error:
            told = str(error)
        else:
            break
        finally:
            monkeypatch.setattr(publish.os, "fsync", real)
        assert "No space left on device" in told
        assert not list(root.glob(".*"))
        seen = read_calendar(root).calendar_id
        assert seen == "old" or (root / "new").is_dir()
        assert seen == "new" or not (root / "new").is_dir() or read_calendar(root / "new").calendar_id == "new"
        if moments <= N_FILES + N_FOLDERS:
            assert sorted(root.rglob("*")) == before
        _publish(root, "new")
        assert read_calendar(root).calendar_id == "new"
    # Every file and folder, the root after the rename, the pointer, and the root after its swap.
    assert moments - 1 == N_FILES + N_FOLDERS + 3


def test_a_real_limit_on_file_size(tmp_path, root):
    """The kernel refuses the write itself, in a process whose files may not grow beyond 4 KiB."""
    _publish(tmp_path, "old")
    script = (
        "import resource, signal, sys; from pathlib import Path;"
        "from tests.faults.test_publish_faults import _publish;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "_publish(Path(sys.argv[1]), 'new', 100)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=root, capture_output=True, text=True, check=False
    )
    assert "CalendarError" in done.stderr
    assert "File too large" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["current", "old"]
    assert read_calendar(tmp_path).calendar_id == "old"


def test_an_id_is_never_given_twice(tmp_path):
    home = _publish(tmp_path, "c0ffee")
    content = (home / run_file("run-0")).read_bytes()
    header, runs = two_hours("run-0")
    with pytest.raises(CalendarError, match="already published"):
        write_calendar(tmp_path, replace(header, status="feasible"), runs)
    assert (home / run_file("run-0")).read_bytes() == content
    assert read_calendar(tmp_path).status == "optimal"


def test_a_root_that_is_a_file(tmp_path):
    (tmp_path / "out").write_text("here first")
    with pytest.raises(CalendarError, match="cannot be written"):
        _publish(tmp_path / "out", "c0ffee")
    assert (tmp_path / "out").read_text() == "here first"


def test_two_publishers_of_the_same_plan(tmp_path, monkeypatch):
    """The other one renames first, between our look and our rename."""
    real = Path.rename

    def lost_race(self, target):
        if self.name.startswith(".c0ffee"):
            monkeypatch.setattr(Path, "rename", real)
            _publish(tmp_path, "c0ffee")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", lost_race)
    home = _publish(tmp_path, "c0ffee")
    assert read_calendar(home).calendar_id == "c0ffee"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c0ffee", "current"]


def test_published_folders_can_be_read_by_other_users(tmp_path):
    earlier = os.umask(0o022)
    try:
        home = _publish(tmp_path, "c0ffee")
    finally:
        os.umask(earlier)
    assert {oct(p.stat().st_mode & 0o777) for p in (home, home / "runs")} == {"0o755"}
    assert oct((home / "calendar.json").stat().st_mode & 0o777) == "0o644"


def test_what_a_killed_publisher_left_is_swept_once_it_is_old_and_nothing_else_is(tmp_path):
    _publish(tmp_path, "old")
    folder, pointer = tmp_path / ".new.0123456789abcdef", tmp_path / ".current.0123456789abcdef"
    young, theirs = tmp_path / ".new.fedcba9876543210", tmp_path / ".notes"
    (folder / "runs").mkdir(parents=True)
    (folder / "calendar.json").write_text("half")
    young.mkdir()
    pointer.write_text("ne")
    theirs.write_text("ours")
    an_hour_ago = time.time() - 4000.0
    for path in (folder, pointer, theirs):
        os.utime(path, (an_hour_ago, an_hour_ago))
    _publish(tmp_path, "newer")
    assert sorted(p.name for p in tmp_path.iterdir()) == [young.name, theirs.name, "current", "newer", "old"]
