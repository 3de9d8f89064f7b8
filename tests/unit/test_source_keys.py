"""Keys are found, never shown."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from planner.errors import AuthError
from planner.sources.keys import Secret, find_key, need_key, variable, without


@pytest.fixture
def ring(monkeypatch):
    """A keyring package that keeps what the test puts in."""
    kept = {}
    package, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    errors.KeyringError = type("KeyringError", (Exception,), {})
    package.__spec__, errors.__spec__ = ModuleSpec("keyring", None), ModuleSpec("keyring.errors", None)

    def get_password(service, name):
        if kept.get("locked"):
            raise errors.KeyringError
        return kept.get((service, name))

    package.get_password = get_password
    monkeypatch.setitem(sys.modules, "keyring", package)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    monkeypatch.delenv("GRIDPACE_EIA_KEY", raising=False)
    return kept


def test_the_environment_goes_before_the_keyring(ring, monkeypatch):
    assert find_key("eia") == (None, "")
    ring["gridpace", "eia"] = "from the ring"
    assert find_key("eia") == (Secret("from the ring"), "keyring")
    monkeypatch.setenv("GRIDPACE_EIA_KEY", " from the environment\n")
    assert find_key("eia") == (Secret("from the environment"), "environment")


def test_a_locked_keyring_is_no_crash(ring):
    ring["locked"] = True
    assert find_key("eia") == (None, "")


def test_a_missing_key_says_where_to_put_it(ring):
    assert variable("electricity-maps") == "GRIDPACE_ELECTRICITY_MAPS_KEY"
    with pytest.raises(AuthError, match=r"EIA needs a key, and none is there") as caught:
        need_key("eia", "EIA")
    assert "GRIDPACE_EIA_KEY" in caught.value.fix
    assert "keyring set gridpace eia" in caught.value.fix


def test_a_secret_is_shown_nowhere():
    secret = Secret("s3cret/+ &")
    assert "s3cret" not in f"{secret} {secret!r} {[secret]}"
    told = "a s3cret/+ & b s3cret%2F%2B%20%26 c s3cret%2F%2B+%26"
    assert without(told, (secret,)) == "a *** b *** c ***"
