"""The record of leases on the disk: whole or as it was, and written before a board is touched."""

from __future__ import annotations

import fcntl
import math
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer_hooks.agent.board import Held
from trainer_hooks.agent.claims import Claim
from trainer_hooks.agent.sections import check_owner
from trainer_hooks.errors import AgentError, CalendarError
from trainer_hooks.strictjson import Node, dump_object, parse_object, read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = "gridpace.leases/1"
_LIMIT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Recovered:
    """What an earlier agent left.

    Attributes:
        held: Its boards; the claims' times are counted from now.
        same_boot: Whether the machine has not been started anew since.
    """

    held: tuple[Held, ...] = ()
    same_boot: bool = True


class LeaseStore:
    """One file, replaced by rename.

    Args:
        folder: Folder of the agent's state.
        boot_id: Name of this start of the machine.
    """

    def __init__(self, folder: Path, boot_id: str) -> None:
        self.file = folder / "leases.json"
        self._boot_id = boot_id

    def lock(self) -> int:
        """Make sure that no other agent has this record, as long as the process lives or the descriptor is open.

        Returns:
            Descriptor of the lock.

        Raises:
            AgentError: Another one has it, or the folder cannot be used.
        """
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_owner(self.file.parent, allow_read=True)
            name = self.file.with_name("agent.lock")
            lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise AgentError(
                str(self.file.parent), f"it cannot be used ({error}).", "Let the agent have it."
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise AgentError(
                str(self.file.parent), "another agent that lives has it.", "End that one first, or set state_dir."
            ) from None
        return lock

    def write(self, held: Sequence[Held]) -> None:
        """Replace the record.

        Raises:
            OSError: The disk refused; the record is then as it was.
        """
        content = dump_object(
            {"schema": SCHEMA, "boot_id": self._boot_id, "boards": [_board_document(board) for board in held]}
        )
        fresh = self.file.with_name(f"{self.file.name}.new")
        with suppress(FileNotFoundError):
            fresh.unlink()
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        fresh.replace(self.file)
        folder = os.open(self.file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def read(self, now_s: float) -> Recovered:
        """Read what an earlier agent left.

        Args:
            now_s: Monotonic time, s, from which the claims' lives count.

        Raises:
            CalendarError: The file is there and is not a whole record.
        """
        if not self.file.exists():
            return Recovered()
        document = parse_object(read_bytes(self.file, _LIMIT_BYTES), str(self.file))
        if document.text("schema") != SCHEMA:
            raise document.child("schema").fault(f"it is not {SCHEMA!r}.")
        same_boot = document.text("boot_id") == self._boot_id
        boards = tuple(_board_from(node.expect_object(), now_s, same_boot) for node in document.list("boards"))
        return Recovered(boards, same_boot)

    def set_aside(self) -> Path:
        """Move a record that cannot be read out of the way, for people to look at."""
        aside = self.file.with_name(f"{self.file.name}.bad")
        self.file.replace(aside)
        return aside


def boot_id(proc: Path = Path("/proc")) -> str:
    """Return the kernel's name of this start of the machine."""
    return (proc / "sys/kernel/random/boot_id").read_text("ascii").strip()


def _board_document(held: Held) -> dict[str, Any]:
    return {
        "gpu": held.gpu,
        "prior_w": held.prior_w,
        "marks_w": list(held.marks_w),
        "claims": [
            {
                "id": claim.claim_id,
                "limit_w": claim.limit_w,
                "uid": claim.uid,
                "pid": claim.pid,
                "grant": claim.grant,
                "ttl_s": claim.ttl_s,
                # monotonic time of the kernel, which goes on where the agent does not
                **({} if claim.held_w is None else {"held_w": claim.held_w, "due_s": claim.due_s}),
            }
            for claim in held.claims
            # one without an end is the agent's own, which it makes again if there is still cause
            if claim.ttl_s < math.inf
        ],
    }


def _board_from(board: Node, now_s: float, with_claims: bool) -> Held:
    prior_w = board.number("prior_w")
    marks_w = tuple(mark.as_number() for mark in board.list("marks_w"))
    claims = tuple(_claim_from(node.expect_object(), now_s) for node in board.list("claims"))
    if not prior_w > 0:
        raise CalendarError(f"{board.file}, key {board.key}.prior_w", f"{prior_w:g} W is no limit.", "Remove it.")
    return Held(board.text("gpu"), prior_w, marks_w, claims if with_claims else ())


def _claim_from(claim: Node, now_s: float) -> Claim:
    ttl_s = claim.number("ttl_s")
    waits = "held_w" in claim.value
    return Claim(
        claim_id=claim.text("id"),
        limit_w=claim.number("limit_w"),
        uid=claim.integer("uid"),
        pid=claim.integer("pid"),
        grant=claim.text("grant"),
        ttl_s=ttl_s,
        expires_s=now_s + ttl_s,
        held_w=claim.number("held_w") if waits else None,
        due_s=claim.number("due_s") if waits else -math.inf,
    )
