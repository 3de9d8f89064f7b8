"""Plans under uncertainty: starts, stops and pools now, power and storage once the path is known."""
