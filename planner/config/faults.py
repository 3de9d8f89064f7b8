"""All faults of a site file, told at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from planner.config.lines import KeyPath, nearest_line
from planner.errors import ConfigError
from planner.nearest import nearest

SHOWN_FAULTS = 50
SHOWN_NAMES = 40


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Args:
        file: File as the user named it.
        line: Line in it, from 1, or None where the file has none for it.
        key: Key path as it would be written, such as "block[0].capacity_kw".
        what: One sentence with value, unit and limit.
        fix: What mends it.
    """

    file: str
    line: int | None
    key: str
    what: str
    fix: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        subject = f"{self.key}: " if self.key else ""
        return f"{place}: {subject}{self.what}\n    fix: {self.fix}"


class SiteFaults(ConfigError):
    """The site file has faults; all of them are listed.

    Args:
        file: The site file as the user named it.
        faults: At least one, in the order of their lines.
    """

    def __init__(self, file: str, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        shown = [str(f) for f in faults[:SHOWN_FAULTS]]
        if len(faults) > SHOWN_FAULTS:
            shown.append(f"... and {len(faults) - SHOWN_FAULTS} more")
        super().__init__(
            "\n".join([f"{file} has {count}", *shown]),
            fix="mend each line as its own fix says; `gridpace init` writes a sound file to compare with",
        )


@dataclass
class FaultList:
    """Faults as they are found in one file.

    Args:
        file: File as the user named it.
        lines: Line of each key path.
    """

    file: str
    lines: dict[KeyPath, int]
    found: list[Fault] = field(default_factory=list)

    def add(self, path: KeyPath, what: str, fix: str) -> None:
        """Note a fault of the key at `path`."""
        self.found.append(Fault(self.file, nearest_line(self.lines, path), key_text(path), what, fix))

    def raise_if_any(self, also: Iterable[Fault] = ()) -> None:
        """Raise all faults at once, by file and line.

        Raises:
            SiteFaults: There is at least one.
        """
        faults = sorted({*self.found, *also}, key=lambda f: (f.file != self.file, f.file, f.line or 0, f.key, f.what))
        if faults:
            raise SiteFaults(self.file, tuple(faults))


def key_text(path: KeyPath) -> str:
    """Return a key path as people write it: ("block", 0, "capacity_kw") as block[0].capacity_kw."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the mend for an unknown word: the nearest known one, or all of them."""
    names = list(known)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean {near!r}?"
    if len(names) > SHOWN_NAMES:
        return f"it is none of the {len(names)} known, such as {', '.join(names[:3])}"
    return f"known are: {', '.join(names)}" if names else "there is none yet: add one"


def shown_path(path: Path) -> str:
    """Return a path as text that is safe to print."""
    return str(path).encode("utf-8", "backslashreplace").decode()
