"""Every source finds a key."""

from __future__ import annotations

import pytest

from tests.feeds import KEYS


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
