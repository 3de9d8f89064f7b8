"""Limits are looked after between steps: settled, replaced by others, or beside the point."""

from __future__ import annotations

import math

import pytest

from trainer_hooks.limit_follow import LATER_S, SOON_S, LimitFollow, named


@pytest.fixture
def followed(machine):
    def make(profile="h100x8", limit_w=300.0, **options):
        twin, gpus = machine(profile, **options)
        follow = LimitFollow(gpus, twin.now_s)
        since_s = twin.now_s()
        follow.asked([(gpu, gpu.set_power_limit_w(limit_w)) for gpu in gpus], since_s)
        return twin, gpus, follow

    return make


def looks(twin, follow, duration_s):
    """What is said in a time, and how often was looked."""
    said, looked = [], 0
    until_s = twin.now_s() + duration_s
    while twin.now_s() < until_s:
        # the twin's clock counts whole nanoseconds
        twin.advance(max(min(follow.due_in_s(), until_s - twin.now_s()), 1e-6))
        looked += follow.due_in_s() == 0.0
        said += follow.look()
    return said, looked


def test_a_limit_that_settles_is_not_talked_of_and_seldom_looked_at(followed):
    twin, _, follow = followed()
    assert follow.settled_s() is None
    said, looked = looks(twin, follow, 600.0)
    assert said == []
    assert looked == pytest.approx(600.0 / LATER_S, abs=2)
    assert follow.settled_s() == pytest.approx(SOON_S, abs=1e-5)


def test_a_limit_that_does_not_come_is_told_once(followed):
    twin, gpus, follow = followed(faults={2: ("stuck",), 5: ("stuck",)})
    said, _ = looks(twin, follow, 600.0)
    (sentence,) = said
    assert sentence.startswith(
        f"power limit of 2 GPUs, {gpus[2].uuid} to {gpus[5].uuid}: 300 W asked, ignored. After 5."
    )
    assert follow.settled_s() == pytest.approx(SOON_S, abs=1e-5)


def test_another_limit_is_told_once_also_long_after(followed):
    twin, gpus, follow = followed()
    looks(twin, follow, 600.0)
    twin[4].limit_w = 450.0
    said, _ = looks(twin, follow, 600.0)
    assert said == [f"power limit of {gpus[4].uuid}: 300 W asked, overridden. Ours was 300 W; someone else set 450 W."]


def test_what_an_agent_does_with_a_leased_limit_is_the_agents_to_tell(machine):
    twin, gpus = machine("h100x8", faults={2: ("stuck",)})
    follow = LimitFollow(gpus, twin.now_s)
    follow.asked([(gpu, gpu.set_power_limit_w(300.0)) for gpu in gpus], twin.now_s(), leased=gpus[:4])
    twin[0].limit_w = 250.0
    said, _ = looks(twin, follow, 10.0)
    assert [gpus[2].uuid in sentence for sentence in said] == [True]
    twin[1].limit_w = 250.0
    twin[5].limit_w = 250.0
    said, _ = looks(twin, follow, 600.0)
    assert [gpus[5].uuid in sentence for sentence in said] == [True]


def test_a_lower_limit_from_elsewhere_is_told_once(followed):
    twin, gpus, follow = followed("h100")
    twin[0].set("outside_w", 250.0)
    said, _ = looks(twin, follow, 600.0)
    assert said == [
        f"power limit of {gpus[0].uuid}: 300 W asked, applied. A lower limit from elsewhere is in force: 250 W."
    ]


@pytest.mark.parametrize(
    ("quantity", "value", "cause"),
    [("brake", 1.0, "the power brake of its server"), ("coolant_c", 75.0, "its heat")],
)
def test_what_holds_a_gpu_back_beside_its_limit_is_told(followed, quantity, value, cause):
    twin, gpus, follow = followed(limit_w=650.0)
    for board in twin.boards:
        board.load = 1.0
    assert looks(twin, follow, 300.0)[0] == []
    twin[6].set(quantity, value)
    said, _ = looks(twin, follow, 300.0)
    assert said == [f"power limit of {gpus[6].uuid}: {cause} holds it back, not the limit."]
    twin[6].set(quantity, {"brake": 0.0, "coolant_c": 30.0}[quantity])
    assert looks(twin, follow, 300.0)[0] == []
    twin[6].set(quantity, value)
    assert looks(twin, follow, 300.0)[0] == said


def test_a_gpu_that_falls_silent_does_not_stop_the_looks(followed):
    twin, gpus, follow = followed()
    twin[1].fault("lost")
    said, _ = looks(twin, follow, 120.0)
    assert [sentence.split(". ")[0] for sentence in said] == [f"power limit of {gpus[1].uuid}: 300 W asked, lost"]


def test_refused_limits_are_not_followed(machine):
    twin, gpus = machine("bare", root=False)
    follow = LimitFollow((), twin.now_s)
    follow.asked([(gpu, gpu.set_power_limit_w(300.0)) for gpu in gpus], twin.now_s())
    assert follow.due_in_s() == math.inf
    assert follow.look() == ()
    assert follow.settled_s() is None


def test_names():
    assert named(["GPU-a"]) == "GPU-a"
    assert named(["GPU-a", "GPU-b", "GPU-c"]) == "3 GPUs, GPU-a to GPU-c"
