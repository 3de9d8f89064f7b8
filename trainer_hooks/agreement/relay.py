"""A job that another node's hub decides: reports of this node's ranks go there, and orders come back."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from trainer_hooks.agreement.messages import Order, Report, order_from, report_document
from trainer_hooks.errors import HookError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trainer_hooks.agreement.link import Link

_LOG = logging.getLogger("trainer_hooks.link")
_BUSY_S = 0.02
_REST_S = 1.0
_LOST_KEPT = 64


class Relay:
    """Takes the place of a coordinator on a node that does not decide.

    Args:
        link: The way to the hub that decides.
        job: Members that name the job there.
        changed: Called when the order has changed.
        monotonic: Clock, s.
    """

    def __init__(
        self, link: Link, job: Mapping[str, Any], changed: Callable[[], None], monotonic: Callable[[], float]
    ) -> None:
        self.order: Order | None = None
        self._heard_s = monotonic()
        self._link = link
        self._job = dict(job)
        self._changed = changed
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._reports: dict[int, tuple[Report, float]] = {}
        self._lost: list[dict[str, Any]] = []
        self._news = threading.Event()
        self._end = threading.Event()
        threading.Thread(target=self._run, name="gridpace-relay", daemon=True).start()

    @property
    def is_open(self) -> bool:
        """Whether a round is under way, as far as is known here."""
        return self.order is not None and self.order.phase != "idle"

    def age_s(self, now_s: float) -> float:
        """Return how old the order may be, s."""
        return now_s - self._heard_s

    def receive(self, report: Report, now_s: float) -> None:
        """Take a rank's report; the newest of an incarnation counts."""
        with self._lock:
            known = self._reports.get(report.rank)
            same = known is not None and known[0].incarnation == report.incarnation
            newer = known is None or not same or report.version > known[0].version
            self._reports[report.rank] = (report if newer or known is None else known[0], now_s)
        if newer:
            self._news.set()

    def lose(self, rank: int, incarnation: str, _now_s: float, _how: str = "") -> None:
        """Take a rank's process out."""
        with self._lock:
            known = self._reports.get(rank)
            if known is not None and known[0].incarnation == incarnation:
                del self._reports[rank]
            self._lost = [*self._lost[1 - _LOST_KEPT :], {"rank": rank, "incarnation": incarnation}]
        self._news.set()

    def advance(self, _now_s: float) -> None:
        """Time passes at the hub that decides."""

    def close(self) -> None:
        """End."""
        self._end.set()
        self._news.set()

    def exchange(self) -> None:
        """Tell the hub that decides everything, and take its order.

        Raises:
            HookError: It cannot be reached, or does not answer as it should.
        """
        with self._lock:
            now_s, lost = self._monotonic(), list(self._lost)
            reports = [{**report_document(r), "age_s": max(now_s - at_s, 0.0)} for r, at_s in self._reports.values()]
        answer = self._link.exchange({**self._job, "reports": reports, "lost": lost})
        order = order_from(answer.get("order"))
        with self._lock:
            self._lost = [entry for entry in self._lost if entry not in lost]
        self.order, self._heard_s = order, now_s
        self._changed()

    def _run(self) -> None:
        while not self._end.is_set():
            self._news.clear()
            try:
                self.exchange()
            except HookError:
                self._end.wait(_REST_S)
                continue
            except Exception:
                # This thread is the node's only way to the others.
                _LOG.exception("gridpace: what the deciding hub answers cannot be used.")
                self._end.wait(_REST_S)
                continue
            self._news.wait(_BUSY_S if self.is_open else _REST_S)
