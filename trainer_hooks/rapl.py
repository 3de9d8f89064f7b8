"""Joules of the node's processors and memory from RAPL, as Linux shows it under /sys/class/powercap.

A package zone counts its cores and uncore, which stand below it as zones of their own, but not the memory, which
stands below it too; `psys` counts all of it once more, and the memory-mapped provider shows the same packages a second
time. So packages and memory are summed, each once. Kernels show AMD's packages under the same names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.energy import NO_ENERGY, Energy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

POWERCAP = Path("/sys/class/powercap")
# Source: Khan et al., "RAPL in Action" (2018): packages follow plug power within some per cent; Desrochers, Paradis and
# Weaver, "A validation of DRAM RAPL power measurements" (2016): memory on servers within 20 %.
PACKAGE_ERROR, MEMORY_ERROR = 0.05, 0.20
# Source: Intel SDM, volume 3B, 15.10: the counter is renewed about every millisecond.
_RENEWED_S = 0.001
# No package with its memory draws more; a counter that could have wrapped twice since the last look is not believed.
_HIGHEST_W = 1500.0
_MICRO = 1e-6
_ZONE = re.compile(r"intel-rapl:\d+(:\d+)*")
_PACKAGE = re.compile(r"package-\d+(-die-\d+)?")


@dataclass(frozen=True)
class Domain:
    """One counter of RAPL.

    Attributes:
        name: `package-0`, or `dram of package-0`.
        path: Folder with `energy_uj`.
        range_j: Where the counter wraps around, J; None if that cannot be read.
        error_share: Half-width of its error, share of its energy.
    """

    name: str
    path: Path
    range_j: float | None
    error_share: float


def find_domains(root: Path = POWERCAP) -> tuple[Domain, ...]:
    """Find the packages and memories of this node, each once.

    Args:
        root: Folder of the powercap zones.

    Returns:
        The domains in order of their names; none where there is no RAPL.
    """
    found: dict[str, Domain] = {}
    try:
        zones = sorted(path for path in root.iterdir() if _ZONE.fullmatch(path.name))
    except OSError:
        return ()
    for path in zones:
        name = _text(path / "name")
        if name == "dram":
            parent = _text(root / path.name.rpartition(":")[0] / "name") if path.name.count(":") > 1 else ""
            name, error_share = f"dram of {parent}" if parent else f"dram of {path.name}", MEMORY_ERROR
        elif name and _PACKAGE.fullmatch(name):
            error_share = PACKAGE_ERROR
        else:
            continue
        range_uj = _number(path / "max_energy_range_uj")
        found.setdefault(name, Domain(name, path, range_uj * _MICRO if range_uj else None, error_share))
    return tuple(found[name] for name in sorted(found))


class RaplMeter:
    """Sums the domains that may be read.

    Args:
        domains: The node's domains.
        monotonic: Clock, s.

    Attributes:
        names: The domains that are read.
        notice: A sentence about those that may not be read, or "".
    """

    def __init__(self, domains: Sequence[Domain], monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        refused = [domain for domain in domains if self._read_j(domain) is None]
        self._domains = tuple(domain for domain in domains if domain not in refused)
        self.names = tuple(domain.name for domain in self._domains)
        self.notice = (
            f"RAPL's {', '.join(domain.name for domain in refused)} may not be read, so host joules are left out; "
            "give this user read access to energy_uj under /sys/class/powercap, or name a power meter of the node."
            if refused
            else ""
        )
        self._time_s = monotonic()
        self._last_j = [self._read_j(domain) for domain in self._domains]

    def sample(self) -> Energy:
        """Read the counters.

        Returns:
            Energy since the last sample. A domain that cannot be read, or whose wrap-around cannot be told, adds
            nothing for that time: never less than nothing.
        """
        now_s = self._monotonic()
        elapsed_s, self._time_s = now_s - self._time_s, now_s
        energy = NO_ENERGY
        for index, domain in enumerate(self._domains):
            now_j, before_j = self._read_j(domain), self._last_j[index]
            self._last_j[index] = now_j
            used_j = _difference_j(domain, before_j, now_j, elapsed_s)
            if used_j is not None and elapsed_s > 0:
                edge_j = _RENEWED_S * used_j / elapsed_s
                energy = energy.beside(Energy(used_j, domain.error_share * used_j, edge_j, "counter"))
        return energy

    @staticmethod
    def _read_j(domain: Domain) -> float | None:
        found = _number(domain.path / "energy_uj")
        return None if found is None else found * _MICRO


def _difference_j(domain: Domain, before_j: float | None, now_j: float | None, elapsed_s: float) -> float | None:
    if before_j is None or now_j is None:
        return None
    used_j = now_j - before_j
    if used_j < 0:
        if domain.range_j is None:
            return None
        used_j += domain.range_j
    most_j = _HIGHEST_W * (elapsed_s + 1.0)
    # A backward step that would take more than the node can draw was a reset; a second wrap-around that would take
    # less cannot be told from none.
    if used_j < 0 or used_j > most_j or (domain.range_j is not None and used_j + domain.range_j <= most_j):
        return None
    return used_j


def _number(path: Path) -> float | None:
    text = _text(path)
    return float(text) if text.isascii() and text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()[:64]
    except (OSError, ValueError):
        return ""
