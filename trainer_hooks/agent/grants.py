"""Which jobs may limit which GPUs: the administrator's word, read again whenever it changes."""

from __future__ import annotations

import logging
import pwd
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.agent.sections import HIGHEST_ID, Section, check_owner, read_sections
from trainer_hooks.errors import AgentError

if TYPE_CHECKING:
    from trainer_hooks.agent.identity import Identity

ALL = "all"
_KEYS = frozenset({"gpus", "uids", "cgroups", "slurm_jobs", "runs"})
_UUID = re.compile(r"GPU-[0-9A-Za-z-]{1,60}", re.ASCII)
_LOG = logging.getLogger("trainer_hooks.agent")


@dataclass(frozen=True)
class Grant:
    """GPUs for those who meet every condition that is given.

    Attributes:
        name: Name of the grant, in records.
        gpus: UUIDs, or `all`.
        uids: Users; empty asks for none in particular.
        cgroups: Paths of control groups, each with all below it; empty asks for none.
        slurm_jobs: Numbers of jobs; empty asks for none.
        runs: Runs whose calendar may be read; empty allows any.
    """

    name: str
    gpus: frozenset[str]
    uids: frozenset[int] = frozenset()
    cgroups: tuple[str, ...] = ()
    slurm_jobs: frozenset[int] = frozenset()
    runs: frozenset[str] = frozenset()

    def fits(self, who: Identity) -> bool:
        """Tell whether an identity meets the conditions."""
        return (
            (not self.uids or who.uid in self.uids)
            and (not self.slurm_jobs or bool(self.slurm_jobs & who.slurm_jobs))
            and (not self.cgroups or any(_below(path, root) for path in who.cgroups for root in self.cgroups))
        )

    def covers(self, gpu: str) -> bool:
        """Tell whether a GPU is among those granted."""
        return ALL in self.gpus or gpu in self.gpus


def grant_for(grants: Iterable[Grant], who: Identity, gpu: str) -> Grant | None:
    """Find the grant by which an identity may limit a GPU; None if it may not."""
    return next((grant for grant in grants if grant.fits(who) and grant.covers(gpu)), None)


def may_read(grants: Iterable[Grant], who: Identity, run: str) -> bool:
    """Tell whether an identity may read a run's calendar."""
    return any(grant.fits(who) and (not grant.runs or run in grant.runs) for grant in grants)


def grant_from(section: Section) -> Grant:
    """Read a grant from its section, `[grant NAME]`.

    Raises:
        AgentError: A key is unknown, no GPU is named, or no condition says who is meant.
    """
    section.expect(_KEYS)
    gpus, uids, cgroups = section.names("gpus"), section.names("uids"), section.names("cgroups")
    for gpu in gpus:
        if gpu != ALL and not _UUID.fullmatch(gpu):
            raise section.fault("gpus", f"{gpu[:60]!r} is not a GPU's UUID.", "Take it from `nvidia-smi -L`, or `all`.")
    if not gpus:
        raise section.fault("gpus", "it is missing.", "Name the GPUs by UUID, or write `all`.")
    for path in cgroups:
        if not path.startswith("/") or "/../" in f"{path}/" or path.rstrip("/") == "":
            raise section.fault(
                "cgroups", f"{path[:60]!r} is not the path of a group below the root.", "Take it from /proc/PID/cgroup."
            )
    jobs = frozenset(_job(section, job) for job in section.names("slurm_jobs"))
    if not uids and not cgroups and not jobs:
        raise section.fault("uids", "nothing says who is meant.", "Set uids, cgroups or slurm_jobs, or several.")
    return Grant(
        section.name.partition(" ")[2].strip(),
        frozenset(gpus),
        frozenset(_uid(section, uid) for uid in uids),
        tuple(path.rstrip("/") for path in cgroups),
        jobs,
        frozenset(section.names("runs")),
    )


class GrantBook:
    """The grants in force: those of the agent's file, and those of a folder that others of root's keep up to date.

    A file of the folder that cannot be used grants nothing, and is told once; the others hold.

    Args:
        fixed: Grants of the agent's own file.
        folder: Folder of `.ini` and `.json` files with `[grant NAME]` sections; None if there is none.
    """

    def __init__(self, fixed: Iterable[Grant], folder: Path | None) -> None:
        self._fixed = tuple(fixed)
        self._folder = folder
        self._seen: dict[Path, tuple[object, tuple[Grant, ...]]] = {}
        self._told = ""

    def grants(self) -> tuple[Grant, ...]:
        """Return the grants in force now."""
        if self._folder is None:
            return self._fixed
        try:
            check_owner(self._folder, allow_read=True)
            files = sorted(path for path in self._folder.iterdir() if path.suffix in {".ini", ".json"})
        except (OSError, AgentError) as error:
            self._tell(str(error))
            return self._fixed
        self._seen = {file: self._read(file) for file in files}
        return self._fixed + tuple(grant for _, grants in self._seen.values() for grant in grants)

    def _read(self, file: Path) -> tuple[object, tuple[Grant, ...]]:
        try:
            facts = file.lstat()
            key = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_mode, facts.st_uid)
        except OSError:
            return None, ()  # taken away since the folder was listed
        known = self._seen.get(file)
        if known is not None and known[0] == key:
            return known
        try:
            check_owner(file, allow_read=True)
            return key, tuple(grant_from(section) for section in read_sections(file) if _is_grant(section))
        except AgentError as error:
            _LOG.error("gridpace-agent: %s It grants nothing until then.", error)
            return key, ()

    def _tell(self, sentence: str) -> None:
        if sentence != self._told:
            self._told = sentence
            _LOG.error("gridpace-agent: %s", sentence)


def _is_grant(section: Section) -> bool:
    if section.name.split(" ")[0] != "grant":
        raise AgentError(f"{section.file}, section [{section.name}]", "it is no grant.", "Name it [grant NAME].")
    return True


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _uid(section: Section, text: str) -> int:
    try:
        uid = int(text) if text.isdecimal() else pwd.getpwnam(text).pw_uid
    except (KeyError, ValueError):
        uid = -1
    if not 0 <= uid <= HIGHEST_ID:
        raise section.fault("uids", f"this node has no user {text[:60]!r}.", "Name a user of this node.")
    return uid


def _job(section: Section, text: str) -> int:
    if not text.isdecimal() or len(text) > 10:
        raise section.fault("slurm_jobs", f"{text[:60]!r} is not a job's number.", "Take it from `squeue`.")
    return int(text)
