"""What a training process did, for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from trainer_hooks.energy import SHORT_S
from trainer_hooks.node_meter import NO_NODE, reconcile
from trainer_hooks.waste import NO_WASTE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer_hooks.energy import Energy
    from trainer_hooks.node_meter import NodeEnergy
    from trainer_hooks.waste import Waste


@dataclass(frozen=True)
class GovernorReport:
    """Sums over the life of one Governor.

    Attributes:
        run: Name of the run.
        calendar_id: Calendar in force; None if there is none.
        tokens: Tokens trained.
        useful_tokens: Tokens trained less those lost to rollbacks.
        energy: Energy of the boards with source and error.
        gpus: Number of GPU boards metered.
        seconds: State -> time spent in it, s.
        adherence: Share of the time under a calendar that was spent in the state it asked for; None without one.
        planned_tokens: Tokens the calendar expected of the whole gang in that time.
        waste: Joules of the boards that trained nothing that is kept.
        node: Energy of host and node beside that of the boards.
        metered_elsewhere: Number of GPU boards of this process that another one meters.
        loader_watched: Whether the wait for data is known.
        limit_settled_s: Longest time until a limit was seen in force on all boards, s; None where none was followed.
    """

    run: str
    calendar_id: str | None
    tokens: int
    useful_tokens: int
    energy: Energy
    gpus: int
    seconds: Mapping[str, float]
    adherence: float | None
    planned_tokens: float
    waste: Waste = NO_WASTE
    node: NodeEnergy = NO_NODE
    metered_elsewhere: int = 0
    loader_watched: bool = False
    limit_settled_s: float | None = None

    @property
    def scope(self) -> str:
        """What the joules cover."""
        boards = "1 GPU board" if self.gpus == 1 else f"{self.gpus} GPU boards"
        elsewhere = f"; {self.metered_elsewhere} more metered by another process" if self.metered_elsewhere else ""
        return f"{boards} of this process, without host, network and cooling{elsewhere}"

    @property
    def useful_j(self) -> float:
        """Energy of the boards that trained what is kept, J."""
        return self.energy.energy_j - self.waste.total_j

    @property
    def tokens_per_joule(self) -> float | None:
        """Useful tokens per joule; None without energy."""
        return self.useful_tokens / self.energy.energy_j if self.energy.energy_j > 0 else None

    @property
    def tokens_per_joule_error(self) -> float | None:
        """Half-width of its uncertainty; tokens are exact, so it is the energy's."""
        ratio = self.tokens_per_joule
        return None if ratio is None else abs(ratio) * self.energy.error_j / self.energy.energy_j

    def __str__(self) -> str:
        ratio, error = self.tokens_per_joule, self.tokens_per_joule_error
        per_joule = "not known" if ratio is None else f"{ratio:.4g} +- {error:.2g} tokens/J"
        followed = (
            ("no time of this lies within the calendar" if self.calendar_id else "no calendar was followed")
            if self.adherence is None
            else f"{self.adherence:.1%} of the time as planned; the gang was to train {self.planned_tokens:,.0f} tokens"
        )
        states = ", ".join(f"{state} {seconds:.1f} s" for state, seconds in self.seconds.items())
        return "\n".join(
            (
                f"run        {self.run or '(unnamed)'}, calendar {self.calendar_id or 'none'}",
                f"tokens     {self.tokens:,} trained, {self.useful_tokens:,} useful",
                f"energy     {self._energy_text()}",
                f"scope      {self.scope}",
                f"wasted     {self._waste_text()}",
                *self._node_lines(),
                f"efficiency {per_joule}",
                f"adherence  {followed}",
                *self._limit_lines(),
                f"states     {states or 'none'}",
            )
        )

    def _energy_text(self) -> str:
        if self.energy.source == "none" and self.gpus:
            return "not known: the boards offer neither energy nor power, and no limit is known to model them by"
        text = f"{self.energy.energy_j:,.1f} +- {self.energy.error_j:,.1f} J ({self.energy.source})"
        length_s = sum(self.seconds.values())
        short = self.energy.source == "counter" and 0.0 < length_s < SHORT_S
        return f"{text}; {length_s:.1f} s are short for a sensor that looks at a quarter of the time" if short else text

    def _waste_text(self) -> str:
        parts = ", ".join(f"{cause.removesuffix('_j')} {used_j:,.1f}" for cause, used_j in asdict(self.waste).items())
        unknown = "" if self.loader_watched else "; the loader is not watched, so starvation counts as training"
        return f"{self.waste.total_j:,.1f} J: {parts}; useful {self.useful_j:,.1f}{unknown}"

    def _limit_lines(self) -> tuple[str, ...]:
        if self.limit_settled_s is None:
            return ()
        return (f"limits     in force within {self.limit_settled_s:.2f} s of being asked for, at most",)

    def _node_lines(self) -> tuple[str, ...]:
        host, node = self.node.host, self.node.node
        lines: list[str] = []
        if self.node.domains:
            domains = ", ".join(self.node.domains)
            lines.append(f"host       {host.energy_j:,.1f} +- {host.error_j:,.1f} J by RAPL: {domains}")
        found = reconcile(self.energy, self.node)
        if found is not None:
            verdict = (
                "more than the whole: one of the meters is wrong"
                if found.contradicts
                else "the rest is fans, power supplies, network and disks"
            )
            lines.append(
                f"node       {node.energy_j:,.1f} +- {node.error_j:,.1f} J at its PDU or BMC; the boards of this "
                f"process and the host are {found.parts_share:.0%} of it, {verdict}"
            )
        return tuple(lines)
