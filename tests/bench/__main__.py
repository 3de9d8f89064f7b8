"""Benchmarks that print tables: `python -m tests.bench NAME [OPTIONS]`; without a name, those that need no more."""

from __future__ import annotations

import sys
from importlib import import_module

BENCHES = {
    "sites": "plan the example and reference sites: time, certified gap, memory",
    "start": "processor time of `gridpace --help`, and what it loads",
    "respond": "a 25 % cut of 3 h on 256 GPUs beside the best that can be kept; an event on the largest example site",
    "hooks": "Governor.step() off a window boundary, and reading one run among ten thousand",
    "agent": "the node agent with 8 GPUs at 1 Hz on the twin: processor time, memory, leases, and limits given back",
    "feeds": "reading a year of each feed, from the bytes of its answers to checked rows",
    "transient": "seconds from a failure to a case temperature, beside the reference case, and what they cost",
    "goodput": "chances of deadlines under failures: promised beside simulated weeks (--weeks N)",
    "calibration": "hidden settings of made-up telemetry recovered; Summit's and Frontier's public points (--seeds N)",
    "accounts": "ledger and carbon accounts of a year of 200 runs at 15 minutes: seconds, and what the sums differ by",
    "gangs": "12 to 30 large gangs that have to pack: certified gap, time, memory (--case, --seeds, --patience)",
    "scale": "100 to 10,000 gangs by classes of like runs: certified gap, time, memory, growth (--only, --seed)",
    "weeks": "52 weeks of 2024 in GB and DE-LU: carbon and cost saved (needs the real traces; --jobs N)",
    "forecast": "week-ahead forecasts of 2024 beside the reference's scores (needs the real traces; --zones, --jobs)",
    "replay": "rolling plans of 2024 in DE-LU and GB beside perfect foresight (needs the real traces; --every, --jobs)",
    "price_forecasts": "money kept by plans on two published price forecasts (needs the real traces; --every, --jobs)",
    "trade": "explaining a whole site, and fronts of twelve plans: wall and processor time (--sites, --jobs)",
    "thermal_week": "a hot week planned with a constant PUE and with the plant's curves, judged on the full physics",
    "thermal_peers": "our loops beside TESPy and pandapipes (makes an environment of their own; --env DIR)",
    "planner_peers": "our programs beside linopy, PyPSA and EMHASS (makes an environment of their own; --env, --case)",
    "overhead": "metering 8 GPUs: the hooks beside ZeusMonitor and CodeCarbon on the twin of NVML (--env DIR)",
    "service": "25,000 agents at one instance and at several: time to an answer, processor time, memory, telemetry",
    "held": "node agents that wait at the service for the next calendar: what each costs, how soon all hear (--agents)",
    "newcomers": "the paths of new users: a first plan of their own, a training made aware (installs both wheels)",
    "thermal": "hull gaps and derating of a 20 MW plant beside the reference, and the time they take",
}
# An hour, traces that are not in the repository, packages from outside.
NEED_MORE = (
    "gangs",
    "scale",
    "weeks",
    "forecast",
    "replay",
    "price_forecasts",
    "thermal_peers",
    "planner_peers",
    "trade",
    "overhead",
    "agent",
    "newcomers",
)


def main() -> None:
    """Run the benchmarks named on the command line."""
    names = [a for a in sys.argv[1:2] if not a.startswith("-")] or [n for n in BENCHES if n not in NEED_MORE]
    for name in names:
        if name not in BENCHES:
            sys.exit(
                f"no benchmark {name!r}; there are:\n" + "\n".join(f"  {n:14} {what}" for n, what in BENCHES.items())
            )
        import_module(f"tests.bench.{name}").main(sys.argv[2:])


if __name__ == "__main__":
    main()
