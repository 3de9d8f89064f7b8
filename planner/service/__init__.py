"""The service: jobs on a schedule, publishing in two steps, and HTTP for agents, training and people."""
