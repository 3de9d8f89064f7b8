"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real traces that may not be part of the repository (licences), or the test is skipped."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the shared data folder is not beside the checkout ({SHARED_DATA.parent.name}/{SHARED_DATA.name})")
    return SHARED_DATA
