"""Carbon accounts of a published week: site and runs, statements, and the rows from which a reader recomputes them."""

from planner.accounts.carbon import CarbonAccounts, carbon_accounts
from planner.accounts.run_figures import RunFigures

__all__ = ["CarbonAccounts", "RunFigures", "carbon_accounts"]
