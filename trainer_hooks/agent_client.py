"""A training's side of the node agent: limits held as leases, renewed by one thread per process.

Whatever ends the process ends the thread, and with it the leases: the agent then gives back what it had found. A
process that is only stopped loses them too, and takes them up again when it goes on.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trainer_hooks.errors import AgentBusy, AgentError, AgentGone, CalendarError, HookError
from trainer_hooks.gpu import LimitVerdict
from trainer_hooks.strictjson import Node
from trainer_hooks.wire import call

if TYPE_CHECKING:
    from trainer_hooks.gpu import Gpu

LEASE_S = 30.0
# A heartbeat also brings news of the calendar, which must reach a training within 2 s.
_LONGEST_BEAT_S = 1.0
_BEATS_PER_LEASE = 3.0
_TIMEOUT_S = 2.0
_NOTICES = 64
_OUTCOMES = frozenset({"applied", "clamped", "overridden", "denied", "ignored", "unsupported", "lost"})
_LOG = logging.getLogger("trainer_hooks")


class _Lease(NamedTuple):
    name: str  # empty where the agent has not been reached yet
    limit_w: float
    # The agent did not take this limit yet; under its name an earlier one may live.
    is_due: bool = False


class AgentClient:
    """Leases of this process at one node agent.

    Args:
        path: The agent's socket.
        ttl_s: Lease time, s.
        timeout_s: Longest wait for an answer, s.
        ask: Sends a request and returns the answer, as `trainer_hooks.wire.call` does.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        ttl_s: float = LEASE_S,
        timeout_s: float = _TIMEOUT_S,
        ask: Callable[[Path | str, dict[str, Any], float], dict[str, Any]] = call,
    ) -> None:
        self.path = Path(path)
        self.ttl_s = ttl_s
        self._timeout_s = timeout_s
        self._ask = ask
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        # Held while leases are changed, over the wire too; what the heartbeat does most of the time is not under it.
        self._changing = threading.RLock()
        self._leases: dict[str, _Lease] = {}
        self._overridden: set[str] = set()
        self._notices: deque[str] = deque(maxlen=_NOTICES)
        self._fault: AgentGone | None = None
        self._refusal = ""
        self._etags: dict[str, str | None] = {}
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    @property
    def gone(self) -> str:
        """Why the agent does not answer, or "" while it does."""
        self._mine()
        return str(self._fault or "")

    def limit(self, gpu: str, limit_w: float) -> LimitVerdict:
        """Lease a limit, and keep the lease alive.

        Args:
            gpu: UUID.
            limit_w: Limit, W.

        Returns:
            What came of it; `denied` where the agent refuses, `lost` where it does not answer or refuses for now: then
            it is asked for again by the heartbeat, and this call does not wait. `why` says more.
        """
        self._mine()
        with self._changing:
            known = self._leases.get(gpu)
            lease = _Lease(known.name if known else "", limit_w, is_due=True)
            try:
                verdict, name = self._lease(gpu, lease)
            except (AgentGone, AgentBusy) as error:
                self._leases[gpu] = lease
                self._beat_on()
                return LimitVerdict(limit_w, None, None, "lost", why=error.why)
            except AgentError as error:
                return LimitVerdict(limit_w, None, None, "denied", why=error.why)
            except (CalendarError, IndexError) as error:
                return LimitVerdict(limit_w, None, None, "lost", why=f"its answer makes no sense ({error}).")
            if verdict.outcome not in {"denied", "unsupported"}:
                self._leases[gpu] = _Lease(name, limit_w)
                self._beat_on()
            return verdict

    def release(self, gpu: str) -> LimitVerdict | None:
        """End a lease; the agent gives back what it had found.

        Args:
            gpu: UUID.

        Returns:
            What came of it; None where there was no lease, nothing had to be set, or the agent does not answer: the
            lease is renewed no more, so that it lapses by itself.
        """
        self._mine()
        with self._changing:
            known = self._leases.pop(gpu, None)
            self._overridden.discard(gpu)
            if known is None or not known.name:
                return None
            try:
                rows = Node(self._send({"op": "release", "leases": [known.name]}), "answer", "").list("verdicts")
                return next((_verdict(row.expect_object()) for row in rows if "outcome" in row.value), None)
            except AgentGone:
                return None
            except (AgentError, CalendarError) as error:
                return LimitVerdict(known.limit_w, None, None, "lost", why=error.why)

    def calendar(self, run: str, etag: str) -> tuple[bytes, str] | None:
        """Fetch a run's calendar.

        Args:
            run: Name of the run.
            etag: State known already, or "".

        Returns:
            Content and state; None if it is still the one known.

        Raises:
            AgentError: The agent does not answer, has none, or refuses.
            CalendarError: Its answer makes no sense.
        """
        self._mine()
        content, state = b"", ""
        while True:
            request = {"op": "calendar", "run": run, "etag": etag, "offset": len(content)}
            piece = Node(self._send(request), f"answer of {self.path}", "")
            if piece.value.get("same") is True:
                return None
            if state and piece.text("etag") != state:
                content, state = b"", ""  # a newer one came in between
                continue
            state = piece.text("etag")
            text = piece.text("text").encode("latin-1", "replace")
            content += text
            if len(content) >= piece.integer("size"):
                return content, state
            if not text:
                raise CalendarError(f"answer of {self.path}", "the calendar ends before its size.", "Ask again.")

    def newer(self, run: str, etag: str) -> bool:
        """Tell, from the last heartbeat, whether a run may have another calendar than the one known."""
        self._mine()
        if run not in self._etags:
            self._etags[run] = None
            self._beat_on()
        return self._etags[run] != etag or self._fault is not None

    def notices(self) -> tuple[str, ...]:
        """Take the sentences about agent and limits that came up since the last call."""
        self._mine()
        return tuple(self._notices.popleft() for _ in range(len(self._notices)))

    def beat(self) -> None:
        """Renew every lease once; done by the thread, and by tests."""
        self._mine()
        leases = dict(self._leases)
        run = next(iter(self._etags), "")
        request: dict[str, Any] = {"op": "renew", "leases": [lease.name for lease in leases.values() if lease.name]}
        try:
            answer = self._send({**request, "run": run} if run else request, probe=True)
        except AgentGone:
            return
        except HookError as error:
            if str(error) != self._refusal:
                self._notices.append(f"the agent renews no lease: {error}")
            self._refusal = str(error)
            return
        self._refusal = ""
        if run:
            etag = answer.get("etag")
            self._etags[run] = etag if isinstance(etag, str) else None
        self._look(answer.get("gpus"))
        kept = answer.get("kept")
        for gpu, lease in leases.items():
            if lease.is_due or not (isinstance(kept, dict) and kept.get(lease.name) is True):
                self._again(gpu, lease)

    def close(self) -> None:
        """End every lease of this process and the thread."""
        if self._pid != os.getpid():
            return
        for gpu in list(self._leases):
            self.release(gpu)
        self._stop.set()

    def _lease(self, gpu: str, lease: _Lease) -> tuple[LimitVerdict, str]:
        names = [lease.name] if lease.name else []
        request = {"op": "lease", "gpus": [gpu], "limit_w": lease.limit_w, "ttl_s": self.ttl_s, "leases": names}
        row = Node(self._send(request), f"answer of {self.path}", "").list("verdicts")[0].expect_object()
        return _verdict(row), row.text("lease")

    def _again(self, gpu: str, lease: _Lease) -> None:
        with self._changing:
            if self._leases.get(gpu) != lease:
                return  # changed or ended while the heartbeat was under way
            verdict = self.limit(gpu, lease.limit_w)
            if verdict.applied:
                why = "" if lease.is_due else "the lease had lapsed; "
                self._notices.append(f"GPU {gpu}: {why}{lease.limit_w:g} W is leased {'again' if why else 'now'}.")
            elif verdict.outcome in {"denied", "unsupported"}:
                del self._leases[gpu]
                self._notices.append(f"GPU {gpu}: {lease.limit_w:g} W is not leased any more: {verdict.why}")

    def _look(self, states: object) -> None:
        for state in states if isinstance(states, list) else []:
            gpu = state.get("gpu") if isinstance(state, dict) else None
            if gpu not in self._leases:
                continue
            if state.get("overridden") is not True:
                self._overridden.discard(gpu)
            elif gpu not in self._overridden:
                self._overridden.add(gpu)
                self._notices.append(f"GPU {gpu}: someone else has set another limit, {state.get('prior_w')} W.")

    def _send(self, request: dict[str, Any], *, probe: bool = False) -> dict[str, Any]:
        fault = self._fault
        if fault is not None and not probe:
            # Known to be gone: nobody waits for it but the heartbeat, which finds it again. A new error each time,
            # because one that is raised again keeps every frame it has passed.
            raise AgentGone(fault.what, fault.why, fault.fix)
        try:
            answer = self._ask(self.path, request, self._timeout_s)
        except AgentGone as error:
            if self._fault is None:
                self._notices.append(f"the agent is gone, limits stay as they are until it is back: {error}")
            self._fault = error
            self._beat_on()
            raise
        if self._fault is not None:
            self._fault = None
            self._notices.append("the agent answers again.")
        return answer

    def _beat_on(self) -> None:
        if threading.current_thread() is self._thread:
            return  # a heartbeat that was told to stop, and is still under way, does not start another one
        if self._thread is None or self._stop.is_set() or not self._thread.is_alive():
            # An event of its own for each thread: one that was told to stop stays told.
            self._stop = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._stop,), name="gridpace-heartbeat", daemon=True
            )
            self._thread.start()

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(min(self.ttl_s / _BEATS_PER_LEASE, _LONGEST_BEAT_S)):
            self._beat_safely()

    def _beat_safely(self) -> None:
        try:
            self.beat()
        except Exception:
            _LOG.exception("gridpace: a heartbeat failed; the next one follows.")

    def _mine(self) -> None:
        # A forked child has no thread and no leases: those of its parent are its parent's to renew and to end.
        if self._pid != os.getpid():
            self._begin()


