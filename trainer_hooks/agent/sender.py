"""Telemetry of this node's trainings on its way to the server: read, kept, sent, sent again."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

from trainer_hooks.agent.metrics import Metric
from trainer_hooks.agent.repeated import Repeated
from trainer_hooks.agent.upload import NotSent, Refused

if TYPE_CHECKING:
    from trainer_hooks.agent.spool import Piece, Spool
    from trainer_hooks.agent.tail import Tail
    from trainer_hooks.agent.upload import Upload

_LOG = logging.getLogger("trainer_hooks.agent")
PIECE_BYTES = 512 * 1024  # a proxy that was not told otherwise takes 1 MiB
_SLOWEST_S = 300.0


class TelemetrySender:
    """Sends again and again, in a thread of its own, slower where the server fails.

    What has been read is on this node's disk before it counts as read, and leaves it when the server has said that it
    has it. Whatever is killed in between, a record is sent again rather than lost; the server counts it once. Where the
    spool is full nothing more is read: records then wait in the trainings' own files.

    Args:
        tail: What trainings write.
        spool: What waits.
        upload: The way to the server.
        every_s: Usual pause, s.
    """

    def __init__(self, tail: Tail, spool: Spool, upload: Upload, every_s: float) -> None:
        self._tail = tail
        self._spool = spool
        self._upload = upload
        self._every_s = every_s
        self._failures = 0
        self._said = ""
        self._sent = 0
        self._refused = 0
        # Nodes that start together do not send together.
        self._again = Repeated("gridpace-telemetry", self._guarded, every_s * random.random())  # noqa: S311

    def start(self) -> None:
        """Begin."""
        self._again.start()

    def stop(self) -> None:
        """Begin no further batch; what waits is sent by the next agent."""
        self._again.stop()

    def look(self) -> float:
        """Read what has come, and send what waits.

        Returns:
            Pause until the next look, s.
        """
        try:
            self._send_all()
        except NotSent as error:
            return self._fail(error.why, error.pause_s)
        except OSError as error:
            return self._fail(f"the disk refuses ({error})", None)
        if self._said:
            _LOG.info("gridpace-agent: telemetry goes out again.")
        self._failures, self._said = 0, ""
        return self._every_s

    def metrics(self) -> list[Metric]:
        """Return what became of telemetry, and what waits."""
        try:
            size = float(self._spool.size_bytes)
        except OSError:
            size = float("nan")
        return [
            Metric("gridpace_telemetry_spool_bytes", "gauge", "Telemetry that waits to be sent.", (({}, size),)),
            Metric("gridpace_telemetry_failures", "gauge", "Tries that failed in a row.", (({}, self._failures),)),
            Metric("gridpace_telemetry_sent_records_total", "counter", "Records sent.", (({}, self._sent),)),
            Metric("gridpace_telemetry_refused_records_total", "counter", "Lines refused.", (({}, self._refused),)),
        ]

    def _send_all(self) -> None:
        # A disk that is full gets its room from what is sent, so that goes on; nothing more is read in this look.
        fault = self._fault_of_collecting()
        while not self._again.is_stopped and (piece := self._spool.oldest()) is not None:
            self._send(piece)
            fault = fault or self._fault_of_collecting()
        if fault is not None:
            raise fault

    def _send(self, piece: Piece) -> None:
        refused = self._deliver(piece.content)
        if refused is None:
            self._spool.drop(piece)
        else:
            _LOG.error("gridpace-agent: telemetry is refused, see %s: %s.", self._spool.set_aside(piece), refused)

    def _deliver(self, content: bytes) -> Refused | None:
        """Send lines, in halves where something on the way finds them too many at once; return what was refused."""
        try:
            sent = self._upload.send(content)
        except Refused as refused:
            lines = content.splitlines(keepends=True)
            if refused.too_large and len(lines) > 1:
                half = len(lines) // 2
                first, second = (self._deliver(b"".join(part)) for part in (lines[:half], lines[half:]))
                return first or second
            self._refused += len(lines)
            return refused
        self._sent += sent.added + sent.repeated
        self._refused += sent.refused
        if sent.refused:
            _LOG.warning("gridpace-agent: %d records are refused, as %s", sent.refused, sent.fault)
        return None

    def _collect(self) -> None:
        while self._spool.room_bytes() >= 2 * PIECE_BYTES:
            taken = self._tail.take(PIECE_BYTES)
            if taken.content:
                self._spool.add(taken.content)
            self._tail.keep(taken)
            if len(taken.content) < PIECE_BYTES:
                return

    def _fault_of_collecting(self) -> OSError | None:
        try:
            self._collect()
        except OSError as error:
            return error
        return None

    def _fail(self, why: str, pause_s: float | None) -> float:
        self._failures += 1
        if why != self._said:
            self._said = why
            _LOG.warning("gridpace-agent: telemetry waits on this node's disk: %s.", why)
        slow_s = min(self._every_s * 2.0 ** min(self._failures, 16), max(_SLOWEST_S, self._every_s))
        # No two nodes of a site come back in the same moment after its server was away.
        return max(pause_s or 0.0, slow_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret

    def _guarded(self) -> float:
        try:
            return self.look()
        except Exception:
            _LOG.exception("gridpace-agent: telemetry failed; the next try follows.")
            return _SLOWEST_S
