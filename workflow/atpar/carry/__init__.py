"""Shares of a campaign: what one node measured, packed there and taken in anywhere."""
