"""The tables of the carbon accounts. Rows are many, so they name their account, run and contract by number."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from planner.ledger.tables import Table

AccountKey = Annotated[int, mapped_column(ForeignKey("carbon_account.number"), primary_key=True)]
"""The account that a row belongs to, part of its key."""

Position = Annotated[int, mapped_column(primary_key=True)]
"""Place of a contract or a run in its account, part of a row's key."""


class FactorSetRow(Table):
    """A factor set that accounts were kept by; every row of an account names it."""

    __tablename__ = "factor_set"
    __table_args__ = (UniqueConstraint("name", "version", "content"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    version: Mapped[str]
    basis: Mapped[str]
    content: Mapped[str]
    """The whole set as JSON."""


class AccountRow(Table):
    """The carbon account of one calendar on one kind of series, immutable."""

    __tablename__ = "carbon_account"
    __table_args__ = (UniqueConstraint("calendar_id", "series"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    calendar_id: Mapped[str] = mapped_column(ForeignKey("plan.calendar_id"))
    series: Mapped[str]
    factor_set: Mapped[int] = mapped_column(ForeignKey("factor_set.number"))
    zone: Mapped[str]
    start: Mapped[datetime]
    slot_minutes: Mapped[int]
    server: Mapped[str]
    """What embodied carbon is counted by, as JSON."""
    sources: Mapped[str]
    """Where each figure of the grid comes from, as JSON."""
    labels: Mapped[str]
    """Sentences that every output must show, as JSON."""
    stored_kwh: Mapped[float]
    gpu_hours: Mapped[float]
    sha256: Mapped[str]


class SiteSlotRow(Table):
    """One slot of a site's account; `start_s` is in seconds since 1970, UTC."""

    __tablename__ = "site_account"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 - SQLAlchemy reads it from the class

    account: Mapped[AccountKey]
    start_s: Mapped[int] = mapped_column(primary_key=True)
    factor_set: Mapped[int]
    it_kwh: Mapped[float]
    facility_kwh: Mapped[float]
    load_kwh: Mapped[float]
    import_kwh: Mapped[float]
    onsite_kwh: Mapped[float]
    matched_kwh: Mapped[float]
    cfe_kwh: Mapped[float]
    average_gco2_per_kwh: Mapped[float]
    residual_gco2_per_kwh: Mapped[float]
    marginal_gco2_per_kwh: Mapped[float | None]
    grid_cfe_share: Mapped[float]
    location_kg: Mapped[float]
    market_kg: Mapped[float]
    onsite_kg: Mapped[float]
    marginal_kg: Mapped[float | None]
    water_l: Mapped[float]
    heat_sold_kwh_th: Mapped[float | None]


class ContractRow(Table):
    """A contract or plant behind the meter, in the order in which it is matched."""

    __tablename__ = "contract"

    account: Mapped[AccountKey]
    position: Mapped[Position]
    name: Mapped[str]
    technology: Mapped[str]
    factor_gco2_per_kwh: Mapped[float]
    basis: Mapped[str]
    boundary: Mapped[str]


class ContractSlotRow(Table):
    """What a contract supplies in one slot, and what of it the site uses then."""

    __tablename__ = "contract_account"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 - SQLAlchemy reads it from the class

    account: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[Position]
    start_s: Mapped[int] = mapped_column(primary_key=True)
    factor_set: Mapped[int]
    supplied_kwh: Mapped[float]
    used_kwh: Mapped[float]


class RunRow(Table):
    """What a run's account comes to."""

    __tablename__ = "run_account"

    account: Mapped[AccountKey]
    position: Mapped[Position]
    run: Mapped[str]
    factor_set: Mapped[int]
    it_kwh: Mapped[float]
    load_kwh: Mapped[float]
    import_kwh: Mapped[float]
    onsite_kwh: Mapped[float]
    matched_kwh: Mapped[float]
    cfe_kwh: Mapped[float]
    location_kg: Mapped[float]
    market_kg: Mapped[float]
    onsite_kg: Mapped[float]
    marginal_kg: Mapped[float | None]
    water_l: Mapped[float]
    gpu_hours: Mapped[float]
    embodied_low_kg: Mapped[float]
    embodied_mid_kg: Mapped[float]
    embodied_high_kg: Mapped[float]
    tokens: Mapped[float]
    heat_sold_kwh_th: Mapped[float | None]


_SHARED = (
    "load_kwh", "import_kwh", "onsite_kwh", "matched_kwh", "cfe_kwh", "location_kg", "market_kg", "onsite_kg",
    "marginal_kg", "water_l", "heat_sold_kwh_th",
)  # fmt: skip
_SLOT_S = "60.0 * a.slot_minutes"


def views(dialect: str) -> dict[str, str]:
    """Return name -> statement of a run's rows, made of its windows and the site's: its part of the IT energy.

    They are not kept as rows of their own: what is made anew each time cannot come to differ from the site's account.
    The first has a row per window and slot, the second, made of it, one per hour counted from the calendar's start.

    Args:
        dialect: "sqlite" or "postgresql".
    """
    sqlite = dialect == "sqlite"
    second = _sqlite_second if sqlite else _postgresql_second
    lesser, greater = ("min", "max") if sqlite else ("least", "greatest")
    first, until = second('w."start"'), second('w."end"')
    run_kwh = (
        f"w.energy_kwh * ({lesser}({until}, s.start_s + {_SLOT_S}) - {greater}({first}, s.start_s)) "
        f"/ ({until} - {first})"
    )
    return {
        "run_account_slot": f"""CREATE VIEW run_account_slot AS
SELECT a.number AS account, w.run AS run, s.start_s AS start_s, s.factor_set AS factor_set, {run_kwh} AS it_kwh,
{", ".join(f"{run_kwh} / s.it_kwh * s.{name} AS {name}" for name in _SHARED)}
FROM carbon_account a
JOIN planned_window w ON w.calendar_id = a.calendar_id AND w.energy_kwh > 0
JOIN site_account s ON s.account = a.number
AND s.start_s > {first} - {_SLOT_S} AND s.start_s < {until} AND s.it_kwh > 0""",  # noqa: S608 - our own names
        "run_account_hour": f"""CREATE VIEW run_account_hour AS
SELECT r.account AS account, r.run AS run, r.start_s - (r.start_s - f.first_s) % 3600 AS start_s,
r.factor_set AS factor_set, sum(r.it_kwh) AS it_kwh, {", ".join(f"sum(r.{name}) AS {name}" for name in _SHARED)}
FROM run_account_slot r
JOIN (SELECT account, min(start_s) AS first_s FROM site_account GROUP BY account) f ON f.account = r.account
GROUP BY r.account, r.run, 3, r.factor_set""",  # noqa: S608 - our own names
    }


def _sqlite_second(column: str) -> str:
    """Return SQL for an instant kept as text, as seconds since 1970 with their fraction."""
    return f"(CAST(strftime('%s', substr({column}, 1, 19)) AS INTEGER) + CAST('0' || substr({column}, 20) AS REAL))"


def _postgresql_second(column: str) -> str:
    return f"CAST(extract(epoch FROM {column}) AS double precision)"
