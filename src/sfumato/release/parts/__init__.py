"""Mondrian in parts on a cluster, for tables whose cells do not fit one machine."""
