"""What runs inside training and on GPU nodes; needs the standard library and nvidia-ml-py only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_hooks.governor import Governor

__all__ = ["Governor"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that reading a calendar does not load what only training needs.
    if name == "Governor":
        from trainer_hooks.governor import Governor

        return Governor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
