"""The hub of one node: takes the reports of its ranks, decides or asks the hub that decides, and changes their word."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer_hooks.agreement.coordinator import SAVE_LONGEST_S, Coordinator, Timing
from trainer_hooks.agreement.messages import Report, count, order_document, report_from, token
from trainer_hooks.agreement.processes import Process, ended, seen
from trainer_hooks.agreement.relay import Relay
from trainer_hooks.agreement.word import WordFile
from trainer_hooks.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

    from trainer_hooks.agreement.link import Link
    from trainer_hooks.wire import Peer

_LOG = logging.getLogger("trainer_hooks.hub")
RANK_LIMIT: Final = 2**20
_JOBS_PER_USER = 16
_JOBS = 256
_NAME_LIMIT = 200
_TICK_S = 0.05
_REST_S = 0.5
_FORGET_S = 3600.0


class _Job:
    """One job on this node."""

    def __init__(self, decides: Coordinator | Relay, word: WordFile, now_s: float) -> None:
        self.decides = decides
        self.word = word
        self.processes: dict[int, tuple[str, Process]] = {}  # rank -> incarnation and process
        self.used_s = now_s

    def publish(self) -> None:
        """Change the word if there is something new."""
        if self.decides.order is not None:
            self.word.write(self.decides.order.number)


class Hub:
    """Serves every job on a node; jobs of different users never meet.

    Args:
        folder: Where words are put: only this process may write there, and ranks must be able to enter it. None takes
            systemd's RuntimeDirectory, else a temporary folder.
        timing: How long things may take.
        links: Name of another node's hub -> the way there; a job that names one is decided there.
        monotonic: Clock, s.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        timing: Timing | None = None,
        links: Mapping[str, Link] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = _own_folder() if folder is None else folder
        self._timing = timing or Timing()
        self._links = dict(links or {})
        self._monotonic = monotonic
        self._token = secrets.token_hex(8)
        self._lock = threading.RLock()
        self._jobs: dict[tuple[int, str, int], _Job] = {}
        self._end = threading.Event()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None

    def handle(self, peer: Peer, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a rank.

        Args:
            peer: The process that asks.
            message: `op` is `agree.sync`, with the rank's report and its job, or `agree.leave`.

        Returns:
            For `agree.sync` the order in force and how old it may be, the version of the report taken, and the path of
            the word.

        Raises:
            AgentError: The message is not one, or there are too many jobs.
        """
        operation = message.get("op")
        if operation not in {"agree.sync", "agree.leave"}:
            raise AgentError(f"operation {str(operation)[:40]!r}", "it is not known.", "Use the same version of both.")
        now_s = self._monotonic()
        with self._lock:
            job = self._job(peer, message, now_s)
            if operation == "agree.leave":
                rank, incarnation = count(message, "rank", 0, RANK_LIMIT), token(message, "incarnation")
                job.processes.pop(rank, None)
                job.decides.lose(rank, incarnation, now_s, "left")
                job.publish()
                return {}
            report = report_from(message.get("report"))
            count({"rank": report.rank}, "rank", 0, count(message, "ranks", 1, RANK_LIMIT) - 1)
            self._seat(job, peer, report)
            job.decides.receive(report, now_s)
            job.publish()
            order, age_s = job.decides.order, job.decides.age_s(now_s)
        self._news.set()
        return {
            "order": None if order is None else order_document(order),
            "told": report.version,
            "age_s": age_s,
            "word": str(job.word.path),
        }

    def from_node(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the hub of another node, which has proved that it knows the secret.

        Args:
            message: The node's job, `uid` its user, `reports` of its ranks with their age, and `lost` ranks.

        Returns:
            The order in force.

        Raises:
            AgentError: The message is not one, or there are too many jobs.
        """
        now_s = self._monotonic()
        reports, lost = message.get("reports"), message.get("lost")
        if not isinstance(reports, list) or not isinstance(lost, list):
            raise AgentError("message of a node", "it has no reports.", "Use the same version on all nodes.")
        with self._lock:
            job = self._job_of(count(message, "uid", 0, 2**32), None, message, now_s)
            for entry in lost:
                job.decides.lose(count(entry, "rank", 0, RANK_LIMIT), token(entry, "incarnation"), now_s)
            for entry in reports:
                report = report_from(entry)
                count({"rank": report.rank}, "rank", 0, count(message, "ranks", 1, RANK_LIMIT) - 1)
                age_s = entry.get("age_s", 0.0)
                job.decides.receive(report, now_s - (age_s if isinstance(age_s, (int, float)) else 0.0))
            job.publish()
            order = job.decides.order
        self._news.set()
        return {"order": None if order is None else order_document(order)}

    def tick(self) -> bool:
        """Do what time has made necessary.

        Returns:
            Whether a round is under way somewhere.
        """
        now_s, busy = self._monotonic(), False
        with self._lock:
            for key, job in tuple(self._jobs.items()):
                for rank, (incarnation, process) in tuple(job.processes.items()):
                    if ended(process):
                        del job.processes[rank]
                        job.decides.lose(rank, incarnation, now_s)
                job.decides.advance(now_s)
                job.publish()
                busy = busy or job.decides.is_open
                if not job.processes and now_s - job.used_s > _FORGET_S:
                    self._forget(key)
        return busy

    def waits_for(self, pid: int) -> bool:
        """Whether an `exit` has not reached all ranks yet, other than those of one process."""
        with self._lock:
            return any(
                job.decides.order is not None
                and job.decides.order.phase == "exit"
                and any(process.pid != pid for _, process in job.processes.values())
                for job in self._jobs.values()
            )

    def close(self) -> None:
        """End; the ranks go on by themselves."""
        self._end.set()
        self._news.set()
        with self._lock:
            for key in tuple(self._jobs):
                self._forget(key)
        for link in self._links.values():
            link.close()

    def _job(self, peer: Peer, message: Mapping[str, Any], now_s: float) -> _Job:
        gid = peer.gid if os.geteuid() == 0 else None
        return self._job_of(peer.uid, gid, message, now_s)

    def _job_of(self, uid: int, gid: int | None, message: Mapping[str, Any], now_s: float) -> _Job:
        name, root = message.get("job"), message.get("root", "")
        ranks = count(message, "ranks", 1, RANK_LIMIT)
        if not isinstance(name, str) or not 0 < len(name) <= _NAME_LIMIT:
            raise AgentError("agreement, key job", f"it must have 1 to {_NAME_LIMIT} characters.", "Set GRIDPACE_JOB.")
        limits = {"save_s": count(message, "save_s", 1, SAVE_LONGEST_S)} if "save_s" in message else {}
        key = (uid, name, ranks)
        job = self._jobs.get(key)
        if job is None:
            self._make_room(uid)
            decides: Coordinator | Relay
            if root:
                link = self._links.get(root) if isinstance(root, str) else None
                if link is None:
                    raise AgentError(
                        f"hub {str(root)[:80]!r}", "no way there is configured.", "Name the nodes' hubs to each other."
                    )
                decides = Relay(
                    link, {"uid": uid, "job": name, "ranks": ranks, **limits}, self._changed, self._monotonic
                )
            else:
                decides = Coordinator(ranks, self._token, replace(self._timing, **limits))
            job = self._jobs[key] = _Job(decides, WordFile(self._folder, gid), now_s)
            self._start()
        job.used_s = now_s
        return job

    def _make_room(self, uid: int) -> None:
        idle = [key for key, job in self._jobs.items() if not job.processes and not job.decides.is_open]
        if len(self._jobs) >= _JOBS or sum(key[0] == uid for key in self._jobs) >= _JOBS_PER_USER:
            for key in idle:
                if key[0] == uid or len(self._jobs) >= _JOBS:
                    self._forget(key)
        if len(self._jobs) >= _JOBS or sum(key[0] == uid for key in self._jobs) >= _JOBS_PER_USER:
            raise AgentError(
                f"jobs of user {uid}",
                f"{_JOBS_PER_USER} of a user and {_JOBS} of all are agreed on at once.",
                "End one first.",
            )

    def _seat(self, job: _Job, peer: Peer, report: Report) -> None:
        known = job.processes.get(report.rank)
        if report.mark == "gone":
            job.processes.pop(report.rank, None)
        elif known is None or known[0] != report.incarnation:
            job.processes[report.rank] = (report.incarnation, seen(peer.pid))

    def _changed(self) -> None:
        with self._lock:
            for job in self._jobs.values():
                job.publish()

    def _forget(self, key: tuple[int, str, int]) -> None:
        job = self._jobs.pop(key)
        job.word.close()
        if isinstance(job.decides, Relay):
            job.decides.close()

    def _tick_safely(self) -> bool:
        try:
            return self.tick()
        except Exception:
            _LOG.exception("gridpace: a look at the jobs failed; the next one follows.")
            return False

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="gridpace-hub", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._end.is_set():
            self._news.wait(_TICK_S if self._tick_safely() else _REST_S)
            if self._news.is_set():
                self._news.clear()
                self._end.wait(_TICK_S)


def _own_folder() -> Path:
    runtime = os.environ.get("RUNTIME_DIRECTORY", "").split(":")[0]
    folder = Path(tempfile.mkdtemp(prefix="words-", dir=runtime or None))
    folder.chmod(0o711)
    return folder
