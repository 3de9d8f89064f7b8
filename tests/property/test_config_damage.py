"""However a site file is damaged, the reader gives a site or says what is wrong: it never crashes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.config import Site, SiteFaults, site_from_text, starter_site
from planner.config.faults import FaultList
from planner.config.runs_csv import read_runs
from planner.errors import ConfigError

LINES = starter_site().split("\n")
KEYS = [i for i, line in enumerate(LINES) if "=" in line and not line.startswith("#")]
VALUES = [
    *(
        "-1",
        "0",
        "1e308",
        "1e400",
        "nan",
        "inf",
        "true",
        '""',
        '"x"',
        "[]",
        "[1]",
        "{}",
        "{ a = 1 }",
        "[[1]]",
        "9" * 400,
    ),
    *(
        "2024-05-17",
        "12:00:00",
        "2024-05-17T18:00:00Z",
        "0001-01-01T00:00:00",
        "9999-12-31T23:59:59",
        '"\\u0000"',
        "0.5",
    ),
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), min_size=1, max_size=4))
def test_any_value_at_any_key(changes):
    lines = list(LINES)
    for at, value in changes:
        lines[at] = f"{lines[at].split('=')[0]}= {value}"
    _read("\n".join(lines))


@settings(max_examples=100, deadline=None)
@given(st.sets(st.integers(0, len(LINES) - 1), min_size=1, max_size=6), st.integers(0, len(LINES) - 1))
def test_any_lines_missing_and_one_twice(missing, twice):
    kept = [line for i, line in enumerate(LINES) if i not in missing]
    _read("\n".join([*kept[:twice], LINES[twice], *kept[twice:]]))


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='name,gpustokens_l;=@"\n\r 0123456789eE.+-T:nä', max_size=120))
def test_any_rows(text):
    header = "name,gpus,stages,tokens_per_gpu_s\n"
    faults = FaultList("runs.csv", {})
    for run in read_runs(header + text, faults):
        assert run.sound("name") or faults.found


def _read(text):
    told = None
    try:
        assert isinstance(site_from_text(text, Path("site.toml")), Site)
    except ConfigError as error:
        told = error
    if isinstance(told, SiteFaults):
        assert all(fault.what and fault.fix for fault in told.faults)
    elif told is not None:
        assert "no sound TOML" in told.what
