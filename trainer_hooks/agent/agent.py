"""The agent: boards, claims, calendar and answers, held together by one loop."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.agent.bounds import bounds_of, check_gpus
from trainer_hooks.agent.calendars import CalendarKeeper, CalendarPuller
from trainer_hooks.agent.grants import GrantBook
from trainer_hooks.agent.guard import GuardRules, GuardState, guarded
from trainer_hooks.agent.handlers import Handlers
from trainer_hooks.agent.identity import Identity, identify
from trainer_hooks.agent.leases import LeaseBook
from trainer_hooks.agent.metrics import Metric, MetricsServer
from trainer_hooks.agent.node_hub import NodeHub
from trainer_hooks.agent.samples import Sample, metrics_of, take_sample
from trainer_hooks.agent.store import LeaseStore, boot_id
from trainer_hooks.agent.systemd import notify
from trainer_hooks.agent.telemetry_section import sender_for
from trainer_hooks.errors import AgentError
from trainer_hooks.wire import Server

if TYPE_CHECKING:
    from trainer_hooks.agent.config import AgentConfig
    from trainer_hooks.agent.sender import TelemetrySender
    from trainer_hooks.agent.telemetry_section import TelemetryRules
    from trainer_hooks.gpu import Gpu
    from trainer_hooks.wire import Peer

_LOG = logging.getLogger("trainer_hooks.agent")
# A third of the unit's WatchdogSec: the service manager hears of a living agent in time, however rarely it samples.
_LONGEST_PAUSE_S = 20.0


class Agent:
    """Everything that runs on one node.

    Args:
        config: Settings.
        gpus: The node's GPUs.
        monotonic: Clock, s.
        environ: Environment, where a service manager says how to reach it.
        boot: Name of this start of the machine; asked of the kernel if empty.
        identify_peer: Looks a peer up.

    Raises:
        AgentError: The configuration names GPUs that are not here, another agent is alive, or the socket or the
            port cannot be had.
    """

    def __init__(
        self,
        config: AgentConfig,
        gpus: Sequence[Gpu],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        environ: Mapping[str, str] | None = None,
        boot: str = "",
        identify_peer: Callable[[Peer], Identity] = identify,
    ) -> None:
        check_gpus(config.bounds_sections, frozenset(gpu.uuid for gpu in gpus))
        self._config = config
        self._gpus = tuple(gpus)
        self._monotonic = monotonic
        self._environ = os.environ if environ is None else environ
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._guards = {gpu.uuid: GuardState() for gpu in gpus}
        self._samples: dict[str, Sample] = {}
        self._sampled_s = -float("inf")
        self._store = LeaseStore(config.state_dir, boot or boot_id())
        self._lock = self._store.lock()
        self.book = lease_book(config, gpus, self._store, monotonic)
        self.keeper: CalendarKeeper | None = None
        self._puller: CalendarPuller | None = None
        if config.calendar is not None:
            source = config.calendar
            self.keeper = CalendarKeeper(config.state_dir / "calendars", source.origin, source.verifier, source.runs)
            self.keeper.load()
            self._puller = CalendarPuller(self.keeper, source.poll_s, self._wake.set, source.wait_s)
        self._hub: NodeHub | None = None
        self._metrics: MetricsServer | None = None
        self._sender: TelemetrySender | None = None
        try:
            # what an earlier agent left is put right before anyone may ask for more
            self.book.recover()
            if config.telemetry is not None:
                self._sender = _sender(config, config.telemetry)
            if config.metrics_port is not None:
                self._metrics = MetricsServer(config.metrics_port, self._collect)
            self._hub = NodeHub(config.hub, config.socket.parent / "words")
            handlers = Handlers(
                self.book,
                GrantBook(config.grants, config.grants_dir),
                self.keeper,
                config.leases.rise_after_s,
                self._wake.set,
                self._hub,
                identify_peer,
            )
            self._server = Server(config.socket, handlers.table(), gid=config.gid, limits=config.limits)
        except BaseException:
            if self._hub is not None:
                self._hub.close()
            if self._metrics is not None:
                self._metrics.close()
            # An agent that cannot begin renews nothing: what an earlier one held would stay for good.
            self.book.close()
            os.close(self._lock)
            raise

    def start(self) -> None:
        """Begin to answer."""
        self._server.start()
        if self._metrics is not None:
            self._metrics.start()
        if self._puller is not None:
            self._puller.start()
        if self._sender is not None:
            self._sender.start()
        notify("READY=1", self._environ)
        _LOG.info("gridpace-agent: %d GPUs, listening on %s.", len(self._gpus), self._config.socket)

    def stop(self) -> None:
        """Ask the loop to end; safe in a signal handler."""
        self._stop.set()
        self._wake.set()

    def run(self) -> None:
        """Look after the boards until `stop` is called."""
        while not self._stop.is_set():
            try:
                pause_s = self.look()
            except Exception:
                _LOG.exception("gridpace-agent: a look at the boards failed; the next one follows.")
                pause_s = self._config.sample_s
            notify("WATCHDOG=1", self._environ)
            self._wake.wait(min(pause_s, _LONGEST_PAUSE_S))
            self._wake.clear()

    def look(self) -> float:
        """Take out lapsed claims, sample the boards when it is time, and let the guard act.

        Returns:
            Seconds until the next look is due.
        """
        pause_s = self.book.tick()
        now_s = self._monotonic()
        every_s = self._config.sample_s
        if now_s - self._sampled_s >= every_s:
            self._sampled_s = now_s
            self._sample(now_s)
        return max(min(pause_s, self._sampled_s + every_s - self._monotonic()), 0.001)

    def close(self) -> None:
        """Answer no more and give back every limit that is ours."""
        self._server.close()
        if self._puller is not None:
            self._puller.stop()
        if self._sender is not None:
            self._sender.stop()
        if self._metrics is not None:
            self._metrics.close()
        if self._hub is not None:
            self._hub.close()
        self.book.close()
        notify("STOPPING=1", self._environ)
        os.close(self._lock)

    def _sample(self, now_s: float) -> None:
        rules = self._config.guard
        if rules is None and self._metrics is None:
            return  # nobody would look at it, and asking keeps an idle board awake
        for gpu in self._gpus:
            look = take_sample(gpu, rules or GuardRules(), whole=self._metrics is not None)
            self._samples[gpu.uuid] = look
            if rules is not None:
                self._guard(look, rules, now_s)

    def _guard(self, look: Sample, rules: GuardRules, now_s: float) -> None:
        before = self._guards[look.gpu]
        free_w = self.book.free_limit_w(look.gpu)
        after = guarded(
            before, rules, look.margin_c, look.limit_w, look.limit_w or 0.0 if free_w is None else free_w, now_s
        )
        if after == before:
            return
        self._guards[look.gpu] = after
        if after.cap_w is None:
            _LOG.info("gridpace-agent: GPU %s has cooled: the guard gives its limit back.", look.gpu)
        else:
            _LOG.warning(
                "gridpace-agent: GPU %s is %.3g K from slowing down: %.4g W at most.",
                look.gpu,
                look.margin_c,
                after.cap_w,
            )
        self.book.guard(look.gpu, after.cap_w)

    def _collect(self) -> list[Metric]:
        failures = self._puller.failures if self._puller else 0
        looks = list(self._samples.values())
        sent = self._sender.metrics() if self._sender else []
        return metrics_of(looks, self.book, self._server.refused, self._server.served, failures) + sent


def lease_book(
    config: AgentConfig, gpus: Sequence[Gpu], store: LeaseStore, monotonic: Callable[[], float] = time.monotonic
) -> LeaseBook:
    """Make the book of claims as it is configured."""
    bounds = {gpu.uuid: bounds_of(gpu.uuid, config.bounds, config.gpu_bounds) for gpu in gpus}
    return LeaseBook(gpus, bounds, store, monotonic, _say, config.leases)


def restore_only(config: AgentConfig, gpus: Sequence[Gpu], boot: str = "") -> None:
    """Give back what a dead agent left, for a service manager to call after it.

    Raises:
        AgentError: An agent is alive, or a GPU's limit cannot be given back now.
    """
    store = LeaseStore(config.state_dir, boot or boot_id())
    lock = store.lock()
    try:
        book = lease_book(replace(config, ramp=None), gpus, store)
        book.recover()
        book.close()
        left = ", ".join(f"{held.gpu} ({held.prior_w:g} W)" for held in book.owed())
        if left:
            raise AgentError(f"GPU {left}", "its limit cannot be given back now.", "Run this again when it answers.")
    finally:
        os.close(lock)


def _sender(config: AgentConfig, rules: TelemetryRules) -> TelemetrySender:
    try:
        return sender_for(rules, config.state_dir)
    except OSError as error:
        raise AgentError(str(config.state_dir), f"it cannot be used ({error}).", "Let the agent have it.") from error


def _say(sentence: str) -> None:
    _LOG.warning("gridpace-agent: %s", sentence)


def config_summary(config: AgentConfig, path: Path) -> str:
    """Write what a configuration comes to, for people."""
    calendar = "none" if config.calendar is None else f"every {config.calendar.poll_s:g} s"
    signed = config.calendar is not None and config.calendar.verifier is not None
    hub = "this node" if config.hub is None else f"{len(config.hub.nodes)} nodes, port {config.hub.port}"
    ramp = "at once" if config.ramp is None else f"{config.ramp.offset_s:.4g} s after the common instant"
    return "\n".join(
        (
            f"{path}: good",
            f"socket      {config.socket}",
            f"grants      {len(config.grants)} here, and those of {config.grants_dir or 'no folder'}",
            f"calendar    {calendar}{', signed' if signed else ''}",
            f"guard       {'off' if config.guard is None else f'below {config.guard.lower_below_c:g} K'}",
            f"rises       {ramp}",
            f"hub         {hub}",
            f"telemetry   {'stays here' if config.telemetry is None else f'every {config.telemetry.every_s:g} s'}",
            f"metrics     {'off' if config.metrics_port is None else f'127.0.0.1:{config.metrics_port}'}",
        )
    )
