"""Nothing is created or lost: between runs and site, between slots and hours, between contracts and grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from power.accounts import ON_SITE, site_account
from power.allotment import shared_columns, shares, totals
from tests.accounting import SET, contract, grid, rolled_up


def account_of(rng, n, slot_h=1.0, repeat=1):
    def series(low, high):
        return np.repeat(rng.uniform(low, high, n), repeat)

    it_kw = series(0.0, 900.0) * np.repeat(rng.random(n) < 0.9, repeat)
    solar_kw = series(0.0, 100.0)
    return site_account(
        SET,
        grid(series(0.0, 800.0), residual=series(100.0, 900.0), marginal=series(0.0, 900.0), cfe=series(0.0, 1.0)),
        [
            contract(series(0.0, 700.0), "wind"),
            contract(series(0.0, 700.0), "gas", "gas"),
            contract(solar_kw, "roof", "solar", ON_SITE),
            contract(series(0.0, 500.0), "far", boundary="zone-b"),
        ],
        it_kw=it_kw,
        facility_kw=1.2 * it_kw,
        import_kw=np.maximum(0.0, 1.2 * it_kw - solar_kw),
        slot_h=slot_h,
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_the_runs_and_what_no_run_uses_are_the_site(seed, n_runs):
    rng = np.random.default_rng(seed)
    account = account_of(rng, 24)
    part = rng.dirichlet(np.ones(n_runs + 1), 24).T[:n_runs]
    share = shares(part * account.it_kwh, account.it_kwh)
    columns = shared_columns(account)
    left = 1.0 - share.sum(axis=0)
    for name, per_run in totals(share, columns).items():
        whole = float(columns[name].sum())
        assert per_run.sum() + float((columns[name] * left).sum()) == pytest.approx(whole, rel=1e-9, abs=1e-9), name


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 4]))
def test_quarters_of_an_hour_rolled_up_are_the_hours(seed, parts):
    fine = account_of(np.random.default_rng(seed), 12, slot_h=1.0 / parts, repeat=parts)
    coarse = account_of(np.random.default_rng(seed), 12)
    for name, hours in shared_columns(coarse).items():
        assert rolled_up(shared_columns(fine)[name], parts) == pytest.approx(hours, rel=1e-9, abs=1e-9), name
    assert fine.cfe_score == pytest.approx(coarse.cfe_score, rel=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_no_more_is_matched_than_is_contracted_or_taken(seed):
    account = account_of(np.random.default_rng(seed), 24)
    noise = 1e-9
    assert (account.used_kwh <= account.supplied_kwh + noise).all()
    assert (account.matched_kwh <= account.import_kwh + noise).all()
    assert account.load_kwh == pytest.approx(account.import_kwh + account.onsite_kwh)
    assert account.import_kwh == pytest.approx(account.matched_kwh + account.unmatched_kwh)
    assert (account.cfe_kwh <= account.load_kwh + noise).all()
    assert 0.0 <= account.cfe_score <= 1.0 + noise
    far = [c.name for c in account.contracts].index("far")
    assert not account.used_kwh[far].any()
