"""The page about the program names every family of columns and rows that a program has, every term, and no other."""

from __future__ import annotations

import re

import pytest

from planner.objective import MEASURES
from planner.optimize.model import OWN_TERMS, TERMS, Program, build
from tests.every_feature import weeks_of_every_feature

FAMILY = re.compile(rf"([a-z]+(?:_[a-z]+)*?)(?:_(?:{'|'.join(MEASURES)}))?(?:_[^a-z].*)?")


def family(name: str) -> str:
    """What is before a name's measure, its run, block or pool (in capitals here), and its numbers."""
    return FAMILY.fullmatch(name)[1]


def first_cells(page: str, head: str) -> list[str]:
    """The first cells of the rows of every table with this head."""
    tables = page.split(f"{head}\n")[1:]
    return [line.split(" | ")[0] for table in tables for line in table.split("\n\n")[0].splitlines()[1:]]


def listed(cells: list[str]) -> set[str]:
    return {family(name.rstrip("_…")) for cell in cells for name in re.findall(r"`([a-z_]+…?)", cell)}


@pytest.fixture(scope="module")
def page(root) -> str:
    return (root / "docs" / "formulation.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def programs() -> tuple[Program, ...]:
    return tuple(build(week) for week in weeks_of_every_feature())


def test_the_page_names_every_family_of_columns_and_no_other(page, programs):
    there = {family(column.name) for program in programs for column in program.problem.variables()}
    table = page.split("| column | name |")[1].split("\n\n")[0]
    assert listed([line.split(" | ")[1] for line in table.splitlines()[2:]]) == there


def test_the_page_names_every_family_of_rows_and_no_other(page, programs):
    there = {family(row.name) for program in programs for row in program.problem.constraints()}
    assert listed(first_cells(page, "| row | says |")) == there


def test_the_page_names_every_term_of_the_objective_and_no_other(page, programs):
    named = {cell.strip("| ") for cell in first_cells(page, "| term | coefficient |")}
    assert named == {*TERMS, *OWN_TERMS} == {term for program in programs for term in program.terms}
