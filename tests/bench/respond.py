"""A 25 % cut of 3 h on 256 GPUs of measured curves, with whole gangs; and an event on the largest example site."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from planner.respond.outcome import Response
from tests import phoenix
from tests.bench.machine import describe, table
from tests.conftest import NO_SHARED_DATA, ROOT, SHARED_DATA

MINUTE_S = 60.0
FROM_BEST = 0.01
MOST_S = 10.0
SITE_CUT = 0.1
START = datetime(2024, 5, 15, 19, tzinfo=UTC)
NOTICE = timedelta(minutes=30)


def minutes(response: Response) -> tuple[int, float]:
    """Minutes of the event within the limits at every instant, and the smallest cut of the GPUs' power in any."""
    question = response.answer.question
    import_kw, pieces = response.answer.import_kw(None), question.pieces
    it_kw = response.answer.loads["hall"].it_kw
    before_kw = np.array(response.before.blocks[0].it_kw)[pieces.slot]
    kept = np.ones(len(import_kw), dtype=bool)
    for limit in question.limits:
        inside = pieces.inside(*question.seconds(limit))
        kept &= ~inside | (import_kw <= limit.limit_kw * (1.0 + 1e-9))
    held, least = 0, 1.0
    for at_s in np.arange(question.span.met_s, question.span.until_s, MINUTE_S):
        here = pieces.inside(at_s, at_s + MINUTE_S)
        held += bool(kept[here].all())
        least = min(least, float((1.0 - it_kw[here] / before_kw[here]).min()))
    return held, least


def trial() -> list[list[str]]:
    """The best share beside the answer's, without tiers and with."""
    workloads = phoenix.sweeps(SHARED_DATA)
    rows = []
    for name, limits, told in (
        ("no tiers", None, dict.fromkeys(workloads, 1.0)),
        ("tiers 5, 20, 40 %", phoenix.of_tiers(workloads), None),
    ):
        best = phoenix.best_share(workloads, limits)
        started = time.perf_counter()
        response = phoenix.answered(workloads, told)
        took_s = time.perf_counter() - started
        span = response.answer.question.span
        held, least = minutes(response)
        rows.append(
            [
                name,
                f"{best:.4f}",
                f"{response.kept_share:.4f} (at least {best - FROM_BEST:.3f})",
                f"{held} of {(span.until_s - span.met_s) / MINUTE_S:.0f}",
                f"{100 * least:.2f}",
                f"{span.met_s - span.begin_s:.0f} / {span.end_s - span.until_s:.0f}",
                f"{len(response.found.violations)}",
                f"{took_s:.1f}",
            ]
        )
    return rows


def superfactory(folder: Path) -> list[str]:
    """Plan the week, answer a cut of a tenth for three hours from the command line; return the row."""

    def run(*arguments: str | Path) -> dict:
        done = subprocess.run(
            [sys.executable, "-m", "planner.cli", *arguments, "--json", "--offline"],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            check=True,
        )
        return json.loads(done.stdout)

    site = ROOT / "data/sites/superfactory.toml"
    planned = run("plan", site, "--out", folder, "--issued-at", "2024-05-12T18:00:00Z", "--time-limit", "60")
    header = json.loads((Path(planned["files"]["calendar"]) / "calendar.json").read_text(encoding="utf-8"))
    site_kw = np.sum([block["import_kw"] for block in header["blocks"]], axis=0)
    first = int((START - datetime.fromisoformat(header["valid_from"])) / timedelta(hours=1))
    asked_kw = (1.0 - SITE_CUT) * site_kw[first : first + phoenix.HOURS]
    event = folder / "event.json"
    event.write_bytes(phoenix.event(asked_kw.tolist(), START))
    started = time.perf_counter()
    told = run("respond", event, "--site", site, "--out", folder, "--at", (START - NOTICE).isoformat())
    took_s = time.perf_counter() - started
    doing = [run["does"] for run in told["runs"] if run["does"] != "goes on"]
    return [
        f"{len(told['runs'])}",
        f"{took_s:.1f} (at most {MOST_S:.0f})",
        told["status"],
        f"{len(doing)}",
        f"{told['delivered'][-1]['delivered_kw'] / 1000:.1f}",
        f"{100 * told['kept_share']:.1f}",
        f"{len(told['violations'])}",
    ]


def main(arguments: list[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="respond")
    parser.add_argument("--trial-only", action="store_true", help="leave the largest example site out")
    asked = parser.parse_args(arguments)
    print(describe(), end="\n\n")
    if SHARED_DATA.is_dir():
        head = [
            "256 GPUs, 25 % for 3 h", "best share of throughput", "kept", "minutes held", "least cut of GPU power, %",
            "way in / out, s", "violations", "plan and answer, s",
        ]  # fmt: skip
        print(table(head, trial()), end="\n\n")
    else:
        print(f"left out: {NO_SHARED_DATA}", end="\n\n")
    if not asked.trial_only:
        with tempfile.TemporaryDirectory() as folder:
            head = ["runs", "whole command, s", "status", "runs that change", "MW less", "kept, %", "violations"]
            print(table(head, [superfactory(Path(folder))]))


if __name__ == "__main__":
    main(sys.argv[1:])
