"""The same input gives the same calendar, byte for byte, whatever machine it is planned on."""

from __future__ import annotations

from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__ as FASTER
from numpy._core._multiarray_umath import __cpu_features__

from planner.config import starter_site
from tests.mini_site import ISSUED, MINI, gridpace

PLAIN = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "LC_ALL": "C",
    "TZ": "UTC",
    "PYTHONUTF8": "1",
}
OTHERS = {
    "threads": {"OMP_NUM_THREADS": "8", "OPENBLAS_NUM_THREADS": "8"},
    "hash seed": {"PYTHONHASHSEED": "4711"},
    "locale": {"LC_ALL": "C.utf8", "LANG": "tr_TR.UTF-8", "PYTHONUTF8": "0"},
    "time zone": {"TZ": "Pacific/Kiritimati"},
    "older processor": {"NPY_DISABLE_CPU_FEATURES": " ".join(name for name in FASTER if __cpu_features__[name])},
}
ALL = {name: value for one in OTHERS.values() for name, value in one.items()}
PUBLISHED = ("calendars", "calendar.ics", "plan.csv", "blocks.csv", "series")


def planned(text, folder, **environment):
    """Relative path -> bytes of what a plan of the site publishes."""
    folder.mkdir()
    (folder / "site.toml").write_text(text, encoding="utf-8")
    done = gridpace("plan", "site.toml", "--out", "week", "--issued-at", ISSUED, "--offline", cwd=folder, **environment)
    assert done.returncode == 0, done.stderr
    files = [Path(folder / "week" / name) for name in PUBLISHED]
    files = [file for path in files for file in (path.rglob("*") if path.is_dir() else (path,)) if file.is_file()]
    assert len(files) >= len(PUBLISHED) + 1
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_another_machine_publishes_the_same_bytes(tmp_path):
    here, there = planned(MINI, tmp_path / "here", **PLAIN), planned(MINI, tmp_path / "there", **PLAIN | ALL)
    assert here == there


@pytest.mark.deep
@pytest.mark.parametrize("what", OTHERS)
def test_each_setting_alone_changes_no_byte_of_a_site_with_all_kinds(what, tmp_path):
    here = planned(starter_site(), tmp_path / "here", **PLAIN)
    assert planned(starter_site(), tmp_path / "there", **PLAIN | OTHERS[what]) == here
