"""Measures: what a released table gives away. Read-only."""
