"""What becomes of a limit: the verdict at once, and whether it settles."""

from __future__ import annotations

import pytest

from trainer_hooks.gpu import LimitVerdict
from trainer_hooks.settling import PATIENCE_S, Settling
from trainer_hooks.simulated import SimulatedGpu


def requested(gpu, limit_w, now_s):
    """A limit that is asked for now, and what follows it."""
    since_s = now_s()
    return Settling(gpu, gpu.set_power_limit_w(limit_w), since_s, monotonic=now_s)


def settled(settling, advance):
    """Look every 20 ms until the limit is settled."""
    while not settling.done:
        settling.poll()
        if not settling.done:
            advance(0.02)
    return settling.verdict


@pytest.mark.parametrize(
    ("asked_w", "fault", "limit_w", "outcome", "why"),
    [
        (300.0, (), 300.0, "applied", ""),
        (350.5, (), 350.5, "applied", ""),
        (100.0, (), 200.0, "clamped", ""),
        (900.0, (), 700.0, "clamped", ""),
        (300.0, ("denied",), 700.0, "denied", "CAP_SYS_ADMIN"),
        (300.0, ("ignored",), 700.0, "ignored", ""),
        (300.0, ("no-read",), None, "ignored", ""),
        (300.0, ("no-limit",), 700.0, "unsupported", "takes no limit"),
        (300.0, ("lost",), None, "lost", "GPU is lost"),
        (300.0, ("timeout",), None, "lost", "Timeout"),
        (300.0, ("no-fields",), 300.0, "applied", ""),
        (300.0, ("old-fields",), 300.0, "applied", ""),
        (300.0, ("unknown",), None, "lost", "Unknown Error"),
    ],
)
def test_a_limit_is_set_by_the_first_setter_and_read_back(machine, asked_w, fault, limit_w, outcome, why):
    twin, (gpu,) = machine()
    twin[0].fault(*fault)
    verdict = gpu.set_power_limit_w(asked_w)
    assert (verdict.requested_w, verdict.limit_w, verdict.outcome) == (asked_w, limit_w, outcome)
    assert why in verdict.why
    assert bool(verdict.why) == bool(why)
    assert twin[0].limit_w == (limit_w if verdict.applied else 300.0 if fault == ("no-read",) else 700.0)


def test_without_root_the_call_is_denied(machine):
    twin, (gpu,) = machine(root=False)
    assert gpu.set_power_limit_w(300.0).outcome == "denied"
    assert twin[0].limit_w == 700.0


def test_the_request_does_not_wait_and_a_later_look_says_how_long_it_took(machine):
    twin, (gpu,) = machine()
    settling = requested(gpu, 300.0, twin.now_s)
    assert settling.verdict == LimitVerdict(300.0, 300.0, 700.0, "applied")
    assert settling.poll().settled_s is None
    assert not settling.done
    twin.advance(0.125)
    assert settling.poll() == LimitVerdict(300.0, 300.0, 300.0, "applied", settled_s=pytest.approx(0.125))
    assert settling.done
    twin.advance(3600.0)
    assert settling.poll().settled_s == pytest.approx(0.125)
    twin[0].limit_w = 500.0
    assert settling.poll().outcome == "overridden"
    twin[0].limit_w = 300.0
    assert settling.poll().outcome == "overridden"


@pytest.mark.parametrize("fields", [(), ("no-fields",)])
def test_a_look_every_20_ms_finds_when_the_limit_is_in_force(machine, fields):
    twin, (gpu,) = machine()
    twin[0].fault(*fields)
    twin[0].set("settle_s", 0.33)
    verdict = settled(requested(gpu, 300.0, twin.now_s), twin.advance)
    assert verdict.settled_s == pytest.approx(0.34)
    assert (verdict.limit_w, verdict.enforced_w) == (300.0, 300.0)


