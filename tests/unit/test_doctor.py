"""What the doctor asks of the packages around it."""

from __future__ import annotations

import pytest

from planner import doctor


@pytest.mark.parametrize(
    "marker", ['extra == "keyring"', "extra=='keyring'", 'python_version > "3" and extra == "all"']
)
def test_a_package_of_an_extra_may_be_absent(monkeypatch, marker):
    monkeypatch.setattr(doctor, "requires", lambda _: ["numpy>=2", f"no-such-package>=1; {marker}"])
    good, told = doctor._packages()
    assert good
    assert told.endswith("with its 1 packages")


def test_a_package_that_is_needed_is_named(monkeypatch):
    monkeypatch.setattr(doctor, "requires", lambda _: ["numpy>=2", "no-such-package>=1"])
    assert doctor._packages() == (False, "missing: no-such-package; install gridpace again")
