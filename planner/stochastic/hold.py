"""A program of which a part may not change any more: what has passed, or what a window before has left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from planner.optimize.matrix import Matrix
    from planner.optimize.model import Program
    from planner.optimize.places import Places


@dataclass(frozen=True)
class Held:
    """A program with a part of its columns held.

    Args:
        matrix: The program.
        offset: Constant part of the objective: what all changes that the costs are counted from would come to.
        start: Values of `Places.choices` of a plan to begin with, shape (C,).
    """

    matrix: Matrix
    offset: float
    start: npt.NDArray[np.float64]


class Hold(Protocol):
    """Holds what may not change any more."""

    def __call__(self, program: Program, places: Places, matrix: Matrix) -> Held:
        """Return the program with it held."""
