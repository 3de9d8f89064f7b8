"""Nodes that send telemetry while the service and its database are killed."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from http import HTTPStatus

from tests.unit.test_ledger import record
from trainer_hooks.telemetry import record_line

PER_BATCH = 20


class Senders:
    """Nodes that send telemetry as they do: what got no answer is sent again until it has one."""

    def __init__(self, port):
        self.port, self.numbers, self.ended = port, itertools.count(), threading.Event()
        self.lock, self.busy, self.sent, self.answered_late = threading.Lock(), 0, 0, 0
        self.statuses: Counter[int] = Counter()
        self.threads = [threading.Thread(target=self._send, daemon=True) for _ in range(3)]
        for one in self.threads:
            one.start()

    def end(self):
        self.ended.set()
        for one in self.threads:
            one.join(120)
            assert not one.is_alive()

    def wait_for_one_more(self):
        """Wait until another batch was answered."""
        seen, until = self.sent, time.monotonic() + 120
        while self.sent <= seen:
            assert time.monotonic() < until
            time.sleep(0.005)

    def _send(self):
        while not self.ended.is_set():
            batch = b"".join(record_line(one) for one in records(next(self.numbers)))
            again = False
            while not self._deliver(batch, again=again):
                again = True
                time.sleep(0.02)
            time.sleep(0.02)

    def _deliver(self, batch, *, again):
        with self.lock:
            self.busy += 1
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
                connection.request("POST", "/v1/telemetry", batch, {"Content-Type": "application/x-ndjson"})
                answer = connection.getresponse()
                told = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            with self.lock:
                self.busy -= 1
        with self.lock:
            self.statuses[answer.status] += 1
            if answer.status != HTTPStatus.OK:
                return False
            assert told["added"] + told["repeated"] == PER_BATCH
            self.sent += 1
            self.answered_late += again and told["repeated"] == PER_BATCH
        return True


def records(batch):
    return [
        replace(record(i, i / 400, (i + 1) / 400), writer=f"w{i % 7}", calendar_id=None)
        for i in range(batch * PER_BATCH, (batch + 1) * PER_BATCH)
    ]
