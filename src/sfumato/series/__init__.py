"""Releases over time: streams that are released while they arrive."""
