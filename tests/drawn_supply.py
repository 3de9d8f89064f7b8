"""What a drawn site may have besides blocks, pools and runs: own supply, storage, contracts, agreements, failures."""

from __future__ import annotations

from hypothesis import strategies as st

ODD = (
    "grid", "units", "unit", "load", "up", "initial", "permit", "fuel", "export", "sale", "contract", "strike", "take",
    "tank", "pump", "heat", "reserve", "failures", "confidence", "share",
)  # fmt: skip
"""What may have an absurd value, besides those of `tests.drawn_sites`."""


def block_keys(draw, value, size_kw):
    """Lines of a block's own table."""
    lines = []
    if draw(st.booleans()):
        lines.append(f"grid_kw = {size_kw * value('grid', [0.6, 0.9], [0.0, 0.05, 2.0])}")
    if draw(st.booleans()):
        lines.append("cooling_n1 = true")
    return lines


def cooling_keys(draw, value, size_kw, kind):
    """Settings of a plant beside its kind and rating, and the table of who buys its heat."""
    told, heat = "", []
    if kind != "room_air" and draw(st.booleans()):
        told += f", store_volume_m3 = {size_kw * value('tank', [0.05, 0.2], [1e-4, 50.0])}"
    if kind != "room_air" and draw(st.booleans()):
        told += f", heat_pump_capacity_share = {value('pump', [0.1, 0.3], [1e-3, 1.0])}, heat_pump_supply_c = 70"
        heat = [f"[block.heat]\nprice_per_kwh = {value('heat', [0.03], [0.0, 2.0])}\ndemand_kw = {0.2 * size_kw}"]
    return told, heat


def battery_keys(draw, value, final_share):
    """What follows a battery's other keys."""
    lines = []
    if draw(st.booleans()):
        lines.append(f"reserve_min = {value('reserve', [2.0, 5.0], [60.0, 600.0])}")
    if draw(st.booleans()):
        lines.append("grid_charging = false")
    if draw(st.booleans()):
        lines.append('final_rule = "free"\nfinal_worth_per_kwh = 0.05')
    else:
        lines.append(f"final_share = {final_share}")
    return lines


def block_tables(draw, value, size_kw):
    """Tables behind a block's meter."""
    lines = []
    if draw(st.booleans()):
        lines.append(f"[block.wind]\nrated_kw = {0.3 * size_kw}\nhub_height_m = 100")
    if draw(st.booleans()):
        units = value("units", [1, 2, 4], [40])
        lines.append(
            f'[[block.generator]]\nname = "sets"\nunits = {units}\n'
            f"unit_kw = {size_kw * value('unit', [0.2], [1e-4, 5.0])}\n"
            f"min_load_share = {value('load', [0.3, 0.5], [0.0, 1.0])}\nmin_up_h = {value('up', [1, 3], [0, 200])}\n"
            f"initial_units = {value('initial', [0, 1], [units])}\nstart_cost = 3.0\n"
            f"fuel_cost_per_kwh = {value('fuel', [0.06, 0.2], [0.0, 9.0])}\n"
            "direct_gco2_per_kwh = 500\nlifecycle_gco2_per_kwh = 560"
        )
        permit = value("permit", [None, 60.0], [0.0, 0.5])
        lines += [] if permit is None else [f"max_unit_h = {permit}"]
    if draw(st.booleans()):
        lines.append(
            f"[block.export]\nlimit_kw = {size_kw * value('export', [0.3], [0.0, 10.0])}\n"
            f"price_share = {value('sale', [0.9, 1.0], [0.0])}"
        )
    return lines


def site_tables(draw, value, size_kw):
    """Contracts and agreements of the whole site."""
    text = ""
    for i in range(draw(st.integers(0, 2))):
        kw, price = size_kw * value("contract", [0.2, 0.5], [1e-3, 5.0]), value("strike", [0.05, 0.08], [0.0, 3.0])
        profile, offered = draw(st.sampled_from(["base", "peak"])), draw(st.sampled_from(["", "offered = true\n"]))
        text += (
            f'\n[[contract]]\nname = "contract-{i}"\nkw = {kw}\nprice_per_kwh = {price}\nprofile = "{profile}"\n'
            f"min_take_share = {value('take', [0.0, 0.8], [1.0])}\n{offered}"
        )
        if offered and draw(st.booleans()):
            text += "all_or_none = true\n"
    if draw(st.booleans()):
        text += (
            f'\n[[ppa]]\nname = "farm"\nkind = "as_produced"\nstrike_per_kwh = {value("strike", [0.05], [0.0, 3.0])}\n'
            f"sale_share = 0.9\nshare = {value('share', [0.5], [1e-3])}\nsolar = {{ peak_kw = {0.5 * size_kw} }}\n"
        )
    return text


def run_keys(draw, value):
    """What follows a run's other keys."""
    if not draw(st.booleans()):
        return []
    rate, wanted = value("failures", [1e-4, 2e-3], [1e-9, 0.5]), value("confidence", [0.5, 0.9], [0.9999])
    return [f"goodput = {{ failures_per_gpu_day = {rate}, restart_s = 600, deadline_confidence = {wanted} }}"]
