"""What survives a crash: checkpoints, journals, locks, and the averaging of what was saved."""
