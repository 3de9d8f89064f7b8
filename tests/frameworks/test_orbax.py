"""A JAX training that saves through Orbax follows a calendar and loses nothing."""

from __future__ import annotations

import pytest

from tests.followed import EVENING_S, STEPS, Follower
from trainer_hooks.adapters.orbax import OrbaxFollower, highest_of_processes

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]
TOKENS = 4 * 8


def _modules():
    jax = pytest.importorskip("jax", reason="JAX is not installed; make test-frameworks installs it")
    optax = pytest.importorskip("optax", reason="Optax is not installed; make test-frameworks installs it")
    orbax = pytest.importorskip("orbax.checkpoint", reason="Orbax is not installed; make test-frameworks installs it")
    return jax, optax, orbax


@pytest.fixture(scope="module")
def jaxes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_PLATFORMS", "cpu")
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield _modules()


def train(jaxes, folder, follower=None, preempted_at=None):
    jax, optax, orbax = jaxes
    optimizer = optax.adam(1e-2)
    weights = jax.random.normal(jax.random.key(0), (8, 8))
    state = {"weights": weights, "optimizer": optimizer.init(weights)}

    @jax.jit
    def train_step(state, batch):
        loss, slope = jax.value_and_grad(lambda w: ((batch @ w - batch) ** 2).mean())(state["weights"])
        update, moments = optimizer.update(slope, state["optimizer"])
        return loss, {"weights": optax.apply_updates(state["weights"], update), "optimizer": moments}

    losses = []
    with orbax.CheckpointManager(folder) as manager:
        first = manager.latest_step() or 0
        if first:
            state = manager.restore(first, args=orbax.args.StandardRestore(state))
        if preempted_at is not None:
            manager.reached_preemption = lambda step: step == preempted_at
        followed = OrbaxFollower(manager, follower.governor) if follower else None
        if follower and first:
            follower.governor.resume_at(first * TOKENS, step=first)
        for step in range(first + 1, STEPS + 1):
            batch = jax.random.normal(jax.random.fold_in(jax.random.key(1), step), (4, 8))
            loss, state = train_step(state, batch)
            losses.append(float(loss).hex())
            if follower:
                follower.tick()
            if followed and followed.step(step, state, tokens=batch.size):
                break
        kept = sorted(manager.all_steps())
    return losses, kept


def test_held_saved_ended_and_resumed_with_the_losses_of_an_uninterrupted_run(jaxes, tmp_path):
    free, _ = train(jaxes, tmp_path / "free")
    morning = Follower()
    losses, kept = train(jaxes, tmp_path / "run", morning)
    morning.check_morning(20 * TOKENS)
    assert kept == [10, 20]
    evening = Follower(EVENING_S)
    rest, _ = train(jaxes, tmp_path / "run", evening)
    evening.check_evening(10 * TOKENS, 30 * TOKENS)
    assert losses + rest == free


def test_a_preemption_that_jax_announces_saves_and_ends(jaxes, tmp_path):
    losses, kept = train(jaxes, tmp_path, Follower(), preempted_at=7)
    assert len(losses) == 7
    assert kept == [7]


def test_a_single_process_asks_nobody(jaxes):
    assert highest_of_processes() is None