class AgentGpu:
    """A GPU whose limit is leased from the agent; everything else is read from the GPU itself.

    Args:
        gpu: The GPU.
        client: The agent.
    """

    def __init__(self, gpu: Gpu, client: AgentClient) -> None:
        self._gpu = gpu
        self.client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gpu, name)

    @property
    def uuid(self) -> str:
        """Identity that survives renumbering."""
        return self._gpu.uuid

    @property
    def name(self) -> str:
        """Product name."""
        return self._gpu.name

    @property
    def simulated(self) -> bool:
        """Whether readings are computed instead of measured."""
        return self._gpu.simulated

    def power_limit_w(self) -> float | None:
        """Return the limit that was requested last, W."""
        return self._gpu.power_limit_w()

    def enforced_limit_w(self) -> float | None:
        """Return the limit in force from all sources, W."""
        return self._gpu.enforced_limit_w()

    def limit_range_w(self) -> tuple[float, float] | None:
        """Return the lowest and highest limit the board takes, W."""
        return self._gpu.limit_range_w()

    def power_w(self) -> float | None:
        """Return the present power of the board, W."""
        return self._gpu.power_w()

    def energy_j(self) -> float | None:
        """Return the energy counter, J."""
        return self._gpu.energy_j()

    def temperature_c(self) -> float | None:
        """Return the temperature of the GPU die, degrees C."""
        return self._gpu.temperature_c()

    def set_power_limit_w(self, limit_w: float) -> LimitVerdict:
        """Lease a limit, W, until it is given back or this process ends."""
        return self.client.limit(self.uuid, limit_w)

    def give_back_limit(self) -> LimitVerdict | None:
        """End the lease; the agent restores what it had found. None where nothing had to be set."""
        return self.client.release(self.uuid)


def _verdict(row: Node) -> LimitVerdict:
    outcome = row.text("outcome")
    if outcome not in _OUTCOMES:
        raise row.child("outcome").fault(f"{outcome[:40]!r} is no outcome.")
    return LimitVerdict(
        row.number("requested_w"),
        row.optional_number("limit_w"),
        row.optional_number("enforced_w"),
        outcome,  # type: ignore[arg-type]
    )
