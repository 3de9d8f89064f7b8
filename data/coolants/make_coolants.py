"""Freeze the coolants' properties: `python data/coolants/make_coolants.py` (needs CoolProp; the program does not).

Writes coolants.csv beside this script and, with the same numbers, the module thermal/coolant_tables.py.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from CoolProp.CoolProp import PropsSI

HERE = Path(__file__).resolve().parent
MODULE = HERE.parents[1] / "thermal" / "coolant_tables.py"
KELVIN = 273.15
PRESSURE_PA = 3e5  # of a closed loop
TEMPS_C = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0)
FLUIDS = {  # name: (CoolProp's fluid, what it is)
    "water": ("Water", "water"),
    "pg25": ("INCOMP::MPG[0.25]", "25 % propylene glycol by mass"),
    "pg40": ("INCOMP::MPG[0.40]", "40 % propylene glycol by mass"),
    "eg30": ("INCOMP::MEG[0.30]", "30 % ethylene glycol by mass"),
}


def rows(fluid: str) -> list[tuple[float, float, float]]:
    """Return (temperature in deg C, heat capacity in kJ/kgK, density in kg/m3)."""
    # water freezes at the first of the temperatures; a hundredth above it CoolProp answers for the liquid
    kelvins = [(t, max(t, 0.02) + KELVIN) for t in TEMPS_C]
    return [(t, round(_of(fluid, "C", k) / 1000.0, 5), round(_of(fluid, "D", k), 3)) for t, k in kelvins]


def _of(fluid: str, quantity: str, kelvin: float) -> float:
    return float(PropsSI(quantity, "T", kelvin, "P", PRESSURE_PA, fluid))


def freezing_c(fluid: str) -> float:
    """Return the temperature at which ice first forms, deg C."""
    if not fluid.startswith("INCOMP"):
        return 0.0
    return round(_of(fluid, "T_FREEZE", 40.0 + KELVIN) - KELVIN, 2)


def main() -> None:
    """Write both files."""
    table = ["coolant,temp_c,heat_capacity_kj_per_kg_k,density_kg_per_m3,freezing_c"]
    module = [
        '"""Heat capacity and density of coolants, made by data/coolants/make_coolants.py; not edited by hand.',
        "",
        f"Source: CoolProp {version('CoolProp')} (Bell et al. 2014); water: IAPWS-95, glycols: Melinder 2010.",
        '"""',
        "",
        "TEMPS_C = (" + ", ".join(str(t) for t in TEMPS_C) + ")",
        "",
        "# name: (what it is, freezing point in deg C, heat capacity in kJ/kgK and density in kg/m3 at TEMPS_C)",
        "COOLANTS = {",
    ]
    for name, (fluid, words) in FLUIDS.items():
        values = rows(fluid)
        table += [f"{name},{t},{cp},{rho},{freezing_c(fluid)}" for t, cp, rho in values]
        module += [
            f'    "{name}": (',
            f'        "{words}",',
            f"        {freezing_c(fluid)},",
            "        (" + ", ".join(str(cp) for _, cp, _ in values) + "),",
            "        (" + ", ".join(str(rho) for _, _, rho in values) + "),",
            "    ),",
        ]
    (HERE / "coolants.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    MODULE.write_text("\n".join([*module, "}"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
