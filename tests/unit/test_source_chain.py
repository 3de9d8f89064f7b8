"""A source and those that stand in for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from planner.config import SiteFaults, site_from_text, starter_site
from planner.config.providers import providers
from planner.errors import AuthError, ConfigError, DataUnavailable
from planner.sources.chain import Chain, Link, shared_upstreams
from planner.sources.registry import open_source
from planner.sources.rows import add_flag, make_series
from planner.sources.series import STALE

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def series(source, value=100.0, *, hours=24, age=timedelta(0), stale=False, kind="forecast"):
    starts = pd.date_range(NOW, periods=hours, freq="h")
    rows = pd.DataFrame({"t_start": starts, "t_end": starts + HOUR, "value": value, "kind": kind, "flags": ""})
    return make_series(
        signal="carbon",
        zone="X",
        rows=add_flag(rows, STALE) if stale else rows,
        source=source,
        licence="own",
        basis="direct",
        fetched_at=NOW - age,
    )


class Fixed:
    """A source that gives one thing."""

    def __init__(self, given, name="fixed"):
        self.given, self.name, self.asked = given, name, 0

    def fetch(self, signal, zone, start, end):
        self.asked += 1
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def chain(*given):
    names = ("electricity-maps", "energy-charts", "entsoe", "eia")
    links = tuple(Link(name, Fixed(one), "X") for name, one in zip(names, given, strict=False))
    return Chain(links, lambda: NOW)


def fetch(of):
    return of.fetch("carbon", NOW, NOW + 24 * HOUR)


def test_the_first_is_taken_as_it_is_and_the_others_are_not_asked():
    of = chain(series("first"), series("second"))
    assert fetch(of) is of.links[0].source.given
    assert of.links[1].source.asked == 0


@pytest.mark.parametrize("fault", [DataUnavailable("first is down"), AuthError("first is down")])
def test_the_next_is_taken_flagged_and_told_with_its_age_and_why(fault):
    got = fetch(chain(fault, series("second", age=timedelta(minutes=30))))
    assert set(got.rows["flags"]) == {"fallback"}
    (told,) = got.told
    assert told.startswith("Fallback: carbon is from second, fetched 2026-03-04T11:30:00Z (0.5 h old), because ")
    assert told.endswith(" electricity-maps: first is down.")


def priced(source, currency):
    one = series(source, 0.1)
    return replace(one, signal="price", unit=f"{currency}/kWh", basis="")


def test_a_stand_in_in_another_currency_or_of_another_basis_is_passed_over():
    of = replace(chain(DataUnavailable("down"), priced("second", "GBP"), priced("third", "EUR")), currency="EUR")
    got = of.fetch("price", NOW, NOW + 24 * HOUR)
    assert got.source == "third"
    assert got.told[0].endswith("down; energy-charts: second is in GBP/kWh, wanted is EUR.")
    of = replace(chain(DataUnavailable("down"), series("second"), series("third")), basis="lifecycle")
    with pytest.raises(DataUnavailable, match="energy-charts: second is of basis 'direct', wanted is 'lifecycle'; ent"):
        fetch(of)
    # The first source is not held against it: who asks for it says so, as a fault of the site file.
    first = replace(chain(priced("first", "GBP"), priced("second", "EUR")), currency="EUR")
    assert first.fetch("price", NOW, NOW + 24 * HOUR).source == "first"


def test_a_stand_in_that_cannot_be_asked_is_passed_over_and_a_first_that_cannot_is_a_fault():
    strange = ConfigError("has no zone 'X'")
    assert fetch(chain(DataUnavailable("down"), strange, series("third"))).source == "third"
    with pytest.raises(DataUnavailable, match="electricity-maps: down; energy-charts: has no zone 'X'"):
        fetch(chain(DataUnavailable("down"), strange))
    with pytest.raises(ConfigError, match="has no zone 'X'"):
        fetch(chain(strange, series("second")))


def test_fresh_from_a_fallback_goes_before_stale_from_the_first():
    got = fetch(chain(series("first", stale=True, age=9 * HOUR), series("second")))
    assert got.source == "second"
    assert "because electricity-maps has only its last good answer." in got.told[0]


def test_where_none_is_fresh_the_latest_of_the_last_good_answers_is_taken():
    both = (series("first", stale=True, age=9 * HOUR), series("second", stale=True, age=2 * HOUR))
    got = fetch(chain(*both))
    assert got.source == "second"
    assert set(got.rows["flags"]) == {"stale;fallback"}
    assert fetch(chain(*both[::-1])).told == ()


def test_where_all_fail_each_is_named_and_who_fails_together():
    with pytest.raises(DataUnavailable) as caught:
        fetch(
            chain(DataUnavailable("a is down"), DataUnavailable("b is down", why="no link"), DataUnavailable("c too"))
        )
    assert caught.value.what == (
        "no source has carbon: electricity-maps: a is down; energy-charts: b is down; entsoe: c too"
    )
    assert caught.value.why == "energy-charts and entsoe both stand on ENTSO-E and fail together; no link"


def test_a_single_source_says_its_own_error():
    fault = AuthError("the key is refused")
    with pytest.raises(AuthError) as caught:
        fetch(chain(fault))
    assert caught.value is fault


def test_providers_of_one_upstream_are_found():
    assert shared_upstreams(("energy-charts", "eia", "entsoe")) == (("ENTSO-E", ("energy-charts", "entsoe")),)
    assert shared_upstreams(("energy-charts", "eia", "csv")) == ()


# --- in a site file ------------------------------------------------------------------------------------------------


def site(sources, *changes):
    text = starter_site().replace("# Without [sources]", f"{sources}\n# Without", 1)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return site_from_text(text, Path("site.toml"))


CHAIN = """[sources.carbon]
provider = "energy-charts"
zone = "DE-LU"

