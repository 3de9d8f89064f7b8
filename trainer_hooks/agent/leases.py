"""All boards of a node and the claims on them: entered, renewed, lapsed and given back."""

from __future__ import annotations

import math
import secrets
import threading
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainer_hooks.agent.board import Board, Held
from trainer_hooks.agent.claims import Claim, lowest, next_change_s
from trainer_hooks.buckets import Buckets
from trainer_hooks.errors import AgentBusy, AgentError, CalendarError
from trainer_hooks.gpu import LimitVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from trainer_hooks.agent.bounds import Bounds
    from trainer_hooks.agent.store import LeaseStore
    from trainer_hooks.gpu import Gpu

AGENT_UID = -1
_GUARD = "guard"
_RETRY_S = 1.0


@dataclass(frozen=True)
class LeaseRules:
    """What claims may ask of the agent.

    Attributes:
        longest_s: Longest life without renewal, s.
        shortest_s: Shortest life without renewal, s.
        writes_per_s: Changes of one GPU's limit, and of one user's per GPU of the node, in the long run, 1/s.
        write_burst: Such changes at once, after a rest.
        claims_per_user: Most claims of one user on one GPU.
        rise_after_s: How long a raise waits for its turn among the nodes, s.
    """

    longest_s: float = 120.0
    shortest_s: float = 0.2
    writes_per_s: float = 1.0
    write_burst: float = 8.0
    claims_per_user: int = 16
    rise_after_s: float = 0.0


@dataclass(frozen=True)
class Wish:
    """What a process asks for on one GPU.

    Attributes:
        gpu: UUID.
        limit_w: Limit, W.
        ttl_s: Life without renewal, s.
        uid: User.
        pid: Process.
        grant: Name of the grant that allows it.
    """

    gpu: str
    limit_w: float
    ttl_s: float
    uid: int
    pid: int
    grant: str


