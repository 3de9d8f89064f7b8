"""Key figures of a site's resource use, each with its standard and its boundary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kpi:
    """One key figure.

    Args:
        name: Its short name, such as "PUE".
        title: Its full name.
        value: The figure; None where there was no IT energy to divide by.
        unit: Its unit; "" for a ratio.
        standard: The standard that defines it.
        boundary: What is inside, in one sentence.
        tag: "measured", "modelled" or "assumed".
    """

    name: str
    title: str
    value: float | None
    unit: str
    standard: str
    boundary: str
    tag: str = "modelled"


_FACILITY = (
    "Facility: IT plus pumps, fans and compressors of the cooling, and heat pumps where there are any. Transformers, "
    "UPS, distribution and lighting are outside the model, so the standard's own PUE is higher."
)


def kpis(
    it_kwh: float,
    cooling_kwh: float,
    water_l: float,
    reused_kwh: float,
    carbon_kg: float,
    carbon_boundary: str,
    heat_pump_kwh: float = 0.0,
) -> tuple[Kpi, ...]:
    """Return PUE, WUE, ERF and CUE of a span of hours, and ERE where heat is given to others.

    The standards speak of measured years; a modelled week is an interim figure beside them.

    Args:
        it_kwh: Energy of GPUs and their servers, kWh.
        cooling_kwh: Energy of pumps, fans and compressors, kWh.
        water_l: Make-up water on site, L.
        reused_kwh: Heat given to others, kWh.
        carbon_kg: Emissions of the facility's energy, kg CO2e.
        carbon_boundary: What the emissions cover, in one sentence.
        heat_pump_kwh: Energy of heat pumps, kWh; it is facility energy.

    Returns:
        The figures.

    Source:
        ISO/IEC 30134-2:2016 (PUE), 30134-6:2021 (ERF), 30134-8:2022 (CUE), 30134-9:2022 (WUE); The Green Grid, white
        paper 29 (2010): ERE = (1 - ERF) PUE.
    """
    total_kwh = it_kwh + cooling_kwh + heat_pump_kwh
    ere = Kpi(
        "ERE",
        "Energy reuse effectiveness",
        _ratio(total_kwh - reused_kwh, it_kwh),
        "",
        "The Green Grid, white paper 29",
        "Facility energy, heat pumps included, less heat given to others, over IT energy.",
    )
    found = (
        Kpi(
            "PUE",
            "Power usage effectiveness",
            _ratio(total_kwh, it_kwh),
            "",
            "ISO/IEC 30134-2",
            f"Facility energy over IT energy. {_FACILITY}",
        ),
        Kpi(
            "WUE",
            "Water usage effectiveness",
            _ratio(water_l, it_kwh),
            "L/kWh",
            "ISO/IEC 30134-9",
            "Make-up water of pads, towers and wet condensers on site, bleed included, over IT energy; water of the "
            "power stations is outside.",
        ),
        Kpi(
            "ERF",
            "Energy reuse factor",
            _ratio(reused_kwh, total_kwh),
            "",
            "ISO/IEC 30134-6",
            "Heat given to others over facility energy; heat that only leaves to the outdoor air does not count.",
        ),
        Kpi(
            "CUE",
            "Carbon usage effectiveness",
            _ratio(carbon_kg, it_kwh),
            "kgCO2e/kWh",
            "ISO/IEC 30134-8",
            carbon_boundary,
        ),
    )
    return (*found, ere) if reused_kwh > 0.0 else found


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0.0 else None
