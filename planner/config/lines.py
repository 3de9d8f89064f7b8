"""Where in a TOML text each key stands: `tomllib` gives values without line numbers."""

from __future__ import annotations

import tomllib

KeyPath = tuple[str | int, ...]


def line_numbers(text: str) -> dict[KeyPath, int]:
    """Return the line of every key, table and array element of a TOML text.

    Args:
        text: A text that `tomllib` accepts.

    Returns:
        Key path, such as ("block", 0, "capacity_kw"), to its line, counted from 1.
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    scanner.document()
    return scanner.lines


def nearest_line(lines: dict[KeyPath, int], path: KeyPath) -> int | None:
    """Return the line of `path`, or of the innermost table around it that has one, or None."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


class _Scanner:
    """A walk over valid TOML that notes places and skips values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.lines: dict[KeyPath, int] = {}
        self.array_sizes: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath = ()
        while self._skip_blank(newlines=True):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> KeyPath:
        doubled = self.text.startswith("[[", self.at)
        self.at += 2 if doubled else 1
        names = self._key()
        self.at += 2 if doubled else 1
        path: KeyPath = ()
        for i, name in enumerate(names):
            path = (*path, name)
            if doubled and i == len(names) - 1:
                self.array_sizes[path] = self.array_sizes.get(path, 0) + 1
            self._note(path)
            if path in self.array_sizes:
                path = (*path, self.array_sizes[path] - 1)
                self._note(path)
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self.line
        path = table
        for name in self._key():
            path = (*path, name)
            self.lines.setdefault(path, line)
        self.at += 1  # the equals sign
        self._skip_blank()
        self._value(path)

    def _key(self) -> tuple[str, ...]:
        names: list[str] = []
        while True:
            self._skip_blank()
            if self.text[self.at] in "\"'":
                start = self.at
                self._string()
                names.append(str(tomllib.loads(f"name = {self.text[start : self.at]}")["name"]))
            else:
                start = self.at
                while self.text[self.at].isalnum() or self.text[self.at] in "_-":
                    self.at += 1
                names.append(self.text[start : self.at])
            self._skip_blank()
            if self.text[self.at] != ".":
                return tuple(names)
            self.at += 1

    def _value(self, path: KeyPath) -> None:
        opener = self.text[self.at]
        if opener in "\"'":
            self._string()
        elif opener == "[":
            self._array(path)
        elif opener == "{":
            self._inline_table(path)
        else:
            while self.at < len(self.text) and self.text[self.at] not in ",]}#\n":
                self.at += 1

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while self._skip_blank(newlines=True) and self.text[self.at] != "]":
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._note((*path, index))
            self._value((*path, index))
            index += 1
        self.at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self._skip_blank(newlines=True) and self.text[self.at] != "}":
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._pair(path)
        self.at += 1

    def _string(self) -> None:
        quote = self.text[self.at]
        end = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(end)
        while not self.text.startswith(end, self.at):
            if self.text[self.at] == "\\" and quote == '"':
                self.at += 1
            if self.text[self.at] == "\n":
                self.line += 1
            self.at += 1
        self.at += len(end)
        while len(end) > 1 and self.text[self.at : self.at + 1] == quote:  # '""""' ends a string that ends in a quote
            self.at += 1

    def _skip_blank(self, *, newlines: bool = False) -> bool:
        while self.at < len(self.text):
            here = self.text[self.at]
            if here == "#":
                while self.at < len(self.text) and self.text[self.at] != "\n":
                    self.at += 1
            elif here == "\n" and newlines:
                self.line += 1
                self.at += 1
            elif here in " \t":
                self.at += 1
            else:
                return True
        return False

    def _note(self, path: KeyPath) -> None:
        self.lines.setdefault(path, self.line)
