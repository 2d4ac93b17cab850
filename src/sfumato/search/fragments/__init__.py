"""Searches that publish values as they are, in several tables: who has which of them is what they hide."""
