"""Figures of the report as plain Plotly dictionaries: made without Plotly, drawn by it in the browser."""
