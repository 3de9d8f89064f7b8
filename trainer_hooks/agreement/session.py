"""A rank's agreement with the others through the hub of its node."""

from __future__ import annotations

import logging
import math
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainer_hooks.agreement.member import Member
from trainer_hooks.agreement.messages import order_from, report_document
from trainer_hooks.agreement.wish import Wish
from trainer_hooks.agreement.word import Word
from trainer_hooks.errors import AgentError, HookError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

    from trainer_hooks.agreement.wish import Stance

    Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_LOG = logging.getLogger("trainer_hooks")
# How often a rank looks at the word while the others are under way to its step, and while all hold, s.
_WAIT_S: Final = 0.002
_HOLD_S: Final = 0.02
_KEEP_S: Final = 10.0
_MUTE_S: Final = 1.0
_MUTE_LIMIT_S: Final = 30.0
_TURNS: Final = 16


@dataclass(frozen=True)
class Place:
    """Which rank of which job this is.

    Attributes:
        job: Name of the job, the same in all its ranks and in no other job of the user.
        rank: This rank.
        ranks: Number of ranks.
        root: Name by which this node's hub knows the hub that decides; "" where it decides itself.
        save_s: Longest time for a checkpoint, s, the same in all ranks; None leaves it to the hub.
    """

    job: str
    rank: int
    ranks: int
    root: str = ""
    save_s: int | None = None


class HubAgreement:
    """Follows the hub's orders.

    Args:
        place: Which rank this is.
        ask: Sends a request to the hub of this node and returns the answer.
        timeout_s: Longest time this rank stands still for others that do not answer, s.
        monotonic: Clock, s of real time.
        on_close: Called when this rank leaves, such as to end a hub that it hosts.
    """

    may_pause = True
    retry_s = 1.0

    def __init__(
        self,
        place: Place,
        ask: Ask,
        timeout_s: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.leads = place.rank == 0
        self.pause_s = _HOLD_S
        self.reached = False
        self._place = place
        self._ask = ask
        self._timeout_s = timeout_s
        self._monotonic = monotonic
        self._on_close = on_close
        self._word: Word | None = None
        self._seen = 0
        self._contact_s = -math.inf
        self._mute_until_s = -math.inf
        self._mute_s = 0.0
        self._pending = True
        self._said = ""
        self._written = threading.Event()
        self._member = self._join()

    def due(self, _step: int) -> bool:
        """Whether the hub has something to say, or this rank has."""
        return self._pending or (self._word is not None and self._word.read() != self._seen)

    def stance(self, step: int, wish: Wish) -> Stance:
        """Meet the others at the boundary after a step; see `Agreement`."""
        stance: Stance = "go"
        failed = False
        for _ in range(_TURNS):
            now_s, word = self._monotonic(), self._word.read() if self._word else 0
            stance = self._member.meet(step, wish, now_s)
            if stance == "failed":
                failed, wish = True, Wish.GO  # what could not be done is not wished again at once
            if stance == "exit" or not (self._member.unsaid or word != self._seen or self._is_stale(now_s, stance)):
                break
            if now_s < self._mute_until_s or not self._exchange(step, now_s):
                break
            self._seen = word
        self._pending = self._member.is_open or (self._member.unsaid and self.reached)
        self.pause_s = _HOLD_S if stance == "hold" else _WAIT_S
        self._say_why()
        if stance == "save":
            self._breathe()
        if stance == "exit":
            self._exchange(step, self._monotonic())
            self._member = self._join()  # a loop that goes on all the same is met as one that has just begun
        return "failed" if failed and stance == "go" else stance

    def saved(self, ok: bool) -> None:
        """Say whether this rank's checkpoint is written."""
        self._written.set()
        self._member.saved(ok)

    def due_in_s(self) -> float:
        """Return after how long the hub wants a sign of life, s."""
        now_s = self._monotonic()
        return max(self._mute_until_s - now_s, self._contact_s + _KEEP_S - now_s, 0.0)

    def reach(self, deadline_s: float) -> bool:
        """Join the job, as soon as the hub is there.

        Args:
            deadline_s: Monotonic time until which to try, s.

        Returns:
            Whether the hub has answered.
        """
        while not self._exchange(0, self._monotonic()) and self._monotonic() < deadline_s:
            time.sleep(0.05)
        return self.reached

    def close(self) -> None:
        """Leave the job."""
        self._written.set()
        if self.reached:
            report = self._member.report
            try:
                self._ask({**self._request("leave"), "rank": report.rank, "incarnation": report.incarnation})
            except HookError:
                _LOG.debug("gridpace: the hub did not hear that rank %d left.", report.rank)
        if self._on_close is not None:
            self._on_close()

    def _breathe(self) -> None:
        """Let the hub hear of this rank while the training writes its checkpoint, however long that takes."""
        self._written = written = threading.Event()
        message = {**self._request("sync"), "report": report_document(self._member.report)}

        def breathe() -> None:
            while not written.wait(min(self._timeout_s / 4, _KEEP_S)):
                with suppress(HookError):
                    self._ask(message)

        threading.Thread(target=breathe, name="gridpace-breath", daemon=True).start()

    def _join(self) -> Member:
        self._pending = True
        return Member(self._place.rank, secrets.token_hex(8), self._timeout_s)

    def _is_stale(self, now_s: float, stance: Stance) -> bool:
        standing = stance in {"wait", "save", "hold"}
        return now_s - self._contact_s >= (min(self._timeout_s / 4, _KEEP_S) if standing else _KEEP_S)

    def _exchange(self, step: int, now_s: float) -> bool:
        report = self._member.tell(step)
        try:
            answer = self._ask({**self._request("sync"), "report": report_document(report)})
            self._look_at(answer.get("word"))
            order, told = answer.get("order"), answer.get("told")
            if order is not None:
                age_s = answer.get("age_s")
                if not isinstance(told, int) or not isinstance(age_s, (int, float)):
                    raise AgentError("answer of the hub", "it lacks told or age_s.", "Use the same version of both.")
                self._member.take(order_from(order), told, now_s - age_s)
        except HookError as error:
            self._mute_s = min(max(2 * self._mute_s, _MUTE_S), _MUTE_LIMIT_S)
            self._mute_until_s = now_s + self._mute_s
            self._say(f"the hub of this node does not answer, pauses wait until it does: {error}")
            self.reached = False
            return False
        self.reached, self._mute_s, self._contact_s = True, 0.0, now_s
        return order is not None

    def _look_at(self, path: Any) -> None:
        if isinstance(path, str) and (self._word is None or self._word.path != path):
            self._word, self._seen = Word(path), 0

    def _request(self, operation: str) -> dict[str, Any]:
        place = self._place
        limits = {} if place.save_s is None else {"save_s": place.save_s}
        return {"op": f"agree.{operation}", "job": place.job, "ranks": place.ranks, "root": place.root, **limits}

    def _say_why(self) -> None:
        order = self._member.order
        if self.leads and order is not None and order.phase == "idle" and order.outcome in {"aborted", "unsaved"}:
            self._say(f"the ranks did not pause together, they try again: {order.why}.")

    def _say(self, sentence: str) -> None:
        if sentence != self._said:
            self._said = sentence
            _LOG.warning("gridpace: %s", sentence)
