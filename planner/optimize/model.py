"""The program of record: all columns, rows and the objective of one week in PuLP (docs/formulation.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulp

from planner.optimize.agreements import agreement_terms
from planner.optimize.budget import goal_terms
from planner.optimize.cold_limits import with_cold
from planner.optimize.contracts import contract_terms
from planner.optimize.gangs import Gang, add_gang
from planner.optimize.limits import block_limits
from planner.optimize.moving import move_carbon_terms, move_money_terms
from planner.optimize.objectives import measure_terms
from planner.optimize.own_supply import export_terms, generation_carbon_terms, generation_terms
from planner.optimize.precedence import add_precedence
from planner.optimize.store import stored_terms
from planner.optimize.supply import BlockColumns, SiteColumns, add_block, add_packing, add_site
from planner.optimize.transfers import transfer_carbon_terms, transfer_money_terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.week import Week

TERMS = ("energy", "demand", "carbon", "water", "wear", "lateness", "heat")
OWN_TERMS = ("contracts", "generation", "export", "stored", "ppa", "transfer", "goals")
"""Terms of what a site may have besides; a program has those that it has columns for."""
TINY = 1e-9  # coefficients below it are noise to the solver


@dataclass(frozen=True)
class Program:
    """One week's program.

    Args:
        week: The week.
        problem: The rows, columns and objective.
        gangs: Columns of the runs, in the week's order.
        blocks: Columns of the blocks, in the week's order.
        site: Columns of the whole site.
        power_kw: Unit of power, kW; the objective counts `power_kw` units of money.
        terms: Term of the objective -> its columns and their coefficients.
        measures: Measure of a plan -> its columns and what each adds, over `power_kw`.
    """

    week: Week
    problem: pulp.LpProblem
    gangs: tuple[Gang, ...]
    blocks: tuple[BlockColumns, ...]
    site: SiteColumns
    power_kw: float
    terms: Mapping[str, tuple[tuple[pulp.LpVariable, float], ...]]
    measures: Mapping[str, tuple[tuple[pulp.LpVariable, float], ...]]


def build(week: Week) -> Program:
    """Return the program of a week.

    Raises:
        Infeasible: A block cannot even carry its idle power.
        ConfigError: A run's on/off grid is no whole number of slots.
    """
    limits = {b.name: with_cold(week.here(b), block_limits(week.here(b), b)) for b in week.blocks}
    power_kw = _power_unit_kw(week)
    prob = pulp.LpProblem("week", pulp.LpMinimize)
    gangs = tuple(add_gang(prob, week, i, limits) for i in range(len(week.runs)))
    add_packing(prob, week, gangs)
    add_precedence(prob, week, gangs)
    blocks = tuple(add_block(prob, week.here(b), limits[b.name], gangs, power_kw) for b in week.blocks)
    site = add_site(prob, week, blocks, power_kw)
    terms = _terms(week, gangs, blocks, site, power_kw)
    measures = measure_terms(week, gangs, blocks, terms, power_kw)
    goals = goal_terms(prob, week.objective.counted, measures, power_kw)
    if goals:
        terms["goals"] = tuple((v, c) for v, c in goals if abs(c) > TINY)
    objective = pulp.LpAffineExpression()
    for columns in terms.values():
        for column, coefficient in columns:
            objective.addterm(column, coefficient)
    prob.setObjective(objective)
    return Program(week, prob, gangs, blocks, site, power_kw, terms, measures)


def _power_unit_kw(week: Week) -> float:
    """Return a power of ten about a tenth of the largest block: columns then lie between 0.01 and 100."""
    largest = max(b.power.capacity_kw for b in week.blocks)
    return float(10.0 ** (len(str(max(1, int(largest)))) - 2))


def _terms(
    week: Week, gangs: tuple[Gang, ...], blocks: tuple[BlockColumns, ...], site: SiteColumns, power_kw: float
) -> dict[str, tuple[tuple[pulp.LpVariable, float], ...]]:
    slot_h, prices = week.grid.slot_h, week.prices
    terms: dict[str, list[tuple[pulp.LpVariable, float]]] = {name: [] for name in TERMS + OWN_TERMS}
    for block in blocks:
        here = week.here(block.limits.block)
        energy = here.rates().total_per_kwh * slot_h
        carbon = here.signals.ci_gco2_per_kwh * prices.carbon_per_t / 1e6 * slot_h
        water = block.limits.envelope.water_l_per_kwh / 1000.0 * prices.water_per_m3 * slot_h
        for t in range(week.grid.n_slots):
            terms["energy"].append((block.grid[t], float(energy[t])))
            terms["carbon"].append((block.grid[t], float(carbon[t])))
            terms["water"].append((block.it[t], float(water[t])))
            if block.cold is not None:
                terms["water"] += [(v, c * float(water[t])) for v, c in block.cold.like_it(t)]
        if block.cold is not None and block.cold.sold and block.limits.block.heat:
            terms["heat"] += [(v, -block.limits.block.heat.price_per_kwh * slot_h) for v in block.cold.sold]
        if block.battery and block.limits.block.battery:
            wear = block.limits.block.battery.wear_cost_per_kwh * slot_h
            terms["wear"] += [(v, wear) for v in block.battery.discharge]
            terms["stored"] += stored_terms(block.limits.block.battery, block.battery)
        terms["generation"] += generation_terms(block.own, slot_h, power_kw)
        terms["carbon"] += generation_carbon_terms(block.own, prices.carbon_per_t, slot_h)
        terms["export"] += export_terms(here, block.limits, block.own)
    terms["demand"] = [(v, r.charge_per_kw) for v, r in zip(site.peak_rise, week.demand_registers, strict=True)]
    spared, paid = contract_terms(week, site.contracts)
    terms["energy"] += spared
    terms["contracts"] = paid
    terms["ppa"] = agreement_terms(week, site.agreements, power_kw)
    terms["transfer"] = transfer_money_terms(gangs, power_kw) + move_money_terms(gangs, power_kw)
    for carbon_terms in (transfer_carbon_terms, move_carbon_terms):
        terms["carbon"] += carbon_terms(week, gangs, prices.carbon_per_t / 1000.0, power_kw)
    for gang in gangs:
        per_work_h = prices.lateness_per_gpu_h * gang.run.lateness_weight * gang.run.gpus / power_kw
        terms["lateness"] += [(v, per_work_h) for due in gang.due for _, v in due.short]
    return {
        name: tuple((v, c) for v, c in columns if abs(c) > TINY)
        for name, columns in terms.items()
        if columns or name in TERMS
    }
