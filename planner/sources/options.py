"""Options of a provider as a site file gives them, read once and completely."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return 'did you mean "x"? ' for the nearest known word, or "" where none is near."""
    near = nearest(word, known)
    return "" if near is None else f'did you mean "{near}"? '


class Options:
    """A reader of options that refuses what nobody asked for.

    Args:
        subject: Whose options they are, for errors.
        given: The options.
    """

    def __init__(self, subject: str, given: Mapping[str, object]) -> None:
        self.subject = subject
        self._given = given
        self._known: list[str] = []

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; one without a default must be given."""
        value = self._get(key, default)
        if not isinstance(value, str) or (not value and default != ""):
            raise self._wrong(key, value, "a text")
        return value

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """Return one of the allowed words."""
        value = self.text(key, default)
        if value not in allowed:
            raise ConfigError(
                f"{self.subject}: {key} is {value!r}; allowed are {', '.join(allowed)}",
                fix=f"{did_you_mean(value, allowed)}set {key} to one of them",
            )
        return value

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        """Return a number in [low, high]; one without a default must be given."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(key, value, "a number")
        if not low <= value <= high:
            raise ConfigError(f"{self.subject}: {key} is {value:g}; it must lie in {low:g} to {high:g}")
        return float(value)

    def table(self, key: str) -> Mapping[str, object]:
        """Return a table that must be given and not be empty."""
        value = self._get(key, None)
        if not isinstance(value, dict) or not value:
            raise self._wrong(key, value, "a table")
        return value

    def finish(self) -> None:
        """Refuse what was given but not read.

        Raises:
            ConfigError: An option is not known.
        """
        for key in self._given:
            if key not in self._known:
                raise ConfigError(
                    f"{self.subject} has no option {key!r}",
                    fix=f"{did_you_mean(key, self._known)}known are {', '.join(self._known) or 'none'}",
                )

    def _get(self, key: str, default: object) -> object:
        self._known.append(key)
        value = self._given.get(key, default)
        if value is None:
            # A misspelt key is both unknown and missing: the message must point at the word that was written.
            stray = nearest(key, [k for k in self._given if k not in self._known])
            raise ConfigError(
                f"{self.subject} needs the option {key!r}",
                why="" if stray is None else f"it has {stray!r} instead",
                fix=f"add {key}; it is declared, never guessed",
            )
        return value

    def _wrong(self, key: str, value: object, kind: str) -> ConfigError:
        return ConfigError(f"{self.subject}: {key} is {value!r}; it must be {kind}")