[[sources.carbon.fallback]]
provider = "electricity-maps"
zone = "DE"
"""


def test_a_chain_is_read_from_a_site_file():
    assert site(CHAIN).sources.carbon.fallback[0].zone == "DE"
    assert not [w for w in site(CHAIN).warnings if "fail together" in w]


def test_providers_that_fail_together_are_told():
    text = CHAIN.replace('"electricity-maps"', '"entsoe"').replace('zone = "DE"', 'zone = "DE-LU"')
    assert (
        "Providers energy-charts and entsoe of carbon both stand on the data of ENTSO-E: they fail together."
        in site(text).warnings
    )


@pytest.mark.parametrize(
    ("old", "new", "place", "told"),
    [
        (
            "electricity-maps",
            "open-meteo",
            "[0].provider",
            "open-meteo gives weather, not carbon",
        ),
        ("electricity-maps", "watttime", "[0]", "watttime gives marginal carbon, not carbon"),
        ("electricity-maps", "electricitymaps", "[0].provider", "did you mean"),
        ('zone = "DE"', 'zone = "DE"\nbasiss = "direct"', "[0]", "has no option 'basiss'"),
        (
            'zone = "DE"',
            'basis = "lifecycle"',
            "[0]",
            "of basis 'lifecycle'; the site counts 'direct'",
        ),
    ],
)
def test_a_fault_in_a_fallback_is_told_with_its_place(old, new, place, told):
    with pytest.raises(SiteFaults) as caught:
        site(CHAIN.replace(old, new))
    assert f"sources.carbon.fallback{place}" in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("provider", ["uk-carbon-intensity", "energy-charts", "eia", "electricity-maps"])
def test_a_provider_that_can_counts_what_the_site_counts(provider):
    named = f'[sources.carbon]\nprovider = "{provider}"\n'
    made = site(named, ('basis = "direct"', 'basis = "lifecycle"'))
    (carbon, *_) = providers(
        made.sources, made.place, made.carbon.basis, Path(), price_wanted=False, sun_wanted=False, wind_wanted=False
    ).values()
    assert open_source(carbon.spec, offline=True).basis == "lifecycle"
    with pytest.raises(SiteFaults, match="of basis 'direct'; the site counts 'lifecycle'"):
        site(f'{named}basis = "direct"\n', ('basis = "direct" #', 'basis = "lifecycle" #'))


def test_prices_of_electricity_maps_are_named_in_a_site_file():
    named = (
        '[sources.price]\nprovider = "electricity-maps"\nzone = "DE"\nprices = "modelled"\ngranularity = "15_minutes"\n'
    )
    made = site(named)
    (price,) = [
        one
        for one in providers(
            made.sources, made.place, made.carbon.basis, Path(), price_wanted=True, sun_wanted=False, wind_wanted=False
        ).values()
        if one.group == "price"
    ]
    source = open_source(price.spec, offline=True)
    assert (source.prices, source.granularity, price.zone) == ("modelled", "15_minutes", "DE")
    with pytest.raises(SiteFaults, match="prices is 'model'; allowed are published, modelled"):
        site(named.replace("modelled", "model"))
