"""Engines: tables in, tables out."""
