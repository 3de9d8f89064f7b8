"""What blocks and pools are called in the program: PuLP writes some signs of names alike."""

from __future__ import annotations

from collections.abc import Sequence

AS_WRITTEN = str.maketrans(dict.fromkeys("-+[] >/", "_"))
"""How PuLP writes the signs of names."""


def labels(names: Sequence[str]) -> dict[str, str]:
    """Return what each name is called: as PuLP writes it, with its place behind it where two would be written alike."""
    written = {name: name.translate(AS_WRITTEN) for name in names}
    if len(set(written.values())) == len(written):
        return written
    return {name: f"{label}.{place}" for place, (name, label) in enumerate(written.items())}
