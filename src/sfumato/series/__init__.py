"""Releases over time: a table published again and again, and rows that never end."""
