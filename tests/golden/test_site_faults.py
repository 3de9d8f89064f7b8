"""A site file with twelve faults: each is told once, with its line and its mend, in words that stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.config import SiteFaults, site_from_text

HERE = Path(__file__).parent


def _faults(name):
    text = (HERE / f"{name}.toml").read_text(encoding="utf-8")
    with pytest.raises(SiteFaults) as caught:
        site_from_text(text, Path(f"{name}.toml"))
    return text.splitlines(), caught.value


def test_twelve_faults_read_as_agreed():
    _, error = _faults("twelve-faults")
    assert str(error) + "\n" == (HERE / "twelve-faults.txt").read_text(encoding="utf-8")


def test_twelve_faults_are_all_there_each_with_its_line_and_a_mend():
    lines, error = _faults("twelve-faults")
    assert len(error.faults) == 12
    for fault in error.faults:
        assert fault.fix
        assert fault.line is not None
        last_key = fault.key.rpartition(".")[2]
        assert last_key in lines[fault.line - 1], fault
    assert error.exit_code == 2


def test_a_liquid_limit_at_which_chip_cases_break_theirs_reads_as_agreed():
    _, error = _faults("hot-chip-cases")
    assert str(error) + "\n" == (HERE / "hot-chip-cases.txt").read_text(encoding="utf-8")


def test_its_mend_mends_it():
    text = (HERE / "hot-chip-cases.toml").read_text(encoding="utf-8")
    site_from_text(text.replace("supply_limit_c = 48", "supply_limit_c = 43.3"), Path("mended.toml"))
