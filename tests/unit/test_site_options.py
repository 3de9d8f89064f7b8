"""Every wish of a site file about how plans are made reaches the planner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.config import site_from_text
from planner.errors import ConfigError
from planner.optimize import PlanOptions
from planner.site_options import site_options
from tests.mini_site import MINI


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    asked = '[plan]\ngap_target = 0.02\ntime_limit_s = 33\nmethod = "scale"\nwindows_h = 48\n\n[prices]'
    text = MINI.replace("[prices]", asked, 1)
    return site_from_text(text, tmp_path_factory.mktemp("site") / "site.toml")


def test_what_the_file_says_is_asked_for(site):
    assert site_options(site) == PlanOptions(gap_target=0.02, time_limit_s=33.0, method="scale", windows_h=48.0)


def test_what_is_named_takes_its_place(site):
    assert site_options(site, 0.0, 5.0) == replace(site_options(site), gap_target=0.0, time_limit_s=5.0)
    with pytest.raises(ConfigError, match="time"):
        site_options(site, time_limit_s=-1.0)
