"""Planning again while a plan runs: what has passed stays, what was announced is kept where that costs little."""
