"""Measured passes: supervisor, worker, devices, batches, clocks and memory."""
