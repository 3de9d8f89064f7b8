"""In which slots other gangs leave too few GPUs for one more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from planner.pool import Pool
    from planner.week import Week


def crowded_slots(
    week: Week, pool: Pool, gpus: int, others: Iterable[tuple[str, int, npt.NDArray[np.bool_]]]
) -> npt.NDArray[np.bool_]:
    """Return in which slots a pool, or one of those that it spans, has no GPUs left for a gang, shape (T,).

    Args:
        week: All inputs.
        pool: Where the gang would sit.
        gpus: Gang size.
        others: (pool, gang size, on per slot) of every other gang.
    """
    wanted = pool.draws(gpus)
    used = {name: np.zeros(week.grid.n_slots) for name in wanted}
    for name, size, on in others:
        for part, count in week.pool(name).draws(size).items():
            if part in used:
                used[part] += count * on
    crowded = np.zeros(week.grid.n_slots, dtype=bool)
    for name, count in wanted.items():
        crowded |= used[name] + count > week.pool(name).gpus_in_service(week.grid)
    return crowded
