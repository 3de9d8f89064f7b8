"""Key figures of the European reporting scheme for data centres, as far as a week can state them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from planner.accounts.carbon import CarbonAccounts

REGULATION = "Commission Delegated Regulation (EU) 2024/1364"
DUTY = (
    "Operators of data centres with an installed IT power demand of 500 kW or more report a calendar year by 15 May of "
    "the next. A week is an interim figure: add up the energies and volumes of the year, then divide."
)

States = Literal["week", "year", "site"]
"""What can state a figure: this account, only a whole year, or only the site's own meters and records."""


@dataclass(frozen=True)
class Indicator:
    """One figure of the scheme.

    Args:
        name: Its short name there, such as "PUE".
        title: What it is.
        value: The figure, or None where this account cannot state it.
        unit: Its unit; "" for a ratio.
        formula: How it is made from the account's columns, or who knows it.
        states: What can state it.
    """

    name: str
    title: str
    value: float | None
    unit: str
    formula: str
    states: States


def eu_indicators(accounts: CarbonAccounts) -> tuple[Indicator, ...]:
    """Return the scheme's indicators: those of this account, and by name those that it cannot state.

    Args:
        accounts: The accounts of a calendar.

    Source:
        Delegated Regulation (EU) 2024/1364, annexes II (E_REUSE: heat used outside the data centre's boundary in the
        stead of other energy) and III (ERF = E_REUSE / E_DC); EN 50600-4-2 (PUE), -4-3 (REF), -4-6 (ERF), -4-9 (WUE).
    """
    site = accounts.site_figures
    total_kwh = site.load_kwh - accounts.stored_kwh
    renewable_kwh = accounts.account.renewable_kwh
    sold_kwh = site.heat_sold_kwh_th
    reuse_states: States = "site" if sold_kwh is None else "week"

    def over(value: float, below: float) -> float | None:
        return value / below if below > 0.0 else None

    return (
        Indicator("E_DC", "Total energy consumption", total_kwh, "kWh", "load_kwh less the change in store", "week"),
        Indicator("E_IT", "Energy of IT equipment", site.it_kwh, "kWh", "it_kwh", "week"),
        Indicator(
            "PUE",
            "Power usage effectiveness",
            over(total_kwh, site.it_kwh),
            "",
            "E_DC / E_IT; transformers, UPS, distribution and lighting are outside the model, so meters show more",
            "week",
        ),
        Indicator("W_IN", "Water input", site.water_l / 1000.0, "m3", "water_l / 1000", "week"),
        Indicator(
            "WUE", "Water usage effectiveness", over(site.water_l, site.it_kwh), "L/kWh", "water_l / E_IT", "week"
        ),
        Indicator(
            "E_RES",
            "Renewable energy",
            renewable_kwh,
            "kWh",
            "used_kwh of renewable plants and contracts, matched slot by slot; guarantees of origin cancelled for the "
            "year may add to it",
            "week",
        ),
        Indicator("REF", "Renewable energy factor", over(renewable_kwh, total_kwh), "", "E_RES / E_DC", "week"),
        Indicator(
            "HEAT",
            "Heat that the IT energy becomes",
            site.it_kwh,
            "kWh",
            "it_kwh: what could be reused at most",
            "week",
        ),
        Indicator(
            "E_REUSE",
            "Waste heat reused",
            sold_kwh,
            "kWh",
            "the heat meter at the site's boundary"
            if sold_kwh is None
            else "heat_sold_kwh_th: what is handed to the buyer at the site's boundary, the power of the heat pumps in "
            "it; their power is in E_DC too",
            reuse_states,
        ),
        Indicator(
            "ERF",
            "Energy reuse factor",
            None if sold_kwh is None else over(sold_kwh, total_kwh),
            "",
            "E_REUSE / E_DC",
            reuse_states,
        ),
        Indicator("T_WH", "Average waste heat temperature", None, "degC", "the heat meter, mean of the year", "year"),
        Indicator(
            "T_IN", "Average intake air temperature", None, "degC", "sensors at the racks, mean of the year", "year"
        ),
        Indicator("CDD", "Cooling degree days", None, "degree-days", "weather of the calendar year", "year"),
        Indicator("P_IT", "Installed IT power demand", None, "kW", "name plates of what is installed", "site"),
        Indicator("W_IN-POT", "Potable water input", None, "m3", "water meters by kind of water", "site"),
        Indicator("C_SERV", "ICT capacity of servers", None, "", "records of the equipment (SERT)", "site"),
        Indicator("C_STOR", "ICT capacity of storage", None, "PB", "records of the equipment", "site"),
        Indicator("B_IN, B_OUT", "Data traffic", None, "EB", "network records of the year", "year"),
        Indicator("REFRIGERANTS", "Types of refrigerants", None, "", "records of the chillers", "site"),
    )
