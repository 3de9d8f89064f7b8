"""Reports of wrong units and mistaken meanings, shown absent here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import responses

from planner.config import SiteFaults, site_from_text, starter_site
from planner.errors import SchemaChanged
from tests.feed_reports import (
    EIA,
    EM,
    POWER,
    PRICE,
    report,
    utc,
)
from tests.feeds import (
    HOUR,
    NOW,
    eia_answer,
    em_ahead,
    em_past,
    moer_answer,
    opened,
    power_answer,
    price_answer,
    serving,
)


@responses.activate
@report("carbon-aware-sdk#573")
def test_marginal_is_called_marginal_and_average_is_not(report):
    hour = NOW.replace(minute=0)
    responses.add(responses.GET, "https://api.watttime.org/login", json={"token": "t"})
    serving(responses, re.compile(r"https://api\.watttime\.org/v3.*"), lambda p: moer_answer(hour, hour + 72 * HOUR))
    serving(responses, EM, lambda p: em_ahead(hour))
    ahead = (NOW, NOW + 24 * HOUR)
    assert opened("watttime").fetch("carbon", "CAISO_NORTH", *ahead).basis == "marginal"
    assert opened("electricity-maps").fetch("carbon", "DE", *ahead).basis == "direct"
    text = starter_site().replace("# Without [sources]", '[sources.carbon]\nprovider = "watttime"\n# Without')
    with pytest.raises(SiteFaults, match="watttime gives marginal carbon, not carbon"):
        site_from_text(text, Path("site.toml"))


@responses.activate
@report("electricitymaps-contrib#4052")
def test_a_stamp_of_the_hours_end_is_moved_to_its_start(report):
    noon = utc(2026, 3, 3, 20)
    sun = {"NG": 100, "SUN": lambda t: 900 if t == noon else 100}
    serving(responses, EIA, lambda p: eia_answer(utc(2026, 3, 3), utc(2026, 3, 4), fuels=sun))
    rows = opened("eia").fetch("carbon", "CISO", utc(2026, 3, 3), utc(2026, 3, 4)).rows
    assert rows.t_start[rows.value.idxmin()] == noon


@responses.activate
@report("codecarbon#211")
def test_a_clean_zone_is_not_given_the_number_of_another(report):
    mix = {"Nuclear": 650.0, "Hydro_Run-of-River": 140.0, "Fossil_gas": 60.0, "Wind_onshore": 100.0, "Solar": 50.0}
    serving(responses, POWER, lambda p: power_answer(utc(2026, 3, 3), utc(2026, 3, 4), HOUR, **mix))
    french = opened("energy-charts", basis="lifecycle").fetch("carbon", "FR", utc(2026, 3, 3), utc(2026, 3, 4))
    assert set(french.rows.value.round(6)) == {43.91}  # 7.8 + 3.36 + 29.4 + 1.1 + 2.25
    assert {call.request.params["country"] for call in responses.calls} == {"fr"}
    serving(responses, EM, lambda p: em_past(utc(2026, 3, 3), NOW, zone="US-TEX-ERCO", value=lambda t: 424))
    with pytest.raises(SchemaChanged, match="its zone is 'US-TEX-ERCO', asked was 'FR'"):
        opened("electricity-maps").fetch("carbon", "FR", NOW - 24 * HOUR, NOW - HOUR)


@responses.activate
@pytest.mark.parametrize("change", [utc(2026, 3, 3), utc(2026, 3, 2, 15)], ids=["at-midnight", "within-a-day"])
@report("PV_Live-API#49")
def test_a_unit_that_changes_by_a_thousand_is_named_with_its_first_row(report, change):
    serving(
        responses,
        PRICE,
        lambda p: price_answer(
            utc(2026, 3, 1), utc(2026, 3, 4), value=lambda t: (0.05 if t < change else 50.0) * (1 + t.hour / 24)
        ),
    )
    with pytest.raises(
        SchemaChanged, match=f"row of {change:%Y-%m-%dT%H}:00:00Z: price of DE-LU goes from about"
    ) as caught:
        opened("energy-charts").fetch("price", "DE-LU", utc(2026, 3, 1), utc(2026, 3, 4))
    assert "Energy-Charts" in caught.value.what
