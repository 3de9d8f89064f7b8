"""A stand-in for a training that cannot be changed: it prints steps, saves at SIGUSR1, and saves and ends at SIGTERM.

gridpace-run -- python docs/examples/count_steps.py --steps 100
gridpace-sweep --out sweep.json -- python docs/examples/count_steps.py
"""

from __future__ import annotations

import argparse
import signal
import time
from itertools import count


def main() -> None:
    """Count steps until there are enough, or until told to end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=0, help="steps in all; 0 counts on")
    parser.add_argument("--step-s", type=float, default=0.02, help="length of a step, s")
    options = parser.parse_args()
    told: list[int] = []
    for number in (signal.SIGUSR1, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: told.append(received))
    for step in count(1):
        time.sleep(options.step_s)
        print(f"step {step}", flush=True)
        if told:
            print(f"saved at step {step}", flush=True)
        if signal.SIGTERM in told or step == options.steps:
            return
        told.clear()


if __name__ == "__main__":
    main()
