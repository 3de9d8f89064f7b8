"""From a provider's forecast into our own: its usual error taken off, and a seam without a step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FADE_H = 12
"""Hours before a provider's end over which its forecast gives way to ours."""
_HALF_TRUST = 7.0  # past forecasts at which half of their middle error is believed


def bias_corrected(provider: npt.NDArray[np.float64], past_errors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a provider's forecast plus the middle of its past errors, less believed the fewer there are.

    Args:
        provider: Its forecast, NaN after its end, shape (H,).
        past_errors: Actual less forecast of its forecasts as issued before, by the same leads, NaN where unknown,
            shape (m, H).

    Returns:
        Shape (H,).
    """
    known = ~np.isnan(past_errors)
    if not known.any():
        return provider
    count = known.any(axis=1).sum()
    # One number for all leads: errors by lead are known too badly from few forecasts.
    return np.asarray(provider + np.median(past_errors[known]) * count / (count + _HALF_TRUST))


def cross_faded(
    provider: npt.NDArray[np.float64], own: npt.NDArray[np.float64], fade_h: int = FADE_H
) -> npt.NDArray[np.float64]:
    """Return the provider's forecast as far as it goes and ours after it, with a straight slide before its end.

    Args:
        provider: Its forecast, NaN from its end on, shape (H,).
        own: Our forecast, shape (H,).
        fade_h: Hours over which it gives way; 0 where it goes on after the last hour of these.

    Returns:
        Shape (H,), NaN nowhere; an hour that the provider lacks in between is ours.
    """
    if np.isnan(provider).all():
        return own
    weight = provider_weight(provider, fade_h)
    return np.where(np.isnan(provider), own, weight * np.nan_to_num(provider) + (1.0 - weight) * own)


def provider_weight(provider: npt.NDArray[np.float64], fade_h: int = FADE_H) -> npt.NDArray[np.float64]:
    """Return how much a provider's forecast counts in each hour against ours.

    Args:
        provider: Its forecast, NaN from its end on, shape (H,).
        fade_h: Hours over which it gives way.

    Returns:
        Shape (H,): 1 as far as it goes, sliding down before its end, 0 after it.
    """
    known = np.flatnonzero(~np.isnan(provider))
    if not known.size:
        return np.zeros(len(provider))
    left_h = known[-1] + 1 - np.arange(len(provider))
    return np.asarray(np.clip(left_h / (min(fade_h, known.size) + 1), 0.0, 1.0))
