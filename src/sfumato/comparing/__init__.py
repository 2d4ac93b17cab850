"""Comparing: many releases of one table, measured, as a map of risk and utility. `sfumato.comparison` is the verb."""
