"""Typed models (pydantic) of everything a person writes."""
