"""Whatever the network and the processes do, ranks never hold at different steps and never wait beyond the timeout."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.ranks_world import LOOK_S, TIMING, Weather, World
from trainer_hooks.agreement.wish import Wish

# A smaller seed is no simpler story: nothing is gained by shrinking.
DRAWN = (Phase.explicit, Phase.reuse, Phase.generate)
FAULTS_UNTIL_S = 8.0
CALM_S = FAULTS_UNTIL_S + 10.0

weathers = st.builds(
    Weather,
    loss=st.sampled_from([0.0, 0.1, 0.4, 0.8]),
    delay_s=st.sampled_from([0.0, 0.01, 0.3, 1.5]),
    doubling=st.sampled_from([0.0, 0.3]),
    step_s=st.sampled_from([(0.02, 0.04), (0.05, 0.3), (0.5, 1.0)]),
    run_ahead=st.sampled_from([None, 1, 4]),
    deaths=st.lists(
        st.tuples(st.floats(0.0, FAULTS_UNTIL_S), st.integers(0, 7), st.sampled_from([0.0, 0.5, 3.0])), max_size=4
    ).map(tuple),
    hub_deaths=st.lists(st.tuples(st.floats(0.0, FAULTS_UNTIL_S), st.sampled_from([0.01, 0.5, 4.0])), max_size=2).map(
        tuple
    ),
    failed_saves=st.frozensets(st.integers(0, 7), max_size=1),
)
kinds = st.sampled_from([Wish.HOLD, Wish.SAVE_HOLD, Wish.SAVE])


def windows(kind, ends=16.0):
    """Rank 0 wants a pause of two seconds in every three, then one that lasts."""

    def wish(now_s):
        if now_s > FAULTS_UNTIL_S + 2.0:
            return Wish.HOLD if now_s < ends else Wish.GO
        return kind if now_s % 3.0 < 2.0 else Wish.GO

    return wish


@settings(max_examples=25, deadline=None, phases=DRAWN)
@given(st.integers(2, 5), st.integers(0, 2**32), weathers, kinds)
def test_ranks_never_hold_at_different_steps_nor_wait_beyond_the_timeout(ranks, seed, weather, kind):
    world = World(ranks, seed, weather, windows(kind)).run(CALM_S)  # the world itself looks at every event
    assert all(len(steps) == 1 for steps in world.held.values())
    for rank in world.ranks:
        assert rank.longest_wait_s <= TIMING.timeout_s + LOOK_S
    # Known to stand with all others, a rank stays until the hub learns otherwise or falls silent.
    assert world.longest_apart_s <= 2 * TIMING.timeout_s + 4 * weather.delay_s + 4 * LOOK_S


@settings(max_examples=10, deadline=None, phases=DRAWN)
@given(st.integers(2, 5), st.integers(0, 2**32), weathers)
def test_once_the_faults_are_over_all_ranks_hold_at_one_step(ranks, seed, weather):
    # The timeout has to be longer than the time by which the first rank is ahead of the last.
    ahead = 1 if weather.step_s[1] > 0.5 else weather.run_ahead or 2
    quiet = {"loss": 0.0, "delay_s": min(weather.delay_s, 0.3), "run_ahead": ahead}
    calm = Weather(**{**vars(weather), **quiet})
    world = World(ranks, seed, calm, windows(Wish.HOLD, ends=200.0))
    world.run(40.0)
    assert {rank.stance for rank in world.ranks} == {"hold"}
    assert len({rank.step for rank in world.ranks}) == 1
    before = [rank.step for rank in world.ranks]
    world.run(43.0)
    assert [rank.step for rank in world.ranks] == before


@settings(max_examples=4, deadline=None, phases=DRAWN)
@given(st.integers(2, 8), st.integers(0, 2**32), st.sampled_from([1, 4]), st.sampled_from([(0.02, 0.04), (0.05, 0.3)]))
def test_a_quiet_network_holds_every_time_and_saves_before(ranks, seed, ahead, step_s):
    weather = Weather(run_ahead=ahead, step_s=step_s)
    world = World(ranks, seed, weather, lambda now_s: Wish.SAVE_HOLD if now_s % 8.0 >= 4.0 else Wish.GO).run(33.0)
    assert len(world.joint_holds) == 4
    assert all(len(steps) == 1 for steps in world.held.values())
    assert len({len(rank.trained) for rank in world.ranks}) <= ahead + 1


@pytest.mark.parametrize("seed", range(2))
def test_a_rank_dead_at_any_moment_of_a_round_frees_the_others(seed):
    """Rank 1 dies at every hundredth of a second around the pause, and does not come back."""
    for hundredth in range(seed, 80, 5):
        death_s = 2.0 + hundredth / 100.0
        weather = Weather(step_s=(0.03, 0.1), run_ahead=None, deaths=((death_s, 1, 1e9),))
        world = World(3, seed, weather, lambda now_s: Wish.HOLD if now_s >= 2.0 else Wish.GO).run(death_s + 0.01)
        world.run(death_s + 2 * TIMING.timeout_s + 1.0)
        steps = [rank.step for rank in world.ranks]
        world.run(world.now_s + 2.0)
        assert all(rank.step > step for rank, step in zip(world.ranks, steps, strict=True) if rank.alive)


def test_a_late_word_of_a_process_before_does_not_silence_the_one_that_lives():
    """Rank 1 starts again at once, twice, while its first words are under way: they come in another order."""
    deaths = ((0.0, 1, 0.5), (0.0, 1, 0.0), (0.0, 1, 0.0))
    for seed in range(40):
        weather = Weather(delay_s=0.01, step_s=(0.5, 1.0), run_ahead=1, deaths=deaths)
        world = World(2, seed, weather, lambda now_s: Wish.HOLD if now_s >= 2.0 else Wish.GO).run(14.0)
        assert [rank.stance for rank in world.ranks] == ["hold", "hold"]


def test_a_checkpoint_that_fails_on_one_rank_lets_all_go_on():
    weather = Weather(failed_saves=frozenset({2}))
    seen = []

    def wish(now_s):
        return Wish.SAVE_EXIT if 1.0 <= now_s < 1.8 or now_s >= 5.0 else Wish.GO

    world = World(3, 7, weather, wish)
    real_note = world.note

    def note(rank):
        seen.append((rank.number, rank.stance))
        real_note(rank)

    world.note = note
    world.run(4.9)
    assert {number for number, stance in seen if stance == "failed"} == {0, 1, 2}
    assert all(rank.alive for rank in world.ranks)
    world.run(20.0)
    # Tried again, it works, and all end at the same step.
    assert [rank.stance for rank in world.ranks] == ["exit"] * 3
    assert len({rank.step for rank in world.ranks}) == 1


def test_a_rank_that_counts_from_another_step_is_told_and_nobody_stops():
    world = World(2, 1, Weather(run_ahead=None), lambda now_s: Wish.HOLD if now_s > 1.0 else Wish.GO)
    world.ranks[1].step = 1_000_000
    whys = {world.run(1.0 + tenth / 10.0).hub.order.why for tenth in range(1, 60)}
    assert not world.held
    assert any("no common count" in why for why in whys)
