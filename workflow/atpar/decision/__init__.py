"""Attempts, summaries, separation, and the decision that follows from them."""
