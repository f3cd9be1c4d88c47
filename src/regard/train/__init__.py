"""Training: loss, optimiser, schedule, checkpoints, and the loop that holds them together."""
