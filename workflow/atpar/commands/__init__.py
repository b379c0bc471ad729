"""Subcommands of `atpar`, one module each, imported only when they run."""
