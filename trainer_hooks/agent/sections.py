"""Files of named sections, INI or JSON, whose every fault names file, section, key, value, limit and mend."""

from __future__ import annotations

import configparser
import difflib
import math
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_hooks.errors import AgentError, CalendarError
from trainer_hooks.strictjson import parse_object, read_bytes

HIGHEST_ID = 2**32 - 2  # of users and groups; the kernel takes the next one for "none"
_LIMIT_BYTES = 1024 * 1024
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True)
class Section:
    """One section of a file.

    Attributes:
        file: Name of the file.
        name: Name of the section.
        values: Key -> text.
    """

    file: str
    name: str
    values: Mapping[str, str]

    def fault(self, key: str, why: str, fix: str) -> AgentError:
        """Make the error for a key of this section."""
        return AgentError(f"{self.file}, section [{self.name}], key {key}", why, fix)

    def expect(self, known: Iterable[str]) -> None:
        """Refuse keys that mean nothing here.

        Raises:
            AgentError: Naming the first unknown key, and the known one that it resembles.
        """
        names = sorted(known)
        for key in self.values:
            if key not in names:
                near = difflib.get_close_matches(key, names, 1)
                meant = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(names)}."
                raise self.fault(key, "there is no such key.", meant)

    def text(self, key: str, default: str | None = None) -> str:
        """Get a text that is not empty; required without a default."""
        value = self.values.get(key, "").strip()
        if value:
            if not _NAME.fullmatch(value):
                raise self.fault(key, "it holds control characters or more than 200.", "Write it in one plain line.")
            return value
        if default is None:
            raise self.fault(key, "it is missing.", "Set it.")
        return default

    def names(self, key: str) -> tuple[str, ...]:
        """Get a list of texts, separated by commas or line ends; empty where the key is absent."""
        parts = re.split(r"[,\n]", self.values.get(key, ""))
        return tuple(part.strip() for part in parts if part.strip())

    def number(self, key: str, unit: str, low: float, high: float, default: float | None = None) -> float:
        """Get a number within closed limits; required without a default.

        Raises:
            AgentError: Naming value, unit and limits.
        """
        text = self.values.get(key, "").strip()
        if not text and default is not None:
            return default
        mend = f"Set a number from {low:g} to {high:g} {unit}."
        try:
            value = float(text)
        except ValueError:
            raise self.fault(key, f"{text[:40]!r} is not a number." if text else "it is missing.", mend) from None
        if not math.isfinite(value) or not low <= value <= high:
            raise self.fault(key, f"{text[:40]} {unit} is not within {low:g} to {high:g} {unit}.", mend)
        return value

    def optional_number(self, key: str, unit: str, low: float, high: float) -> float | None:
        """Get a number within closed limits, or None where the key is absent."""
        return self.number(key, unit, low, high) if self.values.get(key, "").strip() else None

    def path(self, key: str) -> Path | None:
        """Get an absolute path, or None where the key is absent."""
        text = self.text(key, "")
        if text and not Path(text).is_absolute():
            raise self.fault(key, f"{text[:80]!r} is not an absolute path.", "Write it from the root: /etc/...")
        return Path(text) if text else None


def read_sections(path: Path) -> tuple[Section, ...]:
    """Read a file's sections; one that ends in `.json` is JSON, any other INI.

    Args:
        path: The file.

    Returns:
        The sections in the file's order.

    Raises:
        AgentError: The file cannot be read, or is not of this form.
    """
    try:
        content = read_bytes(path, _LIMIT_BYTES)
        found = _json(content, str(path)) if path.suffix == ".json" else _ini(content, str(path))
    except CalendarError as error:
        raise AgentError(error.what, error.why, "Mend the file.") from error
    return tuple(Section(str(path), name, values) for name, values in found.items())


def check_owner(path: Path, allow_read: bool) -> None:
    """Refuse a file that others could change, or read where it holds a secret.

    Args:
        path: The file; a link is refused.
        allow_read: Whether others may read it.

    Raises:
        AgentError: Naming owner or mode, and the command that mends them.
    """
    try:
        facts = path.lstat()
    except OSError as error:
        raise AgentError(str(path), f"it cannot be used ({error}).", "Make it, or correct the path.") from error
    if stat.S_ISLNK(facts.st_mode):
        raise AgentError(str(path), "it is a link, which others may turn.", "Name the file itself.")
    if facts.st_uid not in {0, os.geteuid()}:
        raise AgentError(str(path), f"it belongs to user {facts.st_uid}.", f"Run `chown root {path}`.")
    mode = stat.S_IMODE(facts.st_mode)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise AgentError(str(path), f"its mode is {mode:04o}: others may write it.", f"Run `chmod go-w {path}`.")
    if not allow_read and mode & 0o077:
        raise AgentError(
            str(path), f"it holds a secret and its mode is {mode:04o}, not 0600.", f"Run `chmod 600 {path}`."
        )


def _ini(content: bytes, file: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, default_section="", inline_comment_prefixes=(";", "#"))
    try:
        parser.read_string(content.decode("utf-8"), file)
    except (configparser.Error, ValueError) as error:
        raise AgentError(file, f"it is not an INI file ({str(error).splitlines()[0]}).", "Mend that line.") from error
    return {name: dict(parser.items(name)) for name in parser.sections()}


def _json(content: bytes, file: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, section in parse_object(content, file).items():
        found[name] = {key: _json_text(node.value, file, node.key) for key, node in section.expect_object().items()}
    return found


def _json_text(value: Any, file: str, key: str) -> str:
    if isinstance(value, list) and all(isinstance(item, (str, int)) and not isinstance(item, bool) for item in value):
        return "\n".join(str(item) for item in value)
    if isinstance(value, str) or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return str(value)
    raise AgentError(f"{file}, key {key}", "it must be a text, a number or a list of these.", "Mend that value.")
