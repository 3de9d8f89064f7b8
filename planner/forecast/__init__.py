"""Forecasts of the grid and the weather with what is not known about them: arrays in, arrays out, no clock, no file."""
