"""The append-only journal of attempts, and the raw view of it."""
