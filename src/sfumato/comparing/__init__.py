"""Comparing: many releases of one table, measured, as a map of risk and utility; `verbs.compare` is the verb."""
