"""What people are given: the report, the calendar file, the tables."""
