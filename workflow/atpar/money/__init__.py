"""Tariffs, the ledger, and what an accepted result costs."""
