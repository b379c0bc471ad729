"""What is fixed before durations are seen, and the order in which passes run."""
