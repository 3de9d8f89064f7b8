"""The Pareto front of a week: plans of which none is better by every measure."""
