"""What can go wrong on the training side.

HookError
├── AgentError       the node agent refuses, or cannot run as it is configured
│   ├── AgentBusy    the node agent refuses for now: the same may be asked again
│   └── AgentGone    the node agent does not answer
├── CalendarError    a run calendar cannot be read, is not valid, or cannot be published
├── GpuError         a GPU cannot be found, read or limited
│   └── ScopeError   what is asked belongs to more than this process's share of a GPU
├── SettingError     an environment variable or argument of the Governor cannot be used
└── SweepError       a sweep of power limits cannot be made, or has no result
"""

from __future__ import annotations


class HookError(Exception):
    """A fault told in three parts: what failed, why, and how to mend it.

    Args:
        what: The subject: file and key, device, or setting.
        why: Value, unit and limit in one sentence.
        fix: What the reader can do about it.
    """

    def __init__(self, what: str, why: str, fix: str) -> None:
        super().__init__(what, why, fix)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}: {self.why} {self.fix}"


class AgentError(HookError):
    """The node agent refuses a request, or cannot run as it is configured."""


class AgentBusy(AgentError):
    """The node agent refuses for now: the same may be asked again later."""


class AgentGone(AgentError):
    """The node agent does not answer."""


class CalendarError(HookError):
    """A run calendar cannot be read, is not valid, or cannot be published."""


class GpuError(HookError):
    """A GPU cannot be found, read or limited."""


class ScopeError(GpuError):
    """What is asked belongs to a whole board, of which this process has a share only."""


class SettingError(HookError):
    """A setting of the Governor cannot be used."""


class SweepError(HookError):
    """A sweep of power limits cannot be made, or has no result."""
