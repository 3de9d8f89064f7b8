from __future__ import annotations

import pytest

from trainer_hooks.tokens import TokenMeter, WorkLedger


def _at(position_tokens):
    tokens = TokenMeter()
    tokens.resume_at(position_tokens)
    return tokens


def test_useful_tokens_leave_out_what_a_rollback_lost():
    tokens = TokenMeter()
    tokens.resume_at(1_000)
    tokens.add(600)
    assert tokens.rollback(1_200) == 400
    tokens.add(100)
    assert (tokens.tokens, tokens.useful_tokens, tokens.position_tokens) == (700, 300, 1_300)


def test_a_rollback_behind_the_start_loses_earlier_work():
    tokens = _at(1_000)
    tokens.add(100)
    assert tokens.rollback(500) == 600
    assert tokens.useful_tokens == -500


@pytest.mark.parametrize("to_tokens", [-1, 101])
def test_a_rollback_goes_back_only(to_tokens):
    tokens = TokenMeter()
    tokens.add(100)
    with pytest.raises(ValueError, match="stands at 100"):
        tokens.rollback(to_tokens)


def test_tokens_are_not_negative_and_the_start_is_set_once():
    tokens = TokenMeter()
    with pytest.raises(ValueError, match="cannot be -1"):
        tokens.add(-1)
    tokens.add(1)
    with pytest.raises(ValueError, match="before the first step"):
        tokens.resume_at(5)


def test_lost_work_takes_its_joules_with_it():
    tokens = TokenMeter()
    tokens.add(100)
    assert tokens.settle(1000.0) == 0.0
    tokens.add(100)
    tokens.rollback(50)
    # 100 tokens at 20 J each of this stretch, and 50 at 10 J each of the one before.
    assert tokens.settle(2000.0) == pytest.approx(2500.0)
    tokens.add(10)
    assert tokens.settle(100.0) == 0.0
    tokens.rollback(0)
    assert tokens.settle(0.0) == pytest.approx(600.0)


def test_tokens_around_a_rollback_share_their_stretch_evenly():
    tokens = TokenMeter()
    tokens.add(30)
    tokens.add(30)
    tokens.rollback(40)
    tokens.add(40)
    # 100 tokens in 500 J; 20 of them lost.
    assert tokens.settle(500.0) == pytest.approx(100.0)
    assert tokens.position_tokens == 80


def test_a_restart_takes_back_what_an_earlier_process_counted_beyond_its_checkpoint():
    earlier = WorkLedger()
    earlier.add(1000, 5000.0)
    tokens = TokenMeter(lambda: earlier)
    tokens.resume_at(800)
    assert (tokens.useful_tokens, tokens.position_tokens) == (-200, 800)
    assert tokens.settle(0.0) == pytest.approx(1000.0)
    tokens.add(100)
    assert tokens.useful_tokens == -100


def test_a_restart_beyond_what_is_known_credits_nothing():
    earlier = WorkLedger()
    earlier.add(1000, 5000.0)
    tokens = TokenMeter(lambda: earlier)
    tokens.resume_at(1200)
    assert (tokens.useful_tokens, tokens.settle(0.0)) == (0, 0.0)
    tokens.add(100)
    tokens.settle(300.0)
    tokens.rollback(900)
    # 100 of this process at 3 J, none known between, 100 of the earlier one at 5 J.
    assert tokens.settle(0.0) == pytest.approx(800.0)
    assert tokens.useful_tokens == -300


def test_a_ledger_of_years_stays_small_and_prices_recent_work_as_finely_as_before():
    ledger = WorkLedger()
    for _ in range(20_000):
        ledger.add(10, 1.0)
    assert len(ledger._stretches) <= 4096
    assert ledger.rollback(199_995) == pytest.approx(0.5)
    assert ledger.rollback(0) == pytest.approx(19_999.5)
