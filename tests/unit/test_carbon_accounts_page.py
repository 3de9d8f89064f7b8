"""The page about carbon accounts lists every column and every bundled set."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import text

from planner.config.factors import factor_sets
from planner.export.accounts_csv import CONTRACT_COLUMNS, HOURLY_COLUMNS, RUN_COLUMNS
from planner.ledger import Ledger
from planner.ledger.tables import Table


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "carbon-accounts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "columns"), [("hourly", HOURLY_COLUMNS), ("runs", RUN_COLUMNS), ("contracts", CONTRACT_COLUMNS)]
)
def test_the_page_has_every_column_in_its_order(page, file, columns):
    told = page.split(f"- `{file}.csv`:")[1].split("Columns:")[1].split("\n- `")[0].split("\n\n")[0]
    assert tuple(re.findall(r"`(\w+)`", told)) == columns


def test_the_page_has_every_set_with_its_basis(page):
    assert dict(re.findall(r"^\| `([\w-]+)` \| (direct|lifecycle) \|", page, re.MULTILINE)) == {
        name: found.basis for name, found in factor_sets().items()
    }


def test_the_page_names_every_table_and_view_of_the_accounts(page, tmp_path):
    tables = [name for name in Table.metadata.tables if "account" in name or name in {"contract", "factor_set"}]
    told = page.split("## In the ledger")[1].split("Entering")[0]
    with Ledger(tmp_path / "ledger.sqlite") as ledger, ledger.reading() as session:
        views = session.scalars(text("SELECT name FROM sqlite_master WHERE type = 'view'")).all()
    assert (len(tables), len(views)) == (6, 2)
    for name in (*views, *tables):
        assert f"`{name}`" in told
