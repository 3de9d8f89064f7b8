"""What a process writes, kept by a process of its own: no limit set on the writer reaches it."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Output:
    """The lines of one or several processes after each other; `pipe` is their stdout and stderr."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: list[str] = []
        self._read_bytes = 0
        with file.open("ab") as kept:
            self._keeper = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=kept)
        self.pipe = self._keeper.stdin

    def lines(self) -> list[str]:
        with self._file.open("rb") as kept:
            kept.seek(self._read_bytes)
            fresh = kept.read()
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        self._lines += whole.decode(errors="replace").splitlines()
        return self._lines

    def last(self, word: str, since: int = 0) -> str:
        """Return what follows a word that begins a line, the last time since a line; "" if it did not come."""
        return next((line.removeprefix(word)[1:] for line in reversed(self.lines()[since:]) if _begins(line, word)), "")

    def says(self, text: str, since: int = 0) -> bool:
        return any(text in line for line in self.lines()[since:])

    def close(self, within_s: float) -> None:
        """Raise TimeoutExpired if a process that has the pipe still lives."""
        self.pipe.close()
        try:
            self._keeper.wait(within_s)
        finally:
            self._keeper.kill()


def _begins(line: str, word: str) -> bool:
    return line == word or line.startswith(f"{word} ")
