"""Plans under uncertainty: starts, stops and pools now, power and what stands behind the meter once the path is known."""
