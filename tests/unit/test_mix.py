"""A mix times factors: by hand, with gaps, and where it must refuse."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from planner.errors import ConfigError, SchemaChanged
from planner.sources.fuels import FUELS, MIX_BASES, fuel_factors
from planner.sources.jumps import jump_of
from planner.sources.mix import mix_intensity
from planner.sources.rows import NoValues

START = datetime(2024, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
OF = {"gas": "gas", "coal": "coal", "wind": "wind"}


def parts(step=HOUR, **types):
    rows = [
        (START + i * step, START + (i + 1) * step, name, np.nan if value is None else value, "actual")
        for name, values in types.items()
        for i, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["t_start", "t_end", "part", "value", "kind"])


def mixed(*tables, basis="direct"):
    return mix_intensity(pd.concat(tables, ignore_index=True), OF, fuel_factors(basis), "S: carbon of X")


def test_the_sets_are_those_of_the_reference():
    life, direct = fuel_factors("lifecycle").gco2_per_kwh, fuel_factors("direct").gco2_per_kwh
    assert (life["coal"], life["gas"], life["nuclear"], life["solar"], life["unknown"]) == (820, 490, 12, 45, 700)
    assert (direct["coal"], direct["gas"], direct["oil"], direct["biomass"], direct["unknown"]) == (
        760,
        370,
        406,
        0,
        575,
    )
    assert all(life[fuel] >= direct[fuel] for fuel in FUELS)
    assert [fuel_factors(basis).basis for basis in MIX_BASES] == list(MIX_BASES)
    with pytest.raises(ConfigError, match="no fuel factors of basis 'marginal'"):
        fuel_factors("marginal")


def test_shares_times_factors():
    rows = mixed(parts(gas=[1, 3], wind=[3, 1]))
    assert rows.value.tolist() == [0.25 * 370, 0.75 * 370]
    assert rows.t_start.tolist() == [START, START + HOUR]
    assert rows["flags"].tolist() == ["", ""]


def test_types_of_different_resolution_are_laid_on_the_finest():
    rows = mixed(parts(gas=[100.0]), parts(timedelta(minutes=15), wind=[100.0, 300.0, 0.0, 100.0]))
    assert rows.value.tolist() == [185.0, 92.5, 370.0, 185.0]


def test_a_negative_generation_counts_as_none():
    assert mixed(parts(gas=[100], wind=[-900])).value.tolist() == [370.0]


def test_a_type_that_never_reports_is_not_missing():
    rows = mixed(parts(gas=[1, 1], wind=[1, 1], coal=[None, None]))
    assert rows["flags"].tolist() == ["", ""]


def test_a_small_missing_part_is_flagged_and_a_large_one_is_a_gap():
    rows = mixed(parts(gas=[96, 96, None], coal=[4, None, 4], wind=[0, 0, 0]))
    assert rows.value.tolist() == pytest.approx([0.96 * 370 + 0.04 * 760, 370.0])
    assert rows["flags"].tolist() == ["", "partial_mix"]


def test_nothing_generated_is_no_row_and_all_null_is_no_value():
    assert len(mixed(parts(gas=[0, 1]))) == 1
    with pytest.raises(NoValues, match="every value of the mix is null"):
        mixed(parts(gas=[None]))
    with pytest.raises(NoValues, match="no interval has a whole mix"):
        mixed(parts(gas=[0]))


def test_two_values_of_one_type_and_time_are_refused_and_two_alike_are_one():
    assert mixed(parts(gas=[1]), parts(gas=[1], wind=[1])).value.tolist() == [185.0]
    with pytest.raises(SchemaChanged, match="S: carbon of X: gas at 2024-01-01T00:00:00Z is 1 and 2"):
        mixed(parts(gas=[1]), parts(gas=[2]))


def test_a_jump_of_all_generation_is_named_with_its_first_row():
    with pytest.raises(SchemaChanged, match="all generation at 2024-01-01T08:00:00Z is 100000 where 100 is usual"):
        mixed(parts(gas=[50] * 8 + [50_000] * 2, wind=[50] * 8 + [50_000] * 2))


def day_rows(*days):
    values = [value for day in days for value in day]
    return pd.DataFrame({"t_start": pd.date_range(START, periods=len(values), freq="h"), "value": values})


def test_a_change_of_unit_is_found_and_calm_days_are_none():
    busy = [40.0 + hour for hour in range(24)]
    assert jump_of(day_rows(busy, [v / 1000 for v in busy])) == (START + 24 * HOUR, 51.5, 0.0515)
    assert jump_of(day_rows([v / 1000 for v in busy], busy))[0] == START + 24 * HOUR
    near_zero = [(-1.0) ** hour * 0.01 * hour for hour in range(24)]
    assert jump_of(day_rows(busy, near_zero, busy)) is None
    assert jump_of(day_rows(busy, [-v for v in busy])) is None
    assert jump_of(day_rows([0.0] * 24, busy)) is None
    assert jump_of(day_rows(busy[:5], [1e5] * 5)) is None


def test_a_change_of_unit_within_a_day_is_found_at_its_row():
    busy = [40.0 + hour for hour in range(24)]
    small = [value / 1000 for value in busy]
    for hour in (1, 6, 12, 18, 23):
        mixed_day = small[:hour] + busy[hour:]
        assert jump_of(day_rows(small, small, mixed_day, busy, busy)) == (START + (48 + hour) * HOUR, 0.0515, 51.5)
        assert jump_of(day_rows(busy, busy[:hour] + small[hour:], small))[0] == START + (24 + hour) * HOUR
    assert jump_of(day_rows(small, small, busy, busy))[0] == START + 48 * HOUR
    near_zero = [(-1.0) ** hour * 0.01 * hour for hour in range(24)]
    assert jump_of(day_rows(busy, near_zero, near_zero, busy)) is None


def test_what_stands_twice_alike_is_flagged_where_it_does():
    rows = mixed(parts(gas=[1, 1], wind=[1, 1]), parts(gas=[1]))
    assert rows["flags"].tolist() == ["duplicate_resolved", ""]
    quarters = mixed(parts(gas=[100.0]), parts(timedelta(minutes=15), gas=[100.0] * 4, wind=[100.0] * 4))
    assert quarters.value.tolist() == [185.0] * 4
    with pytest.raises(SchemaChanged, match="gas at 2024-01-01T00:15:00Z is 100 and 300"):
        mixed(parts(gas=[100.0]), parts(timedelta(minutes=15), gas=[100.0, 300.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        (7, "gas at 2024-01-01T00:00:00Z is a row of 60 min"),
        (-30, "wind at 2024-01-01T00:00:00Z is a row of -30"),
        (4_000_000_000, "wind at 2024-01-01T00:00:00Z is a row of 4e"),
    ],
)
def test_lengths_that_do_not_go_together_are_told(minutes, told):
    with pytest.raises(SchemaChanged, match=f"S: carbon of X: {told}"):
        mixed(parts(gas=[1.0]), parts(timedelta(minutes=minutes), wind=[1.0]))
