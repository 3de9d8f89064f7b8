"""Senders of telemetry in one process, each of which sends its next batch when it has the answer to the one before.

They send as fast as they are answered, or so many rows a second as are asked for. Started by `tests.bench.service`; it
is told what to do as JSON on standard input, and prints what it saw as JSON.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from tests.published import START
from trainer_hooks.telemetry import Record, record_line

_S = timedelta(seconds=1)


def batch(writer: str, number: int, rows: int) -> bytes:
    """Return a batch of records, one of a minute each."""
    return b"".join(
        record_line(
            Record(
                run="r1",
                calendar_id=None,
                writer=writer,
                sequence=number * rows + k,
                t_start=START + 60 * (number * rows + k) % 80_000 * _S,
                t_end=START + (60 * (number * rows + k) % 80_000 + 60) * _S,
                state="run",
                tokens=1_000_000,
                useful_tokens=990_000,
                position_tokens=0,
                energy_j=336_000.0,
                energy_error_j=3_360.0,
                energy_source="counter",
                gpus=8,
                gpu_power_limit_w=700.0,
                enforced_limit_w=700.0,
                adherence=1.0,
            )
        )
        for k in range(rows)
    )


def main() -> None:
    """Send until the time is over."""
    told = json.load(sys.stdin)
    tokens, rows = told["tokens"], told["rows"]
    # Made beforehand: of each writer one batch, whose number alone is written anew each time.
    templates = [batch(f"{told['writer']} {k}", 0, rows).split(b"\n")[:-1] for k in range(len(tokens))]
    waits_s: list[float] = []
    print("ready", flush=True)
    begun, used_s = time.perf_counter(), time.process_time()
    gap_s = len(tokens) * rows / told["rows_per_s"] if told["rows_per_s"] else 0.0

    def send(sender: int) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", told["ports"][sender % len(told["ports"])], timeout=60)
        headers = {"Authorization": f"Bearer {tokens[sender]}", "Content-Type": "application/x-ndjson"}
        added = 0
        for number in itertools.count():
            time.sleep(max(0.0, begun + gap_s * (number + sender / len(tokens)) - time.perf_counter()))
            if time.perf_counter() - begun > told["seconds"]:
                return added
            body = b"\n".join(
                line.replace(b'"sequence": %d,' % k, b'"sequence": %d,' % (number * rows + k), 1)
                for k, line in enumerate(templates[sender])
            )
            asked = time.perf_counter()
            connection.request("POST", "/v1/telemetry", body, headers)
            answer = json.loads(connection.getresponse().read())
            waits_s.append(time.perf_counter() - asked)
            if answer.get("added") != rows:
                print(f"of {rows} new records: {answer}", file=sys.stderr)
                os._exit(1)  # the others would go on
            added += rows
        return added

    with ThreadPoolExecutor(len(tokens)) as at_once:
        added = sum(at_once.map(send, range(len(tokens))))
    seconds = time.perf_counter() - begun
    waits_s.sort()
    p50_s, p99_s = (waits_s[int(share * len(waits_s))] for share in (0.5, 0.99))
    cpu_s = time.process_time() - used_s
    print(json.dumps({"rows": added, "seconds": seconds, "p50_s": p50_s, "p99_s": p99_s, "cpu_s": cpu_s}))


if __name__ == "__main__":
    main()
