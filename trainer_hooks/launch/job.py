"""One command in a process group of its own: the terminal, signals, its end, and what it leaves behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trainer_hooks.clock import Clock

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# What a shell returns for a command that is there but cannot be run, and for one that is not there.
CANNOT_RUN, NOT_FOUND = 126, 127
_TERMINAL = 0
_LIBC = ctypes.CDLL(None)
_LOOK_S = 0.02


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that none outlives the job unseen."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


class Job:
    """A running command.

    Args:
        argv: The command and its arguments.
        environ: Its environment.
        mask: Signals blocked before ours were, which the command gets back.
        stdout: Where its output goes, as for subprocess.Popen; None for ours.

    Raises:
        OSError: The command cannot be started.
    """

    def __init__(
        self, argv: Sequence[str], environ: Mapping[str, str], mask: Iterable[int], stdout: int | None = None
    ) -> None:
        self._has_terminal = _in_foreground()
        restored, has_terminal = set(mask), self._has_terminal

        def prepare() -> None:
            os.setpgid(0, 0)
            if has_terminal:
                os.tcsetpgrp(_TERMINAL, os.getpgrp())
            # If the parent is killed, the command is told to save and end like at any other end.
            _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            signal.pthread_sigmask(signal.SIG_SETMASK, restored)

        self._process = subprocess.Popen(  # noqa: S603 - running the user's command is what this is for
            list(argv),
            env=dict(environ),
            stdout=stdout,
            preexec_fn=prepare,  # noqa: PLW1509 - it asks for nothing that another thread may hold
        )
        self.pid = self._process.pid
        self.output = self._process.stdout
        self.code: int | None = None
        self.stopped = False

    def poll(self) -> int | None:
        """Look how the command fares.

        Returns:
            Its exit code once it has ended, 128 + n for signal n; None while it lives.
        """
        while self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if not pid:
                break
            if os.WIFSTOPPED(status):
                self.stopped = True
            elif os.WIFCONTINUED(status):
                self.stopped = False
            else:
                ended = os.waitstatus_to_exitcode(status)
                self.code = ended if ended >= 0 else 128 - ended
                self._process.returncode = ended
        return self.code

    def send(self, number: int) -> None:
        """Send a signal to every process of the group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def send_to_takers(self, number: int) -> int:
        """Send a signal to the processes of the job that have a handler for it; it would end the others.

        Args:
            number: The signal.

        Returns:
            How many processes got it.
        """
        takers = [pid for pid in self._members() if _takes(pid, number)]
        for pid in takers:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return len(takers)

    def stop_with(self) -> None:
        """Stop as the command was stopped from the terminal, and go on with it when we are continued."""
        self._take_terminal()
        os.killpg(os.getpgrp(), signal.SIGSTOP)
        self.give_terminal()
        self.send(signal.SIGCONT)
        self.stopped = False

    def give_terminal(self) -> None:
        """Put the command into the foreground, if we are in it."""
        if self._has_terminal and _in_foreground():
            with suppress(OSError):
                os.tcsetpgrp(_TERMINAL, self.pid)

    def end(self, grace_s: float, clock: Clock) -> int:
        """End the command: SIGTERM, and SIGKILL after a while.

        Args:
            grace_s: Time between the two, s.
            clock: Time.

        Returns:
            Its exit code.
        """
        deadline_s = clock.monotonic() + grace_s
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)  # a stopped command could not act on it
        while self.poll() is None and clock.monotonic() < deadline_s:
            clock.sleep(_LOOK_S)
        return self.clear(grace_s, clock)

    def clear(self, grace_s: float, clock: Clock) -> int:
        """Take the terminal back and end all that is left: the command at once, what outlived it with a grace.

        Args:
            grace_s: From SIGTERM to SIGKILL, s.
            clock: Time.

        Returns:
            The command's exit code.
        """
        self._take_terminal()
        if self.poll() is None:
            self.send(signal.SIGKILL)
        deadline_s = clock.monotonic() + grace_s
        told: set[int] = set()
        while (code := self.poll()) is None or (left := self._leftovers()):
            late = clock.monotonic() >= deadline_s
            for pid in left if code is not None else ():
                if late or pid not in told:
                    told.add(pid)
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
            clock.sleep(_LOOK_S)
        return code

    def _leftovers(self) -> list[int]:
        """List the processes that outlived the command: of its group, or adopted by us."""
        _reap()
        return self._members()

    def _take_terminal(self) -> None:
        if self._has_terminal:
            with suppress(OSError):
                os.tcsetpgrp(_TERMINAL, os.getpgrp())

    def _members(self) -> list[int]:
        me = os.getpid()
        return [pid for pid, parent, group in _processes() if group == self.pid or parent == me]


def _in_foreground() -> bool:
    try:
        return os.isatty(_TERMINAL) and os.tcgetpgrp(_TERMINAL) == os.getpgrp()
    except OSError:
        return False


def _processes() -> list[tuple[int, int, int]]:
    """List pid, parent and process group of every process that lives."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError, ValueError):
                # The name in parentheses may hold anything, also parentheses and blanks.
                state, parent, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
                if state != "Z":
                    found.append((int(folder.name), int(parent), int(group)))
    return found


def _takes(pid: int, number: int) -> bool:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def _reap() -> None:
    """Take the exit codes of adopted processes, so that they do not stay as zombies."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _prctl(option: int, value: int) -> None:
    # Absent outside Linux, where the command then lives on without it.
    with suppress(OSError, AttributeError):
        _LIBC.prctl(option, value, 0, 0, 0)
