"""What the loops do after a failure: exact courses of their temperatures, and the seconds to a limit.

Chip cases, cold plates, rack loop, coolant distribution unit (CDU), facility loop and heat rejection are nodes of one
linear model (`thermal.transient.state_space`). It is solved by the matrix exponential (`thermal.transient.step`), so a
step of any length is exact and stable.

Each leg of a loop is one well-mixed node: a transport delay becomes a lag of the same mean length. Flows that go on
keep their rate. Pumps stop at once, without coasting down, and pipes give nothing to the room, both on the safe side.
Loss of pumps takes seconds: no plan protects against it, only pumps on a UPS and a trip in hardware do.
"""

from __future__ import annotations

from thermal.transient.course import LoopCourse, course
from thermal.transient.inertia import LoopInertia
from thermal.transient.limit import time_to_limit_s
from thermal.transient.operation import LoopOperation
from thermal.transient.ride_through import RideThroughRow, ride_through_heat_kw, ride_through_row, ride_through_s
from thermal.transient.state_space import Event

__all__ = [
    "Event",
    "LoopCourse",
    "LoopInertia",
    "LoopOperation",
    "RideThroughRow",
    "course",
    "ride_through_heat_kw",
    "ride_through_row",
    "ride_through_s",
    "time_to_limit_s",
]
