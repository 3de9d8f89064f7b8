"""Agreement by the training's own collective, every K steps."""

from __future__ import annotations

import threading

import pytest

from trainer_hooks.agreement.alone import Alone
from trainer_hooks.agreement.collective import Collective
from trainer_hooks.agreement.wish import Wish
from trainer_hooks.errors import SettingError


class Reduce:
    """The greatest of the numbers that all threads give."""

    def __init__(self, ranks):
        self.numbers = []
        self.calls = 0
        self.barrier = threading.Barrier(ranks, timeout=5.0)

    def __call__(self, number):
        self.numbers.append(number)
        self.barrier.wait()
        greatest = max(self.numbers)
        if self.barrier.wait() == 0:
            self.numbers.clear()
            self.calls += 1
        self.barrier.wait()
        return greatest


def train(agreement, wish, saves, seen, steps=30):
    for step in range(1, steps + 1):
        if not agreement.due(step):
            continue
        looks = 0
        while True:
            stance = agreement.stance(step, wish(step, looks))
            looks += 1
            seen.append((step, stance))
            if stance == "save":
                agreement.saved(saves)
            elif stance != "hold":
                break


@pytest.mark.parametrize("fails", [False, True])
def test_all_ranks_do_the_same_at_every_kth_step(fails):
    reduce = Reduce(3)
    wishes = {
        0: lambda step, looks: Wish.HOLD if step == 10 and looks < 4 else Wish.GO,
        1: lambda step, looks: Wish.SAVE_HOLD if step == 20 and not looks else Wish.GO,
        2: lambda _step, _looks: Wish.GO,
    }
    seen = {rank: [] for rank in wishes}
    threads = [
        threading.Thread(target=train, args=(Collective(reduce, 5), wish, not (fails and rank == 2), seen[rank]))
        for rank, wish in wishes.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0] == seen[1] == seen[2]
    expected = [(5, "go"), *[(10, "hold")] * 4, (10, "go"), (15, "go"), (20, "save")]
    expected += [(20, "failed" if fails else "go"), (25, "go"), (30, "go")]
    assert seen[0] == expected


def test_a_step_between_asks_nobody():
    agreement = Collective(lambda _number: pytest.fail("a collective in a step between"), 8)
    assert not agreement.due(7)
    assert agreement.stance(7, Wish.EXIT) == "go"
    with pytest.raises(SettingError, match="0 steps"):
        Collective(max, 0)


def test_a_rank_alone_does_as_it_wishes_and_one_beside_strangers_never_holds():
    alone, apart = Alone(), Alone(may_pause=False)
    assert [alone.stance(1, wish) for wish in Wish] == ["go", "save", "hold", "save", "exit", "save"]
    assert apart.stance(1, Wish.HOLD) == "go"
    alone.saved(ok=False)
    assert [alone.stance(1, Wish.HOLD) for _ in range(2)] == ["failed", "hold"]
