"""`gridpace-sweep`: measures what a power limit means in watts and in throughput, on a training's own steps."""
