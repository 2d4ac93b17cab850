"""The audit of published statistical tables: what attackers compute of hidden cells, from what is published alone."""
