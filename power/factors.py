"""Emission factors of electricity by technology: sets with a name, a version and one basis, never mixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class MixedBasis(ValueError):
    """Direct and lifecycle figures were about to meet in one sum."""


class UnknownTechnology(ValueError):
    """A factor set has no value for a technology."""


@dataclass(frozen=True)
class Factor:
    """One emission factor.

    Args:
        gco2_per_kwh: Emissions of a kWh generated, gCO2e/kWh.
        grade: "published" or "assumed".
        source: Who says so, and where.
    """

    gco2_per_kwh: float
    grade: str
    source: str


@dataclass(frozen=True)
class FactorSet:
    """Factors of one basis.

    Args:
        name: Such as "lifecycle-ipcc2014"; stands beside every figure with the version.
        version: Raised with every change of a value.
        basis: "direct" (at the stack) or "lifecycle".
        factors: Technology -> factor.
        carbon_free: Technologies that count in the CFE score.
        renewable: Technologies whose energy counts as renewable.
    """

    name: str
    version: str
    basis: str
    factors: Mapping[str, Factor]
    carbon_free: frozenset[str]
    renewable: frozenset[str]

    @property
    def label(self) -> str:
        """Name and version in one word, such as "direct-ipcc2014/1"."""
        return f"{self.name}/{self.version}"

    def gco2_per_kwh(self, technology: str) -> float:
        """Return a technology's factor, gCO2e/kWh.

        Raises:
            UnknownTechnology: The set has none for it.
        """
        try:
            return self.factors[technology].gco2_per_kwh
        except KeyError:
            raise UnknownTechnology(
                f"factor set {self.label} has no value for {technology!r}; it has {', '.join(sorted(self.factors))}"
            ) from None


def require_basis(wanted: str, given: Mapping[str, str]) -> None:
    """Refuse to let figures of different bases meet.

    Args:
        wanted: Basis of the account.
        given: What is to enter it -> its basis.

    Raises:
        MixedBasis: One of them has another basis.
    """
    for subject, basis in given.items():
        if basis != wanted:
            raise MixedBasis(
                f"{subject} is {basis}, but the account is {wanted}: direct and lifecycle figures lie about 20 % apart "
                "and are never added"
            )
