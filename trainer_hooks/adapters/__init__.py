"""One small file per training framework; each imports its framework only when it is used."""
