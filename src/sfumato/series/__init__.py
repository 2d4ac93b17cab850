"""Releases over time: one after the other about a table that changes, and records as they come."""