class LeaseBook:
    """The claims on a node's GPUs; every method may be called from any thread.

    Args:
        gpus: The GPUs.
        bounds: UUID -> what jobs may ask of it.
        store: The record on the disk.
        monotonic: Clock, s.
        say: Takes a sentence for the log.
        rules: What claims may ask.
    """

    def __init__(
        self,
        gpus: Iterable[Gpu],
        bounds: Mapping[str, Bounds],
        store: LeaseStore,
        monotonic: Callable[[], float],
        say: Callable[[str], None],
        rules: LeaseRules,
    ) -> None:
        self.boards = {gpu.uuid: Board(gpu, bounds[gpu.uuid], self._record, say) for gpu in gpus}
        self.lapsed = 0
        self._store = store
        self._monotonic = monotonic
        self._say = say
        self._rules = rules
        self._absent: tuple[Held, ...] = ()
        self._lock = threading.RLock()
        self._of_gpu = Buckets(rules.writes_per_s, rules.write_burst)
        count = max(len(self.boards), 1)
        self._of_user = Buckets(rules.writes_per_s * count, rules.write_burst * count)
        self._told: set[str] = set()
        self._closed = False

    def recover(self) -> None:
        """Go on from what an earlier agent left: living claims live on for one lease time, the rest is given back."""
        with self._lock:
            now_s = self._monotonic()
            try:
                left = self._store.read(now_s)
            except CalendarError as error:
                self._say(f"the record of leases is of no use, so no limit is given back: {error.what}: {error.why}")
                self._say(f"it is kept as {self._store.set_aside()}.")
                return
            if left.held and not left.same_boot:
                self._say("the machine was started anew: claims from before are void.")
            self._absent = tuple(held for held in left.held if held.gpu not in self.boards)
            for held in self._absent:
                self._say(f"GPU {held.gpu} is not here; its limit of {held.prior_w:g} W is kept to be given back.")
            for held in left.held:
                if held.gpu in self.boards:
                    self.boards[held.gpu].take_over(held)
            self._bring(now_s)

    def lease(self, wish: Wish, claim_ids: Sequence[str] = ()) -> tuple[str, LimitVerdict, float]:
        """Enter a claim, or change one's limit.

        Args:
            wish: What is asked.
            claim_ids: Names of the user's claims; the one on this GPU is changed. Without one, a new claim is entered,
                whose name is drawn here, so that nobody can choose another's.

        Returns:
            Name of the claim, what became of it, and in how many seconds a raise takes effect.

        Raises:
            AgentBusy: Too often, the record cannot be written, or the agent is ending.
            AgentError: Too many, or a life out of reach.
        """
        rules, now_s = self._rules, self._monotonic()
        if not rules.shortest_s <= wish.ttl_s <= rules.longest_s:
            raise AgentError(
                "lease, key ttl_s",
                f"{wish.ttl_s:g} s is not within {rules.shortest_s:g} to {rules.longest_s:g} s.",
                "Ask for a life within these, and renew it.",
            )
        with self._lock:
            if self._closed:
                raise AgentBusy("the agent", "it is ending, and every limit is given back.", "Ask the next one.")
            board = self.boards[wish.gpu]
            known = [board.claims[name] for name in claim_ids if name in board.claims]
            before = next((claim for claim in known if claim.uid == wish.uid), None)
            if not self._of_user.take(wish.uid, now_s) or not self._of_gpu.take(wish.gpu, now_s):
                raise AgentBusy(
                    f"lease of GPU {wish.gpu}",
                    f"its limit is changed more than {rules.writes_per_s:g} times a second.",
                    "Ask for a limit when the calendar changes it, not in every step.",
                )
            if before is None and self._count(board, wish.uid) >= rules.claims_per_user:
                raise AgentError(
                    f"lease of GPU {wish.gpu}",
                    f"user {wish.uid} holds {rules.claims_per_user} claims on it already.",
                    "Release claims, or let them lapse.",
                )
            name = before.claim_id if before is not None else secrets.token_hex(16)
            claim = Claim(name, wish.limit_w, wish.uid, wish.pid, wish.grant, wish.ttl_s, now_s + wish.ttl_s)
            waits_s = 0.0
            if before is not None and rules.rise_after_s and wish.limit_w > before.at(now_s):
                waits_s = rules.rise_after_s
                claim = replace(claim, held_w=before.at(now_s), due_s=now_s + waits_s)
            return name, board.claim(claim, now_s), waits_s

    def renew(self, claim_ids: Iterable[str], uid: int, allowed: Callable[[str], bool]) -> dict[str, bool]:
        """Let claims live for another lease time.

        Args:
            claim_ids: Their names.
            uid: User who asks.
            allowed: Tells by UUID whether a GPU is still granted.

        Returns:
            Name -> whether such a claim of that user lives.
        """
        now_s = self._monotonic()
        with self._lock:
            found = dict.fromkeys(claim_ids, False)
            for board in self.boards.values():
                for name in found:
                    claim = board.claims.get(name)
                    # one whose time is up has lapsed, though it may not have been taken out yet
                    alive = claim is not None and claim.uid == uid and claim.expires_s > now_s
                    if claim is not None and alive and allowed(board.gpu.uuid):
                        board.claims[name] = replace(claim, expires_s=now_s + claim.ttl_s)
                        found[name] = True
            return found

    def gpus_of(self, claim_ids: Iterable[str], uid: int) -> list[str]:
        """Find the GPUs that claims of a user are on."""
        names = frozenset(claim_ids)
        with self._lock:
            return [
                gpu
                for gpu, board in self.boards.items()
                if any(name in names and claim.uid == uid for name, claim in board.claims.items())
            ]

    def state_of(self, gpu: str) -> dict[str, object]:
        """Tell how a GPU's limit stands, for an answer."""
        with self._lock:
            board = self.boards[gpu]
            return {
                "gpu": gpu,
                "prior_w": board.prior_w,
                "wanted_w": lowest(board.claims.values(), self._monotonic()),
                "claims": sum(claim.uid != AGENT_UID for claim in board.claims.values()),
                "guarded": _GUARD in board.claims,
                "overridden": board.overridden,
                "unsettled": board.unsettled,
            }

    def free_limit_w(self, gpu: str) -> float | None:
        """Return the limit that a GPU would have without the guard, W; None where only the board knows it."""
        with self._lock:
            board = self.boards[gpu]
            others = [claim for claim in board.claims.values() if claim.claim_id != _GUARD]
            wanted_w = lowest(others, self._monotonic())
            return board.prior_w if wanted_w is None else wanted_w

    def release(self, claim_id: str, uid: int) -> dict[str, LimitVerdict | None]:
        """End a claim of a user's; where raises wait for their turn, its limit stands until then.

        Args:
            claim_id: Its name.
            uid: User who asks.

        Returns:
            UUID -> what became of the limit; None where it was not set.
        """
        now_s, after_s = self._monotonic(), self._rules.rise_after_s
        with self._lock:
            told: dict[str, LimitVerdict | None] = {}
            for uuid, board in self.boards.items():
                claim = board.claims.get(claim_id)
                if claim is None or claim.uid != uid:
                    continue
                board.drop(claim_id)
                if after_s:
                    turn = replace(
                        claim, claim_id=secrets.token_hex(16), uid=AGENT_UID, ttl_s=after_s, expires_s=now_s + after_s
                    )
                    board.claims[turn.claim_id] = turn
                told[uuid] = self._settle(board, now_s)
            return told

    def guard(self, gpu: str, limit_w: float | None) -> None:
        """Hold a GPU at a limit for the sake of its temperature; None ends that."""
        now_s = self._monotonic()
        with self._lock:
            board = self.boards[gpu]
            if limit_w is not None:
                verdict = board.claim(Claim(_GUARD, limit_w, AGENT_UID, 0, _GUARD, math.inf, math.inf), now_s)
                if not verdict.applied:
                    self._once(f"GPU {gpu}: {limit_w:g} W for its temperature: {verdict.outcome}.")
            elif board.drop(_GUARD) is not None:
                self._settle(board, now_s)

    def tick(self) -> float:
        """Take out what has lapsed, and see what others did.

        Returns:
            Seconds until there is something to do again; infinite if there is none to be foreseen.
        """
        with self._lock:
            now_s = self._monotonic()
            self._bring(now_s)
            claims = [claim for board in self.boards.values() for claim in board.claims.values()]
            retry_s = _RETRY_S if any(board.unsettled for board in self.boards.values()) else math.inf
            return min(next_change_s(claims, now_s) - now_s, retry_s)

    def close(self) -> None:
        """Give back every limit that is ours, and take no claim any more."""
        with self._lock:
            self._closed = True
            now_s = self._monotonic()
            for board in self.boards.values():
                board.claims.clear()
                self._settle(board, now_s)

    def owed(self) -> tuple[Held, ...]:
        """Return what would have to outlive the agent now, of boards that are away too."""
        with self._lock:
            here = tuple(held for board in self.boards.values() if (held := board.held) is not None)
            return here + self._absent

    def _bring(self, now_s: float) -> None:
        for board in self.boards.values():
            lapsed = [claim for claim in board.claims.values() if claim.expires_s <= now_s]
            turned = [claim for claim in board.claims.values() if claim.held_w is not None and claim.due_s <= now_s]
            for claim in lapsed:
                board.drop(claim.claim_id)
                if claim.uid != AGENT_UID:
                    self.lapsed += 1
                    self._say(
                        f"GPU {board.gpu.uuid}: the claim of process {claim.pid} (user {claim.uid}, grant "
                        f"{claim.grant}) has lapsed after {claim.ttl_s:g} s."
                    )
            for claim in turned:
                if claim.claim_id in board.claims:
                    board.claims[claim.claim_id] = replace(claim, held_w=None)
            if lapsed or turned or board.unsettled or (not board.claims and board.prior_w is not None):
                self._settle(board, now_s)
            else:
                self._watch(board, now_s)

    def _settle(self, board: Board, now_s: float) -> LimitVerdict | None:
        try:
            return board.settle(now_s)
        except Exception as error:
            # whatever is wrong with one board must not keep the others from getting their limits back
            board.unsettled = True
            self._once(str(error) if isinstance(error, AgentError) else f"GPU {board.gpu.uuid}: {error!r}")
            return None

    def _watch(self, board: Board, now_s: float) -> None:
        try:
            board.watch(now_s)
        except AgentError as error:
            board.unsettled = True
            self._once(str(error))

    def _record(self) -> None:
        self._store.write(self.owed())

    def _count(self, board: Board, uid: int) -> int:
        return Counter(claim.uid for claim in board.claims.values())[uid]

    def _once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._say(sentence)


def verdict_document(gpu: str, verdict: LimitVerdict) -> dict[str, object]:
    """Write a verdict for an answer."""
    return {
        "gpu": gpu,
        "requested_w": verdict.requested_w,
        "limit_w": verdict.limit_w,
        "enforced_w": verdict.enforced_w,
        "outcome": verdict.outcome,
    }
