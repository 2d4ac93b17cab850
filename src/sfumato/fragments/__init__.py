"""Split tables: one private table that is published in pieces, and what the pieces give away together."""
