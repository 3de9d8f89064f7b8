"""The ledger: plans issued, telemetry received, and one laid beside the other.

A record is known by its writer and sequence number, so a file may be taken in any number of times.
"""

from planner.ledger.account import RunAccount
from planner.ledger.database import Ledger
from planner.ledger.intake import Intake

__all__ = ["Intake", "Ledger", "RunAccount"]
