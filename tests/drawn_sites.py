"""Site files drawn at random, sound ones and absurd ones, and what every one of them must come to."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import strategies as st

from planner.config import SiteFaults, site_from_text
from planner.errors import ConfigError, Infeasible
from planner.gather import gather
from planner.optimize import PlanOptions
from planner.pipeline import plan_week
from tests import drawn_supply

NOW = datetime(2024, 5, 12, 18, tzinfo=UTC)
MONDAY = datetime(2024, 5, 12, 22, tzinfo=UTC)
QUICK = PlanOptions(gap_target=0.02, time_limit_s=2.0)
ENOUGH = 1e-6
HEAD = """
[site]
name = "drawn"
timezone = "Europe/Berlin"
latitude = 51.0
longitude = 10.0
zone = "{zone}"
currency = "{currency}"

[horizon]
slot_minutes = 60
week = "2024-W20"

[prices]
carbon_per_t = {carbon}
lateness_per_gpu_h = {late}
water_per_m3 = {water}

[tariff]
adder_per_kwh = {adder}
demand_charge_per_kw_month = {demand}
"""
CURRENCY = {"demo-central": "EUR", "demo-north-sea": "GBP", "demo-sunbelt": "USD"}
GANGS = (8, 16, 32, 64)
ODD = (
    "carbon", "late", "water", "adder", "demand", "count", "size", "since", "ramp", "maintenance", "length", "left",
    "rated", "solar", "power", "states", "wear", "gpus", "work", "first", "last", "rate", "checkpoint", "reload",
    "min_run", "min_pause", "max_pauses", "running",
)  # fmt: skip
"""What a drawn site may have an absurd value of; at most three are in one."""


def stamp(hours):
    """The instant `hours` after the week's start, as a site file has it."""
    return (MONDAY + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Values:
    """Draws values for keys, from the absurd ones where the key is one of the odd."""

    def __init__(self, draw, odd):
        self._draw = draw
        self._odd = draw(st.sets(st.sampled_from(odd), max_size=3))

    def __call__(self, key, sane, absurd):
        return self._draw(st.sampled_from([*sane, *absurd] if key in self._odd else sane))


@st.composite
def sites(draw, *, most_blocks=2, most_runs=6, supplied=False):
    """The text of a site file of a few blocks, pools and runs; where `supplied`, with own supply and contracts too."""
    value = _Values(draw, (*ODD, *drawn_supply.ODD) if supplied else ODD)
    zone, currency = draw(st.sampled_from(sorted(CURRENCY.items())))
    text = HEAD.format(
        zone=zone,
        currency=currency,
        carbon=value("carbon", [0, 80, 200], [1e6]),
        late=value("late", [2.5, 10.0], [0, 1e-6, 1e6]),
        water=value("water", [0, 3.0], [1e5]),
        adder=value("adder", [0.0, 0.02], [-2.0, 50.0]),
        demand=value("demand", [0, 9.0], [1e4]),
    )
    pools = []
    for b in range(draw(st.integers(1, most_blocks))):
        counts = [value("count", [64, 128, 256], [1, 8, 100_000]) for _ in range(draw(st.integers(1, 2)))]
        size_kw = round(sum(counts) * 1.3 * value("size", [1.0, 1.3], [0.01, 0.15, 0.4, 20.0]), 3)
        text += _block(draw, value, f"hall-{b}", size_kw, supplied=supplied)
        for p, count in enumerate(counts):
            pools.append(f"pool-{b}-{p}")
            since = value("since", [None], [20.3, 100.0, 300.0])
            gpu = draw(st.sampled_from(["H100-SXM", "B200", "A100-SXM"]))
            text += f'\n[[pool]]\nname = "{pools[-1]}"\nblock = "hall-{b}"\ngpu = "{gpu}"\ncount = {count}\n'
            text += "" if since is None else f"in_service_from = {stamp(since)}\n"
    for r in range(draw(st.integers(1, most_runs))):
        text += _run(draw, value, f"run-{r}", pools)
        text += "\n".join(drawn_supply.run_keys(draw, value)) + "\n" if supplied else ""
    return text + (drawn_supply.site_tables(draw, value, size_kw) if supplied else "")


def _block(draw, value, name, size_kw, *, supplied):
    lines = [f'\n[[block]]\nname = "{name}"\ncapacity_kw = {size_kw}']
    ramp = value("ramp", [None, 0.05], [1e-7, 0.0008, 100.0])
    if ramp is not None:
        lines.append(f"ramp_kw_per_min = {ramp * size_kw}")
    if draw(st.booleans()):
        first = value("maintenance", [30.0, 60.5], [-100.0, 0.0, 150.0])
        last, left = first + value("length", [6.0], [0.25, 500.0]), size_kw * value("left", [0.6], [0.0, 0.2])
        lines.append(f"maintenance = [{{ start = {stamp(first)}, end = {stamp(last)}, capacity_kw = {left} }}]")
    kind = draw(st.sampled_from(["dry_cooler", "tower_chiller", "room_air"]))
    rated_kw = size_kw * value("rated", [0.85, 1.0], [0.01, 0.3, 10.0])
    more, heat = drawn_supply.cooling_keys(draw, value, size_kw, kind) if supplied else ("", [])
    lines.append(f'cooling = {{ kind = "{kind}", rated_it_kw = {rated_kw}{more} }}')
    lines += drawn_supply.block_keys(draw, value, size_kw) if supplied else []
    if draw(st.booleans()):
        lines.append(f"[block.solar]\npeak_kw = {size_kw * value('solar', [0.5], [0.001, 30.0])}")
    if draw(st.booleans()):
        power = size_kw * value("power", [0.2], [1e-5, 10.0])
        first, last = value("states", [(0.5, 0.5)], [(0.1, 0.9), (0.9, 0.1)])
        lines.append(
            f"[block.battery]\nenergy_kwh = {size_kw * 0.4}\ncharge_kw = {power}\ndischarge_kw = {power}\n"
            f"wear_cost_per_kwh = {value('wear', [0.02], [0, 5.0])}\ninitial_share = {first}"
        )
        lines += drawn_supply.battery_keys(draw, value, last) if supplied else [f"final_share = {last}"]
    lines += [*drawn_supply.block_tables(draw, value, size_kw), *heat] if supplied else []
    return "\n".join(lines) + "\n"


def _run(draw, value, name, pools):
    gpus, work_h = value("gpus", GANGS, [1, 7, 100_000]), value("work", [5.0, 20.0, 40.0], [0.01, 167.0, 1e4])
    first = value("first", [0.0, 12.0], [-500.0, 90.3, 167.9, 400.0])
    last = value("last", [80.0, 120.0, 168.0, 300.0], [0.5, first + 0.75 * work_h, 8000.0])
    rate = value("rate", [1000, 8400], [1e-3, 1e9])
    tokens = work_h * 3600 * gpus * rate
    wanted = draw(st.lists(st.sampled_from(pools), max_size=3, unique=True))
    stages = [f'{{ name = "all", tokens = {tokens}, deadline = {stamp(last)} }}']
    if draw(st.booleans()):
        stages.insert(
            0, f'{{ name = "start", tokens = {0.3 * tokens}, deadline = {stamp(first + (last - first) / 2)} }}'
        )
    lines = [
        f'\n[[run]]\nname = "{name}"\ngpus = {gpus}\ntokens_per_gpu_s = {rate}',
        f"earliest_start = {stamp(first)}\npriority = {draw(st.integers(1, 5))}",
        f"checkpoint_s = {value('checkpoint', [60, 600], [0, 7200, 1e6])}",
        f"reload_s = {value('reload', [120, 900], [0, 7200, 1e6])}",
        f"min_run_h = {value('min_run', [1, 4], [0.25, 100, 1000])}",
        f"min_pause_h = {value('min_pause', [1, 2], [100, 1000])}",
        f"max_pauses = {value('max_pauses', [0, 2, 6], [100])}",
        f"stages = [{', '.join(stages)}]",
    ]
    if wanted:
        names = ", ".join(f'"{pool}"' for pool in wanted)
        lines.append(f"pools = [{names}]")
        if value("running", [False], [True]):
            lines.append(f'running_in = "{wanted[0]}"')
    return "\n".join(lines) + "\n"


def comes_to(text):
    """Plan a site file, and return what it came to: "refused", "infeasible", "late" or "kept".

    Raises:
        AssertionError: A fault without its mend, a conflict without a name, a broken promise, a run left out or late
            without a word.
    """
    try:
        site = site_from_text(text, Path("site.toml"))
        week = gather(site, now=NOW, offline=True)
    except ConfigError as told:
        return _refused(told)
    try:
        outcome, found = plan_week(week, QUICK, lambda _: nullcontext())
    except Infeasible as told:
        return _named(told, week)
    names = [run.name for run in week.runs]
    left_out = [run.name for run in site.runs if run.name not in names]
    assert all(any(name in label for label in week.labels) for name in left_out)
    assert [run.run for run in outcome.runs] == names
    assert [run.run for run in found.schedule.runs] == names
    assert outcome.evaluation.violations == ()
    assert found.bound <= found.objective + ENOUGH * abs(found.objective)
    told = {(short.run, short.stage) for short in outcome.calendar.shortfalls}
    missed = {
        (run.run, stage.stage)
        for run in outcome.evaluation.runs
        for stage in run.stages
        if stage.tokens < stage.due_tokens * (1.0 - ENOUGH)
    }
    assert missed <= told
    return "late" if told else "kept"


def _refused(told):
    faults = told.faults if isinstance(told, SiteFaults) else (told,)
    assert faults
    assert all(fault.what and fault.fix for fault in faults)
    return "refused"


def _named(told, week):
    """A conflict names its block in every row, and what mends it."""
    assert told.fix
    assert told.conflicts, told.what
    assert all(any(block.name in row for block in week.blocks) for row in told.conflicts)
    return "infeasible"
