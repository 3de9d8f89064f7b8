"""Fixtures shared by all tests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

hypothesis.settings.register_profile("gridpace", deadline=None)  # no test fails because a machine is busy
hypothesis.settings.load_profile("gridpace")

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"
NO_SHARED_DATA = "real traces, which their licences keep out of the repository, are not beside the checkout"


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real traces that may not be part of the repository (licences), or the test is skipped."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"{NO_SHARED_DATA} ({SHARED_DATA.parent.name}/{SHARED_DATA.name})")
    return SHARED_DATA


@pytest.fixture
def nvml_twin(tmp_path: Path) -> Generator[Callable[..., Any]]:
    """Makes a twin of NVML, by profile, that lasts as long as the test: see tests/nvml_twin."""
    from tests import nvml_twin as twins

    with contextlib.ExitStack() as made:

        def make(profile: Any = "h100x8", **options: Any) -> twins.Twin:
            try:
                return made.enter_context(twins.nvml_twin(tmp_path, profile, **options))
            except twins.TwinUnavailable as missing:
                pytest.skip(str(missing))

        yield make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where every test has to run; real traces may be absent anywhere."""
    report = yield
    forbidden = os.environ.get("GRIDPACE_FORBID_SKIPS") and NO_SHARED_DATA not in str(report.longrepr)
    if report.skipped and not hasattr(report, "wasxfail") and forbidden:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped where no test may be: {report.longrepr}"
    return report
