"""Weeks of the past planned as they would have been: each plan from what was known then, judged on what came."""