def test_a_limit_that_never_comes_into_force_is_ignored_after_a_bounded_wait(machine):
    twin, (gpu,) = machine()
    twin[0].fault("stuck")
    began_s = twin.now_s()
    verdict = settled(requested(gpu, 300.0, twin.now_s), twin.advance)
    assert (verdict.outcome, verdict.settled_s) == ("ignored", None)
    assert "still enforces 700 W" in verdict.why
    assert twin.now_s() - began_s == pytest.approx(PATIENCE_S, abs=0.03)


def test_another_limit_a_moment_later_overrides_ours(machine):
    twin, (gpu,) = machine()
    twin[0].set("settle_s", 1.0)
    twin[0].rival(450.0, 0.5)
    settling = requested(gpu, 300.0, twin.now_s)
    assert settling.verdict.outcome == "applied"
    verdict = settled(settling, twin.advance)
    assert (verdict.outcome, verdict.applied, verdict.limit_w) == ("overridden", False, 450.0)
    assert verdict.why == "Ours was 300 W; someone else set 450 W."


def test_a_lower_limit_from_outside_is_named(machine):
    twin, (gpu,) = machine()
    twin[0].set("outside_w", 250.0)
    verdict = settled(requested(gpu, 300.0, twin.now_s), twin.advance)
    assert (verdict.outcome, verdict.limit_w, verdict.enforced_w) == ("applied", 300.0, 250.0)
    assert verdict.why == "A lower limit from elsewhere is in force: 250 W."
    assert gpu.power_limit_w() == 300.0


def test_a_gpu_that_is_lost_while_its_limit_settles(machine):
    twin, (gpu,) = machine()
    settling = requested(gpu, 300.0, twin.now_s)
    twin[0].fault("lost")
    verdict = settling.poll()
    assert (verdict.outcome, verdict.limit_w, settling.done) == ("lost", None, True)


def test_a_refused_limit_has_nothing_to_settle(machine):
    twin, (gpu,) = machine(root=False)
    settling = requested(gpu, 300.0, twin.now_s)
    assert settling.done
    assert settled(settling, twin.advance).outcome == "denied"


def test_a_board_that_does_not_tell_what_it_enforces_is_not_waited_for(machine, monkeypatch):
    twin, (gpu,) = machine()
    monkeypatch.setattr(gpu, "enforced_limit_w", lambda: None)
    settling = requested(gpu, 300.0, twin.now_s)
    verdict = settling.poll()
    assert (settling.done, verdict.outcome, verdict.settled_s) == (True, "applied", None)
    assert "does not tell" in verdict.why


def test_a_simulated_gpu_settles_at_once():
    assert requested(SimulatedGpu(), 300.0, lambda: 7.0).poll().settled_s == 0.0


def test_a_board_split_into_instances_keeps_its_limit(machine):
    twin, (split, whole) = machine("mig")
    verdict = split.set_power_limit_w(300.0)
    assert (verdict.outcome, verdict.limit_w) == ("unsupported", 400.0)
    assert "MIG instances" in verdict.why
    assert (twin[0].limit_w, twin[0].writes) == (400.0, 0)
    assert whole.set_power_limit_w(300.0).applied


def test_on_a_module_the_limit_is_that_of_the_gpu(machine):
    twin, (gpu,) = machine("grace")
    twin.advance(0.1)
    # what the CPU leaves of the module's limit
    assert (gpu.enforced_limit_w(), gpu.module_limit_w()) == (850.0, 1000.0)
    verdict = settled(requested(gpu, 600.0, twin.now_s), twin.advance)
    assert (verdict.outcome, verdict.enforced_w) == ("applied", 600.0)
    assert gpu.module_limit_w() == 1000.0


def test_a_module_that_takes_a_limit_for_all_of_it_only_is_refused_in_words(machine):
    twin, (gpu,) = machine("module")
    verdict = gpu.set_power_limit_w(600.0)
    assert verdict.outcome == "unsupported"
    assert "whole module" in verdict.why
    assert twin[0].get("module_w") == 1000.0


def test_a_gpu_without_a_module_has_no_module_limit(machine):
    _, (gpu,) = machine("h100")
    assert gpu.module_limit_w() is None
