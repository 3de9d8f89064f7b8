"""Seconds from a failure of cooling to a case temperature, beside the reference case, and what they cost to find."""

from __future__ import annotations

import sys
import time

import numpy as np

from tests.bench.machine import describe, table
from tests.loops import loop_kj_per_k
from thermal.transient import Event, LoopInertia, LoopOperation, ride_through_row, time_to_limit_s

RATED_KW = 1_000.0
SUPPLY_C = 40.0
RISE_K = 21.7  # OCP OAI 2023, 25 % propylene glycol at 1.5 L/min per kW: 0.0217 K/W, 1 kW chips
LIMITS_C = (75.0, 85.0)
RESTART_S = 600.0
REFERENCE = (
    (Event.PUMP_LOSS, 1.0, (5.0, 9.0)),
    (Event.PUMP_LOSS, 0.4, (25.0, 35.0)),
    (Event.CDU_LOSS, 1.0, (77.0, 140.0)),
    (Event.REJECTION_LOSS, 1.0, (612.0, 1008.0)),
)
LOOPS = {
    "all on the supply side": LoopInertia(RATED_KW, facility_supply_l_per_kw=7.92, facility_return_l_per_kw=0.08),
    "half in the return leg": LoopInertia(RATED_KW, facility_supply_l_per_kw=4.0, facility_return_l_per_kw=4.0),
}
HOURS, LOADS = 168, 20


def main(arguments: list[str]) -> None:
    """Print the tables; takes no options."""
    if arguments:
        sys.exit(f"transient takes no options, not {arguments}")
    print(describe(), end="\n\n")
    print("1.5 m3/MW in the rack loop, 8 m3/MW in the facility loop, 40 C to the racks, 36 C to the CDU:\n")
    rows = []
    for event, load, reference_s in REFERENCE:
        for water, inertia in LOOPS.items():
            found_s = time_to_limit_s(event, inertia, _operation(load), LIMITS_C)
            rows.append(
                [
                    event.value,
                    f"{100 * load:.0f} %",
                    water,
                    " / ".join(f"{s:,.1f}" for s in found_s),
                    " / ".join(f"{s:,.0f}" for s in reference_s),
                    " / ".join(f"{100 * (s / r - 1):+.0f} %" for s, r in zip(found_s, reference_s, strict=True)),
                ]
            )
    print(table(["lost", "load", "facility water", "s to 75 / 85 C", "reference", "difference"], rows))
    print(
        "\nThe reference has one facility node, at the supply temperature, and counts whole seconds.\n"
        "Water that is in the return leg starts warmer and takes up less heat until the limit.\n"
    )
    _print_ride_through()
    _print_cost()


def _operation(load: float) -> LoopOperation:
    return LoopOperation(load * RATED_KW, SUPPLY_C, 100.0, 100.0, RISE_K, 4.0, 30.0)


def _print_ride_through() -> None:
    rows = []
    for water, inertia in LOOPS.items():
        row = ride_through_row(Event.REJECTION_LOSS, inertia, _operation(1.0), RESTART_S, LIMITS_C[0])
        # one lump for the whole loop: q restart = C (limit - supply - rise q / rated), solved for q
        room_k = LIMITS_C[0] - SUPPLY_C
        lump_kw = loop_kj_per_k(inertia) * room_k / (RESTART_S + loop_kj_per_k(inertia) * RISE_K / RATED_KW)
        exact_kw = float(row.room_k / row.rise_k_per_kw)
        rows.append([water, f"{exact_kw:.0f}", f"{lump_kw:.0f}"])
    print(
        table(
            [
                "facility water",
                f"kW per MW for {RESTART_S:.0f} s to 75 C",
                "by C (T_lim - T_op) / t",
            ],
            rows,
        )
    )


def _print_cost() -> None:
    load = np.linspace(0.05, 1.1, LOADS)[:, None, None]
    ambient_c = np.linspace(-10.0, 45.0, HOURS)[:, None]
    flow = np.maximum(load, 0.4)
    supply_c, rise_k = np.maximum(SUPPLY_C, ambient_c + 5.0), 10.0 / flow + 12.0
    week = LoopOperation(load * RATED_KW, supply_c, 100.0 * flow, 100.0 * flow, rise_k, 4.0, ambient_c)
    inertia = LoopInertia(RATED_KW, passive_w_per_kw_per_k=10.0)
    rows = []
    for event in Event:
        begin_s = time.perf_counter()
        found_s = time_to_limit_s(event, inertia, week, LIMITS_C)
        took_s = time.perf_counter() - begin_s
        never = np.isinf(found_s).mean()
        rows.append([event.value, f"{found_s.size:,}", f"{took_s:.3f}", f"{100 * never:.0f} %"])
    print(
        f"\n{LOADS} loads with flows that follow them x {HOURS} ambients x {len(LIMITS_C)} limits, natural draught:\n"
    )
    print(table(["lost", "times found", "s", "never reached"], rows))


if __name__ == "__main__":
    main(sys.argv[1:])
