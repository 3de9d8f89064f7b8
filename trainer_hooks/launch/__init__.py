"""`gridpace-run`: follows a calendar from outside a training that cannot be changed."""
