"""Prediction checks, metrics, tolerances and verdicts."""
