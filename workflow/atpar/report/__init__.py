"""The report: one page for people, its charts, and the evidence bag."""
