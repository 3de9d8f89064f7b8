"""What a site does when the grid asks for less: the calendar in force, changed where an event makes it necessary."""
