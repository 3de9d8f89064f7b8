"""The starter site, changed for a test, and what is wrong with it then."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.config import SiteFaults, site_from_text, starter_site

SITES = ("lab-8gpu", "block-20mw", "superfactory")
FILE = Path("site.toml")


def edited(*changes):
    """Return the starter site with each (old, new) put in place."""
    text = starter_site()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def faults_of(text, file=FILE):
    with pytest.raises(SiteFaults) as caught:
        site_from_text(text, file)
    return caught.value.faults


def site_of(*changes):
    return site_from_text(edited(*changes), FILE)


def assert_told(old, new, words):
    """One fault of the starter site with `new` in place of `old` is told, once, on its line, with a mend."""
    (fault,) = faults_of(edited((old, new)))
    assert words in f"{fault.what} {fault.fix}"
    assert fault.fix
    assert fault.line is not None
