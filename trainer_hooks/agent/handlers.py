"""What peers may ask of the agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trainer_hooks.agent.bounds import HIGHEST_W
from trainer_hooks.agent.grants import GrantBook, grant_for, may_read
from trainer_hooks.agent.identity import Identity, identify
from trainer_hooks.agent.leases import LeaseBook, Wish, verdict_document
from trainer_hooks.errors import AgentError, CalendarError
from trainer_hooks.strictjson import Node

if TYPE_CHECKING:
    from trainer_hooks.agent.calendars import CalendarKeeper
    from trainer_hooks.agent.node_hub import NodeHub
    from trainer_hooks.wire import Handler, Peer

_MOST_GPUS = 64
_MOST_CLAIMS = 256
_CHUNK_BYTES = 32 * 1024
_ASK_ADMIN = "Ask the administrator for a grant, [grant NAME], in the agent's configuration."


class Handlers:
    """The agent's operations.

    Args:
        book: The claims.
        grants: Who may limit what.
        keeper: The calendar; None where none is pulled.
        rise_after_s: This node's turn to rise, s after the common instant.
        woken: Called after something changed that the agent's own clock has to know of.
        hub: Takes the messages of ranks that agree on a step.
        identify_peer: Looks a peer up.
    """

    def __init__(
        self,
        book: LeaseBook,
        grants: GrantBook,
        keeper: CalendarKeeper | None,
        rise_after_s: float,
        woken: Callable[[], None],
        hub: NodeHub,
        identify_peer: Callable[[Peer], Identity] = identify,
    ) -> None:
        self._book = book
        self._grants = grants
        self._keeper = keeper
        self._rise_after_s = rise_after_s
        self._woken = woken
        self._identify = identify_peer
        self._hub = hub

    def table(self) -> dict[str, Handler]:
        """Return operation -> handler."""
        return {
            "lease": _told(self.lease),
            "renew": _told(self.renew),
            "release": _told(self.release),
            "status": _told(self.status),
            "calendar": _told(self.calendar),
            "agree.*": self._hub.handle,
        }

    def lease(self, peer: Peer, request: Node) -> dict[str, Any]:
        """Limit GPUs for as long as the peer renews the claims."""
        gpus = tuple(dict.fromkeys(node.as_text() for node in request.list("gpus")))
        if not 0 < len(gpus) <= _MOST_GPUS:
            raise request.child("gpus").fault(f"it names {len(gpus)} GPUs, not 1 to {_MOST_GPUS}.")
        limit_w, ttl_s = request.number("limit_w"), request.number("ttl_s")
        if not 0.0 < limit_w <= HIGHEST_W:
            raise request.child("limit_w").fault(f"{limit_w:g} W is not within 0 to {HIGHEST_W:g} W.")
        claim_ids = _names(request, "leases")
        who, grants = self._identify(peer), self._grants.grants()
        wishes = []
        for gpu in gpus:
            grant = grant_for(grants, who, gpu) if gpu in self._book.boards else None
            if grant is None:
                raise AgentError(f"GPU {gpu[:60]}", f"user {who.uid} has no grant for it in this job.", _ASK_ADMIN)
            wishes.append(Wish(gpu, limit_w, ttl_s, peer.uid, peer.pid, grant.name))
        told = []
        for wish in wishes:
            name, verdict, waits_s = self._book.lease(wish, claim_ids)
            told.append({**verdict_document(wish.gpu, verdict), "lease": name, "rises_in_s": waits_s})
        self._woken()
        return {"verdicts": told, "ttl_s": ttl_s}

    def renew(self, peer: Peer, request: Node) -> dict[str, Any]:
        """Let claims live on; says as well how their GPUs stand, and which calendar is in force."""
        claim_ids = _names(request, "leases")
        who, grants = self._identify(peer), self._grants.grants()
        kept = self._book.renew(claim_ids, peer.uid, lambda gpu: grant_for(grants, who, gpu) is not None)
        gpus = self._book.gpus_of(claim_ids, peer.uid)
        return {"kept": kept, "gpus": [self._book.state_of(gpu) for gpu in gpus], "etag": self._etag(who, request)}

    def release(self, peer: Peer, request: Node) -> dict[str, Any]:
        """End claims; a limit that nobody else wants is given back."""
        told: list[dict[str, Any]] = []
        for name in _names(request, "leases"):
            for gpu, verdict in self._book.release(name, peer.uid).items():
                told.append({"gpu": gpu} if verdict is None else verdict_document(gpu, verdict))
        self._woken()
        return {"verdicts": told}

    def status(self, peer: Peer, request: Node) -> dict[str, Any]:
        """Tell how the GPUs granted to the peer stand."""
        del request
        who = self._identify(peer)
        calendar = self._keeper.kept.calendar_id if self._keeper and self._keeper.kept else None
        return {
            "gpus": [self._book.state_of(gpu) for gpu in self._granted(who)],
            "calendar_id": calendar,
            "rise_after_s": self._rise_after_s,
        }

    def calendar(self, peer: Peer, request: Node) -> dict[str, Any]:
        """Hand out a piece of a run's calendar, or say that it is the one known."""
        run, offset = request.text("run"), 0
        if "offset" in request.value:
            offset = request.integer("offset")
        if not may_read(self._grants.grants(), self._identify(peer), run):
            raise AgentError(f"calendar of run {run[:80]!r}", f"user {peer.uid} has no grant to read it.", _ASK_ADMIN)
        found = None if self._keeper is None else self._keeper.text(run)
        if found is None:
            raise AgentError(
                f"calendar of run {run[:80]!r}",
                "this node has none.",
                "See [calendar] of the agent, and the run's name.",
            )
        content, etag = found
        if request.value.get("etag") == etag:
            return {"etag": etag, "same": True}
        if not 0 <= offset <= len(content):
            raise request.child("offset").fault(f"{offset} is not within 0 to {len(content)} bytes.")
        # run files are ASCII by their format, so that a piece never cuts a character
        piece = content[offset : offset + _CHUNK_BYTES].decode("latin-1")
        return {"etag": etag, "same": False, "size": len(content), "offset": offset, "text": piece}

    def _granted(self, who: Identity) -> list[str]:
        grants = self._grants.grants()
        return [gpu for gpu in self._book.boards if grant_for(grants, who, gpu) is not None]

    def _etag(self, who: Identity, request: Node) -> str | None:
        run = request.value.get("run")
        if self._keeper is None or self._keeper.kept is None or not isinstance(run, str):
            return None
        return self._keeper.kept.etags.get(run) if may_read(self._grants.grants(), who, run) else None


def _told(handle: Callable[[Peer, Node], dict[str, Any]]) -> Handler:
    def handler(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return handle(peer, Node(request, "request", ""))
        except CalendarError as error:
            raise AgentError(error.what, error.why, "See the agent's documentation for what may be asked.") from error

    return handler


def _names(request: Node, key: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(node.as_text() for node in request.optional_list(key)))
    if len(names) > _MOST_CLAIMS:
        raise request.child(key).fault(f"it has {len(names)} names, more than {_MOST_CLAIMS}.")
    return names
